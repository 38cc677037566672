"""What brokers ask of each other, and clients of brokers: records written and read, offsets, metadata.

Records have no bytes: a batch says who writes it, how many records it has and how large each is. Of fetch sessions there is
one trace: an answer names only the partitions about which there is something to say. What consumer groups ask is in
groups/requests.py. Left out: transactions, isolation levels, topic ids, sessions of consumers.

Source: Kafka 2.8, ProduceRequest, FetchRequest 11, ListOffsetsRequest, OffsetsForLeaderEpochRequest, MetadataRequest;
reference requests.md 7, 8, 14.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kcsim.brokers.records import Run
from kcsim.controller.requests import ErrorCode
from kcsim.zk.vocabulary import BrokerId, Endpoint, LeaderEpoch, TopicPartition

CONSUMER = BrokerId(-1)
"""replica_id of whoever is no replica."""
ANY_LEADER_EPOCH = LeaderEpoch(-1)
"""Of a client that does not know the leader's epoch: it is not compared."""
UNDEFINED_EPOCH = LeaderEpoch(-1)
"""Of an answer that cannot name an epoch."""
UNDEFINED_OFFSET = -1
ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1
LATEST_TIMESTAMP, EARLIEST_TIMESTAMP = -1, -2
MIB = 1 << 20

# --- produce -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProduceBatch:
    """Consecutive records of one writer, for one partition.

    Attributes:
        first_sequence: of the first record, in what the writer has written to this partition.
        record_bytes: size of each record.
        timestamp_ms: of the records, ms since 1970; -1: they have none.
        is_idempotent: whether the broker keeps the writer's sequence without duplicates and gaps.
        producer_epoch: fences an earlier incarnation of an idempotent writer.
        payloads: empty, or what each record says.
    """

    writer: str
    first_sequence: int
    count: int
    record_bytes: int
    timestamp_ms: int
    is_idempotent: bool
    producer_epoch: int = 0
    payloads: tuple[object, ...] = ()

    @property
    def last_sequence(self) -> int:
        return self.first_sequence + self.count - 1


@dataclass(frozen=True, slots=True)
class ProduceRequest:
    """A client writes.

    Attributes:
        acks: whose copy it waits for: 0 nobody's, 1 the leader's, -1 those of all in-sync replicas.
        timeout_ms: how long the leader may wait for them.
    """

    client_id: str
    acks: int
    timeout_ms: int
    batches: Mapping[TopicPartition, ProduceBatch]


@dataclass(frozen=True, slots=True)
class ProduceResult:
    """What became of one batch; base_offset is -1 where there is none to tell."""

    error: ErrorCode = ErrorCode.NONE
    base_offset: int = UNDEFINED_OFFSET


@dataclass(frozen=True, slots=True)
class ProduceResponse:
    """One result per partition of the request. With acks 0 a client takes no notice of it: Kafka sends none."""

    results: Mapping[TopicPartition, ProduceResult]


# --- fetch -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FetchPartition:
    """One partition of a fetch.

    Attributes:
        leader_epoch: as the follower knows it; fences both sides. A consumer may say ANY_LEADER_EPOCH.
        fetch_offset: of the first record wanted; a follower's log end offset.
        cause: the event by which the follower began to follow: what the leader does about the fetch follows from that.
        log_start_offset: the follower's.
        max_bytes: of records of this partition; the first record may be larger.
    """

    leader_epoch: LeaderEpoch
    fetch_offset: int
    cause: int
    log_start_offset: int = 0
    max_bytes: int = MIB


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A follower or consumer asks a leader for records. A follower's, sent again as it is, says that nothing has changed.

    Attributes:
        replica_id: the follower; CONSUMER of a client.
        max_wait_ms: how long the leader may wait when it has nothing to say.
        min_bytes: how much there must be for an answer before that.
        max_bytes: of records, over all partitions.
        is_full: a follower's first on a connection: whatever the leader believes to have told it may not have arrived.
    """

    replica_id: BrokerId
    max_wait_ms: int
    partitions: Mapping[TopicPartition, FetchPartition]
    min_bytes: int = 1
    max_bytes: int = 10 * MIB
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    """What a leader says to one partition of a fetch. Without meaning, beside an error: everything else."""

    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = UNDEFINED_OFFSET
    log_start_offset: int = UNDEFINED_OFFSET
    runs: Sequence[Run] = ()


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """What there is to say: records, an error, or a high watermark or log start that has moved since it was told."""

    partitions: Mapping[TopicPartition, FetchedPartition] = field(default_factory=dict)

    @property
    def errors(self) -> dict[TopicPartition, ErrorCode]:
        """Of the partitions that have one."""
        return {tp: p.error for tp, p in self.partitions.items() if p.error is not ErrorCode.NONE}


# --- offsets -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EpochQuery:
    """Asks where a leader epoch ends; `current_leader_epoch` fences, as in a fetch."""

    current_leader_epoch: LeaderEpoch
    leader_epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class OffsetsForLeaderEpochRequest:
    replica_id: BrokerId
    partitions: Mapping[TopicPartition, EpochQuery]


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """The largest epoch not above the one asked for that the leader knows, and its end; undefined if it cannot say."""

    error: ErrorCode = ErrorCode.NONE
    leader_epoch: LeaderEpoch = UNDEFINED_EPOCH
    end_offset: int = UNDEFINED_OFFSET


@dataclass(frozen=True, slots=True)
class OffsetsForLeaderEpochResponse:
    partitions: Mapping[TopicPartition, EpochEnd]


@dataclass(frozen=True, slots=True)
class OffsetQuery:
    """Asks for an offset: `timestamp` is LATEST_TIMESTAMP or EARLIEST_TIMESTAMP."""

    timestamp: int = LATEST_TIMESTAMP
    current_leader_epoch: LeaderEpoch = ANY_LEADER_EPOCH


@dataclass(frozen=True, slots=True)
class ListOffsetsRequest:
    partitions: Mapping[TopicPartition, OffsetQuery]
    replica_id: BrokerId = CONSUMER


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """An offset, and the leader epoch of the answer; the latest is the high watermark, to a replica the log end offset."""

    error: ErrorCode = ErrorCode.NONE
    offset: int = UNDEFINED_OFFSET
    leader_epoch: LeaderEpoch = UNDEFINED_EPOCH


@dataclass(frozen=True, slots=True)
class ListOffsetsResponse:
    partitions: Mapping[TopicPartition, ListedOffset]


# --- metadata ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MetadataRequest:
    """Asks about topics; None: about all."""

    topics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """A partition as one broker knows it. LEADER_NOT_AVAILABLE, and no leader, if its leader is not known to live."""

    leader: BrokerId | None
    leader_epoch: LeaderEpoch
    error: ErrorCode
    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class MetadataResponse:
    """What one broker knows, which may be old. `unknown_topics`: those asked for of which it knows no partition."""

    brokers: Mapping[BrokerId, Endpoint]
    controller_id: BrokerId | None
    partitions: Mapping[TopicPartition, PartitionMetadata]
    unknown_topics: tuple[str, ...] = ()


ClientRequest = ProduceRequest | ListOffsetsRequest | MetadataRequest
ClientResponse = ProduceResponse | ListOffsetsResponse | MetadataResponse
ReplicaRequest = FetchRequest | OffsetsForLeaderEpochRequest
ReplicaResponse = FetchResponse | OffsetsForLeaderEpochResponse
