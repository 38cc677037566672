"""How the commands of the pipeline, and each analysis, grow with the history: two steps of ten times the events.

Each command is started as a user starts it, with JVM and imports; what it writes is what the next one reads. The analyses
are computed from the replayed transitions on both engines. An analysis is charged for the tables that it is the first to
need; on Spark, which computes several at a time, for its waiting for them and for the processors, too.
spark-growth=EVENTS is the size of the largest history (10 million; at least 2): 100 million take hours and 10 GB of disk.
"""

import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.report import processor_seconds_of_children

LARGEST = 10_000_000
TIMES = 10
SHAPE = ("--partitions", "5000", "--brokers", "24")
MASTER = ("--master", "local[2]")
ENGINES: Mapping[str, Sequence[str]] = {"spark": MASTER, "duckdb": ("--engine", "duckdb")}


class Taken(NamedTuple):
    """What a piece of work took: seconds by the clock, and of the processors. None: it was not measured by itself."""

    wall_s: float
    processor_s: float | None = None

    def __str__(self) -> str:
        return f"{self.wall_s:9.1f}" + (" " * 9 if self.processor_s is None else f" {self.processor_s:8.1f}")

    def growth(self, smaller: "Taken") -> float:
        """Return how many times as much it takes as for a smaller history: of the processors, else by the clock."""
        if self.processor_s is None or smaller.processor_s is None:
            return self.wall_s / max(smaller.wall_s, 0.1)
        return self.processor_s / smaller.processor_s


def main(size: str | None = None) -> None:
    """Print what each command and each analysis took at each size, and its growth at each step."""
    largest = int(size or LARGEST)
    sizes = (largest // TIMES**2, largest // TIMES, largest)
    measured: list[dict[str, Taken]] = []
    for events in sizes:
        with tempfile.TemporaryDirectory(prefix="kcsim-growth-") as folder:
            measured.append(dict(_pipeline(events, Path(folder))))
    print("\n" + " " * 32 + "".join(f"{events:>18,} events" for events in sizes))
    print(f"{'wall and processor seconds':<32}")
    for name in measured[0]:
        taken = [one[name] for one in measured]
        growth = " ".join(f"{large.growth(small):6.1f}" for small, large in itertools.pairwise(taken))
        print(f"{name:<32}{''.join(f'{one!s:>25}' for one in taken)}   x {growth}")


def _pipeline(events: int, folder: Path) -> Iterator[tuple[str, Taken]]:
    history, replayed = str(folder / "history"), str(folder / "replayed")
    generate = ("generate", "--out", history, "--events", str(events), *SHAPE, *MASTER)
    yield "generate", _command(*generate)[0]
    yield "replay", _command("replay", history, "--out", replayed, *MASTER)[0]
    analysed = (history, "--transitions", replayed)
    for engine, options in ENGINES.items():
        taken, printed = _command("analyse", "all", *analysed, "--out", str(folder / engine), *options)
        yield f"analyse all, {engine}", taken
        for name, seconds in _analyses(printed):
            yield f"  {name}, {engine}", Taken(seconds)
        yield f"report, {engine}", _command("report", *analysed, "--out", str(folder / f"{engine}.html"), *options)[0]


def _analyses(printed: str) -> Iterator[tuple[str, float]]:
    """Yield each analysis and its seconds from the table that the command prints."""
    _, *lines = printed.splitlines()
    for line in lines:
        name, _, seconds = line.split()
        yield name, float(seconds)


def _command(*arguments: str) -> tuple[Taken, str]:
    """Run a command, and return what it took and what it printed."""
    before, began = processor_seconds_of_children(), time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-m", "kcsim.scenarios", "spark", *arguments], capture_output=True, text=True, check=False
    )
    wall_s = time.perf_counter() - began
    if run.returncode:
        raise RuntimeError(f"kcsim spark {' '.join(arguments)}: status {run.returncode}: {run.stderr[-1000:]}")
    return Taken(wall_s, processor_seconds_of_children() - before), run.stdout
