"""Where a follower cuts its log to have nothing that its leader has not. Pure.

Cutting at the high watermark instead could lose acknowledged records, and leave logs that differ (KIP-101, KIP-279).
Source: Kafka 2.8, AbstractFetcherThread.getOffsetTruncationState; reference requests.md 7.2, 13.2, 13.3.
"""

from typing import NamedTuple, Protocol

from kcsim.brokers.requests import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from kcsim.zk.vocabulary import LeaderEpoch


class EpochAndOffset(Protocol):
    """Where an epoch ends in somebody's log; undefined if that log cannot tell."""

    @property
    def leader_epoch(self) -> LeaderEpoch: ...
    @property
    def end_offset(self) -> int: ...


class Truncation(NamedTuple):
    """Cut the log here; then it is that of the leader as far as it goes, or the leader is to be asked again."""

    offset: int
    is_done: bool


def truncation_step(leaders: EpochAndOffset, own: EpochAndOffset, log_end_offset: int, high_watermark: int) -> Truncation:
    """Decide what to do about the leader's answer.

    Args:
        leaders: where the leader's records end of the follower's latest epoch, or of the largest below it that it knows.
        own: what the follower's own log says about the epoch of that answer.
        high_watermark: the follower's, at which it began to follow.
    """
    if leaders.end_offset == UNDEFINED_OFFSET:
        return Truncation(min(high_watermark, log_end_offset), is_done=True)
    if leaders.leader_epoch == UNDEFINED_EPOCH or own.end_offset == UNDEFINED_OFFSET:
        return Truncation(min(leaders.end_offset, log_end_offset), is_done=True)
    if own.leader_epoch != leaders.leader_epoch:
        # It never saw that epoch: what comes after the one below it cannot be the leader's. That one is asked about next.
        return Truncation(min(own.end_offset, log_end_offset), is_done=False)
    return Truncation(min(own.end_offset, leaders.end_offset, log_end_offset), is_done=True)
