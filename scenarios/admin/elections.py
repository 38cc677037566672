"""Leadership given back to preferred replicas, as `kafka-preferred-replica-election --zookeeper` does it.

The tool writes the wish into /admin/preferred_replica_election; the controller elects and removes it.
Source: Kafka 2.8, PreferredReplicaLeaderElectionCommand; reference znodes.md 9.
"""

from collections.abc import Collection
from dataclasses import dataclass

from kcsim.controller.decisions.kafka_refusals import AdminOperationError
from kcsim.zk import paths
from kcsim.zk.errors import NodeExistsError
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import TopicPartition


@dataclass(frozen=True, slots=True)
class ElectionAsked:
    """Partitions for which an election was asked, and those that do not exist; each ascending."""

    partitions: tuple[TopicPartition, ...]
    unknown: tuple[TopicPartition, ...] = ()


async def ask_for_preferred_election(
    kafka_zk: KafkaZk, partitions: Collection[TopicPartition] | None = None, cause: Cause = None
) -> ElectionAsked:
    """Ask the controller to make preferred replicas leaders.

    Args:
        partitions: None for all that the controller has begun with. If none of them exists, an empty wish is written.

    Raises: AdminOperationError while another election is asked for.
    """
    if partitions is None:
        asked = ElectionAsked(tuple(await _initialized_partitions(kafka_zk, cause)))
    else:
        states = await kafka_zk.topic_states(sorted({partition.topic for partition in partitions}), cause)
        known = {TopicPartition(topic, p) for topic, state in states.items() for p in state.assignments}
        asked = ElectionAsked(tuple(sorted(known & {*partitions})), tuple(sorted({*partitions} - known)))
    try:
        await kafka_zk.create_preferred_replica_election(asked.partitions, cause)
    except NodeExistsError:
        under_way = ",".join(map(str, await kafka_zk.preferred_replica_election(cause)))
        raise AdminOperationError(
            f"Preferred replica leader election currently in progress for Set({under_way}). Aborting operation"
        ) from None
    return asked


async def _initialized_partitions(kafka_zk: KafkaZk, cause: Cause) -> list[TopicPartition]:
    """Those with a znode of their own: the controller makes it before the state."""
    found: list[TopicPartition] = []
    for topic in await kafka_zk.all_topics(cause=cause):
        names = await kafka_zk.get_children(paths.topic_partitions(topic), cause=cause)
        found += [TopicPartition(topic, int(name)) for name in names if name.isdecimal()]
    return sorted(found)
