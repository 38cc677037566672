"""The start offset of each leader epoch in a replica's log.

A follower uses it to find out how far its log agrees with its leader's: it queries the end of its own latest epoch in the
leader's log, and truncates its log there.

Source: Kafka 2.8, LeaderEpochFileCache; docs/kafka/requests.md 4.3, 7.2; KIP-101, KIP-279.
"""

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import NamedTuple

from kcsim.vocabulary import LeaderEpoch

UNDEFINED_EPOCH = LeaderEpoch(-1)
UNDEFINED_EPOCH_OFFSET = -1


class EpochEntry(NamedTuple):
    """A leader epoch and the offset of its first record, or the log end offset if the epoch has no record."""

    leader_epoch: LeaderEpoch
    start_offset: int


class EpochEndOffset(NamedTuple):
    """The offset after an epoch's last record in a log.

    UNDEFINED_EPOCH and UNDEFINED_EPOCH_OFFSET if the log does not know the epoch.
    """

    leader_epoch: LeaderEpoch
    end_offset: int


UNDEFINED = EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)

_leader_epoch = attrgetter("leader_epoch")
_start_offset = attrgetter("start_offset")


class LeaderEpochCache:
    """The leader epochs of one log. Epochs and start offsets both increase.

    Entries are a tuple: they are few and change rarely, and most logs of a large cluster have none or one.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: tuple[EpochEntry, ...] = ()) -> None:
        self._entries = entries

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return self._entries

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """The latest leader epoch; None if the log has no leader epoch."""
        return self._entries[-1].leader_epoch if self._entries else None

    def assign(self, leader_epoch: LeaderEpoch, start_offset: int) -> None:
        """Record the start of an epoch. No effect if it is the latest already; contradicting entries are removed."""
        if (
            self._entries
            and self._entries[-1].leader_epoch == leader_epoch
            and self._entries[-1].start_offset <= start_offset
        ):
            return
        kept = min(
            bisect_left(self._entries, leader_epoch, key=_leader_epoch),
            bisect_left(self._entries, start_offset, key=_start_offset),
        )
        self._set((*self._entries[:kept], EpochEntry(leader_epoch, start_offset)))

    def end_offset_for(self, leader_epoch: LeaderEpoch, log_end_offset: int) -> EpochEndOffset:
        """Return the end offset of the largest known epoch up to the requested one.

        For an epoch below all known epochs, the result is that epoch and the start offset of the first known one. For an
        epoch above all known epochs, or when none is known, the result is undefined.

        Source: docs/kafka/requests.md 7.2 (2).
        """
        if leader_epoch == UNDEFINED_EPOCH:
            return UNDEFINED
        if leader_epoch == self.latest_epoch:
            return EpochEndOffset(leader_epoch, log_end_offset)
        above = bisect_right(self._entries, leader_epoch, key=_leader_epoch)
        if above == len(self._entries):
            return UNDEFINED
        floor = self._entries[above - 1].leader_epoch if above else leader_epoch
        return EpochEndOffset(floor, self._entries[above].start_offset)

    def truncate_from_end(self, offset: int) -> None:
        """Remove epochs that start at `offset` or later, after the log was truncated to `offset`."""
        self._set(self._entries[: bisect_left(self._entries, offset, key=_start_offset)])

    def truncate_from_start(self, offset: int) -> None:
        """Move the log's start to `offset`: the epoch that contains `offset` starts there, earlier epochs are removed."""
        begun = bisect_right(self._entries, offset, key=_start_offset)
        if begun:
            first = EpochEntry(self._entries[begun - 1].leader_epoch, offset)
            self._set((first, *self._entries[begun:]))

    def clear(self) -> None:
        self._set(())

    def _set(self, entries: tuple[EpochEntry, ...]) -> None:
        """Replace the entries: every change ends here."""
        self._entries = entries
