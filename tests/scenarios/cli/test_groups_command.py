"""kcsim groups assign, as a user sees it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kcsim.scenarios.cli.app import app

TWO = ["--topic", "t0=4", "--member", "C0=t0", "--member", "C1=t0"]
STATIC = "{topics: [t0, t1], instance: I1, rack: a, owned: [t0-0], generation: 3}"


def groups(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["groups", "assign", *arguments])


def steps_of(*arguments: str) -> list[dict[str, Any]]:
    result = groups(*arguments, "--output", "json")
    assert result.exit_code == 0, result.output
    steps: list[dict[str, Any]] = json.loads(result.stdout)["steps"]
    return steps


def rows(result: Result) -> list[list[str]]:
    """Return the cells of the table's rows; two cells of a row are two spaces or more apart."""
    lines = (line.strip() for line in result.stdout.splitlines())
    return [[cell.strip() for cell in line.replace("  (", " (").split("  ") if cell.strip()] for line in lines if line]


# --- answers ---------------------------------------------------------------------------------------------------------------


def test_range_is_the_default_as_it_is_kafkas() -> None:
    (step,) = steps_of(*TWO)
    assert step["change"] is None
    assert step["strategies"]["range"]["assignment"] == {"C0": ["t0-0", "t0-1"], "C1": ["t0-2", "t0-3"]}


def test_strategies_stand_side_by_side_and_what_is_new_has_a_plus() -> None:
    result = groups(*TWO, "--strategy", "range,sticky", "--strategy", "cooperative-sticky", "--then", "join C2")
    assert result.exit_code == 0, result.output
    assert rows(result) == [
        ["at first"],
        ["Member", "range", "sticky", "cooperative-sticky"],
        [*rows(result)[2]],
        ["C0", "t0-0 t0-1 (2)", "t0-0 t0-2 (2)", "t0-0 t0-2 (2)"],
        ["C1", "t0-2 t0-3 (2)", "t0-1 t0-3 (2)", "t0-1 t0-3 (2)"],
        ["join C2"],
        ["Member", "range", "sticky", "cooperative-sticky"],
        [*rows(result)[7]],
        ["C0", "t0-0 t0-1 (2)", "t0-2 (1)", "t0-2 (1)"],
        ["C1", "t0-2 (1)", "t0-1 t0-3 (2)", "t0-1 t0-3 (2)"],
        ["C2", "+t0-3 (1)", "+t0-0 (1)", "+t0-0 (1)"],
        ["kept", "3", "3", "3"],
        ["moved", "1", "1", "1"],
        ["C1 → C2: t0-3", "C0 → C2: t0-0", "C0 → C2: t0-0"],
        ["paused", "4: t0-0 t0-1 t0-2 t0-3", "4: t0-0 t0-1 t0-2 t0-3", "1: t0-0"],
        ["rounds", "1", "1", "2"],
        ["round 1: 1 withheld"],
    ]


def test_each_change_is_a_rebalance_from_what_the_last_one_left() -> None:
    steps = steps_of(*TWO, "--strategy", "sticky", "--then", "leave C1", "--then", "partitions t0=5", "--then", "delete t0")
    left, grown, gone = (step["strategies"]["sticky"] for step in steps[1:])
    assert [step["change"] for step in steps] == [None, "leave C1", "partitions t0=5", "delete t0"]
    assert (left["moved"], left["kept"]) == (
        {"t0-1": {"from": "C1", "to": "C0"}, "t0-3": {"from": "C1", "to": "C0"}},
        2,
    )
    assert (grown["added"], grown["revoked"], grown["generation"]) == ({"C0": ["t0-4"]}, {}, 3)
    assert gone["assignment"] == {"C0": []}


def test_cooperative_rounds_show_what_is_withheld_and_from_which_member() -> None:
    _, joined = steps_of(*TWO, "--strategy", "cooperative-sticky", "--then", "join C2=t0")
    first, second = joined["strategies"]["cooperative-sticky"]["rounds"]
    assert (first["withheld"], first["paused"], first["sent"]["C2"]) == ({"t0-0": "C2"}, {"C0": ["t0-0"]}, [])
    assert (second["withheld"], second["paused"], second["sent"]["C2"]) == ({}, {}, ["t0-0"])


