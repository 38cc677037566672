"""kafka-topics: with --zookeeper through our own command's functions, with --bootstrap-server as a broker does it.

Source: Kafka 2.8, TopicCommand (AdminClientTopicService) and ZkAdminManager.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from kcsim.controller.admin.topic_descriptions import (
    DescribeReport,
    PartitionDescription,
    TopicDescription,
    describe_topics,
    live_brokers,
)
from kcsim.controller.admin.topics import NewTopic, broker_metadata, create_topic, matching_topics
from kcsim.controller.capabilities import Release
from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata, RackAwareMode, effective_brokers
from kcsim.controller.decisions.kafka_refusals import (
    IllegalArgumentError,
    RefusedError,
    TopicExistsError,
    topic_command_line,
)
from kcsim.controller.decisions.partition_growth import partitions_to_create
from kcsim.controller.decisions.placement import RandomNumbers, Replicas, draw
from kcsim.controller.decisions.topic_config import MESSAGE_FORMAT_VERSION, check_setting_names, check_topic_config
from kcsim.controller.decisions.topic_creation import parse_replica_assignment
from kcsim.controller.decisions.topic_ids import new_topic_id
from kcsim.jvm_hash_order import FULL, map_order
from kcsim.scenarios.cli.kafka_tools import topic_tool
from kcsim.scenarios.views.terminal.topic_text import (
    collision_lines,
    created_line,
    description_lines,
    list_line,
    message_format_warning,
)
from kcsim.vocabulary import ReplicaAssignment, TopicPartition
from kcsim.zk.kafka.fencing import UNFENCED
from kcsim.zk.kafka.kafka_zk import KafkaZk
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.tools.command_line import Command, CommandOutput, ToolFailedError
from tests.conformance.replayed.tools.effective_config import effective_config
from tests.conformance.replayed.tools.placements import Placed, numbers_for
from tests.conformance.replayed.tools.reach import Reach

ACTIONS = ("list", "describe", "create", "alter", "delete")
REPORTS = tuple(report.value for report in DescribeReport)
KNOWN = (
    *ACTIONS,
    *REPORTS,
    *("topic", "partitions", "replication-factor", "replica-assignment", "config", "delete-config"),
    *("if-exists", "if-not-exists", "exclude-internal", "topics-with-overrides", "disable-rack-aware", "force"),
)
ZOOKEEPER_CANNOT = (DescribeReport.UNDER_MIN_ISR.value, DescribeReport.AT_MIN_ISR.value)
MIN_INSYNC_REPLICAS = "min.insync.replicas"
ELIGIBLE_LEADERS_SINCE = Release("3.9")
"""A release whose kafka-topics --describe has a column for eligible leader replicas (KIP-966); 3.5 to 3.8 were not tried."""
BROKERS_DEFAULT = 1
"""Defaults of num.partitions and default.replication.factor."""


class RequestTimedOutError(RefusedError):
    """A broker did not see the requested change happen."""

    kafka_name = "TimeoutException"


class TopicTool:
    """kafka-topics on one cluster."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def run(self, command: Command, output: CommandOutput, placed: Mapping[str, Placed]) -> None:
        """Run the command. Raises: ToolFailedError, NotSupportedError.

        Args:
            placed: topic -> where the recording placed its partitions.
        """
        command.require_known(KNOWN)
        action = command.action(ACTIONS)
        is_direct = self._reach.is_direct(command)
        if is_direct and any(report in command for report in ZOOKEEPER_CANNOT):
            raise NotSupportedError(f"{command.tool} --zookeeper with what it refuses: {', '.join(ZOOKEEPER_CANNOT)}")
        try:
            async with self._reach.kafka_zk(command) as kafka_zk:
                match action:
                    case "list":
                        await self._list(kafka_zk, command, output, is_direct)
                    case "describe":
                        await self._describe(kafka_zk, command, output, is_direct)
                    case "create":
                        await self._create(kafka_zk, command, output, is_direct, placed)
                    case "alter":
                        await self._alter(kafka_zk, command, output, is_direct)
                    case _:
                        await self._delete(kafka_zk, command, output, is_direct)
        except RefusedError as refusal:
            output.out.append(topic_command_line(refusal))
            raise ToolFailedError from None

    async def _topics(self, kafka_zk: KafkaZk, command: Command, is_direct: bool) -> list[str]:
        """Return the matching topics: of all in ZooKeeper, or of those in a broker's metadata."""
        found = await matching_topics(kafka_zk, command.get("topic"), "exclude-internal" in command)
        if is_direct:
            return found
        known = {partition.topic for partition in self._reach.metadata().partitions}
        return [topic for topic in found if topic in known]

    async def _required(self, kafka_zk: KafkaZk, command: Command, is_direct: bool) -> list[str]:
        found = await self._topics(kafka_zk, command, is_direct)
        return topic_tool.require(command.get("topic"), found, "if-exists" in command)

    # --- describing

    async def _list(self, kafka_zk: KafkaZk, command: Command, output: CommandOutput, is_direct: bool) -> None:
        marked = await kafka_zk.topic_deletions.topics()
        output.out += [list_line(topic, topic in marked) for topic in await self._topics(kafka_zk, command, is_direct)]

    async def _describe(self, kafka_zk: KafkaZk, command: Command, output: CommandOutput, is_direct: bool) -> None:
        topics = await self._required(kafka_zk, command, is_direct)
        if is_direct:
            described = await describe_topics(kafka_zk, topics)
        else:
            moving = await self._reach.cluster.list_partition_reassignments()
            described = await describe_topics(kafka_zk, _described_order(topics), leading={})
            described = [self._as_a_broker_reports(topic, moving) for topic in described]
        report = next((report for report in DescribeReport if report.value in command), None)
        live = await live_brokers(kafka_zk)
        only_overridden = "topics-with-overrides" in command
        lines = description_lines(described, report, live, only_overridden, by_broker=not is_direct)
        output.out += map(_with_eligible_leaders, lines) if self._reach.is_from(ELIGIBLE_LEADERS_SINCE) else lines

    def _as_a_broker_reports(
        self, topic: TopicDescription, moving: Mapping[TopicPartition, ReplicaAssignment]
    ) -> TopicDescription:
        """Return a topic with the partitions in brokers' metadata, regardless of znodes written by hand."""
        metadata = self._reach.metadata()
        partitions = tuple(
            PartitionDescription(
                tp.partition,
                moving.get(tp, ReplicaAssignment(state.replicas)),
                metadata.leader_for_clients(tp)[0],
                state.state.leader_and_isr.isr,
            )
            for tp, state in sorted(metadata.partitions.items())
            if tp.topic == topic.topic
        )
        config = effective_config(topic.config, self._reach.settings, self._reach.protocol_version)
        min_insync = int(config.get(MIN_INSYNC_REPLICAS, topic.min_insync_replicas))
        return replace(
            topic,
            config=config,
            min_insync_replicas=min_insync,
            is_marked_for_deletion=False,
            partitions=partitions,
            topic_id=metadata.partitions.topic_ids.get(topic.topic) if self._reach.has_topic_ids else None,
        )

    # --- changing

    async def _create(
        self, kafka_zk: KafkaZk, command: Command, output: CommandOutput, is_direct: bool, placed: Mapping[str, Placed]
    ) -> None:
        wanted = _new_topic(command, output, is_direct)
        output.out += collision_lines(wanted.name)
        known = await broker_metadata(kafka_zk) if is_direct else self._reach.brokers()
        brokers = effective_brokers(known, wanted.mode)
        numbers = numbers_for(placed.get(wanted.name), brokers, wanted.partitions, wanted.replication_factor)
        try:
            if is_direct:
                await topic_tool.create(kafka_zk, wanted, numbers, output.out.append)
                return
            if wanted.name in await kafka_zk.topics.names():
                raise TopicExistsError(f"Topic '{wanted.name}' already exists.")
            topic_id = new_topic_id(random.Random(wanted.name)) if self._reach.has_topic_ids else None
            if not wanted.assignment:
                wanted = replace(wanted, assignment=_placed_by_a_broker(wanted, brokers, numbers))
            created = await create_topic(kafka_zk, wanted, numbers, topic_id=topic_id)
        except TopicExistsError:
            if "if-not-exists" not in command:
                raise
            return
        alive = await live_brokers(kafka_zk)
        if not all(alive & set(replicas) for replicas in created.values()):
            raise RequestTimedOutError("The request timed out.")  # no leader is elected, so no broker sees one
        output.out.append(created_line(wanted.name))

    async def _alter(self, kafka_zk: KafkaZk, command: Command, output: CommandOutput, is_direct: bool) -> None:
        total = command.number("partitions") if "partitions" in command else None
        assignment = _assignment(command)
        if is_direct:
            removed = command.flags.get("delete-config", ())
            check_setting_names(removed)
            wanted = topic_tool.Alteration(
                command.get("topic"), "if-exists" in command, _config(command, output), removed, total, assignment
            )
            await topic_tool.alter(kafka_zk, wanted, output.out.append)
            return
        if total is None or "config" in command or "delete-config" in command:
            raise NotSupportedError(f"{command.tool} --bootstrap-server --alter of anything but --partitions")
        for topic in await self._required(kafka_zk, command, is_direct):
            await _grow(kafka_zk, topic, total, assignment)

    async def _delete(self, kafka_zk: KafkaZk, command: Command, output: CommandOutput, is_direct: bool) -> None:
        if is_direct:
            await topic_tool.delete(kafka_zk, command.get("topic"), "if-exists" in command, output.out.append)
            return
        topics = await self._required(kafka_zk, command, is_direct)
        if str(self._reach.settings.get("delete.topic.enable", True)).lower() == "false":
            raise IllegalArgumentError("Topic deletion is disabled.")
        for topic in topics:
            await kafka_zk.topic_deletions.create(topic)


