"""The kinds of event in the event log, and the columns of an event.

One flat record serves every kind, so that JSONL, Parquet and Spark share one schema. A column has one type and one meaning
for all kinds. Columns are only added, with EVENT_SCHEMA_VERSION raised; no column changes its meaning.

Facts are in typed columns. `detail` and `inputs` are sentences for a person: no code reads a fact out of them, with the
exception of schema_upgrade.py, which reads logs of version 2.
"""

import base64
import binascii
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, TypedDict

import msgspec

from kcsim.vocabulary import FailureReason, SessionId, Zxid

EVENT_SCHEMA_VERSION = 3


class TransactionRef(NamedTuple):
    """A reference by zxid and path to a ZooKeeper transaction's event whose seq is not known yet: the change a watch saw."""

    zxid: Zxid
    path: str


class EventKind(StrEnum):
    """The kinds of event, named as Kafka names them where Kafka has a name.

    A kind is written as its name, its meaning, and the columns that events of the kind may have beside seq, t_ms, node, kind
    and cause. The comments are the headings under which docs/reference/event-log.md lists the kinds.
    """

    meaning: str
    columns: tuple[str, ...]

    def __new__(cls, value: str, meaning: str = "", *columns: str) -> "EventKind":
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.meaning = meaning
        kind.columns = columns
        return kind

    # The run
    RUN_STARTED = (
        "RunStarted",
        "The run begins; always the first event.",
        "scenario",
        "seed",
        "zookeeper",
        "broker_software",
        "schema_version",
        "data",
        "detail",
    )
    RUN_ENDED = "RunEnded", "The run is over; what follows is its clean-up."
    RUN_STALLED = (
        "RunStalled",
        "Live only: the run's own process was not scheduled for `duration_ms`, so that sessions may have expired.",
        *("duration_ms", "detail"),
    )
    # ZooKeeper, as its servers see it (node: `zookeeper`)
    ZNODE_CREATED = (
        "ZnodeCreated",
        "A transaction created a znode.",
        *("path", "data", "zxid", "zk_version", "ephemeral", "session_id"),
    )
    ZNODE_CHANGED = (
        "ZnodeChanged",
        "A transaction set the data of a znode.",
        *("path", "data", "zxid", "zk_version", "ephemeral", "session_id"),
    )
    ZNODE_DELETED = (
        "ZnodeDeleted",
        "A transaction deleted a znode, or the end of a session removed it.",
        *("path", "zxid", "zk_version", "ephemeral", "session_id"),
    )
    SESSION_CREATED = (
        "SessionCreated",
        "A session was created, with a time-out of `duration_ms`.",
        *("session_id", "zxid", "duration_ms"),
    )
    SESSION_CLOSED = (
        "SessionClosed",
        "A session ended: its client closed it, or it expired, which `error` says.",
        *("session_id", "zxid", "error", "detail"),
    )
    # ZooKeeper, as a client sees it
    SESSION_STATE = (
        "SessionState",
        "The client's view of its session changed to `state`; `duration_ms` is the time-out.",
        *("session_id", "state", "duration_ms"),
    )
    ZK_WRITE = (
        "ZkWrite",
        "The client begins a write; `count` is the number of its operations. A controller's write names its fence.",
        *("path", "op", "count", "inputs", "controller_epoch_zk_version"),
    )
    ZK_WRITE_APPLIED = (
        "ZkWriteApplied",
        "ZooKeeper applied the write.",
        *("path", "op", "count", "zxid", "zk_version", "outcome"),
    )
    ZK_WRITE_REFUSED = (
        "ZkWriteRefused",
        "The write failed, or got no answer; `outcome` says whether it was applied.",
        *("path", "op", "count", "outcome", "error", "detail"),
    )
    WATCH_FIRED = "WatchFired", "A watch of the client fired.", "path", "zxid", "event", "detail"
    BAD_ZNODE = "BadZnode", "The client read a znode whose content is malformed.", "path", "error", "reason", "detail"
    ZNODE_QUARANTINED = (
        "ZnodeQuarantined",
        "A hardened controller does not use the znode, because its content is wrong (`rule`), and serves everything else.",
        *("path", "topic", "partition", "broker_id", "rule", "detail"),
    )
    ZNODE_RELEASED = (
        "ZnodeReleased",
        "A hardened controller uses the znode again: it was repaired or deleted.",
        *("path", "topic", "partition", "broker_id", "detail"),
    )
    # Brokers
    PROCESS_STATE = (
        "ProcessState",
        "The process of a broker or client changed to `state`: running, paused, stopped or dead.",
        *("state", "error", "breakpoint", "breakpoint_path", "detail"),
    )
    BROKER_START_FAILED = "BrokerStartFailed", "A broker could not start.", "broker_id", "detail"
    BROKER_REGISTERED = (
        "BrokerRegistered",
        "A broker created its znode below /brokers/ids.",
        *("path", "broker_id", "broker_epoch"),
    )
    # Controller
    CONTROLLER_EVENT_QUEUED = (
        "ControllerEventQueued",
        "A controller event was put into the queue, which then holds `count` events.",
        *("event", "count"),
    )
    CONTROLLER_EVENT_BEGUN = "ControllerEventBegun", "The controller begins to process an event.", "event"
    CONTROLLER_EVENT_DONE = (
        "ControllerEventDone",
        "The controller has processed an event, in `duration_ms`.",
        *("event", "duration_ms"),
    )
    CONTROLLER_EVENT_FAILED = (
        "ControllerEventFailed",
        "An error ended the processing of an event.",
        *("event", "error", "reason", "detail"),
    )
    CONTROLLER_EVENT_PREEMPTED = (
        "ControllerEventPreempted",
        "An event was removed from the queue unprocessed; `rule` says by which event.",
        *("event", "rule"),
    )
    ELECTION_STARTED = "ElectionStarted", "A broker tries to become the controller.", "broker_id"
    ELECTION_LOST = (
        "ElectionLost",
        "Another broker is the controller: `controller_id`, or -1 if /controller is gone again.",
        *("controller_id", "reason", "rule", "detail"),
    )
    ELECTION_WON = (
        "ElectionWon",
        "A broker became the controller: it created /controller and raised /controller_epoch in one transaction.",
        *("controller_id", "controller_epoch", "controller_epoch_zk_version", "rule"),
    )
    CONTROLLER_FAILOVER = (
        "ControllerFailover",
        "One step of a new controller's initialization, named in `step`.",
        *(
            "step",
            "controller_epoch",
            "controller_id",
            "brokers",
            "count",
            "unclean_leader_election_enable",
            "inputs",
            "detail",
        ),
    )
    CONTROLLER_MOVED = (
        "ControllerMoved",
        "A controller learned from a refused write that another controller was elected.",
        *("event", "detail"),
    )
    CONTROLLER_RESIGNED = (
        "ControllerResigned",
        "A controller gave up its role.",
        *("controller_id", "controller_epoch"),
    )
    BROKER_CHANGE = (
        "BrokerChange",
        "The controller compared the registered brokers with those it knew, or acted on the difference (`step`).",
        *("broker_id", "brokers", "started", "stopped", "bounced", "step", "rule", "inputs", "detail"),
    )
    TOPIC_CHANGE = (
        "TopicChange",
        "The controller found new topics, deleted topics, or new partitions; `count` is the number of new partitions.",
        *("topic", "count", "new_topics", "deleted_topics", "detail"),
    )
    PARTITION_STATE_CHANGE = (
        "PartitionStateChange",
        "One call of the partition state machine: `count` partitions change to `state`; one alone is named.",
        *("state", "count", "topic", "partition", "detail"),
    )
    REPLICA_STATE_CHANGE = (
        "ReplicaStateChange",
        "One call of the replica state machine for one broker: `count` replicas change to `state`; one alone is named.",
        *("state", "broker_id", "count", "topic", "partition", "detail"),
    )
    STATE_CHANGE_FAILED = (
        "StateChangeFailed",
        "A partition or replica, or all those of one call, could not change to `state`.",
        *("state", "broker_id", "topic", "partition", "error", "strategy", "reason", "rule", "inputs", "detail"),
    )
    LEADER_ELECTION = (
        "LeaderElection",
        "The controller's choice of a partition's leader; `leader` is absent when no broker could be elected.",
        *(
            "topic",
            "partition",
            "leader",
            "leader_epoch",
            "isr",
            "replicas",
            "previous_isr",
            "live_replicas",
            "rule",
            "inputs",
            "detail",
        ),
    )
    REPLICA_REMOVED_FROM_ISR = (
        "ReplicaRemovedFromIsr",
        "The controller removed the replica on `broker_id` from the ISR.",
        *("broker_id", "topic", "partition", "leader", "leader_epoch", "isr", "rule", "inputs"),
    )
    LEADER_EPOCH_BUMPED = (
        "LeaderEpochBumped",
        "The controller raised the leader epoch and kept leader and ISR.",
        *("topic", "partition", "leader", "leader_epoch", "isr", "rule", "inputs", "detail"),
    )
    PARTITION_REASSIGNMENT = (
        "PartitionReassignment",
        "One step of a reassignment, named in `step`.",
        *(
            "topic",
            "partition",
            "replicas",
            "adding_replicas",
            "removing_replicas",
            "target_replicas",
            "step",
            "inputs",
            "error",
            "reason",
            "detail",
        ),
    )
    TOPIC_DELETION = (
        "TopicDeletion",
        "One step of the deletion of a topic, named in `step`.",
        *("topic", "step", "reason", "detail"),
    )
    CONTROLLED_SHUTDOWN = (
        "ControlledShutdown",
        "A controlled shutdown was requested, attempted or answered (`step`); the broker still leads `count` partitions.",
        *("broker_id", "step", "count", "error", "detail"),
    )
    LEADER_REBALANCE = (
        "LeaderRebalance",
        "The automatic check found too many partitions of `broker_id` led by others: it elects `count` preferred leaders.",
        *("broker_id", "count", "rule", "inputs", "detail"),
    )
    METRICS = "Metrics", "The controller metrics that changed, as a JSON object in `data`.", "data"
    # Requests between the controller and the brokers (`event`: LeaderAndIsr, UpdateMetadata, …)
    REQUEST_SENT = (
        "RequestSent",
        "A request was sent to `broker_id`, about `count` partitions.",
        *("event", "broker_id", "broker_epoch", "controller_epoch", "count", "live_broker_count", "detail"),
    )
    REQUEST_RECEIVED = (
        "RequestReceived",
        "A request of `broker_id`, which is another process, has arrived; only in the trace of a broker's process.",
        *("event", "broker_id"),
    )
    REQUEST_FAILED = (
        "RequestFailed",
        "The connection was refused or lost, or no answer came in time: the request will be sent again.",
        *("event", "broker_id", "broker_epoch", "controller_epoch", "count", "error", "detail"),
    )
    REQUEST_ABANDONED = (
        "RequestAbandoned",
        "`count` requests to `broker_id` will never be sent.",
        *("event", "broker_id", "broker_epoch", "controller_epoch", "count", "error", "rule", "detail"),
    )
    RESPONSE_RECEIVED = (
        "ResponseReceived",
        "`broker_id` answered after `duration_ms`.",
        *("event", "broker_id", "count", "refused_partitions", "errors", "error", "detail", "duration_ms"),
    )
    # A broker's replicas
    BECAME_LEADER = (
        "BecameLeader",
        "A LeaderAndIsr request made a broker lead a partition; one event for `count` of them if there are very many.",
        *("topic", "partition", "leader", "leader_epoch", "isr", "replicas", "controller_epoch", "zk_version"),
        *("count", "detail"),
    )
    BECAME_FOLLOWER = (
        "BecameFollower",
        "A LeaderAndIsr request made a broker follow a partition; one event for `count` of them if there are very many.",
        *("topic", "partition", "leader", "leader_epoch", "isr", "replicas", "controller_epoch", "zk_version"),
        *("count", "detail"),
    )
    STAYED_LEADER = (
        "StayedLeader",
        "A LeaderAndIsr request named no leader, or one that the broker does not know, so that the broker, which led the "
        "partition, goes on leading it in its former leader epoch.",
        *("topic", "partition", "leader", "leader_epoch", "isr", "controller_epoch", "count", "detail"),
    )
    REPLICA_STOPPED = (
        "ReplicaStopped",
        "A broker stopped a replica, and deleted its log or kept it (`deleted`).",
        *("topic", "partition", "leader_epoch", "deleted", "detail"),
    )
    REQUEST_REFUSED = (
        "RequestRefused",
        "A broker refused a request, or `count` partitions of it; `error` is Kafka's error.",
        *(
            "event",
            "broker_id",
            "broker_epoch",
            "controller_id",
            "controller_epoch",
            "count",
            "refused_partitions",
            "error",
            "detail",
        ),
    )
    ISR_EXPANDED = (
        "IsrExpanded",
        "A leader added the replica on `broker_id` to the ISR.",
        *("broker_id", "topic", "partition", "leader", "leader_epoch", "isr", "controller_epoch", "zk_version"),
    )
    ISR_SHRUNK = (
        "IsrShrunk",
        "A leader removed the replicas on `brokers` from the ISR.",
        *("brokers", "topic", "partition", "leader", "leader_epoch", "isr", "controller_epoch", "zk_version"),
        *("end_offset", "high_watermark", "rule", "inputs", "detail"),
    )
    ISR_CHANGE_FAILED = (
        "IsrChangeFailed",
        "A leader could not write a new ISR.",
        *("topic", "partition", "leader", "leader_epoch", "isr", "zk_version", "error", "reason", "detail"),
    )
    LOG_DIR_FAILED = (
        "LogDirFailed",
        "A broker lost a log directory with `count` replicas (`path`), or the controller learned of it (`partitions`).",
        *("broker_id", "path", "count", "partitions", "detail"),
    )
    RECORDS_APPENDED = (
        "RecordsAppended",
        "A leader appended `count` records of one producer, from `offset` on.",
        *("topic", "partition", "leader_epoch", "offset", "end_offset", "count", "writer", "sequence"),
    )
    RECORDS_TRUNCATED = (
        "RecordsTruncated",
        "A follower removed `count` records from `offset` on, to agree with `leader`; `detail` names their producers.",
        *("topic", "partition", "leader", "offset", "end_offset", "high_watermark", "count", "rule", "inputs", "detail"),
    )
    SEGMENT_ROLLED = (
        "SegmentRolled",
        "A leader closed a segment, which has the records from `offset` to `end_offset`; `rule` says why.",
        *("topic", "partition", "offset", "end_offset", "rule", "inputs", "detail"),
    )
    SEGMENT_DELETED = (
        "SegmentDeleted",
        "A segment was deleted, with the records from `offset` to `end_offset`; `rule` says why.",
        *("topic", "partition", "offset", "end_offset", "rule", "inputs", "detail"),
    )
    # Consumer groups, as their coordinator sees them (node: `broker-N`)
    GROUP_MEMBER_JOINED = (
        "GroupMemberJoined",
        "A member joined the group, which now has `count` members.",
        *("group", "member", "count", "state", "detail"),
    )
    GROUP_MEMBER_REMOVED = (
        "GroupMemberRemoved",
        "A member left the group or was removed, as `rule` says.",
        *("group", "member", "generation", "count", "rule", "detail"),
    )
    GROUP_REBALANCE = (
        "GroupRebalance",
        "A rebalance began; `rule` says why.",
        *("group", "generation", "count", "state", "rule"),
    )
    GROUP_GENERATION = (
        "GroupGeneration",
        "The join phase ended with a new generation; `member` leads the group and `rule` is the assignor.",
        *("group", "member", "generation", "count", "state", "rule"),
    )
    GROUP_STABLE = (
        "GroupStable",
        "The assignment is stored and sent to the members.",
        *("group", "generation", "count", "detail"),
    )
    GROUP_COORDINATION = (
        "GroupCoordination",
        "A broker loads the groups of a partition of __consumer_offsets or unloads them: `state` says which.",
        *("topic", "partition", "state", "count", "detail"),
    )
    OFFSETS_COMMITTED = (
        "OffsetsCommitted",
        "A member committed offsets for `count` partitions.",
        *("group", "member", "count", "detail"),
    )
    OFFSETS_DELETED = (
        "OffsetsDeleted",
        "An administrator deleted offsets of `count` partitions; `state` is Dead if the group is deleted with them.",
        *("group", "count", "state", "detail"),
    )
    # Consumers, as they see themselves (node: `consumer-NAME`)
    GROUP_ASSIGNMENT = (
        "GroupAssignment",
        "The group's leader computed an assignment by the assignor that `rule` names.",
        *("group", "generation", "count", "rule", "detail"),
    )
    PARTITIONS_ASSIGNED = (
        "PartitionsAssigned",
        "The consumer consumes these partitions from now on.",
        *("group", "member", "generation", "count", "partitions"),
    )
    PARTITIONS_REVOKED = (
        "PartitionsRevoked",
        "The consumer gave up these partitions before another consumer got them.",
        *("group", "member", "generation", "count", "partitions"),
    )
    PARTITIONS_LOST = (
        "PartitionsLost",
        "The consumer gave up these partitions after another consumer may have got them.",
        *("group", "member", "generation", "count", "partitions"),
    )
    RECORDS_CONSUMED = (
        "RecordsConsumed",
        "The consumer read `count` records of a partition.",
        *("group", "topic", "partition", "count", "detail"),
    )
    # Producers, as they see themselves (node: `producer-NAME`); one event stands for `count` records
    WORKLOAD_STARTED = "WorkloadStarted", "A producer begins to write.", "count", "detail"
    WORKLOAD_STOPPED = "WorkloadStopped", "A producer has stopped, and none of its records is in flight.", "count", "detail"
    RECORDS_ACKNOWLEDGED = (
        "RecordsAcknowledged",
        "The leader acknowledged the records.",
        *("topic", "partition", "leader", "count"),
    )
    RECORDS_REFUSED = (
        "RecordsRefused",
        "An attempt to write the records failed; they are sent again unless the error is final.",
        *("topic", "partition", "leader", "count", "error"),
    )
    RECORDS_GIVEN_UP = (
        "RecordsGivenUp",
        "The producer failed for good; `outcome` says whether the records may be in a log all the same.",
        *("topic", "partition", "count", "outcome", "error"),
    )
    LEDGER = (
        "Ledger",
        "The outcome of all records of a partition, as a JSON object in `data` (node: `scenario`).",
        *("topic", "partition", "leader", "isr", "count", "data", "detail"),
    )
    RECORDS_LOST = (
        "RecordsLost",
        "Records that were acknowledged to Kafka clients from outside are not in the leader's log (node: `scenario`).",
        *("topic", "partition", "leader_epoch", "offset", "end_offset", "count", "detail"),
    )
    RECORDS_DUPLICATED = (
        "RecordsDuplicated",
        "A batch of such a client was sent again, and is in the leader's log once more (node: `scenario`).",
        *("topic", "partition", "leader_epoch", "offset", "end_offset", "count", "detail"),
    )
    # The network (node: the sender; `target`: the receiver; `event`: the message)
    NETWORK_STALLED = (
        "NetworkStalled",
        "A message does not arrive and is sent again, and later ones wait; `rule` says why: cut or lost.",
        *("event", "target", "rule", "detail"),
    )
    NETWORK_RESUMED = (
        "NetworkResumed",
        "The message and those that waited arrived: `count` in all, `duration_ms` late.",
        *("target", "count", "detail", "duration_ms"),
    )
    NETWORK_CONNECTION_BROKEN = (
        "NetworkConnectionBroken",
        "A connection broke; `rule` says why.",
        *("event", "target", "rule", "detail"),
    )
    # Kafka clients from outside the run, as the broker sees them (`client_id`: the client; `target`: its address)
    CLIENT_CONNECTED = (
        "ClientConnected",
        "A Kafka client sent its first request over a connection; `count` connections, if there are very many. `data`: the "
        "client's software and its version as a JSON object, if the client has named them.",
        *("client_id", "target", "count", "data"),
    )
    CLIENT_DISCONNECTED = (
        "ClientDisconnected",
        "The connection of a Kafka client ended; `rule` says why. `count` connections, if there are very many.",
        *("client_id", "target", "rule", "count"),
    )
    CLIENT_CONNECTION_CLOSED = (
        "ClientConnectionClosed",
        "The broker closed the connection of a Kafka client, because of what came over it; `target`: the client's address.",
        *("client_id", "target", "detail"),
    )
    CLIENT_ERROR = (
        "ClientError",
        "The broker answered a request (`event`: the API) of a Kafka client with an error for a partition, topic or group, "
        "or for `count` partitions, of which `partitions` are the first. Like errors that follow within a second are one "
        "event, for `count` of them. The cause is the event that explains the error.",
        *("client_id", "target", "event", "topic", "partition", "partitions", "group", "count", "error"),
    )
    CLIENT_REQUESTS = (
        "ClientRequests",
        "The broker has answered `count` requests (`event`: the API) of a Kafka client since `duration_ms` before; errors, "
        "records, bytes and latencies as a JSON object in `data`.",
        *("client_id", "event", "count", "data", "duration_ms"),
    )
    # Faults, admin actions and results (node: `scenario`)
    PROTECTION_OFF = (
        "ProtectionOff",
        "The protection that `rule` names is off throughout the run.",
        *("rule", "detail"),
    )
    FAULT = (
        "Fault",
        "A fault is injected into `target` or into links of the network, or armed (`breakpoint`).",
        *("fault", "target", "sources", "targets", "both_ways", "breakpoint", "breakpoint_path", "event", "detail"),
    )
    FAULT_CONFIRMED = (
        "FaultConfirmed",
        "The fault took effect, as `detail` describes; of a network fault, `count` is the number of links.",
        *("fault", "target", "count", "detail"),
    )
    ADMIN_ACT = (
        "AdminAct",
        "An action that is no fault: a broker is started, a topic created, a znode written by hand (`op`). `data`: the "
        "changes with which brokers are started, as JSON: `release` of Kafka, and settings by their names.",
        *("op", "target", "sources", "targets", "both_ways", "path", "topic", "partition", "session_id", "count", "data"),
        "detail",
    )
    STEP_SKIPPED = "StepSkipped", "An optional step of the timetable could not be done; `op` is its verb.", "op", "detail"
    EXPECTATION = (
        "Expectation",
        "The result of an expectation or invariant: `rule` is its claim, `outcome` held, violated or undecided.",
        *("outcome", "rule", "detail"),
    )


