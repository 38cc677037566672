"""The offset to which a follower truncates its log so that it has no records that its leader does not have. Pure.

Truncating to the high watermark instead could lose acknowledged records, and leave logs that differ (KIP-101, KIP-279).
Source: Kafka 2.8, AbstractFetcherThread.getOffsetTruncationState; docs/kafka/requests.md 7.2, 13.2, 13.3.
"""

from typing import NamedTuple, Protocol

from kcsim.brokers.requests import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from kcsim.vocabulary import LeaderEpoch


class EpochAndOffset(Protocol):
    """The end of a leader epoch in a log; undefined if the log does not know it."""

    @property
    def leader_epoch(self) -> LeaderEpoch: ...
    @property
    def end_offset(self) -> int: ...


class Truncation(NamedTuple):
    """The truncation offset. If `is_done`, the remaining log agrees with the leader's; else the leader is queried again."""

    offset: int
    is_done: bool


def truncation_step(leaders: EpochAndOffset, own: EpochAndOffset, log_end_offset: int, high_watermark: int) -> Truncation:
    """Decide the truncation that follows from the leader's response.

    Args:
        leaders: the end, in the leader's log, of the follower's latest epoch, or of the largest smaller epoch that the
            leader knows.
        own: the end, in the follower's log, of the epoch in that response.
        high_watermark: the follower's, at which it began to follow.
    """
    if leaders.end_offset == UNDEFINED_OFFSET:
        return Truncation(min(high_watermark, log_end_offset), is_done=True)
    if leaders.leader_epoch == UNDEFINED_EPOCH or own.end_offset == UNDEFINED_OFFSET:
        return Truncation(min(leaders.end_offset, log_end_offset), is_done=True)
    if own.leader_epoch != leaders.leader_epoch:
        # The follower never had that epoch: records after the epoch below it cannot be the leader's. The next query is about
        # that epoch.
        return Truncation(min(own.end_offset, log_end_offset), is_done=False)
    return Truncation(min(own.end_offset, leaders.end_offset, log_end_offset), is_done=True)
