"""Reassignments of partitions to other brokers, as `kafka-reassign-partitions --zookeeper` requests them.

The tool writes the request into /admin/reassign_partitions; the controller does the rest. Left out: moves between the log
directories of a broker, which no znode requests.

Source: Kafka 2.8, ReassignPartitionsCommand; docs/kafka/assignment.md 9, docs/kafka/znodes.md 9.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kcsim.controller.admin.reassignment_files import MovePlan
from kcsim.controller.admin.throttles import set_throttles
from kcsim.controller.admin.topics import broker_metadata
from kcsim.controller.decisions.broker_ring import RackAwareMode, effective_brokers
from kcsim.controller.decisions.kafka_refusals import AdminCommandFailedError, RefusedError
from kcsim.controller.decisions.placement import RandomNumbers, Replicas, draw
from kcsim.controller.decisions.reassignment import (
    Plan,
    check_generate_arguments,
    check_plan,
    proposed_reassignment,
)
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition
from kcsim.zk.errors import NodeExistsError
from kcsim.zk.kafka.kafka_zk import KafkaZk

EXISTING_ASSIGNMENT = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a"
    " new partition assignment in addition to the existing one. The --additional flag can also be used to change the"
    " throttle by resubmitting the current reassignment."
)
NEEDS_BOOTSTRAP_SERVER = "bootstrap-server needs to be provided when replica reassignments are present."


class TerseReassignmentFailureError(RefusedError):
    """A refusal that the tool prints without the prefix "Error"."""

    kafka_name = "TerseReassignmentFailureException"


async def propose_reassignment(
    kafka_zk: KafkaZk,
    topics: Sequence[str],
    goal_brokers: Sequence[BrokerId],
    mode: RackAwareMode,
    numbers: RandomNumbers,
    cause: Cause = None,
) -> tuple[Plan, Plan]:
    """Propose a new placement of these topics on the live goal brokers. Return the present placement and the new one.

    Raises: RefusedError.
    """
    check_generate_arguments(goal_brokers, topics)
    current = await current_replicas(kafka_zk, topics, cause)
    alive = [broker for broker in await broker_metadata(kafka_zk, cause) if broker.id in goal_brokers]
    brokers = effective_brokers(alive, mode)
    drawn = {topic: draw(numbers, len(brokers)) for topic in sorted({partition.topic for partition in current})}
    return current, proposed_reassignment(current, brokers, drawn)


async def start_reassignment(kafka_zk: KafkaZk, plan: MovePlan, throttle: int | None = None, cause: Cause = None) -> Plan:
    """Ask the controller to move partitions. Return the present replicas of those partitions.

    Args:
        throttle: bytes per second that a broker may send or receive for the moves; set before the moves begin. None: no
            limit.

    Raises: RefusedError; TerseReassignmentFailureError while another reassignment is under way.
    """
    check_plan(plan.moves)
    refuse_log_dirs(plan)
    targets = plan.targets
    current = await current_replicas(kafka_zk, {partition.topic for partition in targets}, cause)
    await _refuse_what_is_not_there(kafka_zk, targets, current, cause)
    if await kafka_zk.reassignments.exists(cause):
        raise TerseReassignmentFailureError(EXISTING_ASSIGNMENT)
    moved_from = {partition: replicas for partition, replicas in current.items() if partition in targets}
    if throttle is not None:
        await set_throttles(kafka_zk, moved_from, targets, throttle, cause)
    try:
        await kafka_zk.reassignments.create(targets, cause)
    except NodeExistsError:
        raise TerseReassignmentFailureError(EXISTING_ASSIGNMENT) from None  # another request came after the check above
    return moved_from


def refuse_log_dirs(plan: MovePlan) -> None:
    """Refuse a plan that names log directories, because no znode requests such a move.

    Raises: AdminCommandFailedError.
    """
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
    """The status of a partition's move: its present and target replicas, and whether the reassignment is still under way."""

    current: Replicas
    target: Replicas
    is_under_way: bool


@dataclass(frozen=True, slots=True)
class ReassignmentVerification:
    """`is_anything_moving`: whether any reassignment is under way, including those of other partitions."""

    moves: Mapping[TopicPartition, MoveStatus]
    is_anything_moving: bool


async def verify_reassignment(
    kafka_zk: KafkaZk, plan: MovePlan, under_way: Collection[TopicPartition] | None = None, cause: Cause = None
) -> ReassignmentVerification:
    """Return the status of a reassignment, by partition in ascending order.

    Args:
        under_way: the partitions that the controller lists as being reassigned. If left out, those that
            /admin/reassign_partitions names, as the tool does with --zookeeper; a reassignment that was started through the
            controller's API is not seen then.
    """
    if under_way is None:
        under_way = await kafka_zk.reassignments.read(cause)
    current = await current_replicas(kafka_zk, {partition.topic for partition, _ in plan.moves}, cause)
    moves = {
        partition: MoveStatus(current.get(partition, ()), target, partition in under_way)
        for partition, target in sorted(plan.targets.items())
    }
    return ReassignmentVerification(moves, bool(under_way))


async def ongoing_reassignments(kafka_zk: KafkaZk, cause: Cause = None) -> dict[TopicPartition, ReplicaAssignment]:
    """Return all partitions that are being moved, ascending, read from the topics' znodes.

    The result does not depend on how a reassignment was requested.
    """
    states = await kafka_zk.topics.read(await kafka_zk.topics.names(cause=cause), cause)
    return {
        TopicPartition(topic, partition): assignment
        for topic, state in states.items()
        for partition, assignment in sorted(state.assignments.items())
        if assignment.is_being_reassigned
    }


async def current_replicas(
    kafka_zk: KafkaZk, topics: Collection[str], cause: Cause = None
) -> dict[TopicPartition, Replicas]:
    """Return every partition of these topics, ascending, with its full list of replicas."""
    states = await kafka_zk.topics.read(sorted(topics), cause)
    return {
        TopicPartition(topic, partition): assignment.replicas
        for topic, state in states.items()
        for partition, assignment in sorted(state.assignments.items())
    }
