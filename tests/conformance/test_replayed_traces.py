"""Our cluster writes to ZooKeeper what Apache Kafka 2.8.2 wrote, and its commands print what Kafka's printed.

Every recording is played on the model of ZooKeeper, and those that differ most in kind on a real server. All of them there
take a quarter of an hour: KCSIM_TRACES_LIVE=all asks for that.
"""

import os
from pathlib import Path

import pytest

from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.play import play
from tests.conformance.replayed.recording import read_recording
from tests.requirements import require

TRACES = Path(__file__).parent / "traces"
RECORDED = sorted(TRACES.rglob("*.json"))
LIVE = (
    "command-create",  # a command that asks a broker
    "delete-and-recreate",  # a topic's whole life
    "isr-shrinks-under-load",  # a follower that stands still, and records
    "kill-controller",  # a session that ends by itself
    "reassign-many",  # moves that overtake each other
    "zombie-controller",  # a controller that was replaced while it stood still
)
PLAYED_LIVE = [file for file in RECORDED if os.environ.get("KCSIM_TRACES_LIVE") == "all" or file.stem in LIVE]


def name(file: Path) -> str:
    return file.stem


def assert_played_as_kafka_played_it(file: Path, zookeeper: str) -> None:
    kafka = read_recording(file)
    ours = play(kafka, zookeeper)
    assert differences(kafka, ours) == []
    assert ours.not_supported is None


@pytest.mark.parametrize("file", RECORDED, ids=name)
def test_a_recorded_scenario_is_played_as_kafka_played_it(file: Path) -> None:
    assert_played_as_kafka_played_it(file, "simulated")


@pytest.mark.live
@pytest.mark.parametrize("file", PLAYED_LIVE, ids=name)
def test_on_a_real_zookeeper_too(file: Path) -> None:
    require("java")
    assert_played_as_kafka_played_it(file, "embedded")


def test_those_that_are_played_live_exist() -> None:
    assert {*LIVE} <= {*map(name, RECORDED)}
