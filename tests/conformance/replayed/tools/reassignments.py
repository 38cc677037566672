"""kafka-reassign-partitions.

Source: Kafka 2.8, ReassignPartitionsCommand; its wording of 3.9 is that of a Kafka 3.9.1.
"""

from collections.abc import Iterable

from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.controller.admin.reassignment_files import MovePlan, parse_move_plan
from kcsim.controller.admin.reassignments import (
    EXISTING_ASSIGNMENT,
    TerseReassignmentFailureError,
    refuse_log_dirs,
    start_reassignment,
    verify_reassignment,
)
from kcsim.controller.admin.throttles import clear_throttles, set_throttles
from kcsim.controller.admin.topics import broker_metadata
from kcsim.controller.capabilities import Release
from kcsim.controller.decisions.kafka_refusals import (
    RefusedError,
    UnknownTopicOrPartitionError,
)
from kcsim.controller.decisions.reassignment import Plan, check_brokers, check_plan
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.cli.kafka_tools import reassignment_text as text
from kcsim.vocabulary import TopicPartition
from kcsim.zk.kafka.kafka_zk import KafkaZk
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.tools.command_line import Command, CommandOutput, ToolFailedError
from tests.conformance.replayed.tools.files import Files
from tests.conformance.replayed.tools.reach import Reach

ACTIONS = ("execute", "verify", "cancel", "list")
KNOWN = (*ACTIONS, "reassignment-json-file", "additional", "throttle", "preserve-throttles", "timeout")
IN_JAVA_SINCE = Release("3.7")
"""The first release with the command in Java, which requests no move of a partition that no broker knows."""
UNKNOWN = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
UNKNOWN_PARTITION = UNKNOWN + "Unable to find partition: {}"
TOPIC_NOT_FOUND = UNKNOWN + "Topic {} not found."
UNKNOWN_TOPIC = UNKNOWN + "This server does not host this topic-partition."


