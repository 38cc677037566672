"""Run tests on copies of the project, in which one fault after the other is put into a file."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.changes import Change

ROOT = Path(__file__).parent.parent.parent
NOT_COPIED = {".git", ".venv", ".kafka", ".hypothesis", ".mypy_cache", ".ruff_cache", ".pytest_cache", "build", "dist"}
LINKED = (".venv", ".kafka")
MEMORY = 4 * 2**30
"""Bytes that a process of the tests may allocate: a loop without end ends in seconds, not with the machine."""
PYTEST = (sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:benchmark")
IMPORT = re.compile(r"^from kcsim\.([\w.]+) import ", re.MULTILINE)
PASSED, FAILED, INTERRUPTED, USAGE_ERROR = 0, 1, 2, 4
"""Pytest's exit statuses. A module of tests that cannot be imported counts as a usage error if its tests are named."""
REPORTED_TEST = re.compile(
    r"^(?:FAILED|ERROR|ERROR: not found:|ERROR: found no collectors for) (\S+::.+?)(?: - .*)?$", re.MULTILINE
)


class Outcome(StrEnum):
    KILLED = "killed"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"
    NOT_CALLED = "called by no test"


@dataclass(frozen=True)
class RecordedTest:
    """A test that passes without a fault: its node id, its seconds, and the functions of ours that it calls."""

    test: str
    seconds: float
    functions: frozenset[str] = field(repr=False)


def copied_tree(folder: Path) -> Path:
    """Return a copy of the project as it stands, made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT, folder, symlinks=True, ignore=lambda _, names: NOT_COPIED.intersection(names))
    for name in LINKED:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    return folder


def record(tree: Path, marks: str, workers: int) -> list[RecordedTest]:
    """Run the tests of a copy once without a fault and return those that passed, with what they call."""
    folder = tree / "calls"
    command = [*PYTEST, "-p", "tests.mutants.calls", "-n", str(workers), "--dist", "loadfile", "-m", marks, "tests"]
    environment = {**_environment(tree), "CALLS_OF_TESTS": str(folder)}
    subprocess.run(command, cwd=tree, env=environment, check=False, stdin=subprocess.DEVNULL)
    return read_recorded(folder)


def read_recorded(folder: Path) -> list[RecordedTest]:
    """Return the tests of earlier runs; of a test that was run again, what it called last."""
    found = {}
    for file in sorted(folder.glob("*.jsonl"), key=lambda file: file.stat().st_mtime):
        for line in file.read_text(encoding="utf-8").splitlines():
            read = json.loads(line)
            found[read["test"]] = RecordedTest(read["test"], read["seconds"], frozenset(read["functions"]))
    return list(found.values())


class TestsOfAChange:
    """Which tests to run for a change, those most likely to notice it first."""

    __test__ = False

    def __init__(
        self, recorded: Iterable[RecordedTest], most_seconds: float, importers: Mapping[str, Set[str]] | None = None
    ) -> None:
        """Create the choice.

        Args:
            recorded: all tests.
            most_seconds: of the tests of one change together; at least one runs.
            importers: module -> the files of tests that import it.
        """
        self._importers = importers or {}
        self._recorded = sorted(recorded, key=lambda each: (each.seconds, each.test))
        self._most_seconds = most_seconds
        self._callers: dict[str, list[RecordedTest]] = {}
        for test in self._recorded:
            for function in test.functions:
                self._callers.setdefault(function, []).append(test)
                file, _, _ = function.partition(" ")
                callers_of_file = self._callers.setdefault(file, [])
                if not callers_of_file or callers_of_file[-1] is not test:
                    callers_of_file.append(test)

    def of(self, change: Change) -> list[RecordedTest]:
        """Return tests that call a change's function; outside of functions, tests that import the module or call it."""
        called = f"{change.file} {change.function}" if change.function else change.file
        candidates = self._callers.get(called, [])
        mirror = _mirror(change.file)
        nearest = sorted(candidates, key=lambda test: -_shared_folders(test.test, mirror))
        if not change.function:
            importers = self._importers.get(change.file, frozenset())
            importing = [test for test in self._recorded if test.test.split("::")[0] in importers]
            nearest = list(dict.fromkeys([*importing, *nearest]))
        chosen: list[RecordedTest] = []
        seconds = 0.0
        for test in nearest:
            if not chosen or seconds + test.seconds <= self._most_seconds:
                chosen.append(test)
                seconds += test.seconds
        return chosen