def _with_eligible_leaders(line: str) -> str:
    """Return the line with two more columns, if it is of a partition; a cluster with ZooKeeper has nothing to show there."""
    return f"{line}\tElr: N/A\tLastKnownElr: N/A" if line.startswith("\t") else line


def _described_order(topics: Collection[str]) -> list[str]:
    """Return topics in the order in which an admin client describes them.

    The client puts them into a map, copies it, and makes another map of the copy.
    """
    copied = map_order(map_order(sorted(topics), len(topics)), int(len(topics) / FULL) + 1)
    return map_order(copied, len(topics))


def _placed_by_a_broker(wanted: NewTopic, brokers: Sequence[BrokerMetadata], numbers: RandomNumbers) -> list[Replicas]:
    """Return the replicas of each partition. Raises: RefusedError."""
    drawn = draw(numbers, len(brokers))
    placed = assign_replicas(brokers, wanted.partitions, wanted.replication_factor, drawn)
    return [placed[partition] for partition in range(wanted.partitions)]


async def _grow(kafka_zk: KafkaZk, topic: str, total: int, assignment: list[Replicas] | None) -> None:
    """Add partitions as a broker does. Raises: RefusedError."""
    state = (await kafka_zk.topics.read([topic]))[topic]
    existing = {partition: found.replicas for partition, found in state.assignments.items()}
    added = partitions_to_create(
        topic,
        existing,
        effective_brokers(await broker_metadata(kafka_zk), RackAwareMode.ENFORCED),
        total,
        None if assignment is None else assignment[len(existing) :],
        is_queued_for_deletion=topic in await kafka_zk.topic_deletions.topics(),
        is_being_reassigned=any(found.is_being_reassigned for found in state.assignments.values()),
    )
    new = {partition: ReplicaAssignment(tuple(replicas)) for partition, replicas in added.items()}
    await kafka_zk.topics.set_assignment(topic, replace(state, assignments={**state.assignments, **new}), UNFENCED)


