"""Plans are executed by the controller itself, in a simulated cluster in the state of the snapshot, and complete."""

import random
from collections.abc import Mapping
from functools import partial

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.simulated_environment import run_simulated
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.planning.batches import BatchLimits, in_batches
from kcsim.scenarios.planning.goals import parse_goals
from kcsim.scenarios.planning.reassignment_plan import ReassignmentPlan, make_plan
from kcsim.scenarios.snapshots.simulated_state import bring_into_state, cluster_spec
from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
)
from kcsim.vocabulary import BrokerId, TopicPartition

WITHIN_MS = 600_000
Served = Mapping[TopicPartition, tuple[tuple[int, ...], int | None, tuple[int, ...]]]
"""Partition -> its assignment, its leader, and its ISR in ascending order."""


def drawn_snapshot() -> ControlPlaneSnapshot:
    numbers = random.Random(5)
    brokers = tuple(SnapshotBroker(broker, broker, "abc"[broker % 3]) for broker in range(1, 7))
    partitions = []
    for number in range(24):
        replicas = tuple(numbers.sample(range(1, 6), 2))
        state = SnapshotPartition(number, replicas, (), (), replicas[0], replicas, 3, 2)
        partitions.append(state)
    return ControlPlaneSnapshot(
        "drawn", "t", controller=2, controller_epoch=2, brokers=brokers, topics=(SnapshotTopic("orders", tuple(partitions)),)
    )


def execute(snapshot: ControlPlaneSnapshot, plan: ReassignmentPlan) -> Served:
    """Execute the batches one after another, then elect the preferred leaders."""
    served: dict[TopicPartition, tuple[tuple[int, ...], int | None, tuple[int, ...]]] = {}
    spec = cluster_spec(snapshot, {})
    added = [BrokerSpec(broker) for broker in plan.after if f"broker-{broker}" not in [one.name for one in spec.brokers]]
    spec = ClusterSpec((*spec.brokers, *added), spec.settings, max_session_timeout_ms=spec.max_session_timeout_ms)

    async def script(cluster: Cluster) -> None:
        await bring_into_state(cluster, snapshot)
        if added:
            await cluster.start([one.name for one in added])
            await cluster.wait_until(lambda: _unregistered(cluster, plan), WITHIN_MS)
        for batch in in_batches(plan.moves, BatchLimits(2)):
            targets = {move.partition: tuple(map(BrokerId, move.after)) for move in batch.moves}
            answers = await cluster.alter_partition_reassignments(targets)
            assert set(answers.values()) == {ErrorCode.NONE}
            await cluster.wait_until(partial(_incomplete, cluster, targets), WITHIN_MS)
        if plan.elections:
            await cluster.topics.elect_preferred(plan.elections)
            await cluster.wait_until(lambda: _led_otherwise(cluster), WITHIN_MS)
        topics = cluster.state.of_topics
        for tp in topics.partitions():
            assignment = topics.assignment(tp)
            assert assignment is not None
            served[tp] = (assignment.replicas, topics.leader(tp), tuple(sorted(topics.isr(tp))))

    run_simulated(1, spec, RunInfo("plan", 0, "simulated"), script, ())
    return served


def _unregistered(cluster: Cluster, plan: ReassignmentPlan) -> str | None:
    missing = set(plan.after).difference(cluster.state.registered)
    return f"not registered: {missing}" if missing else None


def _incomplete(cluster: Cluster, wanted: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> str | None:
    topics = cluster.state.of_topics
    for tp, replicas in wanted.items():
        assignment = topics.assignment(tp)
        is_placed = assignment is not None and assignment.replicas == replicas and not assignment.is_being_reassigned
        if not is_placed or set(topics.isr(tp)) != set(replicas):
            return f"{tp}: {assignment}"
    return None


def _led_otherwise(cluster: Cluster) -> str | None:
    topics = cluster.state.of_topics
    assignments = {tp: topics.assignment(tp) for tp in topics.partitions()}
    others = [str(tp) for tp, found in assignments.items() if found is None or topics.leader(tp) != found.replicas[0]]
    return f"not led by the preferred leader: {others}" if others else None


@pytest.mark.parametrize(
    "goals",
    [
        ["remove-brokers 1,4"],
        ["balance"],
        ["replace 2=9"],
        ["rack-aware", "balance"],
        ["replication-factor 3"],
        ["replication-factor 1"],
        ["add-brokers 8"],
    ],
    ids=" ".join,
)
def test_the_controller_completes_the_plan_batch_by_batch(goals: list[str]) -> None:
    snapshot = drawn_snapshot()
    plan = make_plan(snapshot, parse_goals(goals))
    assert plan.moves
    after = {move.partition: move.after for move in plan.moves}
    expected = {tp: after.get(tp, partition.replicas) for tp, partition in snapshot.partitions()}
    assert execute(snapshot, plan) == {tp: (rs, rs[0], tuple(sorted(rs))) for tp, rs in expected.items()}
