"""One step of a plan, with the part of the cluster that is simulated for it: its partitions, and the brokers they are on.

No other partition changes what becomes of these. The controller handles partitions one by one, and the time of its own work
is not simulated; leaders are not balanced automatically; the throttle of a reassignment is for its own partitions only.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from kcsim.brokers.config import Value
from kcsim.scenarios.planning.batches import Batch
from kcsim.scenarios.planning.problem_of_goals import size_of
from kcsim.scenarios.planning.reassignment_plan import PartitionMove
from kcsim.scenarios.rehearsal.plan_files import PlanStep
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, SnapshotBroker, SnapshotPartition, SnapshotTopic
from kcsim.vocabulary import TopicPartition


class StartedBrokerError(ValueError):
    """A broker cannot be started before the plan. The message is one line."""


def parse_started(texts: Collection[str]) -> dict[int, str | None]:
    """Return broker -> rack for texts such as 7 and 7:rack. Raises: StartedBrokerError."""
    started: dict[int, str | None] = {}
    for text in texts:
        number, _, rack = text.partition(":")
        if not number.isdecimal() or not number.isascii():
            raise StartedBrokerError(f"{text!r} is not BROKER or BROKER:RACK")
        started[int(number)] = rack or None
    return started


def with_started(snapshot: ControlPlaneSnapshot, started: Mapping[int, str | None]) -> ControlPlaneSnapshot:
    """Return the snapshot with more brokers registered. Raises: StartedBrokerError if one of them is."""
    for broker in started:
        if broker in snapshot.registered_ids:
            raise StartedBrokerError(f"broker {broker} is registered in the snapshot already")
    new = (SnapshotBroker(broker, 0, rack) for broker, rack in started.items())
    return replace(snapshot, brokers=tuple(sorted((*snapshot.brokers, *new), key=lambda broker: broker.id)))


class Placed(msgspec.Struct, frozen=True):
    """Where a partition is."""

    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...]


def with_partitions_of(snapshot: ControlPlaneSnapshot, partitions: Collection[TopicPartition]) -> ControlPlaneSnapshot:
    """Return the snapshot with these partitions only, and without requests to the controller."""
    return replace(
        snapshot,
        topics=tuple(_topics(snapshot, set(partitions))),
        topic_deletions=(),
        reassignment_requests=(),
        election_requests=(),
    )


def with_placed(snapshot: ControlPlaneSnapshot, placed: Mapping[TopicPartition, Placed]) -> ControlPlaneSnapshot:
    """Return the snapshot with some partitions elsewhere, as an earlier step has left them."""
    topics = []
    for topic in snapshot.topics:
        partitions = [
            partition
            if (now := placed.get(TopicPartition(topic.name, partition.partition))) is None
            else _moved(partition, now)
            for partition in topic.partitions
        ]
        topics.append(replace(topic, partitions=tuple(partitions)))
    return replace(snapshot, topics=tuple(topics))


def _moved(partition: SnapshotPartition, now: Placed) -> SnapshotPartition:
    return replace(partition, replicas=now.replicas, leader=now.leader, isr=now.isr)


@dataclass(frozen=True, slots=True)
class RehearsalSettings:
    """What is the same in all runs of a rehearsal.

    Attributes:
        throttle: bytes per s that a broker receives, and sends, for the plan; None: any number.
        down_ms: for how long a broker stays dead.
        of_brokers: settings of all brokers, from the beginning.
    """

    throttle: int | None = None
    down_ms: int = 600_000
    seed: int = 0
    of_brokers: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RehearsedStep:
    """A step. Attributes: cluster: the part that is simulated, in the state in which the step finds it."""

    cluster: ControlPlaneSnapshot
    step: PlanStep
    settings: RehearsalSettings

    @property
    def racks(self) -> dict[int, str | None]:
        """Broker -> its rack."""
        return {broker.id: broker.rack for broker in self.cluster.brokers}

    def batch(self) -> Batch:
        """Return what the step copies from where to where, if no leader dies."""
        batch = Batch()
        for tp, partition in self.cluster.partitions():
            if tp in self.step.targets:
                rate = partition.bytes_in_per_s or 0.0
                after = tuple(map(int, self.step.targets[tp]))
                batch.add(PartitionMove(tp, partition.replicas, after, size_of(partition), partition.leader, rate, ()))
        return batch

    def with_partitions(self, wanted: Collection[TopicPartition]) -> "RehearsedStep":
        """Return the step with some of its partitions only."""
        targets = {tp: replicas for tp, replicas in self.step.targets.items() if tp in wanted}
        elections = tuple(tp for tp in self.step.elections if tp in wanted)
        return rehearsed_step(self.cluster, PlanStep(self.step.name, targets, elections), self.settings)


def rehearsed_step(snapshot: ControlPlaneSnapshot, step: PlanStep, settings: RehearsalSettings) -> RehearsedStep:
    """Return a step with its part of a cluster, the controller included."""
    wanted = set(step.partitions)
    brokers = {int(broker) for replicas in step.targets.values() for broker in replicas}
    brokers.update(broker for tp, partition in snapshot.partitions() if tp in wanted for broker in partition.replicas)
    kept = tuple(one for one in snapshot.brokers if one.id in brokers or one.id == snapshot.controller)
    return RehearsedStep(replace(with_partitions_of(snapshot, wanted), brokers=kept), step, settings)


def _topics(snapshot: ControlPlaneSnapshot, wanted: Collection[TopicPartition]) -> Iterator[SnapshotTopic]:
    for topic in snapshot.topics:
        kept = tuple(one for one in topic.partitions if TopicPartition(topic.name, one.partition) in wanted)
        if kept:
            yield replace(topic, partitions=kept)