class ReassignmentTool:
    """kafka-reassign-partitions on one cluster."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def run(self, command: Command, output: CommandOutput, files: Files) -> None:
        """Run the command. Raises: ToolFailedError, NotSupportedError, ClusterError."""
        if "generate" in command:
            raise NotSupportedError(f"{command.tool} --generate: what it proposes is drawn at random")
        command.require_known(KNOWN)
        action = command.action(ACTIONS)
        is_direct = self._reach.is_direct(command)
        if is_direct and action in ("cancel", "list"):
            raise NotSupportedError(f"{command.tool} --zookeeper --{action}")
        if action == "list":
            output.out += text.ongoing_lines(await self._reach.cluster.list_partition_reassignments())
            return
        if is_direct:
            output.out.append(text.ZOOKEEPER_WARNING)
        try:
            plan = parse_move_plan(files.text(command.one("reassignment-json-file")))
            async with self._reach.kafka_zk(command) as kafka_zk:
                await self._act(action, kafka_zk, plan, command, output)
        except TerseReassignmentFailureError as refusal:
            output.out.append(str(refusal))
            raise ToolFailedError from None
        except RefusedError as refusal:
            output.out.append(f"Error: {refusal}")
            raise ToolFailedError from None

    async def _act(self, action: str, kafka_zk: KafkaZk, plan: MovePlan, command: Command, output: CommandOutput) -> None:
        throttle = command.number("throttle") if "throttle" in command else None
        preserves = "preserve-throttles" in command
        match action, self._reach.is_direct(command):
            case "execute", True:
                await _execute_directly(kafka_zk, plan, throttle, output)
            case "execute", False:
                await self._execute(kafka_zk, plan, throttle, "additional" in command, output)
            case "verify", is_direct:
                await self._verify(kafka_zk, plan, is_direct, preserves, output)
            case _:
                await self._cancel(kafka_zk, plan, preserves, output)

    # --- through the controller's API

    async def _execute(
        self, kafka_zk: KafkaZk, plan: MovePlan, throttle: int | None, additional: bool, output: CommandOutput
    ) -> None:
        cluster = self._reach.cluster
        if await cluster.list_partition_reassignments() and not additional:
            raise TerseReassignmentFailureError(EXISTING_ASSIGNMENT)
        check_plan(plan.moves)
        if plan.log_dirs:
            raise NotSupportedError("moves between the log directories of a broker")
        in_java = self._reach.is_from(IN_JAVA_SINCE)
        current = await _known_to_brokers(kafka_zk, self._reach.metadata(), plan, in_java=in_java)
        unknown = [partition for partition in plan.targets if partition not in current]
        if unknown and in_java:
            raise UnknownTopicOrPartitionError(UNKNOWN_PARTITION.format(unknown[0]))
        output.out += text.current_lines(current)
        if throttle is not None:
            targets = {partition: replicas for partition, replicas in plan.targets.items() if partition in current}
            await set_throttles(kafka_zk, current, targets, throttle)
            output.out += text.throttle_lines(throttle)
        errors = _refused((await cluster.alter_partition_reassignments(plan.targets)).items())
        if errors:
            output.out += text.refused_lines(errors)
            raise ToolFailedError
        output.out.append(text.started_line(plan.targets))

    async def _cancel(self, kafka_zk: KafkaZk, plan: MovePlan, preserves: bool, output: CommandOutput) -> None:
        cluster = self._reach.cluster
        moving = await cluster.list_partition_reassignments()
        active = [partition for partition in moving if partition in plan.targets]
        if active:
            answers = await cluster.alter_partition_reassignments(dict.fromkeys(active))
            if errors := _refused(answers.items()):
                output.out += text.not_cancelled_lines(errors)
                raise ToolFailedError
        output.out += [text.cancelled_line(sorted(active)), text.NO_MOVES_BETWEEN_DIRECTORIES]
        if not preserves:
            output.out += text.cleared_lines(await clear_throttles(kafka_zk, plan.targets))

    # --- for both ways

    async def _verify(
        self, kafka_zk: KafkaZk, plan: MovePlan, is_direct: bool, preserves: bool, output: CommandOutput
    ) -> None:
        if is_direct:
            refuse_log_dirs(plan)
            found = await verify_reassignment(kafka_zk, plan)
            output.out.append(text.INCOMPLETE_WARNING)
        else:
            found = await verify_reassignment(kafka_zk, plan, await self._reach.cluster.list_partition_reassignments())
        output.out += text.status_lines(found.moves)
        if not is_direct:
            output.out.append(text.NOTHING_OF_DIRECTORIES)
        if not found.is_anything_moving and not preserves:
            output.out += text.cleared_lines(await clear_throttles(kafka_zk, plan.targets))


async def _execute_directly(kafka_zk: KafkaZk, plan: MovePlan, throttle: int | None, output: CommandOutput) -> None:
    output.out += text.current_lines(await start_reassignment(kafka_zk, plan, throttle))
    if throttle is not None:
        output.out += text.throttle_lines(throttle)
    output.out.append(text.started_line(plan.targets))


async def _known_to_brokers(kafka_zk: KafkaZk, metadata: MetadataCache, plan: MovePlan, *, in_java: bool) -> Plan:
    """Return the brokers' view of where a plan's partitions are; the controller refuses those that do not exist.

    A write of a topic's znode by hand does not move replicas, so the brokers do not see it.

    Args:
        in_java: the command is that of Kafka 3.7 or later.

    Raises: RefusedError.
    """
    alive = {broker.id for broker in await broker_metadata(kafka_zk)}
    check_brokers(plan.targets, alive, in_java=in_java)
    topics = {partition.topic for partition in plan.targets}
    found = {partition: state.replicas for partition, state in metadata.partitions.items() if partition.topic in topics}
    if unknown := sorted(topics - {partition.topic for partition in found}):
        raise UnknownTopicOrPartitionError((TOPIC_NOT_FOUND if in_java else UNKNOWN_TOPIC).format(unknown[0]))
    return {partition: replicas for partition, replicas in found.items() if partition in plan.targets}


def _refused(answers: Iterable[tuple[TopicPartition, ErrorCode]]) -> dict[TopicPartition, ErrorCode]:
    return {partition: error for partition, error in answers if error is not ErrorCode.NONE}
