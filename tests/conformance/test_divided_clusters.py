"""Recordings are played on clusters whose controller is ours and whose brokers are Apache Kafka's, and the other way round.

Each side then works with the other's requests, and not with its own: what ours has understood wrongly on both sides shows.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.installation import find_kafka
from tests.conformance.replayed.accepted import TRACES, accepted, name_of, not_accepted
from tests.conformance.replayed.companions import companion_of, nodes_of, without_companions
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.divided_cluster import Software
from tests.conformance.replayed.play_divided import play_divided
from tests.conformance.replayed.recording import Recording, read_recording
from tests.requirements import require
from tests.tiers import chosen

PLAYED = sorted([*TRACES.glob("*.json"), *(TRACES / "protocol-2.8").glob("*.json"), *(TRACES / "recorded").glob("*.json")])
SLOW = ("kill-leader",)
NAMES = [*map(name_of, PLAYED)]


OF_EACH_CONTROLLER = [
    pytest.param(*parameter.values, controller, marks=parameter.marks)
    for controller in Software
    for parameter in chosen(NAMES, fast=(), slow=SLOW)
]


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.parametrize(("name", "controller"), OF_EACH_CONTROLLER)
def test_a_divided_cluster_does_what_kafka_did(name: str, controller: Software) -> None:
    require("java", "kafka")
    if (reason := accepted().reason_left_out(name, controller)) is not None:
        pytest.skip(reason)
    recording = read_recording(TRACES / f"{name}.json")
    played = play_divided(recording, find_kafka(None), controller)
    assert played.not_supported is None
    assert not_accepted(name, differences(recording, played), controller) == []


# --- companions ------------------------------------------------------------------------------------------------------------


def run_of(controller: int, *, sessions_closed: Sequence[str] = (), registered: int | None = None) -> Recording:
    """Return a run of one step in which a controller was elected."""
    held = json.dumps({"version": 1, "brokerid": controller, "timestamp": "17"})
    writes = [{"by": "controller", "op": "create", "path": "/controller", "data": held}]
    if registered is not None:
        writes.append({"by": f"broker-{registered}", "op": "register", "path": f"/brokers/ids/{registered}"})
    step = {"do": {"kill": 1}, "controller": controller, "writes": writes, "sessions_closed": [*sessions_closed]}
    return Recording.of(
        {"name": "made-up", "brokers": [1, 2], "steps": [step], "final": {"/controller": held}, "alive": [2]}
    )


def test_a_companion_is_controller_in_its_brokers_place() -> None:
    recording = run_of(2, sessions_closed=["broker-1"])
    played = run_of(companion_of(2), sessions_closed=nodes_of(1), registered=companion_of(2))
    assert [found.what for found in differences(recording, played)] == [
        "controller",
        "sessions_closed",
        "/controller",
        "/brokers/ids/902",
        "/controller",
    ]
    assert differences(recording, without_companions(played)) == []


def test_what_brokers_write_themselves_is_unchanged() -> None:
    recording = run_of(2, sessions_closed=["broker-1"], registered=2)
    assert without_companions(recording) == recording


def test_data_of_the_controller_znode_that_names_no_broker_is_unchanged() -> None:
    run = Recording.of({"name": "made-up", "brokers": [1], "steps": [{"do": {"kill": 1}}], "final": {"/controller": "junk"}})
    assert without_companions(run) == run


# --- accepted differences --------------------------------------------------------------------------------------------------


def test_accepted_differences_are_of_steps_that_exist() -> None:
    """An entry of a recording that was renamed, or has become shorter, would accept nothing."""
    for each in accepted().differences:
        steps = read_recording(TRACES / f"{each.recording}.json").steps
        assert each.step == "end" or 1 <= int(each.step) <= len(steps), each
    assert {left.recording for left in accepted().left_out} <= {*NAMES}


def test_recordings_are_named_by_their_place() -> None:
    assert name_of(TRACES / "protocol-2.8" / "kill-leader.json") == "protocol-2.8/kill-leader"
    assert name_of(Path("/elsewhere/kill-leader.json")) == "kill-leader"
