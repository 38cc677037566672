"""How far a partition is committed, and who has fallen behind: what a leader concludes from where its followers stand. Pure.

Source: Kafka 2.8, Partition.maybeIncrementLeaderHW, getOutOfSyncReplicas; reference requests.md 6.1, 6.3.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kcsim.zk.vocabulary import BrokerId


class Position(Protocol):
    """Where a follower stands; times in ms of the run."""

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
    """Return the leader's high watermark as it is now: what all have that are in sync, or were lately. Never goes back.

    Args:
        log_end_offset: the leader's own.
        maximal_isr: the ISR, and whoever is about to be added to it or removed.
        followers: a log end offset of -1, unknown, of one that counts keeps the high watermark where it is.
        max_lag_ms: replica.lag.time.max.ms.
    """
    counted = (
        f.log_end_offset for b, f in followers.items() if b in maximal_isr or now_ms - f.last_caught_up_ms <= max_lag_ms
    )
    return max(current, min((log_end_offset, *counted)))


def is_anyone_behind(log_end_offset: int, isr: Collection[BrokerId], followers: Mapping[BrokerId, Position]) -> bool:
    """Whether any member of the ISR may come to be out of sync: is not where the leader's log ends."""
    return any(f.log_end_offset != log_end_offset for b, f in followers.items() if b in isr)


def out_of_sync_followers(
    log_end_offset: int, isr: Sequence[BrokerId], followers: Mapping[BrokerId, Position], now_ms: int, max_lag_ms: int
) -> tuple[BrokerId, ...]:
    """Return the members of the ISR that have not caught up for too long, in the order of the ISR.

    One at the leader's log end is in sync however long ago it fetched; so is one exactly max_lag_ms late.
    """
    return tuple(
        b
        for b in isr
        if (f := followers.get(b)) is not None
        and f.log_end_offset != log_end_offset
        and now_ms - f.last_caught_up_ms > max_lag_ms
    )
