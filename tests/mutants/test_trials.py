"""Which tests are run for a fault, and what becomes of it."""

from pathlib import Path

import pytest

from tests.mutants.changes import Change, changes_of
from tests.mutants.trials import Outcome, RecordedTest, TestsOfAChange, Workers, importers_in

CODE = """
def larger(a, b):
    return a if a > b else b

def unused():
    return 1

LIMIT = [1][0]
"""
TESTS = """
from controller.tiny import larger

def test_larger():
    assert (larger(1, 2), larger(2, 1)) == (2, 2)

def test_that_fails_anyway():
    assert larger(1, 2) == 3
"""
LARGER = "controller/tiny.py larger"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {"controller/__init__.py": "", "controller/tiny.py": CODE, "tests/controller/test_tiny.py": TESTS}
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def recorded(name: str, seconds: float, *functions: str) -> RecordedTest:
    return RecordedTest(name, seconds, frozenset(functions))


def change(text: str) -> Change:
    return next(each for each in changes_of("controller/tiny.py", CODE) if text in each.name)


def test_each_fault_is_tried_and_the_file_is_as_before_afterwards(tree: Path) -> None:
    tests = TestsOfAChange(
        [
            recorded("tests/controller/test_tiny.py::test_that_fails_anyway", 0, LARGER),
            recorded("tests/controller/test_tiny.py::test_larger", 0, LARGER),
        ],
        most_seconds=10,
    )
    file = tree / "controller" / "tiny.py"
    before = file.stat().st_mtime_ns
    trials = list(Workers([tree], tests).outcomes(changes_of("controller/tiny.py", CODE)))
    assert [(trial.change.after, trial.outcome) for trial in trials] == [
        ("return None", Outcome.KILLED),
        ("return a if a >= b else b", Outcome.SURVIVED),
        ("return None", Outcome.NOT_CALLED),
        ("return 2", Outcome.NOT_CALLED),
        ("LIMIT = [2][0]", Outcome.SURVIVED),
        ("LIMIT = [1][1]", Outcome.KILLED),
    ]
    assert trials[0].killer == "tests/controller/test_tiny.py::test_larger"
    assert (file.read_text(encoding="utf-8"), file.stat().st_mtime_ns) == (CODE, before)


def test_the_nearest_tests_come_first_then_the_fastest() -> None:
    tests = TestsOfAChange(
        [
            recorded("tests/zk/test_far.py::test", 0.1, LARGER),
            recorded("tests/controller/test_near.py::test", 3, LARGER),
            recorded("tests/controller/test_tiny.py::test_slow", 2, LARGER),
            recorded("tests/controller/test_tiny.py::test", 1, LARGER),
            recorded("tests/controller/test_tiny.py::test_of_something_else", 1, "controller/tiny.py other"),
        ],
        most_seconds=3.5,
    )
    names = [test.test for test in tests.of(change("a > b"))]
    assert names == [
        "tests/controller/test_tiny.py::test",
        "tests/controller/test_tiny.py::test_slow",
        "tests/zk/test_far.py::test",
    ]


def test_a_fault_outside_of_functions_is_tried_with_tests_that_import_the_module_then_that_call_it(tree: Path) -> None:
    (tree / "tests" / "controller" / "test_limit.py").write_text(
        "from kcsim.controller.tiny import LIMIT\n", encoding="utf-8"
    )
    near = recorded("tests/controller/test_near.py::test", 1, LARGER)
    importing = recorded("tests/controller/test_limit.py::test", 2)
    tests = TestsOfAChange([near, importing], most_seconds=9, importers=importers_in(tree))
    assert tests.of(change("LIMIT")) == [importing, near]
    assert tests.of(change("a > b")) == [near]