def importers_in(tree: Path) -> dict[str, set[str]]:
    """Return, for each module of ours, the files of tests that import it."""
    found: dict[str, set[str]] = {}
    for file in sorted((tree / "tests").rglob("test_*.py")):
        for name in IMPORT.findall(file.read_text(encoding="utf-8")):
            path = f"{name.replace('.', '/')}.py"
            module = path if (tree / path).exists() else f"kcsim/{path}"
            found.setdefault(module, set()).add(str(file.relative_to(tree)))
    return found


def _mirror(file: str) -> list[str]:
    """Return the path of the tests of a module: tests/controller/test_context.py of controller/context.py."""
    path = Path(file.removeprefix("kcsim/"))
    return ["tests", *path.parent.parts, f"test_{path.name}"]


def _shared_folders(test: str, mirror: list[str]) -> int:
    parts = test.split("::")[0].split("/")
    return next((at for at, (one, other) in enumerate(zip(parts, mirror, strict=False)) if one != other), len(mirror))


@dataclass(frozen=True)
class Trial:
    """What became of one change, with the test that failed."""

    change: Change
    outcome: Outcome
    tests: int
    seconds: float
    killer: str = ""


class Workers:
    """Copies of the project, each with one change at a time."""

    def __init__(self, trees: Sequence[Path], tests: TestsOfAChange) -> None:
        self._trees: SimpleQueue[Path] = SimpleQueue()
        for tree in trees:
            self._trees.put(tree)
        self._count = len(trees)
        self._tests = tests
        self._fails_without: dict[str, bool] = {}
        self._running: set[subprocess.Popen[bytes]] = set()

    def outcomes(self, changes: Iterable[Change]) -> Iterator[Trial]:
        """Yield what becomes of each change, in their order."""
        pool = ThreadPoolExecutor(self._count)
        try:
            yield from pool.map(self._tried, changes)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(self._running):
                _end_group(process)
            pool.shutdown()

    def _tried(self, change: Change) -> Trial:
        tests = self._tests.of(change)
        if not tests:
            return Trial(change, Outcome.NOT_CALLED, 0, 0.0)
        tree = self._trees.get()
        began = time.monotonic()
        try:
            outcome, killer = self._outcome(tree, change, tests)
        finally:
            self._trees.put(tree)
        return Trial(change, outcome, len(tests), time.monotonic() - began, killer)

    def _outcome(self, tree: Path, change: Change, tests: list[RecordedTest]) -> tuple[Outcome, str]:
        file = tree / change.file
        text = file.read_text(encoding="utf-8")
        stat = file.stat()
        try:
            file.write_text(change.applied(text), encoding="utf-8")
            names = [test.test for test in tests]
            while names:
                status, failed = self._run(tree, names, seconds=15 + 3 * sum(test.seconds for test in tests))
                if status is None:
                    return Outcome.TIMED_OUT, ""
                if status == PASSED:
                    return Outcome.SURVIVED, ""
                if not failed or not self._fails_anyway(tree, file, failed, text, change):
                    return Outcome.KILLED, failed
                names = [name for name in names if name != failed]
            return Outcome.SURVIVED, ""
        finally:
            _restore(file, text, stat)

    def _fails_anyway(self, tree: Path, file: Path, test: str, text: str, change: Change) -> bool:
        """Return whether a test fails alone without the change too; the change is back in place afterwards."""
        if test not in self._fails_without:
            file.write_text(text, encoding="utf-8")
            status, _ = self._run(tree, [test], seconds=120)
            self._fails_without[test] = status != PASSED
            file.write_text(change.applied(text), encoding="utf-8")
        return self._fails_without[test]

    def _run(self, tree: Path, tests: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Run tests until one fails; return pytest's status, None when the time is over, and the test that failed."""
        listed = tree / "tests-to-run"
        listed.write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")
        process = subprocess.Popen(
            [*PYTEST, "-x", "-rfE", "-o", "addopts=--strict-markers", f"@{listed}"],
            cwd=tree,
            env=_environment(tree),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_limit_memory,
        )
        self._running.add(process)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            self._running.discard(process)
            _end_group(process)
        text = output.decode(errors="replace")
        if process.returncode not in (PASSED, FAILED, INTERRUPTED, USAGE_ERROR) and process.returncode > 0:
            raise RuntimeError(f"pytest could not run its tests (status {process.returncode}):\n{text[-2000:]}")
        failed = REPORTED_TEST.search(text)
        return process.returncode, failed[1].removeprefix(f"{tree}/") if failed else ""


def _restore(file: Path, text: str, stat: os.stat_result) -> None:
    """Put a file back with its old time: the bytecode compiled from it stays valid."""
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the tests and whatever they started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _environment(tree: Path) -> dict[str, str]:
    """Return the environment of tests that import the copy's modules.

    No bytecode is written: a changed file of the same second and length would be taken for the one compiled before.
    """
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
