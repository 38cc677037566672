"""Put small faults into the code, one at a time, and list those that no test notices.

    python -m tests.mutants [PATH…] [--sample N] [--seed S] [--calls DIR] [--only TEXT]

The tests run on copies of the project in a temporary folder. They run once without a fault, to find out which functions each
of them calls; then, for each fault, those that call the function it is in.

Exit status: 0 every fault is noticed, or listed in equivalent.toml; 1 some are not; 2 a wrong argument.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.changes import Change, changes_of
from tests.mutants.trials import (
    ROOT,
    Outcome,
    TestsOfAChange,
    Trial,
    Workers,
    copied_tree,
    importers_in,
    read_recorded,
    record,
)

FOLDERS = ("controller", "zk/kafka", "zk/live", "zk/memory", "brokers", "scenarios/engine", "scenarios/analysis/folding")
EQUIVALENT = Path(__file__).parent / "equivalent.toml"
NOTICED = (Outcome.KILLED, Outcome.TIMED_OUT)


def main(arguments: Sequence[str]) -> int:
    asked = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    equivalent = equivalent_faults()
    changes = _chosen(asked.paths or FOLDERS, asked.sample, asked.seed, asked.only)
    with tempfile.TemporaryDirectory(prefix="kcsim-mutants-") as folder:
        trees = [copied_tree(Path(folder) / str(number)) for number in range(asked.workers)]
        if asked.calls is not None and asked.calls.is_dir():
            recorded = read_recorded(asked.calls)
        else:
            recorded = record(trees[0], asked.marks, asked.workers)
            if asked.calls is not None:
                shutil.copytree(trees[0] / "calls", asked.calls)
        workers = Workers(trees, TestsOfAChange(recorded, asked.seconds, importers_in(trees[0])))
        trials = []
        for trial in workers.outcomes(change for change in changes if change.name not in equivalent):
            trials.append(trial)
            _print_trial(trial)
    _print_table(asked.paths or FOLDERS, changes, trials)
    return int(any(trial.outcome not in NOTICED for trial in trials))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help=f"modules or folders (without: {', '.join(FOLDERS)})")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N faults per PATH, drawn at random (without: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: %(default)s)")
    parser.add_argument("--only", metavar="TEXT", help="only faults whose printed line contains TEXT")
    parser.add_argument("--calls", type=Path, metavar="DIR", help="keep, or take, what each test calls in this folder")
    parser.add_argument("--marks", default="not nightly", help="the tests, as pytest's -m (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=40, help="most seconds of the tests of one fault (default: %(default)s)"
    )
    parser.add_argument("--workers", type=int, default=2, help="copies, and faults at a time (default: %(default)s)")
    return parser


def equivalent_faults() -> dict[str, str]:
    """Return the faults that change no behaviour, each with the reason."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]
    return {name: entry["reason"] for entry in entries for name in entry["faults"]}


def _chosen(paths: Sequence[str], sample: int | None, seed: int, only: str | None) -> list[Change]:
    chosen = []
    for path in paths:
        changes = [
            change for file in _modules(path) for change in changes_of(file, (ROOT / file).read_text(encoding="utf-8"))
        ]
        if only is not None:
            changes = [change for change in changes if only in change.name]
        if sample is not None and sample < len(changes):
            drawn = random.Random(f"{seed} {path}").sample(range(len(changes)), sample)
            changes = [changes[number] for number in sorted(drawn)]
        chosen += changes
    return chosen


def _modules(path: str) -> list[str]:
    found = ROOT / path
    files = sorted(found.rglob("*.py")) if found.is_dir() else [found]
    return [str(file.relative_to(ROOT)) for file in files]


def _print_trial(trial: Trial) -> None:
    by = f" by {trial.killer}" if trial.killer else ""
    print(
        f"{trial.outcome:<17} {trial.seconds:5.1f} s {trial.tests:4} tests  {trial.change.line} {trial.change.name}{by}",
        flush=True,
    )


def _print_table(paths: Sequence[str], changes: Sequence[Change], trials: Sequence[Trial]) -> None:
    print(f"\n{'':28}{'faults':>8}{'equivalent':>12}{'noticed':>9}{'not':>6}{'share':>8}")
    for path in paths:
        prefix = path if path.endswith(".py") else f"{path.rstrip('/')}/"
        faults = sum(change.file.startswith(prefix) for change in changes)
        counts = Counter(trial.outcome in NOTICED for trial in trials if trial.change.file.startswith(prefix))
        share = f"{counts[True] / counts.total():.1%}" if counts else "-"
        print(f"{path:28}{faults:8}{faults - counts.total():12}{counts[True]:9}{counts[False]:6}{share:>8}")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
