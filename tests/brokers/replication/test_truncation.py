"""The offset to which a follower truncates its log: the table of docs/kafka/requests.md 7.2, and 13.3."""

import pytest

from kcsim.brokers.log.leader_epochs import UNDEFINED, EpochEndOffset, EpochEntry, LeaderEpochCache
from kcsim.brokers.replication.truncation import Truncation, truncation_step
from kcsim.vocabulary import LeaderEpoch

LOG_END, HIGH_WATERMARK = 20, 8


def end(epoch: int, offset: int) -> EpochEndOffset:
    return EpochEndOffset(LeaderEpoch(epoch), offset)


@pytest.mark.parametrize(
    ("leaders", "own", "expected"),
    [
        pytest.param(UNDEFINED, end(3, 12), Truncation(8, True), id="the leader cannot tell: to the high watermark"),
        pytest.param(end(-1, 12), end(3, 15), Truncation(12, True), id="it names no epoch: to its offset"),
        pytest.param(end(-1, 25), end(3, 15), Truncation(20, True), id="which may be beyond the log"),
        pytest.param(end(3, 12), UNDEFINED, Truncation(12, True), id="the follower cannot tell: to the leader's offset"),
        pytest.param(end(3, 12), end(3, 15), Truncation(12, True), id="the same epoch, longer here: to the leader's end"),
        pytest.param(end(3, 15), end(3, 12), Truncation(12, True), id="the same epoch, shorter here: to its end here"),
        pytest.param(end(3, 30), end(3, 25), Truncation(20, True), id="never beyond the log"),
        pytest.param(
            end(3, 12), end(2, 9), Truncation(9, False), id="an epoch never seen here: ask again about the one below"
        ),
        pytest.param(end(3, 12), end(2, 25), Truncation(20, False), id="even if that cuts nothing"),
    ],
)
def test_a_follower_cuts_where_the_common_history_ends(
    leaders: EpochEndOffset, own: EpochEndOffset, expected: Truncation
) -> None:
    assert truncation_step(leaders, own, LOG_END, HIGH_WATERMARK) == expected


def cache(*entries: tuple[int, int]) -> LeaderEpochCache:
    return LeaderEpochCache(tuple(EpochEntry(LeaderEpoch(epoch), offset) for epoch, offset in entries))


def test_after_an_unclean_election_the_returning_replica_cuts_below_its_high_watermark() -> None:
    """13.3: the leader's largest epoch not above 1 is 0, which ends at 12 there and at 10 here."""
    leader, follower = cache((0, 0), (2, 12)), cache((0, 0), (1, 10))
    answer = leader.end_offset_for(LeaderEpoch(1), 14)
    assert answer == end(0, 12)
    assert truncation_step(answer, follower.end_offset_for(answer.leader_epoch, 15), 15, 14) == Truncation(10, True)


def test_a_follower_that_was_merely_restarted_keeps_all_that_the_leader_has() -> None:
    """13.2: its high watermark is behind its log's end, and is not used."""
    both = cache((0, 0), (4, 10))
    answer = both.end_offset_for(LeaderEpoch(4), 30)
    assert truncation_step(answer, both.end_offset_for(answer.leader_epoch, 20), 20, 8) == Truncation(20, True)
