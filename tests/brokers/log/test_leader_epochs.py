"""Start offsets of leader epochs. Source: docs/kafka/requests.md 7.2; Kafka 2.8, LeaderEpochFileCache."""

import pytest

from kcsim.brokers.log.leader_epochs import UNDEFINED, EpochEndOffset, EpochEntry, LeaderEpochCache
from kcsim.vocabulary import LeaderEpoch

END = 50


def cache(*entries: tuple[int, int]) -> LeaderEpochCache:
    return LeaderEpochCache(tuple(EpochEntry(LeaderEpoch(epoch), offset) for epoch, offset in entries))


THREE = ((2, 10), (4, 20), (5, 30))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (5, (5, END)),  # the latest: up to the end of the log
        (4, (4, 30)),
        (3, (2, 20)),  # unknown: the largest below it
        (2, (2, 20)),
        (1, (1, 10)),  # below all: itself, and where the first begins
    ],
)
def test_an_epoch_ends_where_the_next_higher_one_begins(asked: int, answer: tuple[int, int]) -> None:
    assert cache(*THREE).end_offset_for(LeaderEpoch(asked), END) == answer


@pytest.mark.parametrize("asked", [6, -1])
def test_nothing_is_known_of_an_epoch_above_all_or_of_none(asked: int) -> None:
    assert cache(*THREE).end_offset_for(LeaderEpoch(asked), END) == UNDEFINED


def test_an_empty_cache_knows_nothing() -> None:
    assert cache().end_offset_for(LeaderEpoch(0), END) == UNDEFINED
    assert cache().latest_epoch is None


def test_an_epoch_is_noted_once() -> None:
    """Every batch names its epoch; only the first batch of an epoch adds an entry."""
    known = cache((1, 10))
    known.assign(LeaderEpoch(1), 15)
    assert known.entries == ((1, 10),)


def test_an_epoch_without_records_is_an_entry_too() -> None:
    """A leader adds its epoch before any record is written; the next leader's entry, at the same offset, replaces it."""
    known = cache((1, 10))
    known.assign(LeaderEpoch(2), 40)
    assert known.entries == ((1, 10), (2, 40))
    known.assign(LeaderEpoch(3), 40)
    assert known.entries == ((1, 10), (3, 40))


@pytest.mark.parametrize(
    ("epoch", "offset", "left"),
    [
        (4, 40, ((2, 10), (4, 40))),  # an epoch below the latest: impossible in a correct log
        (6, 25, ((2, 10), (4, 20), (6, 25))),  # one that begins before the latest did
        (5, 25, ((2, 10), (4, 20), (5, 25))),
        (1, 5, ((1, 5),)),
    ],
)
def test_entries_that_contradict_a_new_one_go(epoch: int, offset: int, left: tuple[tuple[int, int], ...]) -> None:
    known = cache(*THREE)
    known.assign(LeaderEpoch(epoch), offset)
    assert known.entries == left


@pytest.mark.parametrize(("offset", "left"), [(31, 3), (30, 2), (21, 2), (20, 1), (10, 0)])
def test_a_cut_removes_the_epochs_that_began_there_or_later(offset: int, left: int) -> None:
    known = cache(*THREE)
    known.truncate_from_end(offset)
    assert known.entries == THREE[:left]


@pytest.mark.parametrize(
    ("offset", "left"),
    [
        (5, THREE),
        (10, THREE),
        (15, ((2, 15), (4, 20), (5, 30))),
        (20, ((4, 20), (5, 30))),
        (45, ((5, 45),)),
    ],
)
def test_the_epoch_in_which_the_log_begins_begins_with_it(offset: int, left: tuple[tuple[int, int], ...]) -> None:
    known = cache(*THREE)
    known.truncate_from_start(offset)
    assert known.entries == left


def test_a_follower_that_was_elsewhere_learns_where_to_cut() -> None:
    """13.3: the leader, elected uncleanly, never saw epoch 1: it answers for 0; the follower's own 0 ends sooner."""
    leader, follower = cache((0, 0), (2, 12)), cache((0, 0), (1, 10))
    answer = leader.end_offset_for(LeaderEpoch(1), 14)
    assert answer == EpochEndOffset(LeaderEpoch(0), 12)
    assert follower.end_offset_for(answer.leader_epoch, 15) == EpochEndOffset(LeaderEpoch(0), 10)
