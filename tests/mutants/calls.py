"""A pytest plugin that writes down which functions of ours each test calls: `pytest -p tests.mutants.calls`.

Each process of the run appends to a file of its own in the folder named by CALLS_OF_TESTS, one JSON object per test that
passed: its node id, its seconds, and the functions as `path name`. What a shared fixture calls belongs to all tests of the
module.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

FOLDERS = tuple(f"{folder}/" for folder in ("kcsim", "zk", "controller", "brokers", "scenarios"))


class _Calls:
    def __init__(self, root: Path) -> None:
        self._root = f"{root}/"
        self._names: dict[int, str | None] = {}
        # By identity: equal code at the same line of two files is equal, whatever the files are.
        self._codes: dict[int, CodeType] = {}
        self._seen: set[int] = set()

    def start(self) -> None:
        threading.settrace(self._called)
        sys.settrace(self._called)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        """Note the function that begins; no line of it is traced."""
        code = frame.f_code
        self._codes[id(code)] = code
        self._seen.add(id(code))

    def taken(self) -> set[str]:
        """Return the names of the functions called since the last time."""
        seen, self._seen = self._seen, set()
        return {name for key in seen if (name := self._name(key)) is not None}

    def _name(self, key: int) -> str | None:
        if key not in self._names:
            self._names[key] = self._named(self._codes[key])
        return self._names[key]

    def _named(self, code: CodeType) -> str | None:
        path = code.co_filename.removeprefix(self._root)
        if not path.startswith(FOLDERS) or path == code.co_filename:
            return None
        path = path.removeprefix("kcsim/") if path.removeprefix("kcsim/").startswith(FOLDERS) else path
        return f"{path} {code.co_qualname.split('.<locals>')[0].split('.<')[0]}"


class CallsOfTests:
    """Writes the functions that each test calls."""

    def __init__(self, root: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8")
        self._calls = _Calls(root)
        self._shared: dict[str, set[str]] = {}
        self._called: set[str] = set()
        self._seconds = 0.0
        self._module = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[None]:
        if fixturedef.scope != "function":
            self._called |= self._calls.taken()
        result = yield
        if fixturedef.scope != "function":
            self._shared.setdefault(self._module, set()).update(self._calls.taken())
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._module = item.nodeid.split("::")[0]
        self._calls.taken()
        self._called, self._seconds, self._passed = set(), 0.0, True
        self._calls.start()  # for each test: one that has a debugger or a profiler of its own takes this one away
        result = yield
        if self._passed:
            called = self._called | self._calls.taken() | self._shared.get(self._module, set())
            found = {"test": item.nodeid, "seconds": round(self._seconds, 3), "functions": sorted(called)}
            self._file.write(json.dumps(found) + "\n")
            self._file.flush()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds += report.duration
        if report.when == "call":
            self._passed = self._passed and report.passed
        else:
            self._passed = self._passed and not report.failed and not report.skipped


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None) in (None, 0) or hasattr(config, "workerinput"):
        config.pluginmanager.register(CallsOfTests(config.rootpath, Path(os.environ["CALLS_OF_TESTS"])))
