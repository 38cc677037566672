"""Play random timetables on clusters of brokers of ours and of Apache Kafka, one after the other.

    python -m tests.brokers.mixed SEEDS [--keep DIR]

SEEDS is a number or a range such as 0..49. A line is printed for each seed: its cluster, what was done to it, and what has
become of the acknowledged records. The Kafkas are those that `make kafka` has fetched.

Exit status: 0 nothing is lost, and all replicas are equal; 1 a seed has a problem; 2 none has, but a seed could not be
played; 64 an argument cannot be understood.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from kcsim.brokers.apache_kafka.installation import FETCHED, find_kafka
from kcsim.controller.admin.controller_moves import ElectionNotWonError
from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import ClusterError
from kcsim.zk.servers.errors import ServerError
from tests.brokers.mixed.play import play
from tests.brokers.mixed.timetable import draw_timetable

PROBLEM, NOT_PLAYED, USAGE = 1, 2, 64
SEEDS = re.compile(r"(\d+)(?:\.\.(\d+))?")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str]) -> int:
    """Play the seeds, and return the exit status."""
    parser = _Parser(prog="python -m tests.brokers.mixed", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("seeds", type=_seeds, metavar="SEEDS", help="a seed, or a range of seeds: 0..49")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="where the files of all brokers are kept if a seed has a problem"
    )
    asked = parser.parse_args(arguments)
    statuses = {_play(seed, asked.keep) for seed in asked.seeds}
    return PROBLEM if PROBLEM in statuses else max(statuses)


def _play(seed: int, keep: Path | None) -> int:
    timetable = draw_timetable(seed)
    try:
        kafka = find_kafka(FETCHED.with_name(timetable.kafka.version))
        played = play(timetable, kafka, None if keep is None else keep / f"seed-{seed}")
    except (AssertionError, ClusterError, ElectionNotWonError, TimedOutError, TimeoutError, ServerError) as error:
        print(f"seed {seed}: not played to its end: {error}", flush=True)
        return NOT_PLAYED
    print(played, flush=True)
    return PROBLEM if played.problems else 0


def _seeds(text: str) -> range:
    found = SEEDS.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} names no seeds; write 7, or 0..49")
    seeds = range(int(found[1]), int(found[2] or found[1]) + 1)
    if not seeds:
        raise argparse.ArgumentTypeError(f"{text!r} is empty")
    return seeds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
