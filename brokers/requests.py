"""Requests between brokers, and from clients to brokers: records written and read, offsets, metadata.

The records of simulated producers have no bytes: a batch holds its writer, the number of its records and the size of each.
Fetch sessions are modelled in one respect: a response names only the partitions with news; the sessions of clients that
come over TCP are in wire/fetch_sessions.py. Requests of consumer groups are in groups/requests.py. Left out: transactions,
isolation levels, topic ids.

Source: Kafka 2.8, ProduceRequest, FetchRequest 12, ListOffsetsRequest, OffsetsForLeaderEpochRequest, InitProducerIdRequest,
MetadataRequest; docs/kafka/requests.md 7, 8, 14.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from kcsim.brokers.record_batches import NO_PRODUCER_ID, NO_TIMESTAMP
from kcsim.brokers.records import Run, producer_in
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, Endpoint, LeaderEpoch, TopicPartition

CONSUMER = BrokerId(-1)
"""replica_id of a client that is not a replica."""
ANY_LEADER_EPOCH = LeaderEpoch(-1)
"""Leader epoch of a client that does not know it: it is not compared."""
UNDEFINED_EPOCH = LeaderEpoch(-1)
"""Leader epoch of a response that cannot name one."""
UNDEFINED_OFFSET = -1
ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1
LATEST_TIMESTAMP, EARLIEST_TIMESTAMP = -1, -2
NO_SEQUENCE = -1
"""first_sequence of a batch whose writer does not number its records: the leader takes their offsets."""
MIB = 1 << 20

# --- produce -----------------------------------------------------------------------------------------------------------


class ProduceBatch(msgspec.Struct, frozen=True):
    """Consecutive records of one writer, for one partition.

    Attributes:
        first_sequence: the first record's number in the writer's sequence for this partition; NO_SEQUENCE.
        record_bytes: size of each record.
        timestamp_ms: of the records, ms since 1970; -1: they have none.
        is_idempotent: whether the broker keeps the writer's sequence free of duplicates and gaps.
        producer_epoch: fences an earlier incarnation of an idempotent writer.
        payloads: empty, or the value of each record.
        batch: the batch as the client sent it, in Kafka's format; None: the records have no bytes.
        error: what is wrong with the batch's bytes.
    """

    writer: str
    first_sequence: int
    count: int
    record_bytes: int
    timestamp_ms: int
    is_idempotent: bool
    producer_epoch: int = 0
    payloads: tuple[object, ...] = ()
    batch: bytes | None = None
    error: ErrorCode = ErrorCode.NONE

    @property
    def last_sequence(self) -> int:
        return self.first_sequence + self.count - 1

    @property
    def producer(self) -> str:
        """The writer as all replicas know it."""
        return self.writer if self.batch is None else producer_in(self.writer)


class ProduceRequest(msgspec.Struct, frozen=True):
    """A client's request to write records.

    Attributes:
        acks: the copies that the client waits for: 0 none, 1 the leader's, -1 those of all in-sync replicas.
        timeout_ms: how long the leader may wait for them.
    """

    client_id: str
    acks: int
    timeout_ms: int
    batches: Mapping[TopicPartition, ProduceBatch]


class ProduceResult(msgspec.Struct, frozen=True):
    """The result of one batch; offsets and time, in ms since 1970, are -1 where there is none.

    Attributes:
        append_time_ms: with LogAppendTime; of a batch that the log has already: the largest timestamp of its records.
        leader_epoch: in which it was appended; not known for a batch without bytes that the log has already.
        message: what an error means, where its name does not say it.
    """

    error: ErrorCode = ErrorCode.NONE
    base_offset: int = UNDEFINED_OFFSET
    log_start_offset: int = UNDEFINED_OFFSET
    append_time_ms: int = NO_TIMESTAMP
    leader_epoch: LeaderEpoch = UNDEFINED_EPOCH
    message: str | None = None


class ProduceResponse(msgspec.Struct, frozen=True):
    """One result per partition of the request. With acks 0 the client ignores the response: Kafka sends none."""

    results: Mapping[TopicPartition, ProduceResult]


# --- fetch -------------------------------------------------------------------------------------------------------------


class FetchPartition(msgspec.Struct, frozen=True):
    """One partition of a fetch.

    Attributes:
        leader_epoch: as the follower knows it; fences both sides. A consumer may send ANY_LEADER_EPOCH.
        fetch_offset: of the first record requested; a follower's log end offset.
        cause: the event by which the follower began to follow; it is the cause of the leader's events for this fetch.
        log_start_offset: the follower's.
        max_bytes: of records of this partition; the first record may be larger.
        last_fetched_epoch: of the follower's last record; UNDEFINED_EPOCH: the leader does not compare the logs.
    """

    leader_epoch: LeaderEpoch
    fetch_offset: int
    cause: int
    log_start_offset: int = 0
    max_bytes: int = MIB
    last_fetched_epoch: LeaderEpoch = UNDEFINED_EPOCH


class FetchRequest(msgspec.Struct, frozen=True):
    """A follower's or consumer's request for records. A follower that sends the same object again reports no change.

    Attributes:
        replica_id: the follower's id; CONSUMER for a client.
        max_wait_ms: how long the leader may wait when it has nothing to send.
        min_bytes: the number of bytes that the leader waits for, until max_wait_ms.
        max_bytes: of records, over all partitions.
        is_full: set in a follower's first fetch on a connection: earlier responses of the leader may not have arrived.
        may_ask_followers: whether a client may be answered by a replica that does not lead.
        names_all: whether the response to a follower names every partition, as Kafka's to the first fetch of a session.
        is_by_id: whether the topics of `partitions`, also in the response, are ids instead of names.
        version: that of a follower's request over TCP.
    """

    api_key: ClassVar[int] = 1

    replica_id: BrokerId
    max_wait_ms: int
    partitions: Mapping[TopicPartition, FetchPartition]
    min_bytes: int = 1
    max_bytes: int = 10 * MIB
    is_full: bool = False
    may_ask_followers: bool = False
    names_all: bool = False
    is_by_id: bool = False
    version: int = 12


class DivergingEpoch(msgspec.Struct, frozen=True):
    """Where a follower's log diverges: the end offset, in the leader's log, of an epoch up to the follower's last one."""

    leader_epoch: LeaderEpoch
    end_offset: int


