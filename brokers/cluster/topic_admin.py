"""Operators' changes of topics and partitions with Kafka's tools, through ZooKeeper, and their events in a run's log.

Each action is the run of one tool: a session of its own, the tool's reads, refusals and writes (controller/admin/), and an
AdminAct that is the cause of all of them. Requests to the controller are in controller_requests.py.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from kcsim.controller.admin.entity_configs import BROKERS, DEFAULT, TOPICS, change_broker_config, change_topic_config
from kcsim.controller.admin.topics import NewTopic, add_partitions, create_topic, delete_topic
from kcsim.controller.decisions.placement import RandomNumbers, Replicas
from kcsim.eventlog.run_actions import ClusterError, RunActionLog
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.zk.kafka.kafka_zk import KafkaZk

Changes = Mapping[str, str | None]
"""Setting -> its new value as text; None removes it."""


class TopicAdmin:
    """The actions. Each returns the seq of its AdminAct, and raises ClusterError when the tool, or ZooKeeper, refuses.

    Args:
        tool: opens a session for one action, given the seq of its AdminAct; it raises refusals as ClusterError.
    """

    def __init__(self, actions: RunActionLog, tool: Callable[[int], AbstractAsyncContextManager[KafkaZk]]) -> None:
        self._actions = actions
        self._tool = tool

    async def create(self, wanted: NewTopic, numbers: RandomNumbers) -> None:
        """Create a topic on the brokers that are registered now, as `kafka-topics --create`.

        Args:
            numbers: the random numbers for the start index and the shift of its placement.
        """
        how = "as assigned" if wanted.assignment else f"replication factor {wanted.replication_factor}"
        partitions = len(wanted.assignment or ()) or wanted.partitions
        cause = self._actions.act_on_topic("create-topic", wanted.name, f"{_counted(partitions)}, {how}")
        async with self._tool(cause) as kafka_zk:
            await create_topic(kafka_zk, wanted, numbers, cause)

    async def delete(self, topic: str) -> None:
        """Request a topic's deletion, as `kafka-topics --delete`."""
        cause = self._actions.act_on_topic("delete-topic", topic)
        async with self._tool(cause) as kafka_zk:
            if not await kafka_zk.topics.exists(topic, cause):
                raise ClusterError(f"topic {topic} does not exist")
            if not await delete_topic(kafka_zk, topic, cause):
                raise ClusterError(f"topic {topic} is marked for deletion already")

    async def add_partitions(self, topic: str, total: int, assignment: Sequence[Replicas] | None = None) -> None:
        """Add partitions to a topic, as `kafka-topics --alter`.

        Args:
            total: the new number of partitions.
            assignment: of partitions 0, 1, …; entries of existing partitions are skipped. None: the new ones are placed.
        """
        cause = self._actions.act_on_topic("add-partitions", topic, f"{_counted(total)} in all")
        async with self._tool(cause) as kafka_zk:
            await add_partitions(kafka_zk, topic, total, assignment, cause)

    async def reassign(self, targets: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> None:
        """Write /admin/reassign_partitions, as planners do: targets are not checked, so they may be dead brokers."""
        detail = ", ".join(f"{partition} to {list(replicas)}" for partition, replicas in targets.items())
        cause = self._actions.act_on_partitions("reassign", targets, detail)
        async with self._tool(cause) as kafka_zk:
            await kafka_zk.reassignments.create(targets, cause)

    async def elect_preferred(self, partitions: Sequence[TopicPartition]) -> None:
        """Write /admin/preferred_replica_election."""
        cause = self._actions.act_on_partitions("elect-preferred", partitions)
        async with self._tool(cause) as kafka_zk:
            await kafka_zk.preferred_elections.create(partitions, cause)

    async def change_topic_config(self, topic: str, changes: Changes) -> None:
        """Change a topic's own settings, as `kafka-configs --zookeeper`."""
        cause = self._actions.act_on_topic("set-config", topic, _changes_text(TOPICS, topic, changes))
        async with self._tool(cause) as kafka_zk:
            await change_topic_config(kafka_zk, topic, *_added_and_removed(changes), cause)

    async def change_broker_defaults(self, changes: Changes) -> None:
        """Change the settings that apply to all brokers."""
        cause = self._actions.act("set-config", None, _changes_text(BROKERS, DEFAULT, changes))
        async with self._tool(cause) as kafka_zk:
            await change_broker_config(kafka_zk, None, *_added_and_removed(changes), cause)


def _added_and_removed(changes: Changes) -> tuple[dict[str, str], list[str]]:
    added = {name: value for name, value in changes.items() if value is not None}
    return added, [name for name, value in changes.items() if value is None]


def _changes_text(entity_type: str, name: str, changes: Changes) -> str:
    parts = (f"{setting}={value}" if value is not None else f"no {setting}" for setting, value in changes.items())
    return f"{entity_type}/{name}: {', '.join(parts)}"


def _counted(partitions: int) -> str:
    return "1 partition" if partitions == 1 else f"{partitions} partitions"