def test_a_pattern_follows_the_topics_there_are() -> None:
    steps = steps_of("--topic", "orders=1", "--member", "C0=/orders.*/", "--then", "partitions orders-eu=2")
    assert steps[1]["strategies"]["range"]["assignment"] == {"C0": ["orders-0", "orders-eu-0", "orders-eu-1"]}


def test_the_version_of_kafka_matters_to_sticky() -> None:
    owning = ["--topic", "t=4", "--member", "C0=t owned=t-0,t-1", "--member", "C1=t owned=t-2,t-3", "--member", "C2=t"]
    by = {kafka: steps_of(*owning, "--strategy", "sticky", "--kafka", kafka)[0] for kafka in ("2.8", "3")}
    assert by["2.8"]["strategies"]["sticky"]["assignment"] == {"C0": ["t-1"], "C1": ["t-2", "t-3"], "C2": ["t-0"]}
    assert by["3"]["strategies"]["sticky"]["assignment"] == {"C0": ["t-0", "t-1"], "C1": ["t-2"], "C2": ["t-3"]}


def test_long_lists_are_contracted() -> None:
    result = groups("--topic", "t=20", "--topic", "u=5", "--member", "C0=t,u")
    assert "t-0…19 u-0…4  (25)" in result.stdout


def test_a_topic_that_is_not_there_is_reported_and_ignored() -> None:
    result = groups("--topic", "orders=1", "--member", "C0=order")
    assert (result.exit_code, result.stderr) == (
        0,
        "C0 subscribes to order, which is not there: ignored until it is; did you mean orders?\n",
    )


# --- from a file -----------------------------------------------------------------------------------------------------------


def written(path: Path, text: str) -> str:
    file = path / "group.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_file_says_all_that_options_say_and_racks(tmp_path: Path) -> None:
    text = """
topics: {t0: 2, t1: 2}
members:
  C0: {topics: [t0], rack: a}
  C1: {topics: /t0/, rack: b}
partition-racks: {t0-0: b, t0-1: [a]}
then: [leave C0]
"""
    first, left = steps_of(written(tmp_path, text))
    assert first["strategies"]["range"]["assignment"] == {"C0": ["t0-1"], "C1": ["t0-0"]}
    assert first["strategies"]["range"]["rack_mismatches"] == 0
    assert left["strategies"]["range"]["rack_mismatches"] == 1


def test_options_add_to_a_file(tmp_path: Path) -> None:
    text = f"topics: {{t0: 2, t1: 1}}\nmembers: {{C9: {STATIC}}}\n"
    (first, left) = steps_of(written(tmp_path, text), "--topic", "t2=1", "--member", "C0=t0,t2", "--then", "leave C0")
    assert first["strategies"]["range"]["assignment"] == {"C0": ["t0-1", "t2-0"], "C9": ["t0-0", "t1-0"]}
    assert (first["strategies"]["range"]["kept"], first["strategies"]["range"]["generation"]) == (1, 4)
    assert left["change"] == "leave C0"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ":1: this is no group; it begins with topics: and members:"),
        ("topics: {t0: 1}\nmember: {C0: t0}", ":2: unknown key 'member'; did you mean members?"),
        ("topics: {t0: 1}\nmembers:\n  C0: t0\n  C0: t0", ":4: key 'C0' is there twice"),
        ("topics: [t0]", ":1: topics: ['t0'] is no mapping of names"),
        ("topics: {t0: many}", ":1: t0: 'many' is no number of partitions; write a topic as t0=3"),
        ("members:\n  C0:\n    topic: t0", ":2: C0: unknown key 'topic'; did you mean topics?"),
        ("members:\n  C0: {rack: a}", ":2: C0 has no subscription: topics: is missing"),
        ("members:\n  C0: 7", ":2: C0: 7 is no subscription; write [t0, t1] or /t.*/"),
        (
            "members:\n  C1: t0\n  C0: /(/",
            ":3: C0: '(' is no regular expression: missing ), unterminated subpattern at character 1",
        ),
        ("members:\n  C0: {topics: t0, owned: t0}", ":2: 't0' is no partition; write it as t0-3"),
        ("partition-racks: {t0: a}", ":1: 't0' is no partition; write it as t0-3"),
        ("then: leave", ":1: then: 'leave' is no list of changes"),
        (
            "topics: {t0: 1}\nmembers: {C0: t0}\nthen:\n  - leave C0\n  - lave C0",
            ":5: unknown change 'lave C0'; did you mean leave?",
        ),
        ("topics: {t0: 1}\nmembers: {C0: t0}\nthen: [7]", ":3: then: 7 is no change; write leave C1"),
        ("topics: {t0: 1", ":1: not YAML: while parsing a flow mapping"),
        ("[" * 700, ": not a group: lists within lists without end"),
    ],
)
def test_what_is_wrong_in_a_file_is_reported_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    file = written(tmp_path, text)
    result = groups(file)
    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr.startswith(file + problem)
    assert len(result.stderr.splitlines()) == 1


