"""At which offset of a replica's log each leader epoch began.

By it a follower finds out how far its log is that of its leader: it asks where the leader's records of its own latest epoch
end, and cuts its log there.

Source: Kafka 2.8, LeaderEpochFileCache; reference requests.md 4.3, 7.2; KIP-101, KIP-279.
"""

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import NamedTuple

from kcsim.zk.vocabulary import LeaderEpoch

UNDEFINED_EPOCH = LeaderEpoch(-1)
UNDEFINED_EPOCH_OFFSET = -1


class EpochEntry(NamedTuple):
    """A leader epoch, and the offset of its first record; or of the log's end, if it has none."""

    leader_epoch: LeaderEpoch
    start_offset: int


class EpochEndOffset(NamedTuple):
    """The offset after the last record that a log has of an epoch; UNDEFINED_EPOCH and _OFFSET where it cannot tell."""

    leader_epoch: LeaderEpoch
    end_offset: int


UNDEFINED = EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET)

_leader_epoch = attrgetter("leader_epoch")
_start_offset = attrgetter("start_offset")


class LeaderEpochCache:
    """The leader epochs of one log. Epochs and start offsets both grow.

    Entries are a tuple, for there are few, they change seldom, and most logs of a large cluster have none or one.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: tuple[EpochEntry, ...] = ()) -> None:
        self._entries = entries

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return self._entries

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        """None while no leader is known to have written."""
        return self._entries[-1].leader_epoch if self._entries else None

    def assign(self, leader_epoch: LeaderEpoch, start_offset: int) -> None:
        """Note that an epoch begins. Nothing happens if it is the latest already; entries that contradict it go."""
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
        self._entries = (*self._entries[:kept], EpochEntry(leader_epoch, start_offset))

    def end_offset_for(self, leader_epoch: LeaderEpoch, log_end_offset: int) -> EpochEndOffset:
        """Say where the records end of the largest epoch known that is not above the one asked for.

        Asked for an epoch below all that are known, it answers with that epoch and where the first known one begins.
        Asked for one above all, or when none is known, it cannot tell.

        Source: reference requests.md 7.2 (2).
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
        """The log ends at `offset`: epochs that began there or later are as if they had never been."""
        self._entries = self._entries[: bisect_left(self._entries, offset, key=_start_offset)]

    def truncate_from_start(self, offset: int) -> None:
        """The log begins at `offset`: the epoch in which that lies begins there."""
        begun = bisect_right(self._entries, offset, key=_start_offset)
        if begun:
            first = EpochEntry(self._entries[begun - 1].leader_epoch, offset)
            self._entries = (first, *self._entries[begun:])

    def clear(self) -> None:
        self._entries = ()