class EventFields(TypedDict, total=False):
    """The columns beside seq, t_ms, node, kind and cause. All are optional; an absent column has no meaning for the kind."""

    # znodes and sessions
    path: str  # the znode; of LogDirFailed the log directory
    data: str  # a znode's data: UTF-8 text, or "base64:…" for others; absent for null; of RunStarted: a JSON document
    zxid: int  # ZooKeeper's id of the transaction
    zk_version: int  # version of the znode's data after the change
    ephemeral: bool  # whether the znode is ephemeral
    session_id: str  # 0x and 16 hexadecimal digits
    op: str  # the operation: create, set, delete, check, multi, …; of a step its verb
    count: int  # number of operations, partitions, records, …, as the kind says
    # cluster
    broker_id: int  # id of the broker that the event is about
    broker_epoch: int  # the broker's epoch: the zxid of its registration
    controller_id: int  # id of the controller's broker; -1: no controller
    controller_epoch: int  # number of the election that the controller won
    controller_epoch_zk_version: int  # version of /controller_epoch on which a write depends
    topic: str  # the topic's name
    partition: int  # the partition's number
    leader: int  # id of the leader's broker; -1: no leader
    leader_epoch: int  # number of the leader's term, raised by each election
    isr: Sequence[int]  # in-sync replicas, as broker ids
    replicas: Sequence[int]  # all replicas, as broker ids, the preferred leader first
    brokers: Sequence[int]  # broker ids
    live_broker_count: int  # how many brokers an UpdateMetadata request describes as alive
    # decisions of the controller
    started: Sequence[int]  # brokers whose ids are new in /brokers/ids
    stopped: Sequence[int]  # brokers whose ids are gone from /brokers/ids
    bounced: Sequence[int]  # brokers with the same id and a higher broker epoch
    new_topics: Sequence[str]  # topics that are new in /brokers/topics, sorted
    deleted_topics: Sequence[str]  # topics that are gone from /brokers/topics, sorted
    adding_replicas: Sequence[int]  # replicas that the reassignment adds, as broker ids
    removing_replicas: Sequence[int]  # replicas that the reassignment removes, as broker ids
    target_replicas: Sequence[int]  # `replicas` without `removing_replicas`
    previous_isr: Sequence[int]  # the ISR that the election was held on; empty for a new partition
    live_replicas: Sequence[int]  # candidates and ISR members that counted as alive in the election, sorted
    strategy: str  # Kafka's name of the strategy under which no leader was elected
    unclean_leader_election_enable: bool  # the new controller's own setting of this name
    # replicas
    refused_partitions: Sequence[str]  # the first five of the `count` partitions that were refused
    errors: Sequence[str]  # Kafka's error for each of `refused_partitions`
    deleted: bool  # whether the replica's log was deleted
    # logs
    offset: int  # offset of the first record concerned
    end_offset: int  # offset after the last record concerned
    high_watermark: int  # the replica's high watermark
    writer: str  # name of the producer that wrote the records
    sequence: int  # number of the first record among all records of the producer, from 0
    # consumer groups
    group: str  # group id
    member: str  # member id in the group
    generation: int  # number of the group's rebalances so far
    partitions: Sequence[str]  # partitions, such as orders-0
    # clients from outside the run
    client_id: str  # a Kafka client's client.id; empty if it has none
    # the event, its target and its reason
    event: str  # name of the controller event, request or watch event
    state: str  # the new state
    step: str  # name of the step of a longer procedure
    fault: str  # the fault's verb, such as kill
    target: str  # the node that the fault or message is directed at; of a client's event the client's host and port
    breakpoint: str  # what triggers an armed fault: before or after a write, or delivered (the request in `event`)
    breakpoint_path: str  # the fault is triggered by a write to this znode or below it; absent: by any write
    sources: Sequence[str]  # nodes at one end of the links that a network fault concerns; absent: all nodes
    targets: Sequence[str]  # nodes at the other end of these links; absent: all nodes
    both_ways: bool  # whether the links from `targets` to `sources` are concerned, too
    outcome: str  # of a write: applied, not applied, unknown; of an expectation: held, violated, undecided
    error: str  # ZooKeeper's or Kafka's name of the error
    reason: str  # why it failed or was not done, where `error` does not say it: a FailureReason
    rule: str  # the rule that decided
    inputs: str  # the values that the rule was applied to, for a person
    detail: str  # one sentence for a person
    duration_ms: int  # a duration: of the event itself, of a delay, or of a session's time-out
    # the run
    scenario: str  # the scenario's name
    seed: int  # the seed of the run's random choices
    zookeeper: str  # the ZooKeeper that the run uses
    broker_software: str  # the real brokers that the run uses; absent: simulated ones
    schema_version: int  # version of this schema


