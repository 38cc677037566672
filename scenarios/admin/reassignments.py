"""Partitions moved from broker to broker, as `kafka-reassign-partitions --zookeeper` does it.

The tool writes the wish into /admin/reassign_partitions; the controller does the rest. Left out: moves between the log
directories of a broker, for which no znode asks.

Source: Kafka 2.8, ReassignPartitionsCommand; reference assignment.md 9, znodes.md 9.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kcsim.controller.decisions.broker_ring import RackAwareMode, effective_brokers
from kcsim.controller.decisions.kafka_refusals import AdminCommandFailedError, RefusedError
from kcsim.controller.decisions.placement import RandomNumbers, Replicas, draw
from kcsim.controller.decisions.reassignment import (
    Plan,
    check_generate_arguments,
    check_plan,
    proposed_reassignment,
)
from kcsim.scenarios.admin.reassignment_files import MovePlan
from kcsim.scenarios.admin.throttles import set_throttles
from kcsim.scenarios.admin.topics import broker_metadata
from kcsim.zk import paths
from kcsim.zk.errors import NodeExistsError
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import BrokerId, ReplicaAssignment, TopicPartition

EXISTING_ASSIGNMENT = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a"
    " new partition assignment in addition to the existing one. The --additional flag can also be used to change the"
    " throttle by resubmitting the current reassignment."
)
NEEDS_BOOTSTRAP_SERVER = "bootstrap-server needs to be provided when replica reassignments are present."


class TerseReassignmentFailureError(RefusedError):
    """A refusal that the tool prints as it is, without the word Error before it."""

    kafka_name = "TerseReassignmentFailureException"


async def propose_reassignment(
    kafka_zk: KafkaZk,
    topics: Sequence[str],
    goal_brokers: Sequence[BrokerId],
    mode: RackAwareMode,
    numbers: RandomNumbers,
    cause: Cause = None,
) -> tuple[Plan, Plan]:
    """Place these topics anew on those of the goal brokers that are alive; returns the present placement and the new one.

    Raises: RefusedError.
    """
    check_generate_arguments(goal_brokers, topics)
    current = await current_replicas(kafka_zk, topics, cause)
    alive = [broker for broker in await broker_metadata(kafka_zk, cause) if broker.id in goal_brokers]
    brokers = effective_brokers(alive, mode)
    drawn = {topic: draw(numbers, len(brokers)) for topic in sorted({partition.topic for partition in current})}
    return current, proposed_reassignment(current, brokers, drawn)


async def start_reassignment(kafka_zk: KafkaZk, plan: MovePlan, throttle: int | None = None, cause: Cause = None) -> Plan:
    """Ask the controller to move partitions, and return where those partitions are now.

    Args:
        throttle: bytes a second that a broker may send or take for it; set before the move begins. None for no limit.

    Raises: RefusedError; TerseReassignmentFailureError while another is under way.
    """
    check_plan(plan.moves)
    refuse_log_dirs(plan)
    targets = plan.targets
    current = await current_replicas(kafka_zk, {partition.topic for partition in targets}, cause)
    await _refuse_what_is_not_there(kafka_zk, targets, current, cause)
    if await kafka_zk.exists(paths.REASSIGN_PARTITIONS, cause):
        raise TerseReassignmentFailureError(EXISTING_ASSIGNMENT)
    moved_from = {partition: replicas for partition, replicas in current.items() if partition in targets}
    if throttle is not None:
        await set_throttles(kafka_zk, moved_from, targets, throttle, cause)
    try:
        await kafka_zk.create_partition_reassignments(targets, cause)
    except NodeExistsError:
        raise TerseReassignmentFailureError(EXISTING_ASSIGNMENT) from None  # it came since we looked
    return moved_from


def refuse_log_dirs(plan: MovePlan) -> None:
    """Raises: AdminCommandFailedError if a plan names directories: no znode asks for such a move."""
    if plan.log_dirs:
        raise AdminCommandFailedError(NEEDS_BOOTSTRAP_SERVER)


async def _refuse_what_is_not_there(kafka_zk: KafkaZk, targets: Plan, current: Plan, cause: Cause) -> None:
    missing = [str(partition) for partition in targets if partition not in current]
    if missing:
        raise AdminCommandFailedError(
            f"The proposed assignment contains non-existent partitions: List({', '.join(missing)})"
        )
    alive = {broker.id for broker in await broker_metadata(kafka_zk, cause)}
    unknown = dict.fromkeys(broker for replicas in targets.values() for broker in replicas if broker not in alive)
    if unknown:
        raise AdminCommandFailedError(
            f"The proposed assignment contains non-existent brokerIDs: {','.join(map(str, unknown))}"
        )


@dataclass(frozen=True, slots=True)
class MoveStatus:
    """How far a partition is: where it is, where it was to go, and whether /admin/reassign_partitions still names it."""

    current: Replicas
    target: Replicas
    is_under_way: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """`is_anything_moving`: whether some reassignment is under way, one of other partitions included."""

    moves: Mapping[TopicPartition, MoveStatus]
    is_anything_moving: bool


async def verify_reassignment(
    kafka_zk: KafkaZk, plan: MovePlan, under_way: Collection[TopicPartition] | None = None, cause: Cause = None
) -> Verification:
    """Say how far a reassignment is, by partition in ascending order.

    Args:
        under_way: what moves, as the controller says. If left out, what /admin/reassign_partitions has, as the tool does
            with --zookeeper: of a reassignment that was begun through the controller's API, it sees nothing.
    """
    if under_way is None:
        under_way = await kafka_zk.partition_reassignments(cause)
    current = await current_replicas(kafka_zk, {partition.topic for partition, _ in plan.moves}, cause)
    moves = {
        partition: MoveStatus(current.get(partition, ()), target, partition in under_way)
        for partition, target in sorted(plan.targets.items())
    }
    return Verification(moves, bool(under_way))


async def ongoing_reassignments(kafka_zk: KafkaZk, cause: Cause = None) -> dict[TopicPartition, ReplicaAssignment]:
    """Partitions that are being moved, ascending, whoever asked for it: the topics' znodes tell."""
    states = await kafka_zk.topic_states(await kafka_zk.all_topics(cause=cause), cause)
    return {
        TopicPartition(topic, partition): assignment
        for topic, state in states.items()
        for partition, assignment in sorted(state.assignments.items())
        if assignment.is_being_reassigned
    }


async def current_replicas(
    kafka_zk: KafkaZk, topics: Collection[str], cause: Cause = None
) -> dict[TopicPartition, Replicas]:
    """Every partition of these topics, ascending, with its full list of replicas."""
    states = await kafka_zk.topic_states(sorted(topics), cause)
    return {
        TopicPartition(topic, partition): assignment.replicas
        for topic, state in states.items()
        for partition, assignment in sorted(state.assignments.items())
    }
