"""The events that the controller's event thread processes, and the controller state that goes with each.

Source: Kafka 2.8, ControllerEvent and ControllerState; names, states and gauge values are Kafka's.
"""

from collections.abc import Collection, Mapping
from enum import Enum, StrEnum
from functools import cached_property

import msgspec

from kcsim.controller.errors import NotControllerError
from kcsim.controller.requests import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterIsrRequest,
    AlterIsrResponse,
    ApiError,
    ControlledShutdownResponse,
    ErrorCode,
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from kcsim.runtime.ports import Promise
from kcsim.vocabulary import BrokerEpoch, BrokerId, ReplicaAssignment, TopicPartition


class ControllerState(Enum):
    """What the controller is doing; `gauge` is the value of Kafka's ControllerState metric."""

    IDLE = ("Idle", 0)
    CONTROLLER_CHANGE = ("ControllerChange", 1)
    BROKER_CHANGE = ("BrokerChange", 2)
    TOPIC_CHANGE = ("TopicChange", 3)
    TOPIC_DELETION = ("TopicDeletion", 4)
    ALTER_PARTITION_REASSIGNMENT = ("AlterPartitionReassignment", 5)
    AUTO_LEADER_BALANCE = ("AutoLeaderBalance", 6)
    MANUAL_LEADER_BALANCE = ("ManualLeaderBalance", 7)
    CONTROLLED_SHUTDOWN = ("ControlledShutdown", 8)
    ISR_CHANGE = ("IsrChange", 9)
    LEADER_AND_ISR_RESPONSE_RECEIVED = ("LeaderAndIsrResponseReceived", 10)
    LOG_DIR_CHANGE = ("LogDirChange", 11)
    CONTROLLER_SHUTDOWN = ("ControllerShutdown", 12)
    UNCLEAN_LEADER_ELECTION_ENABLE = ("UncleanLeaderElectionEnable", 13)
    TOPIC_UNCLEAN_LEADER_ELECTION_ENABLE = ("TopicUncleanLeaderElectionEnable", 14)
    LIST_PARTITION_REASSIGNMENT = ("ListPartitionReassignment", 15)
    UPDATE_METADATA_RESPONSE_RECEIVED = ("UpdateMetadataResponseReceived", 16)

    def __init__(self, kafka_name: str, gauge: int) -> None:
        self.kafka_name = kafka_name
        self.gauge = gauge

    @cached_property
    def timer(self) -> str | None:
        """The metric that times events of this state. Two states have a differently named timer, two have none."""
        if self in (ControllerState.IDLE, ControllerState.UPDATE_METADATA_RESPONSE_RECEIVED):
            return None
        own = {
            ControllerState.BROKER_CHANGE: "LeaderElection",
            ControllerState.ALTER_PARTITION_REASSIGNMENT: "PartitionReassignment",
        }
        return f"{own.get(self, self.kafka_name)}RateAndTimeMs"


class Startup(msgspec.Struct, frozen=True):
    """The broker has started its controller module."""


class ControllerChange(msgspec.Struct, frozen=True):
    """/controller was created, or its data changed."""


class Reelect(msgspec.Struct, frozen=True):
    """/controller was deleted."""


class RegisterBrokerAndReelect(msgspec.Struct, frozen=True):
    """A new ZooKeeper session was opened after the old one expired."""


class ControllerEpochChange(msgspec.Struct, frozen=True):
    """/controller_epoch changed or was deleted; only a hardened controller module watches it."""


class OwnRegistrationDeleted(msgspec.Struct, frozen=True):
    """The registration of the module's own broker was deleted; only a hardened controller module watches it."""


class Expire(msgspec.Struct, frozen=True):
    """The ZooKeeper session expired."""


class ShutdownEventThread(msgspec.Struct, frozen=True):
    """The broker shuts down."""


class BrokerChange(msgspec.Struct, frozen=True):
    """The children of /brokers/ids changed."""


class BrokerModifications(msgspec.Struct, frozen=True):
    """The data of one broker's registration changed."""

    broker_id: BrokerId

    def __str__(self) -> str:
        return f"BrokerModifications({self.broker_id})"


class TopicChange(msgspec.Struct, frozen=True):
    """The children of /brokers/topics changed."""


class PartitionModifications(msgspec.Struct, frozen=True):
    """The data of one topic's znode changed."""

    topic: str

    def __str__(self) -> str:
        return f"PartitionModifications({self.topic})"


class TopicDeletion(msgspec.Struct, frozen=True):
    """The children of /admin/delete_topics changed."""


class IsrChangeNotification(msgspec.Struct, frozen=True):
    """The children of /isr_change_notification changed."""


class LogDirEventNotification(msgspec.Struct, frozen=True):
    """The children of /log_dir_event_notification changed."""


