"""The artefacts of a failed test: files in a directory of its own, and the lines about them in the test's report."""

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

LONGEST_NAME = 100
IGNORE_ALL = "# Made by kcsim's pytest plugin.\n*\n"
REPORTED_LINES = 25
"""At most this many of the last lines of a timeline are quoted in the report of a test."""

TIMELINE, TRACE, ZOOKEEPER_LOG = "timeline.txt", "trace.jsonl", "zookeeper-log.txt"

Write = Callable[[Path], None]
"""A function that writes files into a directory."""


class Artefacts:
    """The artefacts that one test can leave behind. Fixtures offer writing functions; `collect` calls them.

    Attributes:
        directory: does not exist unless something was collected.
        notes: commands that run the test again, for the report and for repro.txt.
        keeps_data: whether the data directories of servers are kept as well.
        test_has_failed: whether the test has failed, or ended early in another way.
    """

    def __init__(self, root: Path, test: str, keeps_data: bool = False) -> None:
        """Prepare for a test: remove what an earlier run of the same test left."""
        self.keeps_data = keeps_data
        self.directory = root / directory_name(test)
        self.notes: list[str] = []
        self.test_has_failed = False
        self._root = root
        self._offers: list[Write] = []
        self._is_collected = False
        if self.directory.is_dir():
            shutil.rmtree(self.directory)

    def offer(self, write: Write) -> None:
        """Register a function that writes some of the artefacts; `collect` calls it."""
        self._offers.append(write)

    def collect(self) -> list[str]:
        """Write all offered artefacts, once, and return the lines for the report; an empty list if there is nothing."""
        if self._is_collected or not self._offers:
            return []
        self._is_collected = True
        self.directory.mkdir(parents=True, exist_ok=True)
        if not (ignored := self._root / ".gitignore").exists():
            ignored.write_text(IGNORE_ALL)
        problems = [problem for write in self._offers if (problem := self._written(write)) is not None]
        if self.notes:
            (self.directory / "repro.txt").write_text("".join(f"{note}\n" for note in self.notes))
        names = sorted(str(path.relative_to(self.directory)) for path in self.directory.rglob("*") if path.is_file())
        lines = [f"artefacts: {shown(self.directory)}", *(f"  {name}" for name in names), *problems]
        return [*lines, *(f"again: {note}" for note in self.notes), *self._end_of_timeline()]

    def _written(self, write: Write) -> str | None:
        try:
            write(self.directory)
        except Exception as error:  # any error: it must not take the place of the test's own failure
            return f"  (not all could be kept: {type(error).__name__}: {error})"
        return None

    def _end_of_timeline(self) -> list[str]:
        report_lines: list[str] = []
        for timeline in sorted(self.directory.glob("timeline*.txt")):
            if lines := timeline.read_text(encoding="utf-8").splitlines():
                which = f"the last {REPORTED_LINES} lines of" if len(lines) > REPORTED_LINES else "all of"
                report_lines += [f"{which} {timeline.name}:", *(f"  {line}" for line in lines[-REPORTED_LINES:])]
        return report_lines


def shown(path: Path) -> str:
    """Return a path as text: relative to the current directory if it is below that, else as it is."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def unused(directory: Path, name: str) -> Path:
    """Return the path of this name, or the first of name-2, name-3, … that does not exist.

    A test may have several clusters, each with its own timeline.
    """
    path, number = directory / name, 1
    while path.exists():
        number += 1
        path = (directory / name).with_stem(f"{Path(name).stem}-{number}")
    return path


def directory_name(test: str) -> str:
    """Return a directory name for a test: valid on every file system and different from that of every other test."""
    plain = re.sub(r"[^\w.\[\]]+", "-", test).strip("-")
    return f"{plain[:LONGEST_NAME]}-{hashlib.sha256(test.encode()).hexdigest()[:6]}"
