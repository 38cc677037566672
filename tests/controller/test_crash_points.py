"""The controller is struck before and after every single write that it makes to ZooKeeper; the next one completes the work.

The writes are those of an undisturbed run, not a list kept by hand. An ordinary test run tries a share of them, each work
and each blow among them; KCSIM_CRASH_POINTS=all tries every one. What must hold then is in kcsim.scenarios.invariants.
"""

import os

import pytest

from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.scenarios.invariants import NOT_PROMISED
from kcsim.zk import fencing, paths
from kcsim.zk.events import EventKind
from kcsim.zk.paths import PathKind
from tests.controller.crash_points import (
    Blow,
    CrashPoint,
    Work,
    crash_points,
    play_live_with,
    play_undisturbed,
    play_with,
    unexpected,
)
from tests.controller.crash_works import (
    REASSIGNMENT,
    TOPIC_CREATION,
    TOPIC_DELETION,
    WORKS,
)
from tests.worlds import find

STRIDE = 1 if os.environ.get("KCSIM_CRASH_POINTS") == "all" else 3
"""Odd, so that points before and after a write take turns."""
FIRST = {blow: place % STRIDE for place, blow in enumerate(Blow)}
"""Different points for different blows, so that fewer are left out altogether."""


@pytest.fixture(autouse=True)
def _one_write_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Kafka does: what we put into one transaction could not be cut in two by a crash."""
    monkeypatch.setattr(fencing, "MAX_OPS", 1)


def test_the_works_write_whatever_an_active_controller_writes() -> None:
    """So the crash points are not fewer than they should be. Reference znodes.md: its column of who writes."""
    written = {paths.parse(point.path) for work in WORKS for point in crash_points(work)}
    assert {known.kind for known in written if known is not None} == {
        PathKind.CONTROLLER,
        PathKind.TOPIC,
        PathKind.TOPIC_PARTITIONS,
        PathKind.TOPIC_PARTITION,
        PathKind.TOPIC_PARTITION_STATE,
        PathKind.CONFIG_ENTITY,
        PathKind.DELETE_TOPIC,
        PathKind.REASSIGN_PARTITIONS,
        PathKind.PREFERRED_REPLICA_ELECTION,
        PathKind.ISR_CHANGE,
        PathKind.LOG_DIR_EVENT,
    }


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_no_two_writes_are_one_crash_point(work: Work) -> None:
    log, _ = play_undisturbed(work)
    fenced = [e for e in find(log, EventKind.ZK_WRITE) if e.controller_epoch_zk_version is not None]
    assert {e.count for e in fenced} == {1}
    points = crash_points(work)
    assert len(points) == len(set(points)) >= 4


@pytest.mark.parametrize("blow", Blow, ids=lambda blow: blow.name)
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_whatever_write_the_controller_is_struck_at_the_next_one_completes_the_work(work: Work, blow: Blow) -> None:
    """Invariants hold once all is quiet, and the work is done once all are back; brokers and ZooKeeper agree."""
    for point in crash_points(work)[FIRST[blow] :: STRIDE]:
        assert unexpected(work, point, play_with(work, point, blow)) == []


def test_a_successor_that_leaves_something_undone_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the silence of the test above means something."""

    async def forget(self: ReassignmentHandlers, cause: int) -> None:
        pass

    monkeypatch.setattr(ReassignmentHandlers, "resume", forget)
    point = CrashPoint("broker-1", "/brokers/topics/orders", 1, "before")
    moving = "orders-0 has ReplicaAssignment(replicas=(1, 2, 3), adding_replicas=(), removing_replicas=()), not [3, 4]"
    left = "no-reassignment-is-left: /admin/reassign_partitions is left"
    assert play_with(REASSIGNMENT, point, Blow.KILLED) == [f"in the end: {moving}", f"in the end: {left}"]


def test_a_broker_that_was_away_while_its_replica_was_taken_goes_on_leading_it() -> None:
    """A fault of Kafka's: replicas are stopped without waiting for the broker's word (controller.md 12.3)."""
    point = CrashPoint("broker-1", "/brokers/topics/orders", 1, "before")
    told = play_with(REASSIGNMENT, point, Blow.EXPIRED, NOT_PROMISED)
    assert told == [
        "once quiet: no-stray-leads: broker 1 leads orders-0 in epoch 0, though it is no replica of it",
        "in the end: no-stray-leads: broker 1 leads orders-0 in epoch 0, though it is no replica of it",
    ]


@pytest.mark.live
@pytest.mark.parametrize(
    ("work", "path", "nth", "moment", "blow"),
    [
        (TOPIC_CREATION, "/brokers/topics/orders/partitions/1", 1, "after", Blow.KILLED),
        (REASSIGNMENT, "/brokers/topics/orders", 1, "after", Blow.KILLED),
        (REASSIGNMENT, "/admin/reassign_partitions", 1, "before", Blow.DEPOSED),
        (TOPIC_DELETION, "/config/topics/orders", 1, "before", Blow.EXPIRED),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_on_a_real_zookeeper_too_the_next_controller_completes_the_work(
    work: Work, path: str, nth: int, moment: str, blow: Blow
) -> None:
    point = next(p for p in crash_points(work) if (p.path, p.nth, p.moment) == (path, nth, moment))
    play_live_with(work, point, blow)
