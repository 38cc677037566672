"""Leader and ISR after a replica goes offline. Source: docs/kafka/state_machines.md 3.4 and 8.2."""

import pytest

from kcsim.controller.decisions.isr_removal import without_replica
from kcsim.vocabulary import BrokerId, LeaderAndIsr, LeaderEpoch, ZkVersion


def state(leader: int | None, *isr: int, epoch: int = 4) -> LeaderAndIsr:
    return LeaderAndIsr(
        None if leader is None else BrokerId(leader), LeaderEpoch(epoch), tuple(map(BrokerId, isr)), ZkVersion(3)
    )


@pytest.mark.parametrize(
    ("replica", "before", "after"),
    [
        (1, state(1, 1, 2), state(None, 2, epoch=5)),
        (2, state(1, 1, 2), state(1, 1, epoch=5)),
        (1, state(1, 1), state(None, 1, epoch=5)),
        (1, state(None, 1), state(None, 1, epoch=5)),
        (3, state(1, 1, 2), None),
        (1, state(1, 2), None),
        (1, state(1, 1, 1, 2), state(None, 2, epoch=5)),
        (2, state(2, 2, 2), state(None, epoch=5)),
        (1, state(1, 1, 2, epoch=2147483647), state(None, 2, epoch=-2147483648)),
    ],
)
def test_the_reference_table_of_removals_holds(replica: int, before: LeaderAndIsr, after: LeaderAndIsr | None) -> None:
    """8.2, row by row; None where nothing is written."""
    assert without_replica(before, BrokerId(replica)) == after


def test_the_order_in_which_dead_brokers_are_taken_out_decides_who_must_return() -> None:
    """T14: [2,3,4] led by 2 loses 2, 3 and 4; the last one stays in the ISR, and each removal raises the epoch."""
    left: LeaderAndIsr | None = state(2, 2, 3, 4, epoch=0)
    for replica in (2, 3, 4):
        assert left is not None
        left = without_replica(left, BrokerId(replica))
    assert left == state(None, 4, epoch=3)
