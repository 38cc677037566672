"""The names of protections: in a scenario file, on the command line, and in the narration of a run."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner, Result

from kcsim.controller.protections import ALL_ON, PROTECTION_NAMES, PROTECTIONS
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_scenario
from kcsim.scenarios.views.narration.narrator import Narrator
from tests.scenarios.evaluated_log import EvaluatedLog
from tests.scenarios.language.json_schema import accepts, scenario_schema
from tests.scenarios.scenario_files import BASE, written

NAMES = (
    "controller-epoch-fence, broker-epoch, leader-epoch-truncation, expiry-clears-queue, isr-shrink-at-failover, alter-isr, "
    "topic-ids, allocated-producer-ids, refused-partitions-stay-online, every-failure-is-announced, replica-eligibility, "
    "isr-version-checks, rebalance-during-reassignments, min-isr-binds-high-watermark"
)


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def with_protections(directory: Path, protections: str) -> Path:
    return written(directory, BASE.replace("timetable:", f"protections: {protections}\ntimetable:", 1))


# --- in a file -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protections", "off"),
    [
        ("{}", []),
        ("{broker-epoch: off}", ["broker-epoch"]),
        ("{broker-epoch: on, expiry-clears-queue: off}", ["expiry-clears-queue"]),
        (f"{{{': off, '.join(PROTECTION_NAMES)}: off}}", list(PROTECTION_NAMES)),
    ],
)
def test_what_a_file_switches_off_is_off(tmp_path: Path, protections: str, off: list[str]) -> None:
    path = with_protections(tmp_path, protections)
    assert load_scenario(path).scenario.protections == ALL_ON.without(off)
    assert accepts(scenario_schema(), YAML(typ="safe").load(path.read_text()))


@pytest.mark.parametrize(
    ("protections", "message"),
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
def test_what_makes_no_sense_is_reported_with_its_line(tmp_path: Path, protections: str, message: str) -> None:
    path = with_protections(tmp_path, protections)
    with pytest.raises(ScenarioFileError) as refused:
        load_scenario(path)
    assert [str(problem) for problem in refused.value.problems] == [f"{path}:5: {message}"]
    assert not accepts(scenario_schema(), YAML(typ="safe").load(path.read_text()))


def test_a_key_that_is_wrong_is_reported_where_it_stands(tmp_path: Path) -> None:
    path = with_protections(tmp_path, "\n  broker-epoch: off\n  brokers-epoch: off")
    with pytest.raises(ScenarioFileError, match=r":7: unknown protection 'brokers-epoch'; did you mean broker-epoch\?"):
        load_scenario(path)


def test_the_schema_describes_what_each_is_good_for() -> None:
    described = scenario_schema()["properties"]["protections"]["properties"]
    assert {name: schema["description"] for name, schema in described.items()} == {
        p.name: f"{p.source}. On: {p.with_it} Off: {p.without_it}" for p in PROTECTIONS
    }


# --- on the command line ---------------------------------------------------------------------------------------------------


def test_a_run_without_a_protection_ends_with_1_and_names_what_is_violated() -> None:
    result = kcsim("run", "zombie-deletes-topic", "--zookeeper", "simulated", "--without", "controller-epoch-fence")
    assert result.exit_code == 1, result.output
    assert "scenario   goes without controller-epoch-fence. KAFKA-6082: Writes of a former controller" in result.stdout
    judged = [line for line in result.stdout.splitlines() if line.startswith("│ violated")]
    assert [line.split("│")[2].split()[:3] for line in judged] == [["Its", "write", "is"], ["The", "new", "topic"]]


def test_with_all_of_them_it_ends_with_0_and_does_not_mention_them() -> None:
    result = kcsim("run", "zombie-deletes-topic", "--zookeeper", "simulated")
    assert (result.exit_code, "goes without" in result.stdout) == (0, False)


def test_several_can_be_done_without_and_json_names_those_of_the_file_as_well(tmp_path: Path) -> None:
    path = with_protections(tmp_path, "{isr-shrink-at-failover: off}")
    without = ["--without", "leader-epoch-truncation", "--without", "broker-epoch"]
    result = kcsim("run", str(path), "--zookeeper", "simulated", "--output", "json", *without)
    switched_off = json.loads(result.stdout)["without"]
    assert switched_off == ["broker-epoch", "leader-epoch-truncation", "isr-shrink-at-failover"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("broker-epochs", "--without: unknown protection 'broker-epochs'; did you mean broker-epoch?"),
        ("zk", f"--without: unknown protection 'zk'; there are {NAMES}"),
    ],
)
def test_an_unknown_one_is_a_matter_of_usage(given: str, message: str) -> None:
    result = kcsim("run", "controller-race", "--zookeeper", "simulated", "--without", given)
    assert (result.exit_code, result.stderr, result.stdout) == (64, message + "\n", "")


def test_one_that_the_protocol_version_of_the_cluster_does_not_have_is_a_matter_of_usage() -> None:
    version = "inter.broker.protocol.version"
    run = ("run", "controller-race", "--zookeeper", "simulated", "--without", "alter-isr")
    message = f"alter-isr came with {version} 2.7, and this cluster has 2.6; raise it with --setting {version}=2.7"
    refused = kcsim(*run, "--setting", f"{version}=2.6")
    assert (refused.exit_code, refused.stderr, refused.stdout) == (64, f"--without: {message}\n", "")
    assert kcsim(*run, "--setting", f"{version}=2.7").exit_code == 0


def test_one_that_the_release_of_the_cluster_does_not_have_is_a_matter_of_usage() -> None:
    run = ("run", "follower-outlives-its-session", "--zookeeper", "simulated", "--without", "replica-eligibility")
    version = "inter.broker.protocol.version"
    message = f"replica-eligibility came with Kafka 3.3, and this cluster has 3.2; raise it with --setting {version}=3.3"
    refused = kcsim(*run, "--setting", f"{version}=3.2")
    assert (refused.exit_code, refused.stderr, refused.stdout) == (64, f"--without: {message}\n", "")


def test_the_help_names_them_all() -> None:
    unwrapped = "".join(kcsim("run", "--help").stdout.split())
    assert [name for name in PROTECTION_NAMES if name not in unwrapped] == []


# --- in the narration ------------------------------------------------------------------------------------------------------


def test_what_is_cut_off_unasked_is_not_described_as_unknown_to_the_leader() -> None:
    story = EvaluatedLog()
    for rule in ("high watermark", "leader epoch"):
        story.append("broker-3", EventKind.RECORDS_TRUNCATED, topic="orders", partition=0, leader=2, count=50, rule=rule)
    narrator = Narrator()
    assert [narrator.narrate(event) for event in story.events] == [
        "truncates 50 records of orders-0 behind its high watermark, without asking its leader, broker-2",
        "truncates 50 records of orders-0 that its leader, broker-2, does not have",
    ]
