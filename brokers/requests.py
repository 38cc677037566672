"""What brokers ask of each other: fetches, as far as logs are empty.

Left out until logs hold records: the records, high watermark and log start offset of an answer, sizes. Of fetch sessions
there is one trace: an answer names only the partitions about which there is something to say.

Source: Kafka 2.8, FetchRequest 11 and FetchResponse; reference requests.md 7.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kcsim.controller.requests import ErrorCode
from kcsim.zk.vocabulary import BrokerId, LeaderEpoch, TopicPartition


@dataclass(frozen=True, slots=True)
class FetchPartition:
    """One partition of a fetch.

    Attributes:
        leader_epoch: as the follower knows it; fences both sides.
        fetch_offset: the follower's log end offset.
        cause: the event by which the follower began to follow: what the leader does about the fetch follows from that.
    """

    leader_epoch: LeaderEpoch
    fetch_offset: int
    cause: int


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A follower asks its leader for records. Sent again as it is, it says that nothing has changed at the follower.

    Attributes:
        max_wait_ms: how long the leader may wait when it has nothing to say.
    """

    replica_id: BrokerId
    max_wait_ms: int
    partitions: Mapping[TopicPartition, FetchPartition]


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """What there is to say; nothing about a partition that has neither records nor an error."""

    partition_errors: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)
