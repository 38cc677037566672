"""Three consumers share six partitions and one crashes, under each assignor.

Source: docs/kafka/consumer_groups.md 6, 7, 11.
"""

from itertools import pairwise

import pytest

from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.eventlog.consumption import ConsumptionGap
from kcsim.eventlog.events import EventKind
from tests.brokers.cluster.consuming import GROUP, Consuming, consumer, play

SESSION_MS, HEARTBEAT_MS = 10_000, 3_000
ALL = [f"orders-{n}" for n in range(6)]


def crash(strategy: AssignmentStrategy) -> tuple[Consuming, int]:
    """Crash c1 of c1, c2, c3 in the middle of a heartbeat interval; return the finished run, and the time of the crash."""
    runs: list[tuple[Consuming, int]] = []

    async def script(run: Consuming) -> None:
        run.cluster.consumers.declare([consumer(name, strategies=(strategy,)) for name in ("c1", "c2", "c3")])
        await run.cluster.consumers.start(["c1", "c2", "c3"])
        await run.until_stable(1, "c1", "c2", "c3")
        await run.cluster.runtime.sleep_ms(1_500)
        crashed_ms = run.cluster.runtime.now_ms()
        await run.cluster.consumers.kill("c1")
        await run.until_stable(2, "c2", "c3")
        runs.append((run, crashed_ms))

    play(script)
    return runs[0]


@pytest.mark.parametrize("strategy", [*AssignmentStrategy])
def test_what_the_crashed_one_had_is_unconsumed_until_its_session_is_over_and_the_others_have_heard(
    strategy: AssignmentStrategy,
) -> None:
    run, crashed_ms = crash(strategy)
    (removed,) = run.of_kind(EventKind.GROUP_MEMBER_REMOVED)
    assert "sent no heartbeat" in (removed.rule or "")
    assert SESSION_MS - HEARTBEAT_MS <= removed.t_ms - crashed_ms <= SESSION_MS
    (gap,) = run.group.gaps["orders-0"]
    assert gap.began_ms == crashed_ms
    assert removed.t_ms < (gap.ended_ms or 0) <= removed.t_ms + HEARTBEAT_MS + 100
    assert sorted(tp for owned in run.owned("c2", "c3") for tp in owned) == ALL


@pytest.mark.parametrize("strategy", [AssignmentStrategy.RANGE, AssignmentStrategy.ROUND_ROBIN, AssignmentStrategy.STICKY])
def test_eager_members_stand_still_from_the_revocation_to_the_sync(strategy: AssignmentStrategy) -> None:
    run, crashed_ms = crash(strategy)
    survivors = {"consumer-c2", "consumer-c3"}
    revoked = [e for e in run.of_kind(EventKind.PARTITIONS_REVOKED) if e.t_ms > crashed_ms]
    assert {e.node for e in revoked} == survivors
    for event in revoked:
        (got,) = [e for e in run.of_kind(EventKind.PARTITIONS_ASSIGNED) if e.node == event.node and e.generation == 2]
        assert all(
            run.group.gaps[tp][0] == ConsumptionGap(event.t_ms, run.group.gaps[tp][0].ended_ms)
            for tp in event.partitions or ()
        )
        assert got.t_ms > event.t_ms


def test_cooperative_members_consume_all_the_time_what_they_keep() -> None:
    run, _ = crash(AssignmentStrategy.COOPERATIVE_STICKY)
    assert run.of_kind(EventKind.PARTITIONS_REVOKED) == []
    crashed = {move.partition for move in run.group.moves}
    assert {tp for tp in ALL if run.group.gaps[tp]} == crashed == {"orders-0", "orders-3"}


@pytest.mark.parametrize(
    ("strategy", "moved"),
    [
        (AssignmentStrategy.RANGE, ["orders-0", "orders-1", "orders-3"]),
        (AssignmentStrategy.ROUND_ROBIN, ["orders-0", "orders-1", "orders-2", "orders-3"]),
        (AssignmentStrategy.STICKY, ["orders-0", "orders-3"]),
        (AssignmentStrategy.COOPERATIVE_STICKY, ["orders-0", "orders-3"]),
    ],
)
def test_what_moves_depends_on_the_assignor(strategy: AssignmentStrategy, moved: list[str]) -> None:
    """Sticky assignors move only the partitions of the crashed consumer."""
    run, _ = crash(strategy)
    assert sorted(move.partition for move in run.group.moves) == moved
    assert {event.rule for event in run.of_kind(EventKind.GROUP_ASSIGNMENT)} == {strategy.value}


def test_every_event_of_a_rebalance_follows_from_the_one_before() -> None:
    run, _ = crash(AssignmentStrategy.RANGE)
    chain = [
        EventKind.GROUP_MEMBER_REMOVED,
        EventKind.GROUP_REBALANCE,
        EventKind.GROUP_GENERATION,
        EventKind.GROUP_ASSIGNMENT,
        EventKind.GROUP_STABLE,
        EventKind.PARTITIONS_ASSIGNED,
    ]
    last_of = [run.of_kind(kind)[-1] for kind in chain]
    assert [after.cause for _, after in pairwise(last_of)] == [before.seq for before, _ in pairwise(last_of)]
    assert {event.group for event in last_of} == {GROUP}
