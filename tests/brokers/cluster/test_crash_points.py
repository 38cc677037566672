"""The controller fails before and after every single write that it makes to ZooKeeper; its successor completes the work.

The writes are those of a run without faults, not a list kept by hand. `make test` kills the controller at one of them in
each work, `make test-all` tries a third of them with every fault, the nightly run all. The invariants that must hold then
are in kcsim.brokers.invariants.
"""

from collections.abc import Sequence
from typing import Literal, assert_never, get_args

import pytest

from kcsim.brokers.invariants import NOT_PROMISED
from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.eventlog.events import EventKind
from kcsim.zk.kafka import fencing
from kcsim.znodes import paths
from kcsim.znodes.paths import PathKind
from tests.brokers.cluster.controller_work import REASSIGNMENT, TOPIC_CREATION, TOPIC_DELETION, WORKS
from tests.brokers.cluster.crash_points import (
    Blow,
    CrashPoint,
    Work,
    crash_points,
    play_live_with,
    play_undisturbed,
    play_with,
    unexpected,
)
from tests.brokers.cluster.environments import find
from tests.tiers import chosen

STRIDE = 3
"""Odd, so that points before and after a write alternate."""
FIRST = {blow: place % STRIDE for place, blow in enumerate(Blow)}
"""Different points for different faults, so that fewer points are left out altogether."""
Share = Literal["one", "a third", "the others"]


def share_of(points: Sequence[CrashPoint], share: Share, first: int) -> list[CrashPoint]:
    """Divide the crash points of a work among the targets that try them."""
    third = points[first::STRIDE]
    match share:
        case "one":
            return [third[len(third) // 2]]
        case "a third":
            return [point for place, point in enumerate(third) if place != len(third) // 2]
        case "the others":
            return [point for place, point in enumerate(points) if (place - first) % STRIDE]
        case _:
            assert_never(share)


@pytest.fixture(autouse=True)
def _one_write_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit transactions to one write, as in Kafka: a crash could not separate the writes of one transaction."""
    monkeypatch.setattr(fencing, "MAX_OPS", 1)


def test_the_works_write_whatever_an_active_controller_writes() -> None:
    """The works therefore cover all crash points. Source: docs/kafka/znodes.md 2, the column of creators and writers."""
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


@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_no_two_writes_are_one_crash_point(work: Work) -> None:
    log, _ = play_undisturbed(work)
    fenced = [e for e in find(log, EventKind.ZK_WRITE) if e.controller_epoch_zk_version is not None]
    assert {e.count for e in fenced} == {1}
    points = crash_points(work)
    assert len(points) == len(set(points)) >= 4


@pytest.mark.parametrize("share", chosen(get_args(Share), fast=["one"], slow=["a third"]))
@pytest.mark.parametrize("blow", chosen(Blow, fast=[Blow.KILLED]), ids=lambda blow: blow.name)
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_at_whichever_write_the_controller_fails_the_next_one_completes_the_work(
    work: Work, blow: Blow, share: Share
) -> None:
    """Invariants hold once the cluster is quiet; the work is done once all brokers are back; brokers and ZooKeeper agree."""
    for point in share_of(crash_points(work), share, FIRST[blow]):
        assert unexpected(work, point, play_with(work, point, blow)) == []


def test_a_successor_that_leaves_something_undone_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """This control shows that the test above can fail."""

    async def forget(self: ReassignmentHandlers, cause: int) -> None:
        pass

    monkeypatch.setattr(ReassignmentHandlers, "resume", forget)
    point = CrashPoint("broker-1", "/brokers/topics/orders", 1, "before")
    moving = "orders-0 has ReplicaAssignment(replicas=(1, 2, 3), adding_replicas=(), removing_replicas=()), not [3, 4]"
    left = "no-reassignment-is-left: /admin/reassign_partitions is left"
    assert play_with(REASSIGNMENT, point, Blow.KILLED) == [f"in the end: {moving}", f"in the end: {left}"]


def test_a_broker_that_was_away_while_its_replica_was_taken_goes_on_leading_it() -> None:
    """A bug of Kafka: replicas are stopped without waiting for the broker's acknowledgement.

    Source: docs/kafka/controller.md 12.3.
    """
    point = CrashPoint("broker-1", "/brokers/topics/orders", 1, "before")
    problems = play_with(REASSIGNMENT, point, Blow.EXPIRED, NOT_PROMISED)
    assert problems == [
        "once quiet: no-stray-leads: broker 1 leads orders-0 in epoch 0, though it is no replica of it",
        "in the end: no-stray-leads: broker 1 leads orders-0 in epoch 0, though it is no replica of it",
    ]


@pytest.mark.live
@pytest.mark.parametrize(
    ("work", "path", "nth", "moment", "blow"),
    [
        (TOPIC_CREATION, "/brokers/topics/orders/partitions/1", 1, "after", Blow.KILLED),
        pytest.param(REASSIGNMENT, "/brokers/topics/orders", 1, "after", Blow.KILLED, marks=pytest.mark.slow),
        pytest.param(REASSIGNMENT, "/admin/reassign_partitions", 1, "before", Blow.DEPOSED, marks=pytest.mark.slow),
        pytest.param(TOPIC_DELETION, "/config/topics/orders", 1, "before", Blow.EXPIRED, marks=pytest.mark.slow),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_on_a_real_zookeeper_too_the_next_controller_completes_the_work(
    work: Work, path: str, nth: int, moment: str, blow: Blow
) -> None:
    point = next(p for p in crash_points(work) if (p.path, p.nth, p.moment) == (path, nth, moment))
    play_live_with(work, point, blow)
