"""Observation of the machine's processes and of what they left, for tests that nothing is left behind."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 120.0


def until(look: Callable[[], T], holds: Callable[[T], bool], what: str, patience_s: float = PATIENCE_S) -> T:
    """Return the first observed value for which `holds` is true; fail with the last observed value if there is none."""
    end = time.monotonic() + patience_s
    while not holds(seen := look()):
        assert time.monotonic() < end, f"waited {patience_s:g} s for {what}; last seen: {seen}"
        time.sleep(0.01)
    return seen


def processes_about(word: str) -> list[str]:
    """Return the command lines that contain this word."""
    listing = subprocess.run(["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if word in line and "ps -axww" not in line]


def directories_of(pid: int) -> list[Path]:
    """Return the guarded directories of this process."""
    return sorted(Path(tempfile.gettempdir()).glob(f"kcsim-zookeeper-{pid}-*"))


def own_directories() -> list[Path]:
    return directories_of(os.getpid())


@contextmanager
def leaving_no_directory() -> Iterator[None]:
    """Check that the body leaves no directory of this process; directories that existed before are ignored."""
    before = own_directories()
    yield
    assert [directory for directory in own_directories() if directory not in before] == []


def assert_nothing_left(pid: int, patience_s: float = PATIENCE_S) -> None:
    """Check that, within patience_s, no directory of this process is left, and no process that works in one."""
    until(lambda: processes_about(f"kcsim-zookeeper-{pid}-"), lambda seen: seen == [], "the processes to go", patience_s)
    until(lambda: directories_of(pid), lambda seen: seen == [], "the directories to go", patience_s)


@contextmanager
def python_program(text: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a program in its own process group, as a shell does; its output is read line by line."""
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line_from(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()