class FetchedPartition(msgspec.Struct, frozen=True):
    """A leader's response for one partition of a fetch. With an error, the other fields have no meaning.

    Attributes:
        diverging: None: the logs agree up to the fetch offset, or were not compared; else there are no records.
    """

    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = UNDEFINED_OFFSET
    log_start_offset: int = UNDEFINED_OFFSET
    runs: Sequence[Run] = ()
    diverging: DivergingEpoch | None = None


class FetchResponse(msgspec.Struct, frozen=True):
    """The partitions with news: records, an error, or a changed high watermark or log start offset."""

    partitions: Mapping[TopicPartition, FetchedPartition] = msgspec.field(default_factory=dict)

    @property
    def errors(self) -> dict[TopicPartition, ErrorCode]:
        """The errors, by partition; partitions without an error are left out."""
        return {tp: p.error for tp, p in self.partitions.items() if p.error is not ErrorCode.NONE}


# --- offsets -----------------------------------------------------------------------------------------------------------


class EpochQuery(msgspec.Struct, frozen=True):
    """A query for the end offset of a leader epoch; `current_leader_epoch` fences, as in a fetch."""

    current_leader_epoch: LeaderEpoch
    leader_epoch: LeaderEpoch


class OffsetsForLeaderEpochRequest(msgspec.Struct, frozen=True):
    """Queries for the ends of leader epochs. Attributes: version: that of a follower's request over TCP."""

    api_key: ClassVar[int] = 23

    replica_id: BrokerId
    partitions: Mapping[TopicPartition, EpochQuery]
    version: int = 4


class EpochEnd(msgspec.Struct, frozen=True):
    """The end offset of the largest leader epoch, up to the requested one, that the leader knows.

    Undefined if the leader knows none.
    """

    error: ErrorCode = ErrorCode.NONE
    leader_epoch: LeaderEpoch = UNDEFINED_EPOCH
    end_offset: int = UNDEFINED_OFFSET


class OffsetsForLeaderEpochResponse(msgspec.Struct, frozen=True):
    partitions: Mapping[TopicPartition, EpochEnd]


