"""The words that every layer shares: ids, epochs and the values kept in Kafka's znodes.

Ids and epochs are distinct types, so that the type checker catches a swapped pair. Nothing here knows JSON (znodes.py),
paths (paths.py) or a client.

Source: shared by all of Kafka 2.8's controller; the shapes are those of its znodes at inter.broker.protocol.version 2.6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, NewType

BrokerId = NewType("BrokerId", int)
BrokerEpoch = NewType("BrokerEpoch", int)
"""czxid of the broker's registration: two registrations of one id always have increasing epochs."""
ControllerEpoch = NewType("ControllerEpoch", int)
ControllerEpochZkVersion = NewType("ControllerEpochZkVersion", int)
"""ZooKeeper data version of /controller_epoch: what a fenced write checks. Not the epoch itself."""
LeaderEpoch = NewType("LeaderEpoch", int)
ZkVersion = NewType("ZkVersion", int)
"""Data version of a znode: 0 at creation, +1 at each setData."""
Zxid = NewType("Zxid", int)
SessionId = NewType("SessionId", int)

ANY_VERSION = ZkVersion(-1)
NO_LEADER = -1
"""How znodes and requests spell "nobody leads"; in memory that is None."""


class TopicPartition(NamedTuple):
    """One partition of one topic; printed as Kafka prints it: orders-0."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def without(replicas: Sequence[BrokerId], taken: Sequence[BrokerId]) -> tuple[BrokerId, ...]:
    """Take brokers out of a list, for each time that one is named its first place: of [3, 2, 3] without [3], [2, 3] is left.

    Only a list that was written by hand names a broker twice. Source: Scala's Seq.diff, as Kafka applies it to replicas.
    """
    left = list(replicas)
    for broker in taken:
        if broker in left:
            left.remove(broker)
    return tuple(left)


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """Who hosts a partition. `replicas` is the full list, those being added included; the first is the preferred leader."""

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
    """Who leads a partition and who keeps up. Nobody leads: None here, -1 only in znodes and requests."""

    leader: BrokerId | None
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]  # as stored; elections go by assignment order, not by this one
    zk_version: ZkVersion  # of the state znode this was read from

    def led_by(self, leader: BrokerId | None) -> "LeaderAndIsr":
        """The same partition one leader epoch later, under another leader."""
        return replace(self, leader=leader, leader_epoch=LeaderEpoch(self.leader_epoch + 1))


@dataclass(frozen=True, slots=True)
class PartitionState:
    """Content of /brokers/topics/T/partitions/P/state: the decision, and the epoch of the controller that made it."""

    leader_and_isr: LeaderAndIsr
    controller_epoch: ControllerEpoch


@dataclass(frozen=True, slots=True)
class TopicState:
    """Content of /brokers/topics/T. `version` is the form it was read in (1, 2 or 3); Kafka 2.8.2 writes 3."""

    assignments: Mapping[int, ReplicaAssignment]
    topic_id: str | None = None
    version: int = 3


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a broker listens: listener name, its security protocol, host and port."""

    listener: str
    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.listener}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    """A broker as it registers itself in /brokers/ids/N; its epoch is the znode's czxid, not part of the content."""

    broker_id: BrokerId
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    jmx_port: int = -1
    timestamp_ms: int = 0
    version: int = 4
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # name -> (min, max); version 5 only


@dataclass(frozen=True, slots=True)
class ControllerNode:
    """Content of /controller: who holds the role, and since when (ms since 1970)."""

    broker_id: BrokerId
    timestamp_ms: int