class ZkPartitionReassignment(msgspec.Struct, frozen=True):
    """/admin/reassign_partitions was created, or this controller deleted it, so that its watch must be set again."""


class PartitionReassignmentIsrChange(msgspec.Struct, frozen=True):
    """The state znode of a partition that is being reassigned changed."""

    partition: TopicPartition

    def __str__(self) -> str:
        return f"PartitionReassignmentIsrChange({self.partition})"


class QuarantinedZnodeChange(msgspec.Struct, frozen=True):
    """A znode that a hardened controller holds in quarantine changed, was deleted, or has just been quarantined."""

    path: str

    def __str__(self) -> str:
        return f"QuarantinedZnodeChange({self.path})"


class ElectionType(StrEnum):
    """The type of a requested leader election."""

    PREFERRED = "PREFERRED"
    UNCLEAN = "UNCLEAN"


class ElectionTrigger(StrEnum):
    """The source of an election: /admin/preferred_replica_election, the controller's own balancing, or an admin client."""

    ZK_TRIGGERED = "ZkTriggered"
    AUTO_TRIGGERED = "AutoTriggered"
    ADMIN_CLIENT_TRIGGERED = "AdminClientTriggered"


ElectionResults = dict[TopicPartition, ApiError]
ReassignmentTargets = Mapping[TopicPartition, tuple[BrokerId, ...] | None]
"""The target replicas of each partition; None cancels the reassignment that is under way."""


class ReplicaLeaderElection(msgspec.Struct, frozen=True):
    """An election of leaders. `partitions` None: the partitions that /admin/preferred_replica_election names."""

    partitions: Collection[TopicPartition] | None = None
    election_type: ElectionType = ElectionType.PREFERRED
    trigger: ElectionTrigger = ElectionTrigger.ZK_TRIGGERED
    answer: Promise[ElectionResults] | None = None


class AutoPreferredReplicaLeaderElection(msgspec.Struct, frozen=True):
    """It is time to check the leader imbalance of the brokers."""


class UncleanLeaderElectionEnable(msgspec.Struct, frozen=True):
    """unclean.leader.election.enable was switched on for the cluster."""


class TopicUncleanLeaderElectionEnable(msgspec.Struct, frozen=True):
    """unclean.leader.election.enable was switched on for one topic."""

    topic: str

    def __str__(self) -> str:
        return f"TopicUncleanLeaderElectionEnable({self.topic})"


class ControlledShutdown(msgspec.Struct, frozen=True):
    """A broker is about to stop and asks the controller to move its leaderships. broker_epoch -1: any epoch is accepted."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    answer: Promise[ControlledShutdownResponse]

    def __str__(self) -> str:
        return f"ControlledShutdown({self.broker_id})"


class AlterIsrReceived(msgspec.Struct, frozen=True):
    """Leaders on a broker ask for other ISRs."""

    request: AlterIsrRequest
    answer: Promise[AlterIsrResponse]

    def __str__(self) -> str:
        return f"AlterIsrReceived({self.request.broker_id})"


class AllocateProducerIds(msgspec.Struct, frozen=True):
    """A broker asks for a block of producer ids."""

    request: AllocateProducerIdsRequest
    answer: Promise[AllocateProducerIdsResponse]

    def __str__(self) -> str:
        return f"AllocateProducerIds({self.request.broker_id})"


class ApiPartitionReassignment(msgspec.Struct, frozen=True):
    """An AlterPartitionReassignments request."""

    targets: ReassignmentTargets
    answer: Promise[dict[TopicPartition, ErrorCode]]


class ListPartitionReassignments(msgspec.Struct, frozen=True):
    """A ListPartitionReassignments request. `partitions` None: all partitions that are being reassigned."""

    partitions: Collection[TopicPartition] | None
    answer: Promise[dict[TopicPartition, ReplicaAssignment]]


class LeaderAndIsrResponseReceived(msgspec.Struct, frozen=True):
    broker_id: BrokerId
    response: LeaderAndIsrResponse

    def __str__(self) -> str:
        return f"LeaderAndIsrResponseReceived({self.broker_id})"


class UpdateMetadataResponseReceived(msgspec.Struct, frozen=True):
    broker_id: BrokerId
    response: UpdateMetadataResponse

    def __str__(self) -> str:
        return f"UpdateMetadataResponseReceived({self.broker_id})"


class TopicDeletionStopReplicaResponseReceived(msgspec.Struct, frozen=True):
    """A broker answered a StopReplica that deletes. The response has only partitions of topics in deletion."""

    broker_id: BrokerId
    response: StopReplicaResponse

    def __str__(self) -> str:
        return f"TopicDeletionStopReplicaResponseReceived({self.broker_id})"


RoleEvent = (
    Startup
    | ControllerChange
    | Reelect
    | RegisterBrokerAndReelect
    | ControllerEpochChange
    | OwnRegistrationDeleted
    | Expire
    | ShutdownEventThread
)
"""The events of the controller role, which the controller module of every broker processes."""

ClusterEvent = (
    BrokerChange
    | BrokerModifications
    | TopicChange
    | PartitionModifications
    | TopicDeletion
    | TopicDeletionStopReplicaResponseReceived
    | LeaderAndIsrResponseReceived
    | UpdateMetadataResponseReceived
    | IsrChangeNotification
    | LogDirEventNotification
    | ZkPartitionReassignment
    | PartitionReassignmentIsrChange
    | QuarantinedZnodeChange
)
"""The changes of the cluster, and the brokers' responses, which only the active controller processes."""

