"""Protections as people name them: in a scenario file, on the command line, and in what is told of a run."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner, Result

from kcsim.controller.protections import ALL_ON, PROTECTION_NAMES, PROTECTIONS
from kcsim.scenarios.cli import app
from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_scenario
from kcsim.scenarios.language.schema import json_schema
from kcsim.scenarios.telling.narrator import Narrator
from kcsim.zk.events import EventKind
from tests.scenarios.files import BASE, written
from tests.scenarios.json_schema import accepts
from tests.scenarios.made_up import Story

NAMES = "controller-epoch-fence, broker-epoch, leader-epoch-truncation, expiry-clears-queue, isr-shrink-at-failover"


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def with_protections(directory: Path, said: str) -> Path:
    return written(directory, BASE.replace("timetable:", f"protections: {said}\ntimetable:", 1))


# --- in a file -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "off"),
    [
        ("{}", []),
        ("{broker-epoch: off}", ["broker-epoch"]),
        ("{broker-epoch: on, expiry-clears-queue: off}", ["expiry-clears-queue"]),
        (f"{{{': off, '.join(PROTECTION_NAMES)}: off}}", list(PROTECTION_NAMES)),
    ],
)
def test_what_a_file_switches_off_is_off(tmp_path: Path, said: str, off: list[str]) -> None:
    path = with_protections(tmp_path, said)
    assert load_scenario(path).scenario.protections == ALL_ON.without(off)
    assert accepts(json_schema(), YAML(typ="safe").load(path.read_text()))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "{controller-epoch-fense: off}",
            "unknown protection 'controller-epoch-fense'; did you mean controller-epoch-fence?",
        ),
        ("{zk: off}", f"unknown protection 'zk'; there are {NAMES}"),
        ("{broker-epoch: false}", "broker-epoch: false is neither on nor off"),
        ("{broker-epoch: of}", "broker-epoch: 'of' is neither on nor off"),
        ("{broker-epoch: }", "broker-epoch: nothing is neither on nor off"),
        ("broker-epoch", "'broker-epoch' is no mapping of protections; write one as controller-epoch-fence: off"),
        ("", "protections has no value"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_line(tmp_path: Path, said: str, told: str) -> None:
    path = with_protections(tmp_path, said)
    with pytest.raises(ScenarioFileError) as refused:
        load_scenario(path)
    assert [str(problem) for problem in refused.value.problems] == [f"{path}:5: {told}"]
    assert not accepts(json_schema(), YAML(typ="safe").load(path.read_text()))


def test_a_key_that_is_wrong_is_told_where_it_stands(tmp_path: Path) -> None:
    path = with_protections(tmp_path, "\n  broker-epoch: off\n  brokers-epoch: off")
    with pytest.raises(ScenarioFileError, match=r":7: unknown protection 'brokers-epoch'; did you mean broker-epoch\?"):
        load_scenario(path)


def test_the_schema_tells_what_each_is_good_for() -> None:
    described = json_schema()["properties"]["protections"]["properties"]
    assert {name: told["description"] for name, told in described.items()} == {
        p.name: f"{p.source}. On: {p.with_it} Off: {p.without_it}" for p in PROTECTIONS
    }


# --- on the command line ---------------------------------------------------------------------------------------------------


def test_a_run_without_a_protection_ends_with_1_and_names_what_is_violated() -> None:
    result = kcsim("run", "zombie-deletes-topic", "--zookeeper", "simulated", "--without", "controller-epoch-fence")
    assert result.exit_code == 1, result.output
    assert "scenario   goes without controller-epoch-fence. KAFKA-6082: What a former controller still has" in result.stdout
    judged = [line for line in result.stdout.splitlines() if line.startswith("│ violated")]
    assert [line.split("│")[2].split()[:3] for line in judged] == [["Its", "write", "is"], ["The", "new", "topic"]]


def test_with_all_of_them_it_ends_with_0_and_nothing_is_said_of_them() -> None:
    result = kcsim("run", "zombie-deletes-topic", "--zookeeper", "simulated")
    assert (result.exit_code, "goes without" in result.stdout) == (0, False)


def test_several_can_be_done_without_and_json_names_those_of_the_file_as_well(tmp_path: Path) -> None:
    path = with_protections(tmp_path, "{isr-shrink-at-failover: off}")
    without = ["--without", "leader-epoch-truncation", "--without", "broker-epoch"]
    result = kcsim("run", str(path), "--zookeeper", "simulated", "--output", "json", *without)
    told = json.loads(result.stdout)["without"]
    assert told == ["broker-epoch", "leader-epoch-truncation", "isr-shrink-at-failover"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("broker-epochs", "--without: unknown protection 'broker-epochs'; did you mean broker-epoch?"),
        ("zk", f"--without: unknown protection 'zk'; there are {NAMES}"),
    ],
)
def test_an_unknown_one_is_a_matter_of_usage(given: str, told: str) -> None:
    result = kcsim("run", "controller-race", "--zookeeper", "simulated", "--without", given)
    assert (result.exit_code, result.stderr, result.stdout) == (64, told + "\n", "")


def test_the_help_names_them_all() -> None:
    unwrapped = "".join(kcsim("run", "--help").stdout.split())
    assert [name for name in PROTECTION_NAMES if name not in unwrapped] == []


# --- in the story ----------------------------------------------------------------------------------------------------------


def test_what_is_cut_off_unasked_is_not_said_to_be_unknown_to_the_leader() -> None:
    story = Story()
    for rule in ("high watermark", "leader epoch"):
        story.tell("broker-3", EventKind.RECORDS_TRUNCATED, topic="orders", partition=0, leader=2, count=50, rule=rule)
    narrator = Narrator()
    assert [narrator.tell(event) for event in story.events] == [
        "cuts off 50 records of orders-0 behind its high watermark, without asking its leader, broker-2",
        "cuts off 50 records of orders-0 that its leader, broker-2, does not have",
    ]
