"""The assignment of a partition under reassignment, and the proposals and checks of the reassignment tool.

Source: Kafka 2.8, ReplicaAssignment.reassignTo and ReassignPartitionsCommand; docs/kafka/controller.md 12.1,
docs/kafka/assignment.md 9.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata, refuse_duplicates
from kcsim.controller.decisions.kafka_refusals import AdminCommandFailedError, UnknownTopicOrPartitionError
from kcsim.controller.decisions.placement import Assignment, Draw, Replicas
from kcsim.jvm_hash_order import java_set_order, partition_set_order, set_order
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition, without

Plan = Mapping[TopicPartition, Replicas]


def reassigned_to(current: ReplicaAssignment, target: Replicas) -> ReplicaAssignment:
    """Return a partition's assignment while it is moved to `target`.

    A running reassignment is replaced, and the replicas that it had added are dropped. A target equal to the origin cancels
    it; a target that only changes the order adds and removes no replica. When the reassignment completes, `replicas` become
    the result's `target_replicas`. A broker that was listed twice by hand is listed once afterwards.
    """
    origin = current.origin_replicas
    replicas = tuple(dict.fromkeys(target + origin))
    return ReplicaAssignment(replicas, without(replicas, origin), without(replicas, target))


def invalid_target(current: ReplicaAssignment, target: Replicas, live_brokers: Collection[BrokerId]) -> str | None:
    """Return why the controller's API does not accept a target; None if it does.

    It must be non-empty, without duplicates and negative ids, and new replicas must be on live brokers.

    Source: Kafka 2.8, KafkaController.validateReplicas.
    """
    if not target:
        return "Empty replica list specified in partition reassignment."
    if len(set(target)) < len(target):
        return f"Duplicate replica ids in partition reassignment replica list: {_scala_buffer(target)}"
    if min(target) < 0:
        return f"Invalid broker id in replica list: {_scala_buffer(target)}"
    adding = reassigned_to(current, target).adding_replicas
    if not set(live_brokers).issuperset(adding):
        live = ", ".join(map(str, sorted(live_brokers)))
        return (
            "Replica assignment has brokers that are not alive."
            f" Replica list: {_scala_buffer(adding)}, live broker list: Set({live})"
        )
    return None


def _scala_buffer(brokers: Replicas) -> str:
    return f"ArrayBuffer({', '.join(map(str, brokers))})"


# --- kafka-reassign-partitions --generate ----------------------------------------------------------------------------------


def check_generate_arguments(goal_brokers: Iterable[int], topics: Iterable[str]) -> None:
    """Refuse arguments that list a broker or a topic twice. Raises: AdminCommandFailedError."""
    refuse_duplicates("Broker list", goal_brokers)
    refuse_duplicates("List of topics to reassign", topics)


def proposed_reassignment(
    current: Plan, brokers: Sequence[BrokerMetadata], drawn: Mapping[str, Draw]
) -> dict[TopicPartition, Replicas]:
    """Propose a new placement of whole topics, as if they were created now: no rebalancing, most of the data moves.

    Args:
        current: every partition of the topics in question. A topic's replication factor is that of its first partition here;
            its partitions are counted and numbered from 0.
        brokers: the live ones of the goal list, sorted by id, with racks as the mode requires (effective_brokers).
        drawn: each topic's own pair of numbers.

    Raises: what assign_replicas raises.
    """
    by_topic: dict[str, list[Replicas]] = {}
    for partition, replicas in current.items():
        by_topic.setdefault(partition.topic, []).append(replicas)
    placed: dict[str, Assignment] = {
        topic: assign_replicas(brokers, len(lists), len(lists[0]), drawn[topic]) for topic, lists in by_topic.items()
    }
    return {TopicPartition(topic, p): replicas for topic, found in placed.items() for p, replicas in found.items()}


# --- kafka-reassign-partitions --execute -----------------------------------------------------------------------------------


def check_plan(plan: Sequence[tuple[TopicPartition, Replicas]]) -> None:
    """Check a plan by itself, as the tool does before it reads the cluster. Raises: AdminCommandFailedError."""
    if not plan:
        raise AdminCommandFailedError("Partition reassignment list cannot be empty")
    if not all(replicas for _, replicas in plan):
        raise AdminCommandFailedError("Partition replica list cannot be empty")
    repeated = _repeated(partition for partition, _ in plan)
    if repeated:
        raise AdminCommandFailedError(f"Partition reassignment contains duplicate topic partitions {_listed(repeated)}")
    twice = [f"{partition} contains multiple entries for {_listed(_repeated(r))}" for partition, r in plan if _repeated(r)]
    if twice:
        raise AdminCommandFailedError(f"Partition replica lists may not contain duplicate entries: {'. '.join(twice)}")


def check_execute_arguments(
    plan: Sequence[tuple[TopicPartition, Replicas]], topics: Collection[str], brokers: Collection[BrokerId]
) -> None:
    """Check a plan as the tool does before it moves anything through the controller's API.

    Args:
        topics, brokers: the existing ones.

    Raises: AdminCommandFailedError, UnknownTopicOrPartitionError.
    """
    check_plan(plan)
    for partition, _ in plan:
        if partition.topic not in topics:
            raise UnknownTopicOrPartitionError(f"Topic {partition.topic} not found.")
    check_brokers(dict(plan), brokers)


def check_brokers(
    targets: Mapping[TopicPartition, Replicas], brokers: Collection[BrokerId], *, in_java: bool = False
) -> None:
    """Check that the brokers of a plan exist, in the order in which the tool finds one that does not.

    Args:
        in_java: the tool is that of Kafka 3.7 or later, with a Java HashSet instead of a Scala Set of what a Scala Map has.

    Raises: AdminCommandFailedError.

    Source: Kafka 2.8, ReassignPartitionsCommand.verifyBrokerIds; for Java, a recording of Kafka 3.9.1.
    """
    named = [broker for partition in partition_set_order(targets) for broker in targets[partition]]
    for broker in java_set_order(named) if in_java else set_order(named):
        if broker not in brokers:
            raise AdminCommandFailedError(f"Unknown broker id {broker}")


def _repeated(items: Iterable[object]) -> list[object]:
    return [item for item, times in Counter(items).items() if times > 1]


def _listed(items: Iterable[object]) -> str:
    return ",".join(map(str, items))
