"""What a cluster serves at one moment, and what has changed since another: the answers of a what-if."""

from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.scenarios.snapshots.snapshot_format import DEFAULT_ENTITY, ControlPlaneSnapshot, SnapshotPartition
from kcsim.vocabulary import TopicPartition

MIN_ISR = "min.insync.replicas"


class PartitionServed(msgspec.Struct, frozen=True):
    """One partition. Attributes: leader: None: it is offline; min_isr: its min.insync.replicas."""

    leader: int | None
    isr: tuple[int, ...]
    min_isr: int

    @property
    def is_below_min_isr(self) -> bool:
        """Whether it is led, but takes no records of producers with acks=all."""
        return self.leader is not None and len(self.isr) < self.min_isr


class BrokerShare(msgspec.Struct, frozen=True):
    """What one broker leads. Attributes: bytes_in_per_s: what producers write to it, as far as rates are known."""

    leaders: int = 0
    size_bytes: int = 0
    bytes_in_per_s: float = 0.0


class ClusterHealth(msgspec.Struct, frozen=True):
    """All partitions of a cluster at one moment.

    Attributes:
        partitions: by name, such as orders-0.
        registered: the registered brokers.
        controller: the broker that works as the controller; None: no broker does.
        under_replicated: partitions whose ISR is smaller than their assignment.
        shares: registered broker -> what it leads.
    """

    partitions: Mapping[str, PartitionServed]
    registered: tuple[int, ...]
    controller: int | None
    under_replicated: tuple[str, ...]
    shares: Mapping[int, BrokerShare]

    @property
    def offline(self) -> list[str]:
        return [name for name, partition in self.partitions.items() if partition.leader is None]

    @property
    def below_min_isr(self) -> list[str]:
        return [name for name, partition in self.partitions.items() if partition.is_below_min_isr]

    def led_otherwise(self, before: "ClusterHealth") -> dict[str, tuple[int | None, int | None]]:
        """Return the partitions with another leader than before, with both leaders."""
        pairs = ((name, before.partitions[name].leader, now.leader) for name, now in self._known_in(before).items())
        return {name: (old, new) for name, old, new in pairs if old != new}

    def _known_in(self, before: "ClusterHealth") -> dict[str, PartitionServed]:
        return {name: partition for name, partition in self.partitions.items() if name in before.partitions}


class KnownSizes:
    """The sizes and settings of partitions in a snapshot.

    Args:
        default_min_isr: min.insync.replicas of topics without one, where ZooKeeper has none for all brokers.
    """

    def __init__(self, snapshot: ControlPlaneSnapshot, default_min_isr: int) -> None:
        for_all = snapshot.broker_configs.get(DEFAULT_ENTITY, {})
        default = _number(for_all.get(MIN_ISR), default_min_isr)
        self._min_isr = {topic.name: _number(topic.config.get(MIN_ISR), default) for topic in snapshot.topics}
        self._partitions = dict(snapshot.partitions())

    @property
    def topics(self) -> Collection[str]:
        """The topics of the snapshot."""
        return self._min_isr.keys()

    def min_isr(self, tp: TopicPartition) -> int:
        return self._min_isr[tp.topic]

    def shares(self, leaders: Mapping[TopicPartition, int | None], registered: Collection[int]) -> dict[int, BrokerShare]:
        """Return what each registered broker leads."""
        count, size, rate = Counter[int](), Counter[int](), Counter[int]()
        for tp, leader in leaders.items():
            if leader is not None:
                known = self._partitions[tp]
                count[leader] += 1
                size[leader] += known.size_bytes or 0
                rate[leader] += known.bytes_in_per_s or 0  # type: ignore[assignment]  # a Counter also counts floats
        return {broker: BrokerShare(count[broker], size[broker], float(rate[broker])) for broker in registered}


class HealthReader:
    """Reads from the state of a simulated cluster what the whole cluster serves. Args: untouched: what is not simulated."""

    def __init__(self, sizes: KnownSizes, untouched: Mapping[TopicPartition, SnapshotPartition]) -> None:
        self._sizes = sizes
        self._untouched_leaders = {tp: partition.leader for tp, partition in untouched.items()}
        self._untouched = {
            tp: PartitionServed(partition.leader, partition.isr, sizes.min_isr(tp)) for tp, partition in untouched.items()
        }

    def read(self, state: ClusterState) -> ClusterHealth:
        """Return what the cluster serves now."""
        registered, topics = tuple(state.registered), state.of_topics
        known = [tp for tp in topics.partitions() if tp.topic in self._sizes.topics]
        leaders = {tp: leader if state.is_registered(leader := topics.leader(tp)) else None for tp in known}
        served = {tp: PartitionServed(leader, topics.isr(tp), self._sizes.min_isr(tp)) for tp, leader in leaders.items()}
        partitions = {str(tp): partition for tp, partition in sorted({**self._untouched, **served}.items())}
        under_replicated = tuple(str(tp) for tp in topics.under_replicated())
        shares = self._sizes.shares({**self._untouched_leaders, **leaders}, registered)
        return ClusterHealth(partitions, registered, state.working_controller, under_replicated, shares)


def _number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.strip().isdecimal() else default
