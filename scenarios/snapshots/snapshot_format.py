"""The file in which a snapshot of a cluster's control state is kept: JSON, with a version.

The fields are described for users in docs/cluster-snapshot.md. A file is checked when it is read: unknown fields,
values of another type, and contents that contradict each other are refused, so that the code that uses a snapshot need not
check it again.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from kcsim.vocabulary import TopicPartition

FORMAT = "kcsim-cluster"
VERSION = 1
DEFAULT_ENTITY = "<default>"
"""The key of the settings of all brokers in `broker_configs`, as in Kafka's znodes."""

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
PartitionNumber = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
ByteCount = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
ByteRate = Annotated[float, msgspec.Meta(ge=0)]
Settings = dict[str, str]


class SnapshotFormatError(ValueError):
    """A file is no snapshot of this version. The message has the file, and the place in it."""


class SnapshotBroker(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A broker that was registered. Attributes: epoch: czxid of the registration; endpoints: LISTENER://host:port."""

    id: Int32
    epoch: int
    rack: str | None = None
    endpoints: tuple[str, ...] = ()


class SnapshotPartition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One partition: its assignment, its state, and its size if that is known.

    Attributes:
        replicas: all brokers it is assigned to, those that are being added included; the first is the preferred leader.
        adding: replicas that a reassignment adds; a part of `replicas`.
        removing: replicas that a reassignment removes; a part of `replicas`.
        leader: None: it has no leader.
        isr: in the order of its znode.
        leader_epoch: None: the partition has no state znode yet, because it never had a leader.
        controller_epoch: of the controller that decided the state; None as `leader_epoch`.
        is_recovering: its leader was elected from outside the ISR, which has not changed since (Kafka 3.2 and newer).
        size_bytes: of its largest replica; None: not known.
        bytes_in_per_s: what producers write to it; None: not known.
    """

    partition: PartitionNumber
    replicas: tuple[Int32, ...]
    adding: tuple[Int32, ...] = ()
    removing: tuple[Int32, ...] = ()
    leader: Int32 | None = None
    isr: tuple[Int32, ...] = ()
    leader_epoch: Int32 | None = None
    controller_epoch: Int32 | None = None
    is_recovering: bool = False
    size_bytes: ByteCount | None = None
    bytes_in_per_s: ByteRate | None = None

    @property
    def has_state(self) -> bool:
        return self.leader_epoch is not None


class SnapshotTopic(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A topic with its partitions, in ascending order. Attributes: config: the settings that it has itself."""

    name: str
    partitions: tuple[SnapshotPartition, ...]
    topic_id: str | None = None
    config: Settings = {}


class ReassignmentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of /admin/reassign_partitions that the controller has not taken yet. Attributes: replicas: the target."""

    topic: str
    partition: PartitionNumber
    replicas: tuple[Int32, ...]


class ElectionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of /admin/preferred_replica_election that the controller has not taken yet."""

    topic: str
    partition: PartitionNumber


class UnreadZnode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A znode whose content is missing from the snapshot. Attributes: reason: why it could not be read."""

    path: str
    reason: str


class ControlPlaneSnapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The control state of a cluster at one moment.

    Attributes:
        source: what it was read from, for people.
        taken: when the cluster was in this state, as 2024-05-01T12:30:00.123Z; of a trace, the moment of its run.
        controller: None: there was no controller.
        controller_epoch: None: no controller was ever elected.
        kraft_controller: the KRaft controller of a cluster in migration; None: the cluster is in no migration.
        brokers: those that were registered, in the order of their ids.
        broker_configs: broker id, as text, or DEFAULT_ENTITY -> the settings in ZooKeeper, also of absent brokers.
        topics: sorted by name.
        topic_deletions: topics whose deletion was requested; they may be in `topics` still.
        unread: znodes that could not be read.
        is_anonymised: whether names were replaced by hashes.
    """

    source: str
    taken: str
    format: str = FORMAT
    version: int = VERSION
    cluster_id: str | None = None
    controller: Int32 | None = None
    controller_epoch: Int32 | None = None
    kraft_controller: Int32 | None = None
    brokers: tuple[SnapshotBroker, ...] = ()
    broker_configs: dict[str, Settings] = {}
    topics: tuple[SnapshotTopic, ...] = ()
    topic_deletions: tuple[str, ...] = ()
    reassignment_requests: tuple[ReassignmentRequest, ...] = ()
    election_requests: tuple[ElectionRequest, ...] = ()
    unread: tuple[UnreadZnode, ...] = ()
    is_anonymised: bool = False

    def partitions(self) -> Iterator[tuple[TopicPartition, SnapshotPartition]]:
        """Yield all partitions, by topic and number."""
        for topic in self.topics:
            for partition in topic.partitions:
                yield TopicPartition(topic.name, partition.partition), partition

    @property
    def registered_ids(self) -> tuple[int, ...]:
        """The brokers that were registered, in ascending order."""
        return tuple(broker.id for broker in self.brokers)

    @property
    def absent_ids(self) -> tuple[int, ...]:
        """The brokers that partitions are assigned to and that were not registered, in ascending order."""
        assigned = {replica for _, partition in self.partitions() for replica in partition.replicas}
        return tuple(sorted(assigned.difference(self.registered_ids)))

    @property
    def partitions_without_size(self) -> int:
        return sum(partition.size_bytes is None for _, partition in self.partitions())


class _Header(msgspec.Struct, frozen=True):
    format: str | None = None
    version: int | None = None


def encode_snapshot(snapshot: ControlPlaneSnapshot) -> bytes:
    """Return the content of a file: the format and its version first, then a line for each broker and each topic."""
    content = {"format": FORMAT, "version": VERSION, **msgspec.to_builtins(snapshot)}
    fields = [f"{_json(name)}: {_lines(value)}" for name, value in content.items()]
    return ("{\n" + ",\n".join(fields) + "\n}\n").encode()


def _lines(value: object) -> str:
    """Return JSON with a line for each element of a list."""
    if not isinstance(value, list | tuple) or not value:
        return _json(value)
    return "[\n  " + ",\n  ".join(map(_json, value)) + "\n]"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def decode_snapshot(data: bytes, file: str) -> ControlPlaneSnapshot:
    """Return the snapshot in a file's content. Raises: SnapshotFormatError, which names the file."""
    try:
        header = msgspec.json.decode(data, type=_Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotFormatError(f"{file}: not a snapshot of kcsim: {error}") from None
    if header.format != FORMAT:
        raise SnapshotFormatError(f'{file}: not a snapshot of kcsim: "format" is not {FORMAT}')
    if header.version != VERSION:
        raise SnapshotFormatError(f"{file}: a snapshot of version {header.version}; this kcsim reads version {VERSION}")
    try:
        snapshot = msgspec.json.decode(data, type=ControlPlaneSnapshot)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotFormatError(f"{file}: {error}") from None
    for problem in _contradictions(snapshot):
        raise SnapshotFormatError(f"{file}: {problem}")
    return snapshot


def read_snapshot(path: Path) -> ControlPlaneSnapshot:
    """Return the snapshot in a file. Raises: SnapshotFormatError; OSError."""
    return decode_snapshot(path.read_bytes(), str(path))


def _contradictions(snapshot: ControlPlaneSnapshot) -> Iterator[str]:
    for broker in _repeated(snapshot.registered_ids):
        yield f"broker {broker} is there twice"
    for name in _repeated(topic.name for topic in snapshot.topics):
        yield f"topic {name} is there twice"
    for topic in snapshot.topics:
        for number in _repeated(partition.partition for partition in topic.partitions):
            yield f"partition {topic.name}-{number} is there twice"
    for tp, partition in snapshot.partitions():
        replicas = set(partition.replicas)
        if (partition.leader_epoch is None) != (partition.controller_epoch is None):
            yield f"{tp}: leader_epoch and controller_epoch are there together, or not at all"
        if not partition.has_state and (partition.leader is not None or partition.isr):
            yield f"{tp}: there is no leader or ISR without a leader_epoch"
        if not replicas.issuperset((*partition.adding, *partition.removing)):
            yield f"{tp}: adding and removing are parts of replicas"


def _repeated(keys: Iterable[Hashable]) -> Iterator[Hashable]:
    return (key for key, times in Counter(keys).items() if times > 1)