class OffsetQuery(msgspec.Struct, frozen=True):
    """A query for an offset: the latest, the earliest, or that of the first record since a time.

    Attributes:
        timestamp: LATEST_TIMESTAMP, EARLIEST_TIMESTAMP, or a time in ms since 1970.
    """

    timestamp: int = LATEST_TIMESTAMP
    current_leader_epoch: LeaderEpoch = ANY_LEADER_EPOCH


class ListOffsetsRequest(msgspec.Struct, frozen=True):
    """Queries for offsets. Attributes: version: that of a follower's request over TCP."""

    api_key: ClassVar[int] = 2

    partitions: Mapping[TopicPartition, OffsetQuery]
    replica_id: BrokerId = CONSUMER
    version: int = 6


class ListedOffset(msgspec.Struct, frozen=True):
    """An offset, and the leader's epoch. The latest offset is the high watermark; for a replica it is the log end offset.

    Attributes:
        timestamp: of the record, in ms since 1970, if the query was for a time; else, and without such a record, -1.
    """

    error: ErrorCode = ErrorCode.NONE
    offset: int = UNDEFINED_OFFSET
    leader_epoch: LeaderEpoch = UNDEFINED_EPOCH
    timestamp: int = NO_TIMESTAMP


class ListOffsetsResponse(msgspec.Struct, frozen=True):
    partitions: Mapping[TopicPartition, ListedOffset]


# --- ids of producers --------------------------------------------------------------------------------------------------


class InitProducerIdRequest(msgspec.Struct, frozen=True):
    """An idempotent producer's request for its id, or for the next epoch of the id that it has.

    Attributes:
        transactional_id: None: it writes without transactions.
    """

    transactional_id: str | None = None


class InitProducerIdResponse(msgspec.Struct, frozen=True):
    """A new producer id. With an error, the other fields have no meaning."""

    error: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1


# --- metadata ----------------------------------------------------------------------------------------------------------


class MetadataRequest(msgspec.Struct, frozen=True):
    """A request for the metadata of topics; None: all topics.

    Attributes:
        allow_auto_topic_creation: whether the broker creates a topic that does not exist, if its settings allow it.
    """

    topics: tuple[str, ...] | None = None
    allow_auto_topic_creation: bool = False


class PartitionMetadata(msgspec.Struct, frozen=True):
    """A partition as one broker knows it. If the leader is not known to be live: no leader, and LEADER_NOT_AVAILABLE.

    Attributes:
        offline: those of the replicas that do not serve, as the controller said.
    """

    leader: BrokerId | None
    leader_epoch: LeaderEpoch
    error: ErrorCode
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    offline: tuple[BrokerId, ...] = ()


class MetadataResponse(msgspec.Struct, frozen=True):
    """One broker's metadata, which may be stale.

    Attributes:
        topic_errors: the requested topics without a known partition, and why.
        racks: of the brokers that have one.
        cluster_id: as in ZooKeeper; None before the broker has read it.
        topic_ids: of the topics in `partitions` that have one.
    """

    brokers: Mapping[BrokerId, Endpoint]
    controller_id: BrokerId | None
    partitions: Mapping[TopicPartition, PartitionMetadata]
    topic_errors: Mapping[str, ErrorCode] = msgspec.field(default_factory=dict)
    racks: Mapping[BrokerId, str] = msgspec.field(default_factory=dict)
    cluster_id: str | None = None
    topic_ids: Mapping[str, str] = msgspec.field(default_factory=dict)


# --- versions ----------------------------------------------------------------------------------------------------------


class ApiVersionsRequest(msgspec.Struct, frozen=True):
    """A client's request for the versions of all APIs that the broker serves."""


class ApiVersionsResponse(msgspec.Struct, frozen=True):
    """The broker serves. Which versions it serves is known where requests become bytes: wire/apis/registry.py.

    Attributes:
        finalized_features_epoch: -1: the broker knows of no finalized features. No feature is supported or finalized.
        names_allocate_producer_ids: whether AllocateProducerIds is among the APIs: another broker's controller client looks.
    """

    finalized_features_epoch: int = -1
    names_allocate_producer_ids: bool = False


ReplicaResponse = FetchResponse | OffsetsForLeaderEpochResponse
