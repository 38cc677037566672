"""The znodes that a hardened controller does not use, because they cannot be read or hold what cannot be right.

Nothing is written to such a znode, and it is not deleted: it stays as evidence for the person who repairs it. What depends
on it is not served meanwhile. Its watch stays armed, so that it is used again as soon as its content is right.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import TypeVar

from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.vocabulary import TopicPartition
from kcsim.znodes import BadZnodeError, paths

T = TypeVar("T")


class Quarantine:
    """The quarantined znodes of one controller module.

    Args:
        is_on: whether znodes are quarantined at all; if not, nothing ever is.
    """

    def __init__(self, sink: EventSink, is_on: bool) -> None:
        self._sink = sink
        self.is_on = is_on
        self._reasons: dict[str, str] = {}
        self._unwatched: set[str] = set()

    def __contains__(self, path: str) -> bool:
        return path in self._reasons

    def has_state_of(self, tp: TopicPartition) -> bool:
        """Return whether the state znode of a partition is quarantined."""
        return bool(self._reasons) and paths.topic_partition_state(tp) in self._reasons

    def reading(self, unserved: str, cause: Cause) -> "QuarantiningRead | None":
        """Return what a read calls for each znode that it cannot read; None if nothing is quarantined: the read fails then.

        Args:
            unserved: what is not done because of such a znode, as a clause.
        """
        return QuarantiningRead(self, unserved, cause) if self.is_on else None

    async def read_one(
        self, path: str, unserved: str, read: Callable[["QuarantiningRead | None"], Awaitable[T]], cause: Cause
    ) -> T:
        """Return what a function reads from one znode that exists, and release the znode if its content is right now.

        Args:
            unserved: as for `reading`.
            read: is called with what `reading` returns.
        """
        reading = self.reading(unserved, cause)
        found = await read(reading)
        if reading is not None:
            self.release_read([path], reading, [path])
        return found

    def add(self, path: str, reason: str, unserved: str, cause: Cause) -> None:
        """Put a znode into quarantine, and report it, unless it is there already for the same reason."""
        if self._reasons.get(path) == reason:
            return
        self._reasons[path] = reason
        self._unwatched.add(path)
        fields = EventFields(path=path, rule=reason, detail=f"{reason}; {unserved}")
        self._sink.emit(EventKind.ZNODE_QUARANTINED, cause, **_with_subject(fields, path))

    def release(self, path: str, why: str, cause: Cause) -> bool:
        """Take a znode out of quarantine, and report it. Return whether it was there."""
        if self._reasons.pop(path, None) is None:
            return False
        self._sink.emit(EventKind.ZNODE_RELEASED, cause, **_with_subject(EventFields(path=path, detail=why), path))
        return True

    def release_read(self, wanted: Iterable[str], reading: "QuarantiningRead", found: Collection[str]) -> None:
        """Release what was to be read and was read without fault, or does not exist any more.

        Args:
            found: those that exist.
        """
        for path in sorted(set(wanted).intersection(self._reasons).difference(reading.bad)):
            self.release(path, "its content is right now" if path in found else "it was deleted", reading.cause)

    def below(self, parent: str) -> list[str]:
        """Return the quarantined znodes whose parent is this path, sorted."""
        return sorted(path for path in self._reasons if paths.parent(path) == parent)

    def take_unwatched(self) -> list[str]:
        """Return the znodes that were quarantined since the last call and still are, sorted."""
        unwatched, self._unwatched = sorted(self._unwatched.intersection(self._reasons)), set()
        return unwatched

    def clear(self) -> None:
        """Forget all quarantined znodes: the next controller reads them again."""
        self._reasons.clear()


class QuarantiningRead:
    """One read of one or several znodes: it puts those that cannot be read into quarantine.

    Attributes:
        bad: their paths.
        cause: what the read follows from.
    """

    def __init__(self, quarantine: Quarantine, unserved: str, cause: Cause) -> None:
        self.bad: set[str] = set()
        self._quarantine = quarantine
        self.cause = cause
        self._unserved = unserved

    def __call__(self, error: BadZnodeError) -> None:
        self.bad.add(error.path)
        self._quarantine.add(error.path, error.reason, self._unserved, self.cause)


def _with_subject(fields: EventFields, path: str) -> EventFields:
    known = paths.parse(path)
    if known is None:
        return fields
    subject = EventFields()
    if known.broker_id is not None:
        subject["broker_id"] = known.broker_id
    if known.topic is not None:
        subject["topic"] = known.topic
    if known.partition is not None:
        subject["partition"] = known.partition
    return {**fields, **subject}
