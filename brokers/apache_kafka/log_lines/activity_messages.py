"""The messages of Kafka's log lines that show what controllers and brokers do, beside what is written to ZooKeeper.

They do not name the broker that printed them. `error` is the first line of the exception that follows the line; empty if
there is none.
"""

from kcsim.brokers.apache_kafka.log_lines.messages import Message
from kcsim.vocabulary import BrokerId, TopicPartition

# --- the role of the controller


class ControllerTermBegun(Message, frozen=True):
    """A broker is the controller, with this epoch: the same line as that of ControllerElected, however it ends."""

    controller_epoch: int


class ElectionLost(Message, frozen=True):
    """A broker lost a race for /controller."""

    holder: BrokerId
    error: str


class ControllerExists(Message, frozen=True):
    """A broker did not stand for election: /controller exists already."""

    holder: BrokerId


class ElectedControllerResigned(Message, frozen=True):
    """A broker lost a race for /controller, but the winner has already resigned."""


class FailoverStep(Message, frozen=True):
    """A new controller begins a step of its failover. `step`: one of FAILOVER_STEPS in controller_log.py."""

    step: str


class ControllerReady(Message, frozen=True):
    """A new controller has done all steps of its failover without which it cannot process events."""

    controller_epoch: int


class PartitionsFound(Message, frozen=True):
    """A new controller has read the states of this many partitions."""

    count: int


class Resigning(Message, frozen=True):
    """A broker begins to resign as controller, whether it was the controller or not."""


class EventFailed(Message, frozen=True):
    """The controller failed to process an event, which is given as Kafka prints it."""

    event: str
    error: str


class TakeoverFailed(Message, frozen=True):
    """A broker failed in its election or in its failover."""

    error: str


class StateChangesFailed(Message, frozen=True):
    """One call of a state machine failed. `what`: replicas or partitions; `after`: the state that they were to reach."""

    what: str
    after: str
    error: str


# --- what the controller does about brokers


class BrokersStarted(Message, frozen=True):
    """The controller takes these brokers for alive from now on."""

    brokers: tuple[BrokerId, ...]


class BrokersFailed(Message, frozen=True):
    """The controller takes these brokers for dead from now on."""

    brokers: tuple[BrokerId, ...]


class LeadersListed(Message, frozen=True):
    """All leaders, which the controller lists when it is about to answer a controlled shutdown. -1: no leader."""

    leaders: tuple[tuple[TopicPartition, int], ...]


class BrokerUnreachable(Message, frozen=True):
    """The controller could not connect to a broker, or could not send a request to it."""

    broker: BrokerId


class ReplicasOffline(Message, frozen=True):
    """The controller has learned that these replicas are in a failed log directory of the broker."""

    partitions: tuple[TopicPartition, ...]
    broker: BrokerId


# --- what the controller does about topics and partitions


class DeletionStarted(Message, frozen=True):
    """The controller starts the deletion of a topic, for the first time or again."""

    topic: str


class DeletionHalted(Message, frozen=True):
    """The deletion of these topics has to wait."""

    topics: tuple[str, ...]
    reason: str


class DeletionRefused(Message, frozen=True):
    """The controller does not delete these topics."""

    topics: tuple[str, ...]
    reason: str


class ReplicaChanged(Message, frozen=True):
    """A replica is in another state, which is given by Kafka's name."""

    tp: TopicPartition
    after: str


class ReplicaChangeFailed(Message, frozen=True):
    """The controller could not change a replica's state."""

    replica: BrokerId
    tp: TopicPartition
    after: str
    error: str


class ImbalanceMeasured(Message, frozen=True):
    """The controller has computed how many of the partitions that this broker should lead it does not lead."""

    broker: BrokerId


# --- requests of the controller


class UpdateMetadataSent(Message, frozen=True):
    """One partition of an UpdateMetadata request (up to 2.5), of which only the receivers are read."""

    receivers: tuple[BrokerId, ...]


class StopReplicaSent(Message, frozen=True):
    """One partition of a StopReplica request that the controller sends. `leader_epoch` None: it is in another format."""

    receiver: BrokerId
    tp: TopicPartition
    leader_epoch: int | None = None
    deletes: bool = False


class RequestSummary(Message, frozen=True):
    """The last line of a request, from 2.6 on: its name, its receivers, and the number of its partitions."""

    api: str
    receivers: tuple[BrokerId, ...]
    count: int


class ResponseLogged(Message, frozen=True):
    """A broker's response to a request of the controller. `api` is the request's name.

    `error`: the code of the whole response, None if it has none. `refusals`: partitions with an error, each with its code.
    """

    broker: BrokerId
    api: str
    error: int | None
    refusals: tuple[tuple[TopicPartition, int], ...]


# --- brokers and their replicas


class ReplicaRoleTaken(Message, frozen=True):
    """A broker leads or follows a partition from now on, or, up to 2.5, has completed a LeaderAndIsr request for it.

    The same lines as those of BecameLeader and BecameFollower, however they continue after the partition.
    """

    tp: TopicPartition
    is_leader: bool


class LeaderAndIsrIgnored(Message, frozen=True):
    """A broker leaves a partition as it is, although a LeaderAndIsr request names it."""

    tp: TopicPartition


class LeaderUnknown(Message, frozen=True):
    """A broker cannot follow in a partition: the LeaderAndIsr request names no leader, or one that it does not know."""

    tp: TopicPartition


class StopReplicaReceived(Message, frozen=True):
    """A broker is asked to stop a replica, and to delete it if `deletes`. It does unless a StopReplicaIgnored follows."""

    tp: TopicPartition
    leader_epoch: int
    deletes: bool


class StopReplicaIgnored(Message, frozen=True):
    """A broker does not stop a replica, or, with None, any replica of the request."""

    tp: TopicPartition | None = None


class ReplicaStops(Message, frozen=True):
    """A broker stops a replica (up to 2.5), and deletes it if `deletes`."""

    tp: TopicPartition
    deletes: bool


# --- server.log


class SessionEstablished(Message, frozen=True):
    """A broker is connected to ZooKeeper with this session and session timeout."""

    session_id: int
    timeout_ms: int


class ConnectionLost(Message, frozen=True):
    """A broker's connection to ZooKeeper was lost, or could not be made."""


class LogTruncated(Message, frozen=True):
    """A broker has removed the records of a replica from this offset on."""

    tp: TopicPartition
    offset: int


class LogDirLost(Message, frozen=True):
    """A log directory of the broker has failed, and with it these replicas."""

    partitions: tuple[TopicPartition, ...]
    path: str


class UncleanShutdown(Message, frozen=True):
    """A broker stops although no controller has answered its requests for a controlled shutdown."""
