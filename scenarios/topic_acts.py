"""What operators do to topics and partitions with Kafka's tools, through ZooKeeper, and how a run's log tells of it.

Each act is the run of one tool: a session of its own, the tool's reads, refusals and writes (admin/*), and an AdminAct from
which all of that follows. Asking the controller by a request is cluster.py's.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from kcsim.controller.decisions.placement import RandomNumbers, Replicas
from kcsim.scenarios.admin.entity_configs import BROKERS, DEFAULT, TOPICS, change_broker_config, change_topic_config
from kcsim.scenarios.admin.topics import NewTopic, add_partitions, create_topic, delete_topic
from kcsim.scenarios.deeds import ClusterError, Deeds
from kcsim.zk import paths
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.vocabulary import BrokerId, TopicPartition

Changes = Mapping[str, str | None]
"""Setting -> its new value as text; None takes it away."""


class TopicActs:
    """The acts. Each returns the seq of its AdminAct, and raises ClusterError when the tool, or ZooKeeper, refuses.

    Args:
        tool: opens a session for one act, given its seq; refusals within leave it as ClusterError.
    """

    def __init__(self, deeds: Deeds, tool: Callable[[int], AbstractAsyncContextManager[KafkaZk]]) -> None:
        self._deeds = deeds
        self._tool = tool

    async def create(self, wanted: NewTopic, numbers: RandomNumbers) -> int:
        """Create a topic, as `kafka-topics --create`: on the brokers that are registered now.

        Args:
            numbers: where the start index and the shift of its placement come from.
        """
        how = "as assigned" if wanted.assignment else f"replication factor {wanted.replication_factor}"
        partitions = len(wanted.assignment or ()) or wanted.partitions
        cause = self._deeds.act_on_topic("create-topic", wanted.name, f"{_counted(partitions)}, {how}")
        async with self._tool(cause) as kafka_zk:
            await create_topic(kafka_zk, wanted, numbers, cause)
        return cause

    async def delete(self, topic: str) -> int:
        """Ask for a topic's deletion, as `kafka-topics --delete`."""
        cause = self._deeds.act_on_topic("delete-topic", topic)
        async with self._tool(cause) as kafka_zk:
            if not await kafka_zk.exists(paths.topic(topic), cause):
                raise ClusterError(f"topic {topic} does not exist")
            if not await delete_topic(kafka_zk, topic, cause):
                raise ClusterError(f"topic {topic} is marked for deletion already")
        return cause

    async def add_partitions(self, topic: str, total: int, assignment: Sequence[Replicas] | None = None) -> int:
        """Give a topic more partitions, as `kafka-topics --alter`.

        Args:
            total: how many in the end.
            assignment: of partitions 0, 1, …; entries of those that exist are passed over. None to have the new ones placed.
        """
        cause = self._deeds.act_on_topic("add-partitions", topic, f"{_counted(total)} in all")
        async with self._tool(cause) as kafka_zk:
            await add_partitions(kafka_zk, topic, total, assignment, cause)
        return cause

    async def reassign(self, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> int:
        """Write /admin/reassign_partitions, as planners do: targets are not checked, also those on dead brokers."""
        told = ", ".join(f"{partition} to {list(replicas)}" for partition, replicas in targets.items())
        cause = self._deeds.act_on_partitions("reassign", targets, told)
        async with self._tool(cause) as kafka_zk:
            await kafka_zk.create_partition_reassignments(targets, cause)
        return cause

    async def elect_preferred(self, partitions: Sequence[TopicPartition]) -> int:
        """Write /admin/preferred_replica_election."""
        cause = self._deeds.act_on_partitions("elect-preferred", partitions)
        async with self._tool(cause) as kafka_zk:
            await kafka_zk.create_preferred_replica_election(partitions, cause)
        return cause

    async def change_topic_config(self, topic: str, changes: Changes) -> int:
        """Change a topic's own settings, as `kafka-configs --zookeeper`."""
        cause = self._deeds.act_on_topic("set-config", topic, _told(TOPICS, topic, changes))
        async with self._tool(cause) as kafka_zk:
            await change_topic_config(kafka_zk, topic, *_added_and_removed(changes), cause)
        return cause

    async def change_broker_defaults(self, changes: Changes) -> int:
        """Change the settings that count for all brokers."""
        cause = self._deeds.act("set-config", None, _told(BROKERS, DEFAULT, changes))
        async with self._tool(cause) as kafka_zk:
            await change_broker_config(kafka_zk, None, *_added_and_removed(changes), cause)
        return cause


def _added_and_removed(changes: Changes) -> tuple[dict[str, str], list[str]]:
    added = {name: value for name, value in changes.items() if value is not None}
    return added, [name for name, value in changes.items() if value is None]


def _told(entity_type: str, name: str, changes: Changes) -> str:
    told = (f"{setting}={value}" if value is not None else f"no {setting}" for setting, value in changes.items())
    return f"{entity_type}/{name}: {', '.join(told)}"


def _counted(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions} partitions"