# --- options --------------------------------------------------------------------------------------------------------------


def _new_topic(command: Command, output: CommandOutput, is_direct: bool) -> NewTopic:
    mode = RackAwareMode.DISABLED if "disable-rack-aware" in command else RackAwareMode.ENFORCED
    config = _config(command, output)
    if "replica-assignment" in command:
        return NewTopic(command.one("topic"), assignment=_assignment(command), config=config, mode=mode)
    partitions, replicas = (
        command.number(flag) if is_direct or flag in command else BROKERS_DEFAULT
        for flag in ("partitions", "replication-factor")
    )
    if not is_direct and partitions < 1:
        raise IllegalArgumentError("The partitions must be greater than 0")
    if not is_direct and replicas < 1:
        raise IllegalArgumentError("The replication factor must be between 1 and 32767 inclusive")
    return NewTopic(command.one("topic"), partitions, replicas, config=config, mode=mode)


def _config(command: Command, output: CommandOutput) -> dict[str, str]:
    """Return the settings of --config. Raises: RefusedError."""
    config = {name.strip(): value.strip() for name, _, value in map(_pair, command.flags.get("config", ()))}
    check_topic_config(config)
    if MESSAGE_FORMAT_VERSION in config:
        output.out.append(message_format_warning(config[MESSAGE_FORMAT_VERSION]))
    return config


def _pair(setting: str) -> tuple[str, str, str]:
    if setting.count("=") != 1:
        raise IllegalArgumentError(
            'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
        )
    return setting.partition("=")


def _assignment(command: Command) -> list[Replicas] | None:
    text = command.get("replica-assignment")
    try:
        return None if text is None else parse_replica_assignment(text)
    except ValueError as error:
        raise NotSupportedError(f"{command.tool} --replica-assignment {text}: {error}") from None
