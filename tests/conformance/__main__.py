"""Play recordings of a running Apache Kafka on our cluster and compare what is written to ZooKeeper.

    python -m tests.conformance FILE… [--zookeeper embedded|model|simulated] [--out DIR] [--jobs N]
    python -m tests.conformance FILE… --brokers kafka|--controller kafka [--runs N] [--logs DIR]

With `--brokers kafka`, our controller leads brokers of Apache Kafka; with `--controller kafka`, Kafka's controller leads
ours. Differences that replayed/divided_differences.toml accepts are counted, and not printed. A recording that differs is
played again, N times at most.

`record` and `differ` in place of FILE play on real brokers (record.py).

Exit status: 0 everything agrees; 1 something differs; 2 nothing differs, but something could not be played; 64 a file or an
argument cannot be understood.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn

from kcsim.brokers.apache_kafka.errors import InstallationError
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.zk.capture.write_comparison.differences import WriteDifference
from kcsim.zk.servers.errors import NoJavaError
from tests.conformance import record
from tests.conformance.replayed.accepted import not_accepted
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.divided_cluster import Software
from tests.conformance.replayed.play import play
from tests.conformance.replayed.play_divided import play_until_it_agrees
from tests.conformance.replayed.recording import BadRecordingError, Recording, read_recording
from tests.conformance.replayed.report import Result, report_lines, result_of

USAGE = 64
STATUS = {Result.AGREES: 0, Result.NOT_SUPPORTED: 2, Result.DIFFERS: 1}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str]) -> int:
    if arguments and arguments[0] in record.COMMANDS:
        return record.main(arguments)
    parser = _parser()
    asked = parser.parse_args(arguments)
    controller = _controller(parser, asked)
    try:
        recordings = [read_recording(file) for file in asked.files]
        kafka = None if controller is None else find_kafka(asked.kafka_home)
        if asked.out is not None:
            asked.out.mkdir(parents=True, exist_ok=True)
    except (BadRecordingError, InstallationError, NoJavaError, OSError) as error:
        print(error, file=sys.stderr)
        return USAGE
    if controller is None or kafka is None:
        results = _compare(asked, recordings, partial(play, zookeeper=asked.zookeeper), lambda _, found: list(found))
    else:
        play_one = partial(play_until_it_agrees, kafka=kafka, controller=controller, runs=asked.runs, logs=asked.logs)
        results = _compare(asked, recordings, play_one, partial(not_accepted, controller=controller))
    counts = ", ".join(f"{results.count(result)} {result}" for result in Result)
    print(f"{len(results)} recordings: {counts}")
    return STATUS[max(results, key=list(Result).index)]


def _parser() -> _Parser:
    parser = _Parser(prog="python -m tests.conformance", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a recording")
    parser.add_argument("--zookeeper", choices=("embedded", "model", "simulated"), default="embedded")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write what our cluster did, in the same form")
    parser.add_argument("--jobs", type=_positive, default=1, metavar="N", help="how many to play at once")
    parser.add_argument("--runs", type=_positive, default=1, metavar="N", help="how often to play a recording that differs")
    software = [each.value for each in Software]
    parser.add_argument("--brokers", choices=software, default=Software.OURS.value, help="whose brokers have the partitions")
    parser.add_argument("--controller", choices=software, default=Software.OURS.value, help="whose controller leads them")
    parser.add_argument("--kafka-home", type=Path, metavar="DIR", help="an Apache Kafka; else KAFKA_HOME, or make kafka's")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="where the log files of real brokers are kept")
    return parser


def _controller(parser: _Parser, asked: argparse.Namespace) -> Software | None:
    """Return whose controller a divided cluster has; None for a cluster of ours alone."""
    if asked.controller == asked.brokers == Software.KAFKA:
        parser.error("a cluster of Kafka alone plays recordings with `record`")
    if asked.controller == asked.brokers:
        return None
    if asked.zookeeper != "embedded":
        parser.error(f"processes of Kafka need a real ZooKeeper, not --zookeeper {asked.zookeeper}")
    return Software(asked.controller)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of jobs or runs")
    return int(text)


def _compare(
    asked: argparse.Namespace,
    recordings: Sequence[Recording],
    play_one: Callable[[Recording], Recording],
    counting: Callable[[Recording, Sequence[WriteDifference]], list[WriteDifference]],
) -> list[Result]:
    """Play recordings, print how each run differs, and return the results.

    Args:
        counting: returns those differences of a recording's run that are not accepted.
    """
    results = []
    for file, kafka, ours in zip(asked.files, recordings, _played(recordings, play_one, asked.jobs), strict=True):
        if asked.out is not None:
            (asked.out / f"{kafka.name}.json").write_text(ours.text(), encoding="utf-8")
        every = differences(kafka, ours)
        found = counting(kafka, every)
        results.append(result_of(found, ours))
        for line in report_lines(str(file), found, kafka, ours):
            print(line)
        but = f", but for {len(every) - len(found)} accepted differences" if len(every) > len(found) else ""
        print(f"{file}: {results[-1]}{but}", flush=True)
    return results


def _played(recordings: Iterable[Recording], play_one: Callable[[Recording], Recording], jobs: int) -> Iterator[Recording]:
    if jobs == 1:
        yield from map(play_one, recordings)
        return
    # A fork of a process with threads (a worker of pytest-xdist) may be stuck in a lock for ever.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(play_one, recordings)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so that `… | head` ends it without a traceback
    sys.exit(main(sys.argv[1:]))
