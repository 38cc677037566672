"""The event log's vocabulary: which kinds of event there are, and which columns an event can have.

One flat record serves every kind, so that JSONL, Parquet and Spark share one schema. A column has one type and one meaning
whatever the kind. Columns are only ever added, with EVENT_SCHEMA_VERSION raised; none changes its meaning.
"""

import base64
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, TypedDict

import msgspec

from kcsim.zk.vocabulary import SessionId, Zxid

EVENT_SCHEMA_VERSION = 2


class Transaction(NamedTuple):
    """Names the event of a ZooKeeper transaction before its seq is known: what a watch saw, by zxid and path."""

    zxid: Zxid
    path: str


class EventKind(StrEnum):
    """Kafka's word where there is one."""

    # the run
    RUN_STARTED = "RunStarted"
    RUN_ENDED = "RunEnded"
    # ZooKeeper, as the server sees it (node: zookeeper)
    ZNODE_CREATED = "ZnodeCreated"
    ZNODE_CHANGED = "ZnodeChanged"
    ZNODE_DELETED = "ZnodeDeleted"
    SESSION_CREATED = "SessionCreated"
    SESSION_CLOSED = "SessionClosed"  # by its client, or expired: `error` tells
    # ZooKeeper, as a client sees it (node: broker-N)
    SESSION_STATE = "SessionState"
    ZK_WRITE = "ZkWrite"  # begun
    ZK_WRITE_APPLIED = "ZkWriteApplied"
    ZK_WRITE_REFUSED = "ZkWriteRefused"
    WATCH_FIRED = "WatchFired"
    BAD_ZNODE = "BadZnode"  # malformed content met
    # brokers
    PROCESS_STATE = "ProcessState"  # `state`: running, paused, stopped, dead
    BROKER_START_FAILED = "BrokerStartFailed"
    BROKER_REGISTERED = "BrokerRegistered"
    # controller
    CONTROLLER_EVENT_QUEUED = "ControllerEventQueued"
    CONTROLLER_EVENT_BEGUN = "ControllerEventBegun"
    CONTROLLER_EVENT_DONE = "ControllerEventDone"
    CONTROLLER_EVENT_FAILED = "ControllerEventFailed"
    CONTROLLER_EVENT_PREEMPTED = "ControllerEventPreempted"
    ELECTION_STARTED = "ElectionStarted"
    ELECTION_LOST = "ElectionLost"
    ELECTION_WON = "ElectionWon"
    CONTROLLER_FAILOVER = "ControllerFailover"  # a step of it, named in `step`
    CONTROLLER_MOVED = "ControllerMoved"
    CONTROLLER_RESIGNED = "ControllerResigned"
    BROKER_CHANGE = "BrokerChange"
    TOPIC_CHANGE = "TopicChange"
    PARTITION_STATE_CHANGE = "PartitionStateChange"  # one call of the state machine: `state` is the target, `count` how many
    REPLICA_STATE_CHANGE = "ReplicaStateChange"  # the same for replicas, one for each broker
    STATE_CHANGE_FAILED = "StateChangeFailed"  # of one partition or replica, or of all that a call was given
    LEADER_ELECTION = "LeaderElection"  # one decision; `leader` is absent when nobody could be elected
    REPLICA_REMOVED_FROM_ISR = "ReplicaRemovedFromIsr"  # by the controller
    LEADER_EPOCH_BUMPED = "LeaderEpochBumped"
    PARTITION_REASSIGNMENT = "PartitionReassignment"  # a step of it, named in `step`
    TOPIC_DELETION = "TopicDeletion"  # a step of it, named in `step`
    CONTROLLED_SHUTDOWN = "ControlledShutdown"  # asked for, attempted, answered: named in `step`
    LEADER_REBALANCE = "LeaderRebalance"  # what the automatic rebalance found
    METRICS = "Metrics"  # those of the controller that have changed, as JSON in `data`
    # requests between brokers (`event`: LeaderAndIsr, UpdateMetadata, …)
    REQUEST_SENT = "RequestSent"
    REQUEST_FAILED = "RequestFailed"  # connection refused or lost, or no answer in time: it is sent again
    REQUEST_ABANDONED = "RequestAbandoned"  # never to be sent, `count` of them
    RESPONSE_RECEIVED = "ResponseReceived"
    # a broker's replicas
    BECAME_LEADER = "BecameLeader"
    BECAME_FOLLOWER = "BecameFollower"
    REPLICA_STOPPED = "ReplicaStopped"
    REQUEST_REFUSED = "RequestRefused"  # all of it, or the partitions that `detail` names; `error` is Kafka's
    ISR_EXPANDED = "IsrExpanded"  # by the leader
    ISR_SHRUNK = "IsrShrunk"
    ISR_CHANGE_FAILED = "IsrChangeFailed"
    LOG_DIR_FAILED = "LogDirFailed"
    RECORDS_APPENDED = "RecordsAppended"  # by a leader: `count` records of one writer, from `offset`
    RECORDS_TRUNCATED = "RecordsTruncated"  # by a follower: `count` records from `offset` on, as `detail` says whose
    SEGMENT_ROLLED = "SegmentRolled"  # records `offset` to `end_offset` are in a closed segment now; `rule` says why
    SEGMENT_DELETED = "SegmentDeleted"  # with the records `offset` to `end_offset`; `rule` says why
    # consumer groups, as their coordinator sees them (node: broker-N); `rule` says why
    GROUP_MEMBER_JOINED = "GroupMemberJoined"
    GROUP_MEMBER_REMOVED = "GroupMemberRemoved"
    GROUP_REBALANCE = "GroupRebalance"  # begun
    GROUP_GENERATION = "GroupGeneration"  # the join phase is over
    GROUP_STABLE = "GroupStable"  # the assignment is stored and handed out
    GROUP_COORDINATION = "GroupCoordination"  # groups are loaded by a new coordinator or given up: `state`
    OFFSETS_COMMITTED = "OffsetsCommitted"
    # consumers, as they see themselves (node: consumer-NAME)
    GROUP_ASSIGNMENT = "GroupAssignment"  # computed by the leader
    PARTITIONS_ASSIGNED = "PartitionsAssigned"  # consumed from now on
    PARTITIONS_REVOKED = "PartitionsRevoked"  # given up in order
    PARTITIONS_LOST = "PartitionsLost"  # noticed to be somebody else's by now
    RECORDS_CONSUMED = "RecordsConsumed"
    # producers, as they see themselves (node: producer-NAME), summed up: `count` records
    WORKLOAD_STARTED = "WorkloadStarted"
    WORKLOAD_STOPPED = "WorkloadStopped"  # nothing of it is under way any more
    RECORDS_ACKNOWLEDGED = "RecordsAcknowledged"
    RECORDS_REFUSED = "RecordsRefused"  # by attempts: sent again unless the error is final
    RECORDS_GIVEN_UP = "RecordsGivenUp"  # nobody knows whether they are in a log
    LEDGER = "Ledger"  # what became of all records of a partition, as JSON in `data` (node: scenario)
    # a network in trouble (node: the sender, `target`: to whom; `event`: what was sent)
    NETWORK_STALLED = "NetworkStalled"  # it does not arrive and is sent again, and what follows waits; `rule`: cut, lost
    NETWORK_RESUMED = "NetworkResumed"  # it has arrived after all, with what waited: `count` in all, `duration_ms` late
    NETWORK_CONNECTION_BROKEN = "NetworkConnectionBroken"  # the connection is gone; `rule` says why
    # faults and admin acts (node: scenario)
    PROTECTION_OFF = "ProtectionOff"  # throughout the run: `rule` names it, `detail` says what follows
    FAULT = "Fault"
    FAULT_CONFIRMED = "FaultConfirmed"
    ADMIN_ACT = "AdminAct"
    STEP_SKIPPED = "StepSkipped"  # a step of the timetable could not be done, and need not be: `op` is its verb
    EXPECTATION = "Expectation"


