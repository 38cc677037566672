"""What must hold after any random faults: they are drawn while a producer writes, then follow recovery and the count.

The nightly run tries the first 500 seeds, the other targets some of them. The seed is the test's number.
"""

import json

import pytest

from tests.brokers.cluster.random_timetables import CARELESS, Played, play_random
from tests.tiers import tiered

SEEDS = range(500)
_played: dict[int, Played] = {}


def played(seed: int) -> Played:
    """Return the result of a timetable, which is played once for all tests of it."""
    if seed not in _played:
        _played.clear()
        _played[seed] = play_random(seed)
    return _played[seed]


@pytest.mark.parametrize("seed", tiered(SEEDS, fast=len(SEEDS), slow=50))
def test_after_peace_all_is_whole_and_nothing_that_was_acknowledged_is_lost(seed: int) -> None:
    """acks=all, min.insync.replicas 2, no unclean election: then an acknowledgement is a guarantee.

    Source: docs/kafka/requests.md 9-5.
    """
    run = played(seed)
    assert list(map(str, run.violations)) == []
    counts = [json.loads(event.data or "{}") for event in run.ledger]
    assert len(counts) == 3
    assert [(c["lost"], c["duplicated"], c["divergent"], c["given_up"]) for c in counts] == [(0, 0, 0, 0)] * 3
    assert sum(c["acknowledged"] for c in counts) > 0


@pytest.mark.slow
def test_the_count_finds_what_is_lost_where_less_was_promised() -> None:
    """With the same faults and acks=1, some records are lost, and the ledger counts them."""
    lost = {seed: sum(json.loads(e.data or "{}")["lost"] for e in play_random(seed, CARELESS).ledger) for seed in range(8)}
    assert max(lost.values()) > 0, lost
