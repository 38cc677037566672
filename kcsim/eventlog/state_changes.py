"""The changes that one event makes to the cluster state: its change feed.

`ClusterState.changes` lists them after each event. Whatever follows the cluster through a run (invariants, views, outages)
reads them instead of folding events itself. A value of None means that the entity does not exist.
"""

from dataclasses import dataclass

from kcsim.vocabulary import PartitionState, TopicPartition, TopicState


@dataclass(frozen=True, slots=True)
class Znode:
    """One znode. `data` is in the event log's format: text, "base64:…", or None for null."""

    data: str | None
    czxid: int  # of the znode's creation
    zxid: int  # of the znode's last change
    zk_version: int
    ephemeral: bool
    session_id: str | None  # the owner's; None for a persistent znode


@dataclass(frozen=True, slots=True)
class ZnodeChanged:
    """A znode was created, changed or deleted. A change of znodes of Kafka's own is followed by one of what they mean."""

    path: str
    before: Znode | None
    after: Znode | None


@dataclass(frozen=True, slots=True)
class ControllerChanged:
    """/controller was written or deleted: the broker that it names, before and after."""

    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class ControllerEpochChanged:
    """/controller_epoch was written or deleted: its number, before and after; None also if it holds no number."""

    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class RegistrationChanged:
    """A broker's znode in /brokers/ids was written or deleted: its broker epoch, before and after."""

    broker: int
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class TopicChanged:
    """A topic's znode was written or deleted: its assignment, before and after; None also if it cannot be read."""

    topic: str
    before: TopicState | None
    after: TopicState | None


@dataclass(frozen=True, slots=True)
class TopicDeletionChanged:
    """The deletion of a topic was requested, or the request was removed."""

    topic: str
    is_requested: bool


@dataclass(frozen=True, slots=True)
class PartitionChanged:
    """A partition's state znode was written or deleted: the state, before and after; None also if it cannot be read.

    `is_new` is True if the znode was created.
    """

    partition: TopicPartition
    before: PartitionState | None
    after: PartitionState | None
    is_new: bool


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """ZooKeeper opened or closed a session."""

    session_id: str


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """A node learned of another state of its session."""

    node: str


@dataclass(frozen=True, slots=True)
class RoleChanged:
    """A broker began or ceased to believe that it is the controller."""

    node: str


@dataclass(frozen=True, slots=True)
class ProcessChanged:
    """The process of a broker, a consumer, a producer or a server of ZooKeeper has another state."""

    node: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class MetricChanged:
    """A controller metric, summed over all brokers, has another value."""

    metric: str
    value: int


@dataclass(frozen=True, slots=True)
class OwnershipChanged:
    """The partitions that a consumer consumes may be others."""

    node: str


@dataclass(frozen=True, slots=True)
class GroupChanged:
    """A consumer group has another state or generation."""

    group: str


StateChange = (
    ZnodeChanged
    | ControllerChanged
    | ControllerEpochChanged
    | RegistrationChanged
    | TopicChanged
    | TopicDeletionChanged
    | PartitionChanged
    | SessionChanged
    | LinkChanged
    | RoleChanged
    | ProcessChanged
    | MetricChanged
    | OwnershipChanged
    | GroupChanged
)
