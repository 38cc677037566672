"""Our cluster writes to ZooKeeper what Apache Kafka wrote, and its commands print what Kafka's printed.

Every recording is played on the model of ZooKeeper. A selection of very different ones is also played on a real server, and
in the nightly run all of them.
"""

from pathlib import Path

import pytest

from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.play import play
from tests.conformance.replayed.recording import read_recording
from tests.requirements import require
from tests.tiers import chosen, tiered

TRACES = Path(__file__).parent / "traces"
RECORDED = sorted(TRACES.rglob("*.json"))
LIVE = (
    "command-create",  # a command that asks a broker
    "delete-and-recreate",  # a topic's whole life
    "isr-shrinks-under-load",  # a follower that is frozen, and records
    "kill-controller",  # a session that expires by itself
    "reassign-many",  # moves that overtake each other
    "zombie-controller",  # a controller that was replaced while it was frozen
    "protocol-2.8/reassign-grow",  # ISRs that the controller writes for the leader
    "protocol-3.9/topic-recreated-while-a-broker-was-away",  # ids of topics in requests and logs
    "protocol-3.9/unclean-by-command",  # a leader from outside the ISR, whose state says so
)


def name(file: Path) -> str:
    return str(file.relative_to(TRACES).with_suffix(""))


def assert_played_as_kafka_played_it(file: Path, zookeeper: str) -> None:
    kafka = read_recording(file)
    ours = play(kafka, zookeeper)
    assert ours.not_supported is None
    assert [step.problem for step in ours.steps if step.problem] == []
    assert differences(kafka, ours) == []


@pytest.mark.parametrize("file", tiered(RECORDED, fast=3), ids=name)
def test_a_recorded_scenario_is_played_as_kafka_played_it(file: Path) -> None:
    assert_played_as_kafka_played_it(file, "simulated")


@pytest.mark.live
@pytest.mark.parametrize("recording", chosen([*map(name, RECORDED)], fast=LIVE[:1], slow=LIVE))
def test_on_a_real_zookeeper_too(recording: str) -> None:
    require("java")
    assert_played_as_kafka_played_it(TRACES / f"{recording}.json", "embedded")


def test_those_that_are_played_live_exist() -> None:
    assert {*LIVE} <= {*map(name, RECORDED)}
