"""The project answers every recorded example as Kafka does, and the comparing program detects every difference."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.vectors.__main__ import main
from tests.vectors.answers import NOT_COMPARED, answer, mismatches
from tests.vectors.cases import Answer, Case, Version, read_cases

FILES = sorted(Path(__file__).parent.glob("*.json"))
CASES = [case for path in FILES for case in read_cases(path)]
WRONG = ["no such answer"]


def written(directory: Path, *cases: Answer) -> str:
    """Write a vector file with these cases, and return it."""
    path = directory / "vectors.json"
    path.write_text(json.dumps({"cases": cases}))
    return str(path)


def relative_offset(expected: Answer | None = None) -> Answer:
    """Return a case whose answer is {"fits": true}."""
    case = {"name": "small", "input": {"op": "relative_offset", "base_offset": 5, "offset": 7}}
    return case if expected is None else case | {"expected": expected}


def with_one_value_wrong(case: Case) -> Iterator[Case]:
    for version, expected in case.expected.items():
        for key in expected.keys() - NOT_COMPARED:
            wrong = expected | {key: WRONG if isinstance(expected[key], list) else str(WRONG)}
            if isinstance(expected[key], dict):
                wrong = expected | {key: expected[key] | {"nobody": WRONG}}
            yield replace(case, expected={**case.expected, version: wrong})


def test_there_are_examples_of_every_kind() -> None:
    assert [path.stem for path in FILES] == [
        "assignment_errors",
        "consumer_assignors",
        "leader_election",
        "log_roll",
        "replica_assignment",
    ]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.source.stem}-{case.name}" for case in CASES])
def test_the_project_answers_as_kafka_does(case: Case) -> None:
    assert not [*mismatches(case)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_expected_value_is_looked_at(path: Path) -> None:
    """One wrong value anywhere is found: no case passes because it is not compared."""
    unseen = [case for whole in read_cases(path) for case in with_one_value_wrong(whole) if not [*mismatches(case)]]
    assert not unseen


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_answers_do_not_come_from_what_is_expected(path: Path) -> None:
    """Without any expectation the answer is the same; extras, which are only returned if expected, are missing."""
    for case in read_cases(path):
        blind = answer(replace(case, expected={}))
        answered = answer(case)
        assert blind == {key: answered.get(key, value) for key, value in blind.items()}
        assert blind.keys() & case.expected[Version.RECENT].keys() or "error" in blind


def test_the_program_counts_what_it_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(path) for path in FILES]) == 0
    assert capsys.readouterr().out == f"{len(CASES)} cases, 0 answered wrong\n"


def test_a_mismatch_is_printed_with_both_values_and_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, relative_offset({"fits": False}), relative_offset({"fits": True}))
    assert main([path]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{path}: small: fits: expected False, got True",
        "2 cases, 1 answered wrong",
    ]


def test_answers_are_lines_of_json_and_need_no_expectation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--answers", written(tmp_path, relative_offset())]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "small", "answer": {"fits": True}}


def test_a_wrong_expectation_does_not_change_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--answers", written(tmp_path, relative_offset({"fits": False}))]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == {"fits": True}


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"name": "a", "input": {"op": "guess"}, "expected": {}}, "unknown op 'guess'; there are elect, "),
        ({"name": "a", "input": {"op": "infer"}, "expected": {}}, "a: 'description' is missing"),
        ({"name": "a", "input": {"op": "index_capacity", "index_max_bytes": "8"}, "expected": {}}, "a: cannot be answered"),
        (
            {"name": "a", "input": {"op": "partition_transition", "from": "New"}, "expected": {}},
            "from 'New' is none of NewP",
        ),
        ({"name": "a", "input": {}, "expected": {}}, "case 0: 'op' is missing"),
        ({"input": {"op": "infer"}}, "case 0: 'name' is missing"),
        (relative_offset(), "small: nothing is expected"),
    ],
)
def test_a_case_that_cannot_be_understood_exits_64(
    case: Answer, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([written(tmp_path, case)]) == 64
    printed = capsys.readouterr()
    assert message in printed.err
    assert not printed.out


def test_an_unknown_op_is_found_before_anything_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, relative_offset(), {"name": "later", "input": {"op": "guess"}})
    assert main(["--answers", path]) == 64
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["not JSON", "[]", '{"cases": 3}', '{"cases": [7]}', '{"cases": [{"name": "a", "input": 3}]}']
)
def test_a_file_of_another_kind_exits_64(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    assert main([str(path)]) == 64
    assert capsys.readouterr().err.startswith(str(path))


@pytest.mark.parametrize("arguments", [[], ["--answers"], ["--wrong", "file.json"], ["there-is-no-such-file.json"]])
def test_wrong_arguments_exit_64(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 64
    assert capsys.readouterr().err


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.vectors", *map(str, FILES)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
