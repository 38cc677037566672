"""What a change of a znode most likely follows from, as Kafka's ways with its znodes are known.

A transaction log says who wrote what, and when, but not why. So this is a reading of it, not a record: a state written after
the leader's registration went is taken to follow from that, and so on. Where nothing is known to be likelier, a write
follows from the beginning of its session.

Pure; it remembers one event for each path and each session.
"""

from collections.abc import Iterator
from typing import Protocol

from kcsim.zk import paths
from kcsim.zk.paths import PathKind
from kcsim.zk.vocabulary import PartitionState, TopicPartition

ELECTION_PATHS = (PathKind.CONTROLLER, PathKind.CONTROLLER_EPOCH)
BELOW_A_TOPIC = (PathKind.TOPIC_PARTITIONS, PathKind.TOPIC_PARTITION, PathKind.TOPIC_PARTITION_STATE)

ADMIN = "/admin/"
NEVER = -1


class Elsewhere(Protocol):
    """What has happened by now to paths that somebody else tells of."""

    def last(self, path: str) -> int | None:
        """seq of the last change of a path."""
        ...

    def asked(self, path: str) -> int | None:
        """seq of an admin's request that still stands."""
        ...

    @property
    def elected(self) -> int | None:
        """seq of the last election won."""
        ...


class LikelyCauses:
    """Tell it of each change by `path_changed`; then ask what the next one follows from.

    Args:
        elsewhere: knows of the paths that it is not told of, if there are such.

    Attributes:
        elected: seq of the last election won, None before the first.
    """

    def __init__(self, elsewhere: Elsewhere | None = None) -> None:
        self._elsewhere = elsewhere
        self._last: dict[str, int] = {}  # path -> seq of its last change
        self._asked: dict[str, int] = {}  # path of an admin's request that still stands -> seq of its creation
        self.elected: int | None = None

    def path_changed(self, path: str, seq: int, is_deleted: bool) -> None:
        """A znode was created, set or deleted by this event."""
        self._last[path] = seq
        if is_deleted:
            self._asked.pop(path, None)
        elif path.startswith(ADMIN):
            self._asked[path] = seq

    def of_write(self, path: str, is_deleted: bool, default: int) -> int:
        """The seq of what a write to a znode follows from, one of a partition's state aside."""
        return next((seq for seq in self._candidates(path, is_deleted) if seq is not None), default)

    def of_state(self, tp: TopicPartition, before: PartitionState | None, after: PartitionState, default: int) -> int:
        """The seq of what a partition's new state follows from: the likeliest of what has happened since the last one."""
        last = self._last.get(paths.topic_partition_state(tp), NEVER)
        reasons = (seq for seq in self._reasons(tp, before, after) if seq is not None and seq > last)
        return next(reasons, default if last == NEVER else last)

    def _candidates(self, path: str, is_deleted: bool) -> Iterator[int | None]:
        known = paths.parse(path)
        if known is None:
            return
        if known.kind in ELECTION_PATHS:
            yield self._changed(paths.CONTROLLER)
        if known.topic is not None and is_deleted:
            yield self._request(paths.delete_topic(known.topic))
        if known.entity_type == "topics" and is_deleted:
            yield self._request(paths.delete_topic(known.entity or ""))
        if known.topic is not None and known.kind in BELOW_A_TOPIC:
            yield self._changed(paths.topic(known.topic))
        if known.kind is PathKind.TOPIC:
            yield self._request(paths.REASSIGN_PARTITIONS)
        if is_deleted:
            yield self._changed(path)

    def _reasons(self, tp: TopicPartition, before: PartitionState | None, after: PartitionState) -> Iterator[int | None]:
        if before is not None:
            old, new = before.leader_and_isr, after.leader_and_isr
            concerned = set(old.isr) ^ set(new.isr) | ({old.leader, new.leader} if old.leader != new.leader else set())
            seqs = (self._changed(paths.broker_id(broker)) for broker in concerned if broker is not None)
            yield max((seq for seq in seqs if seq is not None), default=None)
        yield self._changed(paths.topic(tp.topic))
        yield self._request(paths.PREFERRED_REPLICA_ELECTION)
        yield self._request(paths.delete_topic(tp.topic))
        yield self._elsewhere.elected if self.elected is None and self._elsewhere is not None else self.elected

    def _changed(self, path: str) -> int | None:
        seq = self._last.get(path)
        return self._elsewhere.last(path) if seq is None and self._elsewhere is not None else seq

    def _request(self, path: str) -> int | None:
        seq = self._asked.get(path)
        return self._elsewhere.asked(path) if seq is None and self._elsewhere is not None else seq
