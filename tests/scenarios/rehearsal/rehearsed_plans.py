"""Small clusters and plans for tests of rehearsals."""

from collections.abc import Mapping, Sequence

from kcsim.scenarios.rehearsal.plan_files import PlanStep
from kcsim.scenarios.rehearsal.rehearse_plan import RehearsalLimits, RehearsalResult, StepRun, do_run, rehearse_plan
from kcsim.scenarios.rehearsal.rehearsed_step import RehearsalSettings, RehearsedStep, rehearsed_step
from kcsim.scenarios.rehearsal.step_outcome import StepOutcome
from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
)
from kcsim.vocabulary import BrokerId, TopicPartition

MIB = 2**20
RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}


def led(number: int, *replicas: int, size: int = 100 * MIB, rate: float = 0.0) -> SnapshotPartition:
    """Return a partition whose replicas are all in sync."""
    return SnapshotPartition(number, replicas, (), (), replicas[0], replicas, 0, 1, size_bytes=size, bytes_in_per_s=rate)


def snapshot_of(*partitions: SnapshotPartition, min_isr: int = 1) -> ControlPlaneSnapshot:
    brokers = tuple(SnapshotBroker(broker, broker, rack) for broker, rack in RACKS.items())
    config = {"min.insync.replicas": str(min_isr)}
    topic = SnapshotTopic("orders", partitions, config=config)
    return ControlPlaneSnapshot("test", "t", controller=5, controller_epoch=1, brokers=brokers, topics=(topic,))


def step_of(name: str, targets: Mapping[int, Sequence[int]]) -> PlanStep:
    """Return a step. Args: targets: number of a partition of orders -> its replicas."""
    placed = {TopicPartition("orders", number): tuple(map(BrokerId, to)) for number, to in targets.items()}
    return PlanStep(name, placed)


def one_step(
    snapshot: ControlPlaneSnapshot, targets: Mapping[int, Sequence[int]], throttle: int | None = MIB
) -> RehearsedStep:
    return rehearsed_step(snapshot, step_of("step", targets), RehearsalSettings(throttle))


def do_all(runs: Sequence[StepRun]) -> list[StepOutcome]:
    return list(map(do_run, runs))


def rehearsed(
    snapshot: ControlPlaneSnapshot,
    *steps: PlanStep,
    settings: RehearsalSettings | None = None,
    limits: RehearsalLimits | None = None,
) -> RehearsalResult:
    return rehearse_plan(snapshot, steps, settings or RehearsalSettings(MIB), limits or RehearsalLimits(), do_all)