RequestEvent = (
    ApiPartitionReassignment
    | ListPartitionReassignments
    | ReplicaLeaderElection
    | AutoPreferredReplicaLeaderElection
    | UncleanLeaderElectionEnable
    | TopicUncleanLeaderElectionEnable
    | ControlledShutdown
    | AlterIsrReceived
    | AllocateProducerIds
)
"""The events that a person, a client or a setting requests, which only the active controller processes."""

ActiveControllerEvent = ClusterEvent | RequestEvent
ControllerEvent = RoleEvent | ActiveControllerEvent

_STATES: dict[type, ControllerState] = {
    Startup: ControllerState.CONTROLLER_CHANGE,
    ControllerChange: ControllerState.CONTROLLER_CHANGE,
    Reelect: ControllerState.CONTROLLER_CHANGE,
    RegisterBrokerAndReelect: ControllerState.CONTROLLER_CHANGE,
    ControllerEpochChange: ControllerState.CONTROLLER_CHANGE,
    OwnRegistrationDeleted: ControllerState.CONTROLLER_CHANGE,
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
    PartitionReassignmentIsrChange: ControllerState.ALTER_PARTITION_REASSIGNMENT,
    QuarantinedZnodeChange: ControllerState.TOPIC_CHANGE,
    ApiPartitionReassignment: ControllerState.ALTER_PARTITION_REASSIGNMENT,
    ReplicaLeaderElection: ControllerState.MANUAL_LEADER_BALANCE,
    AutoPreferredReplicaLeaderElection: ControllerState.AUTO_LEADER_BALANCE,
    UncleanLeaderElectionEnable: ControllerState.UNCLEAN_LEADER_ELECTION_ENABLE,
    TopicUncleanLeaderElectionEnable: ControllerState.TOPIC_UNCLEAN_LEADER_ELECTION_ENABLE,
    ControlledShutdown: ControllerState.CONTROLLED_SHUTDOWN,
    AlterIsrReceived: ControllerState.ISR_CHANGE,
    AllocateProducerIds: ControllerState.IDLE,
    ListPartitionReassignments: ControllerState.LIST_PARTITION_REASSIGNMENT,
    LeaderAndIsrResponseReceived: ControllerState.LEADER_AND_ISR_RESPONSE_RECEIVED,
    UpdateMetadataResponseReceived: ControllerState.UPDATE_METADATA_RESPONSE_RECEIVED,
    TopicDeletionStopReplicaResponseReceived: ControllerState.TOPIC_DELETION,
}


def state_of(event: ControllerEvent) -> ControllerState:
    """Return the state of the controller while it processes an event."""
    return _STATES[type(event)]


def name_of(event: ControllerEvent) -> str:
    """Return the event's name as in Kafka's log: BrokerChange, PartitionModifications(orders)."""
    has_own_words = type(event).__str__ is not object.__str__
    return str(event) if has_own_words else type(event).__name__


def preempt(event: ControllerEvent) -> None:
    """Notify the waiting caller, if there is one, that the event will not be processed."""
    match event:
        case ControlledShutdown(answer=answer):
            answer.resolve(ControlledShutdownResponse(ErrorCode.STALE_CONTROLLER_EPOCH))
        case AlterIsrReceived(answer=answer):
            answer.resolve(AlterIsrResponse(ErrorCode.NOT_CONTROLLER))
        case AllocateProducerIds(answer=answer):
            answer.resolve(AllocateProducerIdsResponse(ErrorCode.NOT_CONTROLLER))
        case ApiPartitionReassignment(answer=answer) | ListPartitionReassignments(answer=answer):
            answer.fail(NotControllerError("the controller has moved"))
        case ReplicaLeaderElection(answer=answer) if answer is not None:
            answer.fail(NotControllerError("the controller has moved"))
        case _:
            pass  # nobody waits for the other events
