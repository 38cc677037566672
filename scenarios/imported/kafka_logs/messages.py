"""What a line of a Kafka log says about the history of a cluster: the vocabulary between reading and rebuilding.

Each message names who printed it as far as its own text does. Times and places stand beside it, not in it. What only one
broker can know is told apart from what others were told: a state that was written, and one that was seen later.
"""

from collections.abc import Mapping
from enum import Enum, auto

import msgspec

from kcsim.scenarios.imported.kafka_logs.renderings import Told
from kcsim.zk.vocabulary import BrokerId, ControllerEpoch, ReplicaAssignment, TopicPartition


class Silent(Enum):
    """A record that says nothing of history, and whether that is known of it."""

    NO_HISTORY = auto()
    UNKNOWN = auto()


class Message(msgspec.Struct, frozen=True):
    """What all messages are."""


# --- partitions


class PartitionElected(Message, frozen=True):
    """The controller wrote a state: a partition became, or stays, online. `before` is Kafka's name of its state before."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    before: str
    state: Told


class ReplicaRemoved(Message, frozen=True):
    """The controller has the replica out of the ISR: by a write of its own, or because it was out before."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    replica: BrokerId
    state: Told


class LeaderEpochRaised(Message, frozen=True):
    """The controller wrote the state again with a higher epoch, leader and ISR as they were (at a reassignment)."""

    controller: BrokerId
    tp: TopicPartition
    leader_epoch: int
    zk_version: int | None


class IsrUpdated(Message, frozen=True):
    """The leader wrote a new ISR."""

    broker: BrokerId
    tp: TopicPartition
    isr: tuple[BrokerId, ...]
    zk_version: int


class IsrUpdatedByController(Message, frozen=True):
    """The controller wrote a new ISR for the leader that asked for it (inter.broker.protocol.version 2.7 and newer)."""

    controller: BrokerId
    tp: TopicPartition
    state: Told


class IsrChangeTried(Message, frozen=True):
    """The leader sets out to write a new ISR; whether it did, this line does not say."""

    broker: BrokerId
    tp: TopicPartition
    before: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]


class StateSeen(Message, frozen=True):
    """A state that was written some time before: in a request, or in somebody's memory.

    `controller` and `controller_epoch` are those of the request, `assignment` is the partition's, where it was told.
    """

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    state: Told
    assignment: ReplicaAssignment | None = None
    seen_by: BrokerId | None = None


class BecameLeader(Message, frozen=True):
    """A broker leads a partition from this epoch on. `offset` is its log's end, None where the version does not tell."""

    broker: BrokerId
    tp: TopicPartition
    leader_epoch: int
    offset: int
    high_watermark: int | None


class BecameFollower(Message, frozen=True):
    """A broker follows a partition's leader from this epoch on."""

    broker: BrokerId
    tp: TopicPartition
    leader_epoch: int
    offset: int
    high_watermark: int | None


class StateChangeFailed(Message, frozen=True):
    """The controller could not change a partition's state. `error` is the exception's first line."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    before: str
    after: str
    error: str


# --- assignments


class TopicsChanged(Message, frozen=True):
    """The controller found topics that are new, or gone: by somebody else's hand."""

    controller: BrokerId
    assignments: Mapping[TopicPartition, ReplicaAssignment]
    deleted: tuple[str, ...]


class PartitionsAdded(Message, frozen=True):
    """The controller found partitions that are new in topics that it knew."""

    controller: BrokerId
    assignments: Mapping[TopicPartition, ReplicaAssignment]


class PartitionNew(Message, frozen=True):
    """The controller begins with a partition that has no state yet."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    replicas: tuple[BrokerId, ...]


class AssignmentUpdated(Message, frozen=True):
    """The controller wrote a partition's assignment."""

    controller: BrokerId
    tp: TopicPartition
    assignment: ReplicaAssignment


class TopicDeleted(Message, frozen=True):
    """The controller has removed a topic, the last of its znodes too."""

    controller: BrokerId
    topic: str


# --- why


class ElectionAsked(Message, frozen=True):
    """The controller tries to elect leaders again. `kind` PREFERRED or UNCLEAN, `trigger` as Kafka prints it."""

    controller: BrokerId
    kind: str
    trigger: str
    partitions: tuple[TopicPartition, ...]


class ReassignmentElects(Message, frozen=True):
    """The leader is not among the new replicas, so another is elected."""

    controller: BrokerId
    tp: TopicPartition
    leader: BrokerId


class BrokerShutsDown(Message, frozen=True):
    """A broker has asked the controller to let it go; what it leads gets another leader."""

    controller: BrokerId
    broker: BrokerId


# --- controllers


class ControllerElected(Message, frozen=True):
    """A broker is the controller, with this epoch. `zk_version` is that of /controller_epoch, where it is told."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    zk_version: int | None


class ControllerAtWork(Message, frozen=True):
    """A line that a controller prints with its epoch, and nothing else of history in it."""

    controller: BrokerId
    controller_epoch: ControllerEpoch


class ControllerMoved(Message, frozen=True):
    """A broker noticed that the role is somebody else's: a write of its was refused."""

    controller: BrokerId


# --- brokers


class Registered(Message, frozen=True):
    """A broker registered itself. `epoch` is the czxid, None up to 2.1; `endpoints` as printed."""

    broker: BrokerId
    epoch: int | None
    endpoints: tuple[str, ...]


class BrokersChanged(Message, frozen=True):
    """The controller looked at the registrations again, and what was different."""

    controller: BrokerId
    added: tuple[BrokerId, ...]
    deleted: tuple[BrokerId, ...]
    bounced: tuple[BrokerId, ...]


class BrokerEpochs(Message, frozen=True):
    """All registrations as a controller knows them. `at_election`: read when it took the role."""

    controller: BrokerId
    epochs: Mapping[BrokerId, int]
    at_election: bool


class BrokersAlive(Message, frozen=True):
    """Who was registered when a controller took the role."""

    controller: BrokerId
    brokers: tuple[BrokerId, ...]


class SessionEnded(Message, frozen=True):
    """The session of the broker whose file this is has ended. `is_expired`: it had before; else it was closed just now."""

    is_expired: bool


class BrokerNamed(Message, frozen=True):
    """A line that names the broker whose file this is, and nothing else of history in it."""

    broker: BrokerId


class ClockRead(Message, frozen=True):
    """A moment that the line tells in ms since 1970: what the line's own time stands for."""

    utc_ms: int


def owner_of(message: Message) -> BrokerId | None:
    """The broker whose file a line with this message is in; None where it does not tell."""
    if isinstance(message, StateSeen):
        return message.controller if message.seen_by is None else message.seen_by
    owner: BrokerId | None = getattr(message, OWNERS.get(type(message), "controller"), None)
    return owner


OWNERS: Mapping[type[Message], str] = dict.fromkeys(
    (IsrUpdated, IsrChangeTried, BecameLeader, BecameFollower, Registered, BrokerNamed), "broker"
)
"""Who prints a message, where that is no controller: the attribute that names it."""
