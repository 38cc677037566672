"""What the controller's event thread can be asked to process, and the state that it is in meanwhile.

Source: Kafka 2.8, ControllerEvent and ControllerState; names, states and gauge values are Kafka's.
"""

from dataclasses import dataclass
from enum import Enum

from kcsim.zk.vocabulary import BrokerId


class ControllerState(Enum):
    """What the controller is doing; `gauge` is the value of Kafka's ControllerState metric."""

    IDLE = ("Idle", 0)
    CONTROLLER_CHANGE = ("ControllerChange", 1)
    BROKER_CHANGE = ("BrokerChange", 2)
    TOPIC_CHANGE = ("TopicChange", 3)
    TOPIC_DELETION = ("TopicDeletion", 4)
    ALTER_PARTITION_REASSIGNMENT = ("AlterPartitionReassignment", 5)
    MANUAL_LEADER_BALANCE = ("ManualLeaderBalance", 7)
    ISR_CHANGE = ("IsrChange", 9)
    LOG_DIR_CHANGE = ("LogDirChange", 11)
    CONTROLLER_SHUTDOWN = ("ControllerShutdown", 12)

    def __init__(self, kafka_name: str, gauge: int) -> None:
        self.kafka_name = kafka_name
        self.gauge = gauge


@dataclass(frozen=True, slots=True)
class Startup:
    """The broker has started its controller module."""


@dataclass(frozen=True, slots=True)
class ControllerChange:
    """/controller was created, or its data changed."""


@dataclass(frozen=True, slots=True)
class Reelect:
    """/controller was deleted."""


@dataclass(frozen=True, slots=True)
class RegisterBrokerAndReelect:
    """A new ZooKeeper session was opened after the old one expired."""


@dataclass(frozen=True, slots=True)
class Expire:
    """The ZooKeeper session expired."""


@dataclass(frozen=True, slots=True)
class ShutdownEventThread:
    """The broker goes down."""


@dataclass(frozen=True, slots=True)
class BrokerChange:
    """The children of /brokers/ids changed."""


@dataclass(frozen=True, slots=True)
class BrokerModifications:
    """The data of one registration changed."""

    broker_id: BrokerId

    def __str__(self) -> str:
        return f"BrokerModifications({self.broker_id})"


@dataclass(frozen=True, slots=True)
class TopicChange:
    """The children of /brokers/topics changed."""


@dataclass(frozen=True, slots=True)
class PartitionModifications:
    """The data of one topic's znode changed."""

    topic: str

    def __str__(self) -> str:
        return f"PartitionModifications({self.topic})"


@dataclass(frozen=True, slots=True)
class TopicDeletion:
    """The children of /admin/delete_topics changed."""


@dataclass(frozen=True, slots=True)
class IsrChangeNotification:
    """The children of /isr_change_notification changed."""


@dataclass(frozen=True, slots=True)
class LogDirEventNotification:
    """The children of /log_dir_event_notification changed."""


@dataclass(frozen=True, slots=True)
class ZkPartitionReassignment:
    """/admin/reassign_partitions was created."""


@dataclass(frozen=True, slots=True)
class ReplicaLeaderElection:
    """/admin/preferred_replica_election was created."""


ControllerEvent = (
    Startup
    | ControllerChange
    | Reelect
    | RegisterBrokerAndReelect
    | Expire
    | ShutdownEventThread
    | BrokerChange
    | BrokerModifications
    | TopicChange
    | PartitionModifications
    | TopicDeletion
    | IsrChangeNotification
    | LogDirEventNotification
    | ZkPartitionReassignment
    | ReplicaLeaderElection
)

_STATES: dict[type, ControllerState] = {
    Startup: ControllerState.CONTROLLER_CHANGE,
    ControllerChange: ControllerState.CONTROLLER_CHANGE,
    Reelect: ControllerState.CONTROLLER_CHANGE,
    RegisterBrokerAndReelect: ControllerState.CONTROLLER_CHANGE,
    Expire: ControllerState.CONTROLLER_CHANGE,
    ShutdownEventThread: ControllerState.CONTROLLER_SHUTDOWN,
    BrokerChange: ControllerState.BROKER_CHANGE,
    BrokerModifications: ControllerState.BROKER_CHANGE,
    TopicChange: ControllerState.TOPIC_CHANGE,
    PartitionModifications: ControllerState.TOPIC_CHANGE,
    TopicDeletion: ControllerState.TOPIC_DELETION,
    IsrChangeNotification: ControllerState.ISR_CHANGE,
    LogDirEventNotification: ControllerState.LOG_DIR_CHANGE,
    ZkPartitionReassignment: ControllerState.ALTER_PARTITION_REASSIGNMENT,
    ReplicaLeaderElection: ControllerState.MANUAL_LEADER_BALANCE,
}


def state_of(event: ControllerEvent) -> ControllerState:
    """The state that the controller is in while it processes an event."""
    return _STATES[type(event)]


def name_of(event: ControllerEvent) -> str:
    """The event as Kafka's log names it: BrokerChange, PartitionModifications(orders)."""
    return str(event) if isinstance(event, BrokerModifications | PartitionModifications) else type(event).__name__
