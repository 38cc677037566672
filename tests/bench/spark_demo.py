"""The way from nothing to a page, with the time of each stage: generate, replay, analyse, report, in one session of Spark.

python -m tests.bench.spark_demo [EVENTS] [DIR]

EVENTS: 10,000,000 if not given. DIR: kcsim-spark-demo if not given; must not exist; the dataset, the results of the analyses
and the page are written to it.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.spark.options import session

MASTER = "local[2]"
EVENTS = 10_000_000
PARTITIONS, BROKERS = 5_000, 24
DIRECTORY = Path("kcsim-spark-demo")


def stages(events: int, place: Path) -> list[list[str]]:
    """Return the commands in order, as a user would enter them."""
    history, replayed = place / "history", place / "replayed"
    size = ["--events", str(events), "--partitions", str(PARTITIONS), "--brokers", str(BROKERS)]
    analysed = [str(history), "--transitions", str(replayed)]
    return [
        ["spark", "generate", "--out", str(history), *size],
        ["spark", "replay", str(history), "--out", str(replayed)],
        ["spark", "analyse", "all", *analysed, "--out", str(place / "findings")],
        ["spark", "report", *analysed, "--out", str(place / "report.html")],
    ]


def main(arguments: Sequence[str]) -> int:
    """Run all stages. Returns: the exit status of the first command that does not end with 0, else 0."""
    events = int(arguments[0].replace(",", "")) if arguments else EVENTS
    place = Path(arguments[1]) if len(arguments) > 1 else DIRECTORY
    if place.exists():
        print(f"{place} exists, and nothing is overwritten; choose another path, or remove it", file=sys.stderr)
        return 64
    place.mkdir(parents=True)
    times: list[tuple[str, float]] = []
    began = time.monotonic()
    with session(MASTER, None):
        times.append(("Spark's start", time.monotonic() - began))
        for command in stages(events, place):
            print(f"\n$ kcsim {' '.join(command)}", flush=True)
            began = time.monotonic()
            status = _run(command)
            times.append((command[1], time.monotonic() - began))
            if status:
                return status
    print(f"\n{events:,} events on {MASTER}:")
    for name, seconds in times:
        print(f"  {name:<14} {seconds:8.1f} s")
    print(f"\nThe page: {(place / 'report.html').resolve().as_uri()}")
    return 0


def _run(command: Sequence[str]) -> int:
    try:
        app(list(command), prog_name="kcsim")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
