"""A leader's conclusions from its followers' offsets: the high watermark, and the out-of-sync followers. Pure.

Source: Kafka 2.8, Partition.maybeIncrementLeaderHW, getOutOfSyncReplicas; docs/kafka/requests.md 6.1, 6.3.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kcsim.vocabulary import BrokerId


class Position(Protocol):
    """A follower's position; times in ms of the run."""

    @property
    def log_end_offset(self) -> int: ...
    @property
    def last_caught_up_ms(self) -> int: ...


def next_high_watermark(
    current: int,
    log_end_offset: int,
    maximal_isr: Collection[BrokerId],
    followers: Mapping[BrokerId, Position],
    now_ms: int,
    max_lag_ms: int,
) -> int:
    """Return the leader's new high watermark: the least log end offset of the replicas that are, or lately were, in sync.

    The high watermark never decreases.

    Args:
        log_end_offset: the leader's own.
        maximal_isr: the ISR, and the replicas about to be added to it or removed.
        followers: if a follower that counts has an unknown log end offset (-1), the high watermark does not change.
        max_lag_ms: replica.lag.time.max.ms.
    """
    counted = (
        f.log_end_offset for b, f in followers.items() if b in maximal_isr or now_ms - f.last_caught_up_ms <= max_lag_ms
    )
    return max(current, min((log_end_offset, *counted)))


def is_anyone_behind(log_end_offset: int, isr: Collection[BrokerId], followers: Mapping[BrokerId, Position]) -> bool:
    """Return whether any member of the ISR is not at the leader's log end, so that it may become out of sync."""
    return any(f.log_end_offset != log_end_offset for b, f in followers.items() if b in isr)


def out_of_sync_followers(
    log_end_offset: int, isr: Sequence[BrokerId], followers: Mapping[BrokerId, Position], now_ms: int, max_lag_ms: int
) -> tuple[BrokerId, ...]:
    """Return the ISR members that have not been caught up for too long, in the order of the ISR.

    A follower at the leader's log end is in sync however long ago it fetched; so is one that is exactly max_lag_ms late.
    """
    return tuple(
        b
        for b in isr
        if (f := followers.get(b)) is not None
        and f.log_end_offset != log_end_offset
        and now_ms - f.last_caught_up_ms > max_lag_ms
    )
