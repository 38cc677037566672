"""What must hold whatever happens: faults drawn at random while a producer writes, then peace, then the count.

A share of the seeds runs each time; KCSIM_TIMETABLES=N runs so many. The seed is the test's number.
"""

import json
import os

import pytest

from tests.scenarios.random_timetables import CARELESS, Played, play_random

SEEDS = int(os.environ.get("KCSIM_TIMETABLES", "10"))
_played: dict[int, Played] = {}


def played(seed: int) -> Played:
    """Each timetable is played once for all that is asked of it."""
    if seed not in _played:
        _played.clear()
        _played[seed] = play_random(seed)
    return _played[seed]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_after_peace_all_is_whole_and_nothing_that_was_acknowledged_is_lost(seed: int) -> None:
    """acks=all, min.insync.replicas 2, no unclean election: then an acknowledgement is a promise (requests.md 9-5)."""
    run = played(seed)
    assert list(map(str, run.violations)) == []
    counts = [json.loads(event.data or "{}") for event in run.ledger]
    assert len(counts) == 3
    assert [(c["lost"], c["duplicated"], c["divergent"], c["given_up"]) for c in counts] == [(0, 0, 0, 0)] * 3
    assert sum(c["acknowledged"] for c in counts) > 0


def test_the_count_finds_what_is_lost_where_less_was_promised() -> None:
    """The same faults, with acks=1: then somebody's records are gone, and the ledger says how many."""
    lost = {seed: sum(json.loads(e.data or "{}")["lost"] for e in play_random(seed, CARELESS).ledger) for seed in range(8)}
    assert max(lost.values()) > 0, lost
