"""The messages of Kafka's log lines that show the history of a cluster: what was written to ZooKeeper, by whom and why.

Each message names the broker that printed it, as far as its own text does. Times and places are kept beside a message, not
in it. What only one broker can know is kept apart from what it was sent: a state that was written, and one seen later. What
controllers and brokers do besides is in activity_messages.py.
"""

from collections.abc import Mapping
from enum import Enum, auto

import msgspec

from kcsim.brokers.apache_kafka.log_lines.log_value_parsers import LoggedState
from kcsim.vocabulary import BrokerId, ControllerEpoch, ReplicaAssignment, TopicPartition


class NoMessage(Enum):
    """A text without a message for the reader of the line: known but of no use to that reader, or unknown."""

    IGNORED = auto()
    UNKNOWN = auto()


class Message(msgspec.Struct, frozen=True):
    """The base class of all messages."""


class HistoryMessage(Message, frozen=True):
    """The base class of the messages that show what was written to ZooKeeper, by whom, when or why."""


# --- partitions


class PartitionElected(HistoryMessage, frozen=True):
    """The controller wrote a state: a partition became, or stays, online. `before`: Kafka's name of its previous state."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    before: str
    state: LoggedState


class ReplicaRemoved(HistoryMessage, frozen=True):
    """The controller removed the replica from the ISR with a write of its own, or found it removed already."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    replica: BrokerId
    state: LoggedState


class LeaderEpochRaised(HistoryMessage, frozen=True):
    """The controller wrote the state with a higher epoch but unchanged leader and ISR (in a reassignment)."""

    controller: BrokerId
    tp: TopicPartition
    leader_epoch: int
    zk_version: int | None = None


class IsrUpdated(HistoryMessage, frozen=True):
    """The leader wrote a new ISR."""

    broker: BrokerId
    tp: TopicPartition
    isr: tuple[BrokerId, ...]
    zk_version: int


class IsrUpdatedByController(HistoryMessage, frozen=True):
    """The controller wrote a new ISR for the leader that requested it (inter.broker.protocol.version 2.7 and newer)."""

    controller: BrokerId
    tp: TopicPartition
    state: LoggedState


class IsrChangeTried(HistoryMessage, frozen=True):
    """The leader is about to write a new ISR; this line does not show whether it did."""

    broker: BrokerId
    tp: TopicPartition
    before: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]


class StateSeen(HistoryMessage, frozen=True):
    """A state that was written some time before: in a request, or in a broker's memory.

    `controller` and `controller_epoch` are those of the request. `assignment` is the partition's, if the line contains it.
    """

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    state: LoggedState
    assignment: ReplicaAssignment | None = None
    seen_by: BrokerId | None = None


class LeaderAndIsrSent(StateSeen, frozen=True, kw_only=True):
    """One partition of a LeaderAndIsr request that the controller sends. `is_new`: the partition has just been created."""

    receiver: BrokerId
    is_new: bool


class LeaderAndIsrReceived(StateSeen, frozen=True):
    """One partition of a LeaderAndIsr request that a broker has received."""


class BecameLeader(HistoryMessage, frozen=True):
    """A broker leads a partition from this epoch on. `offset` is its log end offset, None where the version omits it."""

    broker: BrokerId
    tp: TopicPartition
    leader_epoch: int
    offset: int
    high_watermark: int | None


class BecameFollower(HistoryMessage, frozen=True):
    """A broker follows a partition's leader from this epoch on."""

    broker: BrokerId
    tp: TopicPartition
    leader_epoch: int
    offset: int
    high_watermark: int | None


class StateChangeFailed(HistoryMessage, frozen=True):
    """The controller could not change a partition's state. `error` is the exception's first line."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    before: str
    after: str
    error: str


# --- assignments


class TopicsChanged(HistoryMessage, frozen=True):
    """The controller found topics that are new or gone, without having created or deleted them itself."""

    controller: BrokerId
    assignments: Mapping[TopicPartition, ReplicaAssignment]
    deleted_topics: tuple[str, ...]
    new_topics: tuple[str, ...]


class PartitionsAdded(HistoryMessage, frozen=True):
    """The controller found new partitions in topics that it already knew."""

    controller: BrokerId
    assignments: Mapping[TopicPartition, ReplicaAssignment]


class PartitionNew(HistoryMessage, frozen=True):
    """The controller starts managing a partition that has no state yet."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    tp: TopicPartition
    replicas: tuple[BrokerId, ...]


