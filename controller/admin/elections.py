"""Elections of preferred leaders, as `kafka-preferred-replica-election --zookeeper` requests them.

The tool writes the request into /admin/preferred_replica_election; the controller holds the elections and deletes the znode.
Source: Kafka 2.8, PreferredReplicaLeaderElectionCommand; docs/kafka/znodes.md 9.
"""

from collections.abc import Collection
from dataclasses import dataclass

from kcsim.controller.decisions.kafka_refusals import AdminOperationError
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import TopicPartition
from kcsim.zk.errors import NodeExistsError
from kcsim.zk.kafka.kafka_zk import KafkaZk


@dataclass(frozen=True, slots=True)
class RequestedElection:
    """The partitions for which an election was requested, and the requested partitions that do not exist; each ascending."""

    partitions: tuple[TopicPartition, ...]
    unknown: tuple[TopicPartition, ...] = ()


async def request_preferred_election(
    kafka_zk: KafkaZk, partitions: Collection[TopicPartition] | None = None, cause: Cause = None
) -> RequestedElection:
    """Ask the controller to make preferred replicas leaders.

    Args:
        partitions: None for all partitions that have a znode. If none of the given partitions exists, an empty request is
            written.

    Raises: AdminOperationError while another election is requested.
    """
    if partitions is None:
        requested = RequestedElection(tuple(await _initialized_partitions(kafka_zk, cause)))
    else:
        states = await kafka_zk.topics.read(sorted({partition.topic for partition in partitions}), cause)
        known = {TopicPartition(topic, p) for topic, state in states.items() for p in state.assignments}
        requested = RequestedElection(tuple(sorted(known & {*partitions})), tuple(sorted({*partitions} - known)))
    try:
        await kafka_zk.preferred_elections.create(requested.partitions, cause)
    except NodeExistsError:
        under_way = ",".join(map(str, await kafka_zk.preferred_elections.read(cause)))
        raise AdminOperationError(
            f"Preferred replica leader election currently in progress for Set({under_way}). Aborting operation"
        ) from None
    return requested


async def _initialized_partitions(kafka_zk: KafkaZk, cause: Cause) -> list[TopicPartition]:
    """Return the partitions that have a znode of their own: the controller creates it before the partition's state znode."""
    found: list[TopicPartition] = []
    for topic in await kafka_zk.topics.names(cause=cause):
        names = await kafka_zk.topics.partition_names(topic, cause)
        found += [TopicPartition(topic, int(name)) for name in names if name.isdecimal()]
    return sorted(found)
