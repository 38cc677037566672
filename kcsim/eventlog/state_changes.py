"""The changes that one event makes to the cluster state: its change feed.

`ClusterState.changes` lists them after each event. Whatever follows the cluster through a run (invariants, views, outages)
reads them instead of folding events itself. A value of None means that the entity does not exist.
"""

import msgspec

from kcsim.vocabulary import PartitionState, TopicPartition, TopicState


class Znode(msgspec.Struct, frozen=True):
    """One znode. `data` is in the event log's format: text, "base64:…", or None for null."""

    data: str | None
    czxid: int  # of the znode's creation
    zxid: int  # of the znode's last change
    zk_version: int
    ephemeral: bool
    session_id: str | None  # the owner's; None for a persistent znode


class ZnodeChanged(msgspec.Struct, frozen=True):
    """A znode was created, changed or deleted. A change of znodes of Kafka's own is followed by one of what they mean."""

    path: str
    before: Znode | None
    after: Znode | None


class ControllerChanged(msgspec.Struct, frozen=True):
    """/controller was written or deleted: the broker that it names, before and after."""

    before: int | None
    after: int | None


class ControllerEpochChanged(msgspec.Struct, frozen=True):
    """/controller_epoch was written or deleted: its number, before and after; None also if it holds no number."""

    before: int | None
    after: int | None


class RegistrationChanged(msgspec.Struct, frozen=True):
    """A broker's znode in /brokers/ids was written or deleted: its broker epoch, before and after."""

    broker: int
    before: int | None
    after: int | None


class TopicChanged(msgspec.Struct, frozen=True):
    """A topic's znode was written or deleted: its assignment, before and after; None also if it cannot be read."""

    topic: str
    before: TopicState | None
    after: TopicState | None


class TopicDeletionChanged(msgspec.Struct, frozen=True):
    """The deletion of a topic was requested, or the request was removed."""

    topic: str
    is_requested: bool


class PartitionChanged(msgspec.Struct, frozen=True):
    """A partition's state znode was written or deleted: the state, before and after; None also if it cannot be read.

    `is_new` is True if the znode was created.
    """

    partition: TopicPartition
    before: PartitionState | None
    after: PartitionState | None
    is_new: bool


class SessionChanged(msgspec.Struct, frozen=True):
    """ZooKeeper opened or closed a session."""

    session_id: str


class LinkChanged(msgspec.Struct, frozen=True):
    """A node learned of another state of its session."""

    node: str


class RoleChanged(msgspec.Struct, frozen=True):
    """A broker began or ceased to believe that it is the controller."""

    node: str


class ProcessChanged(msgspec.Struct, frozen=True):
    """The process of a broker, a consumer, a producer or a server of ZooKeeper has another state."""

    node: str
    before: str | None
    after: str


class MetricChanged(msgspec.Struct, frozen=True):
    """A controller metric, summed over all brokers, has another value."""

    metric: str
    value: int


class OwnershipChanged(msgspec.Struct, frozen=True):
    """The partitions that a consumer consumes may be others."""

    node: str


class GroupChanged(msgspec.Struct, frozen=True):
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