class AssignmentUpdated(HistoryMessage, frozen=True):
    """The controller wrote a partition's assignment."""

    controller: BrokerId
    tp: TopicPartition
    assignment: ReplicaAssignment


class TopicDeleted(HistoryMessage, frozen=True):
    """The controller has deleted a topic, including the last of its znodes."""

    controller: BrokerId
    topic: str


# --- reasons for elections


class ElectionTriggered(HistoryMessage, frozen=True):
    """The controller tries to elect leaders again. `kind` PREFERRED or UNCLEAN, `trigger` as Kafka prints it."""

    controller: BrokerId
    kind: str
    trigger: str
    partitions: tuple[TopicPartition, ...]


class ReassignmentElects(HistoryMessage, frozen=True):
    """The leader is not among the new replicas, so another replica is elected."""

    controller: BrokerId
    tp: TopicPartition
    leader: BrokerId


class BrokerShutsDown(HistoryMessage, frozen=True):
    """A broker has requested a controlled shutdown; the partitions that it leads get another leader."""

    controller: BrokerId
    broker: BrokerId


# --- controllers


class ControllerElected(HistoryMessage, frozen=True):
    """A broker is the controller, with this epoch. `zk_version` is that of /controller_epoch, if the line contains it."""

    controller: BrokerId
    controller_epoch: ControllerEpoch
    zk_version: int | None = None


class ControllerAtWork(HistoryMessage, frozen=True):
    """A line that a controller prints with its epoch and shows nothing else of history."""

    controller: BrokerId
    controller_epoch: ControllerEpoch


class ControllerMoved(HistoryMessage, frozen=True):
    """A broker found that another broker is the controller: one of its writes was refused.

    `event` is the controller event that it was processing, as Kafka prints it; None: it was moving partitions or replicas.
    """

    controller: BrokerId
    event: str | None = None
    error: str = ""


# --- brokers


class Registered(HistoryMessage, frozen=True):
    """A broker registered itself. `epoch` is the czxid (None up to 2.1); `endpoints` are as printed."""

    broker: BrokerId
    epoch: int | None
    endpoints: tuple[str, ...]


class BrokersChanged(HistoryMessage, frozen=True):
    """The controller read the registrations again and found these differences. `alive`: all that are registered now."""

    controller: BrokerId
    added: tuple[BrokerId, ...]
    deleted: tuple[BrokerId, ...]
    bounced: tuple[BrokerId, ...] = ()
    alive: tuple[BrokerId, ...] = ()


class BrokerEpochs(HistoryMessage, frozen=True):
    """All registrations as a controller knows them. `at_election`: read when it took the role."""

    controller: BrokerId
    epochs: Mapping[BrokerId, int]
    at_election: bool


class BrokersAlive(HistoryMessage, frozen=True):
    """The brokers that were registered when a controller was elected."""

    controller: BrokerId
    brokers: tuple[BrokerId, ...]


class BrokerSessionEnded(HistoryMessage, frozen=True):
    """The session of the broker that wrote the file ended. `is_expired`: it expired earlier; else it was closed just now."""

    is_expired: bool


class BrokerNamed(HistoryMessage, frozen=True):
    """A line that names the broker that wrote the file and shows nothing else of history."""

    broker: BrokerId


class ClockRead(HistoryMessage, frozen=True):
    """A time that the line contains in ms since 1970; it shows what the line's own time stands for."""

    utc_ms: int


def owner_of(message: HistoryMessage) -> BrokerId | None:
    """Return the broker that wrote the line with this message, or None if the message does not contain it."""
    if isinstance(message, StateSeen):
        return message.controller if message.seen_by is None else message.seen_by
    owner: BrokerId | None = getattr(message, OWNERS.get(type(message), "controller"), None)
    return owner


OWNERS: Mapping[type[HistoryMessage], str] = dict.fromkeys(
    (IsrUpdated, IsrChangeTried, BecameLeader, BecameFollower, Registered, BrokerNamed), "broker"
)
"""Messages that are not a controller's: the attribute that names the broker that prints them."""
