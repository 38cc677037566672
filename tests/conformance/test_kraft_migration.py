"""A migration to KRaft as recorded from Kafka 3.9.1, and the steps of the library's scenario that stand for it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from kcsim.scenarios.language.steps import ZkCreateStep, ZkRecreateStep, ZkSetStep
from kcsim.znodes import kraft_controller_in
from tests.conformance.recorded_migration import RUNS, Step, data_after, writes_in
from tests.scenarios.scenario_library import of_library

each_run = pytest.mark.parametrize("run", RUNS, ids=["first", "second"])
STARTS, KILLED = "the KRaft controller starts", "broker 2 is killed"
ALONE = ("the KRaft controller is killed", "broker 2 is killed, without a KRaft controller")
DELETED = "/controller is deleted by hand"


def of(writes: Sequence[dict[str, Any]], *paths: str) -> list[tuple[str, str, str]]:
    return [(write["by"], write["kind"], write["path"]) for write in writes if write["path"] in paths]


@each_run
def test_the_kraft_controller_takes_the_role_in_one_transaction(run: Sequence[Step]) -> None:
    taken = [write for write in writes_in(run, STARTS) if write["path"] in ("/controller", "/controller_epoch")]
    assert of(taken, "/controller", "/controller_epoch") == [
        ("KRaft", "set", "/controller_epoch"),
        ("KRaft", "delete", "/controller"),
        ("KRaft", "create", "/controller"),
    ]
    assert len({write["zxid"] for write in taken}) == 1
    assert not any(write.get("ephemeral") for write in taken)


@each_run
def test_no_broker_is_elected_while_the_kraft_controller_is_dead(run: Sequence[Step]) -> None:
    assert [write["path"] for step in ALONE for write in writes_in(run, step)] == ["/brokers/ids/2"]


@each_run
def test_a_broker_is_elected_when_controller_is_deleted_though_the_kraft_controller_lives(run: Sequence[Step]) -> None:
    writes = writes_in(run, DELETED)
    (_, (winner, *_), _) = found = of(writes, "/controller", "/controller_epoch")
    assert [kind for _, kind, _ in found] == ["delete", "create", "set"]
    assert winner.startswith("broker")
    assert ("KRaft", "set", "/migration") in of(writes, "/migration")


@each_run
def test_the_kraft_controller_is_known_from_when_it_takes_the_role_to_the_end(run: Sequence[Step]) -> None:
    found = []
    for step in run:
        znodes = [data_after(run, step["step"], path) for path in ("/controller", "/migration")]
        found.append(kraft_controller_in(*(None if data is None else data.encode() for data in znodes)))
    assert found == [None, *[3000] * (len(run) - 1)]


@each_run
def test_the_steps_of_the_scenario_write_what_the_kraft_controller_wrote(run: Sequence[Step]) -> None:
    steps = of_library("migration-to-kraft").scenario.timetable
    (created,) = (step.zk_create for step in steps if isinstance(step, ZkCreateStep))
    (taken,) = (step.zk_recreate for step in steps if isinstance(step, ZkRecreateStep))
    epoch, claimed, state = (step.zk_set for step in steps if isinstance(step, ZkSetStep))
    wrote = writes_in(run, STARTS)
    first = {write["path"]: write["data"] for write in reversed(wrote) if "data" in write}
    assert json.loads(created.data or "") == json.loads(first["/migration"])
    assert epoch.data == first["/controller_epoch"]
    assert without_time(taken.data) == without_time(first["/controller"])
    assert not taken.ephemeral
    owned = json.loads([write for write in wrote if write["path"] == "/migration"][-1]["data"])
    assert {key: value for key, value in json.loads(claimed.data or "").items() if "epoch" in key or "id" in key} == {
        key: value for key, value in owned.items() if "epoch" in key or "id" in key
    } | {"kraft_metadata_epoch": 1}
    (elected, _) = (write for write in writes_in(run, KILLED) if write["path"].endswith("/state"))
    assert list(json.loads(state.data or "")) == list(json.loads(elected["data"]))
    assert json.loads(state.data or "")["controller_epoch"] == json.loads(elected["data"])["controller_epoch"]


def without_time(data: str | None) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(data or "")
    return {key: value for key, value in content.items() if key != "timestamp"}


@pytest.mark.parametrize(
    ("controller", "migration", "expected"),
    [
        (b'{"version":2,"brokerid":0,"kraftControllerEpoch":0}', None, 0),
        (b'{"version":2,"brokerid":1,"kraftControllerEpoch":-1}', None, None),
        (b'{"version":1,"brokerid":1}', None, None),
        (b"no json", b'{"kraft_controller_id":0,"kraft_controller_epoch":1}', 0),
        (None, b'{"kraft_controller_id":-1,"kraft_controller_epoch":-1}', None),
        (None, b"[]", None),
        (None, b"", None),
    ],
)
def test_a_kraft_controller_is_one_with_an_epoch(
    controller: bytes | None, migration: bytes | None, expected: int | None
) -> None:
    assert kraft_controller_in(controller, migration) == expected