def test_all_problems_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    result = groups(written(tmp_path, "topics: {t0: 0}\nmembers: {C0: [], C1: [a b]}\nmore: 1"))
    lines = [line.rpartition("group.yaml:")[2].partition(":")[0] for line in result.stderr.splitlines()]
    assert lines == ["1", "2", "2", "3"]


# --- refused ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--strategy", "stiky"], "--strategy: unknown strategy 'stiky'; did you mean sticky?"),
        (["--strategy", "x"], "--strategy: unknown strategy 'x'; there are range, roundrobin, sticky, cooperative-sticky"),
        (["--kafka", "2.9"], "--kafka: unknown version '2.9'; there are 2.8 (2.8.2) and 3 (3.0 to 3.3)"),
        (
            ["--member", "C2=/t(/"],
            "--member: 't(' is no regular expression: missing ), unterminated subpattern at character 2",
        ),
        (["--member", "C1=t0"], "--member: member 'C1' is there twice"),
        (["--member", "C2"], "--member: 'C2' does not name a member and its topics; write a member as C1=t0,t1 or C1=/t.*/"),
        (["--member", " "], "--member: ' ' does not name a member and its topics; write a member as C1=t0,t1 or C1=/t.*/"),
        (["--member", "C2=t0 rak=a"], "--member: C2: unknown word 'rak'; did you mean rack?"),
        (["--member", "C2=t0 generation=x"], "--member: C2: 'x' is no generation; it is a number from 0, or -1 for none"),
        (["--topic", "t0"], "--topic: 't0' is no topic; write a topic as t0=3"),
        (["--topic", "t/0=1"], "--topic: 't/0' is no name of a topic; it may have letters, digits, dots, _ and -"),
        (["--topic", "t0=0"], "--topic: t0: '0' is no number of partitions; write a topic as t0=3"),
        (["--then", "crash C0"], "--then: unknown change 'crash C0'; there are leave, join, subscribe, partitions, delete"),
        (["--then", "leave"], "--then: 'leave' does not name a member"),
        (["--then", "leave C2"], "--then: leave C2: unknown member 'C2'; did you mean C1?"),
        (["--then", "join C1"], "--then: join C1: member 'C1' is there twice"),
        (
            ["--then", "subscribe C0=/(/"],
            "--then: subscribe C0=/(/: '(' is no regular expression: missing ), unterminated subpattern",
        ),
        (
            ["--then", "partitions t0=3"],
            "--then: partitions t0=3: t0 has 4 partitions and cannot have fewer: 3; delete the topic",
        ),
        (["--then", "delete t1"], "--then: delete t1: unknown topic 't1'; did you mean t0?"),
        (["--member", "C2=t1", "--then", "join C3"], "--then: C3: the others' subscriptions differ; write join C3=t0,t1"),
        (["--output", "xml"], "Usage: "),
    ],
)
def test_what_makes_no_sense_ends_with_64_and_nothing_printed(arguments: list[str], problem: str) -> None:
    result = groups(*TWO, *arguments)
    assert (result.exit_code, result.stdout) == (64, "")
    assert problem in result.stderr
    assert "Traceback" not in result.stderr


def test_a_group_needs_a_topic_and_a_member() -> None:
    assert groups().stderr == "there is no topic; give some with --topic t0=3, or in a file\n"
    assert groups("--topic", "t0=1").stderr == "there is no member; give some with --member C0=t0, or in a file\n"
    assert groups("/no/such/group.yaml").exit_code == 64
