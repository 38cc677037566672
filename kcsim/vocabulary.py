"""The types that every layer shares: ids, epochs and the values kept in Kafka's znodes.

Ids and epochs are distinct types, so that the type checker catches a swapped pair. This module does not depend on JSON
(kcsim/znodes), on paths (kcsim/znodes/paths.py) or on a client.

Source: used throughout Kafka 2.8's controller; the fields are those of its znodes at inter.broker.protocol.version 2.6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple, NewType, Self, TypeVar

BrokerId = NewType("BrokerId", int)
BrokerEpoch = NewType("BrokerEpoch", int)
"""czxid of the broker's registration: a later registration of the same id always has a higher epoch."""
ControllerEpoch = NewType("ControllerEpoch", int)
ControllerEpochZkVersion = NewType("ControllerEpochZkVersion", int)
"""ZooKeeper data version of /controller_epoch, which a fenced write checks. This is not the epoch itself."""
LeaderEpoch = NewType("LeaderEpoch", int)
ZkVersion = NewType("ZkVersion", int)
"""Data version of a znode: 0 at creation, +1 at each setData."""
Zxid = NewType("Zxid", int)
SessionId = NewType("SessionId", int)

ANY_VERSION = ZkVersion(-1)
OFFSETS_TOPIC = "__consumer_offsets"
"""The internal topic in which coordinators keep their groups."""
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, "__transaction_state"})
"""The topics that Kafka creates for itself."""
NO_LEADER = -1
"""The value that stands for "no leader" in znodes and requests; in memory that is None."""


class FailureReason(StrEnum):
    """Why something failed or was not done, where `error` alone does not say it; values of the event log's `reason`."""

    NO_REPLICAS = "NoReplicas"  # the partition is assigned to no broker
    NO_STATE = "NoState"  # the partition has no state znode
    NEVER_ONLINE = "NeverOnline"  # the partition has never had a leader
    BAD_PARTITION_STATE = "BadPartitionState"  # the content of a partition's state znode cannot be read
    UNSENT_REQUESTS = "UnsentRequests"  # the batch of requests to brokers still holds those of an earlier, failed change
    NEVER_TOOK_OVER = "NeverTookOver"  # the broker believes itself elected, and did not fail over
    BEING_REASSIGNED = "BeingReassigned"  # a partition of the topic is in the set of those that are being reassigned
    NOT_A_REPLICA = "NotAReplica"  # the ISR names a broker that is no replica of the partition
    NO_JSON_OBJECT = "NoJsonObject"  # the znode holds JSON, but no object where there must be one
    NO_JSON_ARRAY = "NoJsonArray"  # the znode holds JSON, but no array where there must be one


class NoBrokerId(int):
    """A replica that is no int in a reassignment written by hand. Kafka keeps and writes it, and fails where it needs an id.

    It is equal to another of the same text; a number of integral value also to that broker id, as in Scala. In the event log
    it is -2.

    Args:
        json: the replica as JSON.
        number: its value, if it is a number that is no int of 32 bits.
    """

    def __new__(cls, json: str, number: float | None = None) -> Self:
        return super().__new__(cls, -2)

    def __init__(self, json: str, number: float | None = None) -> None:
        self.json = json
        self._compared: float | str = json if number is None else number

    def __eq__(self, other: object) -> bool:
        return self._compared == (other._compared if isinstance(other, NoBrokerId) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._compared)

    def __str__(self) -> str:
        return self.json


class TopicPartition(NamedTuple):
    """One partition of one topic; printed as Kafka prints it: orders-0."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


EpochT = TypeVar("EpochT", LeaderEpoch, ControllerEpoch)


def next_epoch(epoch: EpochT) -> EpochT:
    """Return the epoch that follows: Java's int overflows, so after 2147483647 comes -2147483648."""
    return type(epoch)(-(2**31) if epoch == 2**31 - 1 else epoch + 1)


def without(replicas: Sequence[BrokerId], taken: Sequence[BrokerId]) -> tuple[BrokerId, ...]:
    """Return the replicas without the taken brokers.

    Each entry in `taken` removes the first remaining occurrence of that broker: [3, 2, 3] without [3] is [2, 3]. Only a list
    that was written by hand contains a broker twice. Source: Scala's Seq.diff, as Kafka applies it to replicas.
    """
    left = list(replicas)
    for broker in taken:
        if broker in left:
            left.remove(broker)
    return tuple(left)


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """The brokers that host a partition.

    `replicas` is the full list, including those that are being added; its first broker is the preferred leader.
    """

    replicas: tuple[BrokerId, ...]
    adding_replicas: tuple[BrokerId, ...] = ()
    removing_replicas: tuple[BrokerId, ...] = ()

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding_replicas or self.removing_replicas)

    @property
    def origin_replicas(self) -> tuple[BrokerId, ...]:
        return without(self.replicas, self.adding_replicas)

    @property
    def target_replicas(self) -> tuple[BrokerId, ...]:
        return without(self.replicas, self.removing_replicas)


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """Leader and in-sync replicas of a partition. No leader is None here; -1 appears in znodes and requests only."""

    leader: BrokerId | None
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]  # in the order stored; elections use the order of the assignment, not this one
    zk_version: ZkVersion  # of the state znode that these values were read from

    def led_by(self, leader: BrokerId | None) -> "LeaderAndIsr":
        """Return a copy with the given leader and the next leader epoch."""
        return replace(self, leader=leader, leader_epoch=next_epoch(self.leader_epoch))


@dataclass(frozen=True, slots=True)
class PartitionState:
    """Content of /brokers/topics/T/partitions/P/state: leader and ISR, and the epoch of the controller that decided them."""

    leader_and_isr: LeaderAndIsr
    controller_epoch: ControllerEpoch


@dataclass(frozen=True, slots=True)
class TopicState:
    """Content of /brokers/topics/T. `version` is the format version that was read (1, 2 or 3); Kafka 2.8.2 writes 3."""

    assignments: Mapping[int, ReplicaAssignment]
    topic_id: str | None = None
    version: int = 3


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address at which a broker listens: listener name, security protocol of the listener, host and port."""

    listener: str
    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.listener}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    """A broker's registration in /brokers/ids/N. The broker epoch is the znode's czxid and not part of the content."""

    broker_id: BrokerId
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    jmx_port: int = -1
    timestamp_ms: int = 0
    version: int = 4
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # name -> (min, max); version 5 only


@dataclass(frozen=True, slots=True)
class ControllerNode:
    """Content of /controller: the broker that is controller, and the time of its election (ms since 1970)."""

    broker_id: BrokerId
    timestamp_ms: int
