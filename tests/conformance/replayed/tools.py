"""Does what a recording did with one of Kafka's own commands, through our command's functions.

With --zookeeper the command has a session of its own and writes by itself. With --bootstrap-server it asks the controller's
broker, whose session it then is that writes.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.admin.election_text import asked_lines, failures, result_lines
from kcsim.scenarios.admin.elections import ask_for_preferred_election
from kcsim.scenarios.admin.entity_configs import change_broker_config, change_topic_config
from kcsim.scenarios.admin.topic_descriptions import Report, describe_topics, live_brokers
from kcsim.scenarios.admin.topic_text import description_lines
from kcsim.scenarios.admin.topics import NewTopic, add_partitions, create_topic, delete_topic, matching_topics
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import SCENARIO, ClusterError, Deeds
from kcsim.scenarios.tool_session import open_tool
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import ZooKeeper
from kcsim.zk.vocabulary import BrokerId, TopicPartition
from tests.conformance.replayed.errors import NotSupportedError

Lines = list[str]
Outcome = Mapping[str, Any]
SEED = 1
"""For placements: Kafka's are random, so no recording can tell what they are to be."""


@dataclass(frozen=True)
class Command:
    """A command line: the tool's name, and the values of each flag, in their order."""

    tool: str
    flags: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, words: Sequence[str]) -> "Command":
        flags: dict[str, list[str]] = {}
        flag = ""
        for word in words[1:]:
            if word.startswith("--"):
                flag = word.removeprefix("--")
                flags.setdefault(flag, [])
            else:
                flags.setdefault(flag, []).append(word)
        return cls(words[0].rpartition(".")[2], flags)

    def __contains__(self, flag: str) -> bool:
        return flag in self.flags

    def one(self, flag: str) -> str:
        """The value of a flag. Raises: NotSupportedError without it."""
        if not self.flags.get(flag):
            raise NotSupportedError(f"{self.tool} without --{flag}")
        return self.flags[flag][-1]

    def settings(self, flag: str) -> dict[str, str]:
        """name=value, … of a flag that may be given several times."""
        pairs = [pair for value in self.flags.get(flag, ()) for pair in value.split(",")]
        return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}

    def assignment(self) -> list[tuple[BrokerId, ...]] | None:
        """--replica-assignment: 1:2,2:3 is partition 0 on 1 and 2, partition 1 on 2 and 3."""
        if "replica-assignment" not in self:
            return None
        partitions = self.one("replica-assignment").split(",")
        return [tuple(BrokerId(int(broker)) for broker in replicas.split(":")) for replicas in partitions]


class Tools:
    """Kafka's commands, on one cluster.

    Args:
        zookeeper: the way to ZooKeeper of a command with a session of its own.
    """

    def __init__(self, cluster: Cluster, zookeeper: ZooKeeper) -> None:
        self._cluster = cluster
        self._zookeeper = zookeeper
        self._tools: Mapping[str, Callable[[Command], Awaitable[Lines]]] = {
            "TopicCommand": self._topics,
            "ConfigCommand": self._configs,
            "PreferredReplicaLeaderElectionCommand": self._preferred_election,
            "LeaderElectionCommand": self._leader_election,
        }

    async def run(self, words: Sequence[str]) -> Outcome:
        """Run a command as the recording has it, class name first.

        Returns: exit status, what it says, and why it refused.
        Raises: NotSupportedError.
        """
        command = Command.of(words)
        if command.tool not in self._tools:
            raise NotSupportedError(f"{command.tool} has no counterpart here")
        try:
            return {"rc": 0, "out": await self._tools[command.tool](command), "err": []}
        except (RefusedError, ClusterError) as refused:
            return {"rc": 1, "out": [], "err": [str(refused)]}

    # --- whom to ask

    @asynccontextmanager
    async def _kafka_zk(self, command: Command) -> AsyncIterator[KafkaZk]:
        if "zookeeper" not in command:
            yield self._cluster.broker(self._controller()).kafka_zk
            return
        log = self._cluster.log
        asked = Deeds(log).act("run", command.tool)
        async with open_tool(self._cluster.runtime, self._zookeeper, log.sink(SCENARIO), 0, asked) as kafka_zk:
            yield kafka_zk

    def _controller(self) -> str:
        holder = self._cluster.state.controller_id
        if holder is None:
            raise ClusterError("nobody holds the controller role")
        return f"broker-{holder}"

    # --- the commands

    async def _topics(self, command: Command) -> Lines:
        async with self._kafka_zk(command) as kafka_zk:
            if "create" in command:
                return await _create(kafka_zk, command)
            if "alter" in command:
                total = int(command.one("partitions"))
                await add_partitions(kafka_zk, command.one("topic"), total, command.assignment())
                return []
            if "delete" in command:
                await delete_topic(kafka_zk, command.one("topic"))
                return []
            if "describe" in command:
                return await _describe(kafka_zk, command)
        raise NotSupportedError(f"TopicCommand {' '.join(command.flags)}")

    async def _configs(self, command: Command) -> Lines:
        added, removed = command.settings("add-config"), command.settings("delete-config")
        entity, name = command.one("entity-type"), command.flags.get("entity-name", [])
        async with self._kafka_zk(command) as kafka_zk:
            if entity == "topics":
                await change_topic_config(kafka_zk, name[-1], added, [*removed])
            elif entity == "brokers":
                await change_broker_config(kafka_zk, BrokerId(int(name[-1])) if name else None, added, [*removed])
            else:
                raise NotSupportedError(f"settings of {entity}")
        return [f"Completed updating config for entity: {entity.removesuffix('s')} '{''.join(name)}'."]

    async def _preferred_election(self, command: Command) -> Lines:
        async with self._kafka_zk(command) as kafka_zk:
            return [*asked_lines(await ask_for_preferred_election(kafka_zk))]

    async def _leader_election(self, command: Command) -> Lines:
        kind = ElectionType[command.one("election-type").upper()]
        partitions = None
        if "all-topic-partitions" not in command:
            partitions = [TopicPartition(command.one("topic"), int(command.one("partition")))]
        results = await self._cluster.elect_leaders(kind, partitions)
        if partitions is None:  # the broker that is asked leaves out of its answer where nothing was to be done
            results = {tp: error for tp, error in results.items() if error is not ErrorCode.ELECTION_NOT_NEEDED}
        if failed := failures(results):
            raise ClusterError(f"no leader could be elected: {failed}")
        return [*result_lines(kind, results)]


async def _create(kafka_zk: KafkaZk, command: Command) -> Lines:
    assignment = command.assignment()
    wanted = NewTopic(
        command.one("topic"),
        partitions=1 if assignment else int(command.one("partitions")),
        replication_factor=1 if assignment else int(command.one("replication-factor")),
        assignment=assignment,
        config=command.settings("config"),
    )
    await create_topic(kafka_zk, wanted, random.Random(SEED))
    return [f"Created topic {wanted.name}."]


async def _describe(kafka_zk: KafkaZk, command: Command) -> Lines:
    topics = await matching_topics(kafka_zk, command.one("topic") if "topic" in command else None)
    report = next((report for report in Report if report.value in command), None)
    return [*description_lines(await describe_topics(kafka_zk, topics), report, await live_brokers(kafka_zk))]
