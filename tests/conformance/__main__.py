"""Play recordings of a running Apache Kafka on our cluster and compare what is written to ZooKeeper.

    python -m tests.conformance FILE… [--zookeeper embedded|model|simulated] [--out DIR] [--jobs N]

`record` and `differ` in place of FILE play on real brokers (record.py).

Exit status: 0 everything agrees; 1 something differs; 2 nothing differs, but something could not be played; 64 a file or an
argument cannot be understood.
"""

import argparse
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn

from kcsim.zk.capture.write_comparison.differences import WriteDifference
from tests.conformance import record
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.play import play
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
    asked = _parser().parse_args(arguments)
    try:
        recordings = [read_recording(file) for file in asked.files]
        if asked.out is not None:
            asked.out.mkdir(parents=True, exist_ok=True)
    except (BadRecordingError, OSError) as error:
        print(error, file=sys.stderr)
        return USAGE
    results = []
    for file, kafka, ours in zip(asked.files, recordings, _played(recordings, asked.zookeeper, asked.jobs), strict=True):
        if asked.out is not None:
            (asked.out / f"{kafka.name}.json").write_text(ours.text(), encoding="utf-8")
        found = differences(kafka, ours)
        results.append(result_of(found, ours))
        _print(str(file), found, kafka, ours, results[-1])
    counts = ", ".join(f"{results.count(result)} {result}" for result in Result)
    print(f"{len(results)} recordings: {counts}")
    return STATUS[max(results, key=list(Result).index)]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m tests.conformance", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a recording")
    parser.add_argument("--zookeeper", choices=("embedded", "model", "simulated"), default="embedded")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write what our cluster did, in the same form")
    parser.add_argument("--jobs", type=_positive, default=1, metavar="N", help="how many to play at once")
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of jobs")
    return int(text)


def _played(recordings: Iterable[Recording], zookeeper: str, jobs: int) -> Iterator[Recording]:
    play_one = partial(play, zookeeper=zookeeper)
    if jobs == 1:
        yield from map(play_one, recordings)
        return
    # A fork of a process with threads (a worker of pytest-xdist) may be stuck in a lock for ever.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(play_one, recordings)


def _print(file: str, found: Sequence[WriteDifference], kafka: Recording, ours: Recording, result: Result) -> None:
    for line in report_lines(file, found, kafka, ours):
        print(line)
    print(f"{file}: {result}", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so that `… | head` ends it without a traceback
    sys.exit(main(sys.argv[1:]))
