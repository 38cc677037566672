"""The part of a cluster that a rehearsal simulates: the partitions of the plan, and the brokers that they are on.

No other partition changes what becomes of these. The controller handles partitions one by one, and the time of its own work
is not simulated; leaders are not balanced automatically; the throttle of a reassignment is for its own partitions only.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from kcsim.scenarios.planning.batches import Batch
from kcsim.scenarios.planning.problem_of_goals import size_of
from kcsim.scenarios.planning.reassignment_plan import PartitionMove
from kcsim.scenarios.rehearsal.plan_files import PlanToRehearse
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, SnapshotBroker, SnapshotTopic


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


def part_of(snapshot: ControlPlaneSnapshot, plan: PlanToRehearse) -> ControlPlaneSnapshot:
    """Return the part of the cluster that is simulated, its controller included."""
    wanted = set(plan.partitions)
    brokers = {int(broker) for step in plan.steps for replicas in step.targets.values() for broker in replicas}
    brokers.update(broker for tp, partition in snapshot.partitions() if tp in wanted for broker in partition.replicas)
    return replace(
        snapshot,
        brokers=tuple(one for one in snapshot.brokers if one.id in brokers or one.id == snapshot.controller),
        topics=tuple(_topics(snapshot, plan)),
        topic_deletions=(),
        reassignment_requests=(),
        election_requests=(),
    )


def _topics(snapshot: ControlPlaneSnapshot, plan: PlanToRehearse) -> Iterator[SnapshotTopic]:
    numbers: dict[str, set[int]] = {}
    for tp in plan.partitions:
        numbers.setdefault(tp.topic, set()).add(tp.partition)
    for topic in snapshot.topics:
        if topic.name in numbers:
            kept = tuple(partition for partition in topic.partitions if partition.partition in numbers[topic.name])
            yield replace(topic, partitions=kept)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What is rehearsed, in every run alike.

    Attributes:
        cluster: the part of the cluster that is simulated.
        plan: its steps are the batches.
        throttle: bytes per s that a broker receives, and sends, for the plan; None: any number.
        down_ms: for how long a broker stays dead.
    """

    cluster: ControlPlaneSnapshot
    plan: PlanToRehearse
    throttle: int | None = None
    down_ms: int = 600_000
    seed: int = 0

    @property
    def racks(self) -> dict[int, str | None]:
        """Broker -> its rack."""
        return {broker.id: broker.rack for broker in self.cluster.brokers}

    def batches(self) -> list[Batch]:
        """Return what the steps copy from where to where, in the order of the plan, if leaders stay where they can."""
        partitions = dict(self.cluster.partitions())
        placed = {tp: (partition.replicas, partition.leader) for tp, partition in partitions.items()}
        batches = []
        for step in self.plan.steps:
            batch = Batch()
            for tp, after in sorted(step.targets.items()):
                (before, leader), known = placed[tp], partitions[tp]
                rate = known.bytes_in_per_s or 0.0
                batch.add(PartitionMove(tp, before, after, size_of(known), leader, rate, ()))
                placed[tp] = (after, leader if leader in after else after[0])
            batches.append(batch)
        return batches
