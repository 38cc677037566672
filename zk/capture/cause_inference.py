"""Infers the most likely cause of a znode's change from the way in which Kafka uses its znodes.

A transaction log says who wrote what, and when, but not why. So these causes are inferred, not recorded: for instance, a
state written after the leader's registration was deleted is assumed to follow from that deletion. Where no likelier cause is
known, a write follows from the beginning of its session.

Pure; it keeps the seq of one event per path.
"""

from collections.abc import Iterator

from kcsim.vocabulary import PartitionState, TopicPartition
from kcsim.znodes import paths
from kcsim.znodes.paths import PathKind

ELECTION_PATHS = (PathKind.CONTROLLER, PathKind.CONTROLLER_EPOCH)
BELOW_A_TOPIC = (PathKind.TOPIC_PARTITIONS, PathKind.TOPIC_PARTITION, PathKind.TOPIC_PARTITION_STATE)

ADMIN = "/admin/"
NEVER = -1


class CauseInference:
    """The inference of causes. Record each change with `path_changed`; then ask for the cause of the next change.

    Attributes:
        elected: seq of the last election won, None before the first.
    """

    def __init__(self) -> None:
        self._last: dict[str, int] = {}  # path -> seq of its last change
        self._requests: dict[str, int] = {}  # path of an admin request that still exists -> seq of its creation
        self.elected: int | None = None

    def path_changed(self, path: str, seq: int, is_deleted: bool) -> None:
        """Record that a znode was created, set or deleted by the event `seq`."""
        self._last[path] = seq
        if is_deleted:
            self._requests.pop(path, None)
        elif path.startswith(ADMIN):
            self._requests[path] = seq

    def of_write(self, path: str, is_deleted: bool, default: int) -> int:
        """Return the seq of the cause of a write to a znode, other than a write of a partition's state."""
        return next((seq for seq in self._candidates(path, is_deleted) if seq is not None), default)

    def of_state(self, tp: TopicPartition, before: PartitionState | None, after: PartitionState, default: int) -> int:
        """Return the seq of the cause of a partition's new state: the likeliest event since the previous state."""
        last = self._last.get(paths.topic_partition_state(tp), NEVER)
        reasons = (seq for seq in self._reasons(tp, before, after) if seq is not None and seq > last)
        return next(reasons, default if last == NEVER else last)

    def _candidates(self, path: str, is_deleted: bool) -> Iterator[int | None]:
        known = paths.parse(path)
        if known is None:
            return
        if known.kind in ELECTION_PATHS:
            yield self._last.get(paths.CONTROLLER)
        if known.topic is not None and is_deleted:
            yield self._requests.get(paths.delete_topic(known.topic))
        if known.entity_type == "topics" and is_deleted:
            yield self._requests.get(paths.delete_topic(known.entity or ""))
        if known.topic is not None and known.kind in BELOW_A_TOPIC:
            yield self._last.get(paths.topic(known.topic))
        if known.kind is PathKind.TOPIC:
            yield self._requests.get(paths.REASSIGN_PARTITIONS)
        if is_deleted:
            yield self._last.get(path)

    def _reasons(self, tp: TopicPartition, before: PartitionState | None, after: PartitionState) -> Iterator[int | None]:
        if before is not None:
            old, new = before.leader_and_isr, after.leader_and_isr
            concerned = set(old.isr) ^ set(new.isr) | ({old.leader, new.leader} if old.leader != new.leader else set())
            seqs = (self._last.get(paths.broker_id(broker)) for broker in concerned if broker is not None)
            yield max((seq for seq in seqs if seq is not None), default=None)
        yield self._last.get(paths.topic(tp.topic))
        yield self._requests.get(paths.PREFERRED_REPLICA_ELECTION)
        yield self._requests.get(paths.delete_topic(tp.topic))
        yield self.elected
