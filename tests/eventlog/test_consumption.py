"""Intervals of consumption and of missing consumption, read from the event log."""

from collections.abc import Sequence

from kcsim.eventlog.consumption import Consumption, ConsumptionGap, OwnershipChange, consumption
from kcsim.eventlog.events import Event, EventKind

C1, C2 = "consumer-c1", "consumer-c2"
BILLING = "billing"
EventRow = tuple[int, str, EventKind, Sequence[str] | str]


def folded(*rows: EventRow, generation: int = 1) -> Consumption:
    """Return the consumption of (time, node, kind, partitions or state)."""
    return consumption(
        Event(
            seq=seq,
            t_ms=t_ms,
            node=node,
            kind=kind,
            group=None if kind is EventKind.PROCESS_STATE else BILLING,
            generation=generation + seq,
            state=value if isinstance(value, str) else None,
            partitions=None if isinstance(value, str) else value,
        )
        for seq, (t_ms, node, kind, value) in enumerate(rows)
    )


ASSIGNED, REVOKED, LOST = EventKind.PARTITIONS_ASSIGNED, EventKind.PARTITIONS_REVOKED, EventKind.PARTITIONS_LOST
PROCESS = EventKind.PROCESS_STATE


def test_from_a_crash_to_the_next_assignment_nobody_consumes() -> None:
    found = folded((0, C1, ASSIGNED, ["orders-0"]), (500, C1, PROCESS, "dead"), (11_000, C2, ASSIGNED, ["orders-0"])).groups[
        BILLING
    ]
    assert found.gaps == {"orders-0": [ConsumptionGap(500, 11_000)]}
    assert found.longest_gap_ms("orders-0", 20_000) == 10_500
    assert found.moves == [OwnershipChange(11_000, 3, "orders-0", C1, C2)]


def test_a_partition_that_comes_back_to_its_owner_has_not_moved() -> None:
    found = folded(
        (0, C1, ASSIGNED, ["orders-0"]), (100, C1, REVOKED, ["orders-0"]), (150, C1, ASSIGNED, ["orders-0"])
    ).groups[BILLING]
    assert found.moves == []
    assert found.gaps == {"orders-0": [ConsumptionGap(100, 150)]}


def test_a_partition_kept_through_a_rebalance_has_no_gap() -> None:
    found = folded((0, C1, ASSIGNED, ["orders-0"]), (900, C1, ASSIGNED, ["orders-1"]))
    assert found.owned == {C1: ("orders-0", "orders-1")}
    assert found.groups[BILLING].longest_gap_ms("orders-0", 1_000) == 0


def test_a_gap_that_has_not_ended_lasts_until_now() -> None:
    found = folded((0, C1, ASSIGNED, ["orders-0"]), (400, C1, PROCESS, "stopped"))
    assert found.groups[BILLING].longest_gap_ms("orders-0", 1_000) == 600
    assert found.owned == {C1: ()}


def test_a_frozen_consumer_consumes_nothing_until_it_goes_on() -> None:
    found = folded((0, C1, ASSIGNED, ["orders-0"]), (100, C1, PROCESS, "paused"), (300, C1, PROCESS, "running")).groups[
        BILLING
    ]
    assert found.gaps == {"orders-0": [ConsumptionGap(100, 300)]}


def test_a_frozen_consumers_partition_is_consumed_by_its_new_owner_meanwhile() -> None:
    """Until it resumes and learns that it was removed, both consumers believe that they own the partition."""
    found = folded(
        (0, C1, ASSIGNED, ["orders-0"]),
        (100, C1, PROCESS, "paused"),
        (300, C2, ASSIGNED, ["orders-0"]),
        (400, C1, PROCESS, "running"),
        (401, C1, LOST, ["orders-0"]),
    )
    assert found.groups[BILLING].gaps == {"orders-0": [ConsumptionGap(100, 300)]}
    assert found.owned == {C1: (), C2: ("orders-0",)}


def test_partitions_are_ordered_by_number_and_not_as_text() -> None:
    found = folded((0, C1, ASSIGNED, ["orders-10", "orders-2"]))
    assert found.owned[C1] == ("orders-2", "orders-10")