class EventFields(TypedDict, total=False):
    """The columns beside seq, t_ms, node, kind and cause. All optional; absent means it has no meaning for the kind."""

    # znodes and sessions
    path: str
    data: str  # UTF-8 text of the znode, or "base64:…" where it is none; absent for null data
    zxid: int
    zk_version: int
    ephemeral: bool
    session_id: str  # 0x + 16 hexadecimal digits
    op: str  # create, set, delete, check, multi, …
    count: int  # how many operations, children, events
    # cluster
    broker_id: int
    broker_epoch: int
    controller_id: int  # -1: nobody
    controller_epoch: int
    controller_epoch_zk_version: int
    topic: str
    partition: int
    leader: int  # -1: nobody
    leader_epoch: int
    isr: Sequence[int]
    replicas: Sequence[int]
    brokers: Sequence[int]
    # logs
    offset: int  # of the first record concerned
    end_offset: int  # the offset after the last
    high_watermark: int
    writer: str  # who wrote the records
    sequence: int  # of the first of them, in what the writer has written
    # consumer groups
    group: str
    member: str  # member id
    generation: int
    partitions: Sequence[str]  # as orders-0
    # what happened, to whom, why
    event: str  # a controller event's name
    state: str
    step: str
    fault: str
    target: str  # a node
    outcome: str  # applied, not applied, unknown; held, violated, undecided
    error: str  # ZooKeeper's or Kafka's name of the error
    rule: str  # the rule that decided
    inputs: str  # what it decided on
    detail: str  # one sentence for a person
    duration_ms: int
    # the run
    scenario: str
    seed: int
    schema_version: int


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the event log.

    Attributes:
        seq: place in the log, from 0, without gaps.
        t_ms: integer milliseconds since the run began.
        node: broker-N, zookeeper or scenario.
        cause: seq of the event that this one follows from; None at the roots (start of the run, faults, admin acts).
    """

    seq: int
    t_ms: int
    node: str
    kind: EventKind
    cause: int | None = None
    path: str | None = None
    data: str | None = None
    zxid: int | None = None
    zk_version: int | None = None
    ephemeral: bool | None = None
    session_id: str | None = None
    op: str | None = None
    count: int | None = None
    broker_id: int | None = None
    broker_epoch: int | None = None
    controller_id: int | None = None
    controller_epoch: int | None = None
    controller_epoch_zk_version: int | None = None
    topic: str | None = None
    partition: int | None = None
    leader: int | None = None
    leader_epoch: int | None = None
    isr: Sequence[int] | None = None
    replicas: Sequence[int] | None = None
    brokers: Sequence[int] | None = None
    offset: int | None = None
    end_offset: int | None = None
    high_watermark: int | None = None
    writer: str | None = None
    sequence: int | None = None
    group: str | None = None
    member: str | None = None
    generation: int | None = None
    partitions: Sequence[str] | None = None
    event: str | None = None
    state: str | None = None
    step: str | None = None
    fault: str | None = None
    target: str | None = None
    outcome: str | None = None
    error: str | None = None
    rule: str | None = None
    inputs: str | None = None
    detail: str | None = None
    duration_ms: int | None = None
    scenario: str | None = None
    seed: int | None = None
    schema_version: int | None = None


TRANSACTIONS = frozenset(
    {
        EventKind.ZNODE_CREATED,
        EventKind.ZNODE_CHANGED,
        EventKind.ZNODE_DELETED,
        EventKind.SESSION_CREATED,
        EventKind.SESSION_CLOSED,
    }
)
"""What ZooKeeper's transactions are told by: where none of these comes any more, it is quiet."""


def hexadecimal(session_id: SessionId) -> str:
    """A session id as the event log has it: 0x and 16 digits."""
    return f"0x{session_id & (2**64 - 1):016x}"


def data_text(data: bytes | None) -> str | None:
    """A znode's data as the `data` column has it: UTF-8 text, "base64:…" for what is none, None for null data."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(data).decode()