class Event(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of the event log.

    Attributes:
        seq: position in the log, from 0, without gaps.
        t_ms: milliseconds since the run began.
        node: where the event happened: broker-N, zookeeper, consumer-NAME, producer-NAME or scenario.
        kind: what happened.
        cause: seq of the event that this one follows from; absent for the run's start, faults and admin actions.
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
    live_broker_count: int | None = None
    started: Sequence[int] | None = None
    stopped: Sequence[int] | None = None
    bounced: Sequence[int] | None = None
    new_topics: Sequence[str] | None = None
    deleted_topics: Sequence[str] | None = None
    adding_replicas: Sequence[int] | None = None
    removing_replicas: Sequence[int] | None = None
    target_replicas: Sequence[int] | None = None
    previous_isr: Sequence[int] | None = None
    live_replicas: Sequence[int] | None = None
    strategy: str | None = None
    unclean_leader_election_enable: bool | None = None
    refused_partitions: Sequence[str] | None = None
    errors: Sequence[str] | None = None
    deleted: bool | None = None
    offset: int | None = None
    end_offset: int | None = None
    high_watermark: int | None = None
    writer: str | None = None
    sequence: int | None = None
    group: str | None = None
    member: str | None = None
    generation: int | None = None
    partitions: Sequence[str] | None = None
    client_id: str | None = None
    event: str | None = None
    state: str | None = None
    step: str | None = None
    fault: str | None = None
    target: str | None = None
    breakpoint: str | None = None
    breakpoint_path: str | None = None
    sources: Sequence[str] | None = None
    targets: Sequence[str] | None = None
    both_ways: bool | None = None
    outcome: str | None = None
    error: str | None = None
    reason: str | None = None
    rule: str | None = None
    inputs: str | None = None
    detail: str | None = None
    duration_ms: int | None = None
    scenario: str | None = None
    seed: int | None = None
    zookeeper: str | None = None
    broker_software: str | None = None
    schema_version: int | None = None


def with_reason(fields: EventFields, reason: FailureReason | None) -> EventFields:
    """Return the fields with `reason`; the same fields if there is none."""
    return fields if reason is None else {**fields, "reason": reason.value}


ZNODE_CHANGES = frozenset({EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED})
"""The kinds of event that change the tree of znodes."""
TRANSACTIONS = ZNODE_CHANGES | {EventKind.SESSION_CREATED, EventKind.SESSION_CLOSED}
"""The kinds of event that stand for ZooKeeper's transactions: while none of them is logged, ZooKeeper is quiet."""


BASE64 = "base64:"
"""How the `data` column of data begins that are not UTF-8."""


def hexadecimal(session_id: SessionId) -> str:
    """Return a session id in the event log's format: 0x and 16 hexadecimal digits."""
    return f"0x{session_id & (2**64 - 1):016x}"


def data_text(data: bytes | None) -> str | None:
    """Return a znode's data in the format of the `data` column.

    The format is UTF-8 text, "base64:…" for data that are not UTF-8, and None for null data.
    """
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return BASE64 + base64.b64encode(data).decode()


def data_bytes(text: str | None) -> bytes | None:
    """Return a znode's data from the format of the `data` column."""
    if text is None or not text.startswith(BASE64):
        return None if text is None else text.encode()
    try:
        return base64.b64decode(text.removeprefix(BASE64), validate=True)
    except binascii.Error:  # a text of a client that begins so
        return text.encode()
