"""The actions of kcsim reassign, and what they print."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcsim.scenarios.cli.cluster_access import Say, modify_cluster, query_cluster
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat
from kcsim.scenarios.cli.running_cluster import exit_on_control_errors, running_cluster

if TYPE_CHECKING:
    from kcsim.controller.admin.reassignment_files import MovePlan
    from kcsim.controller.admin.reassignments import ReassignmentVerification
    from kcsim.controller.decisions.reassignment import Plan
    from kcsim.scenarios.cli.kafka_tools.controller_api import RunningCluster
    from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition
    from kcsim.zk.kafka.kafka_zk import KafkaZk


@dataclass(frozen=True, slots=True)
class ClusterLocation:
    """The location of a cluster: its ZooKeeper, or its name among the clusters of kcsim up.

    Exactly one of the two is set.
    """

    zookeeper: str | None
    cluster: str | None

    @property
    def connect_string(self) -> str:
        """The connect string of the cluster's ZooKeeper. If it cannot be determined, the command ends."""
        if self.zookeeper is not None:
            return self.zookeeper
        with exit_on_control_errors():
            return self.controller("").connect_string()

    def controller(self, what: str) -> "RunningCluster":
        """Return the running cluster that gives access to the controller's API, or end the command.

        Args:
            what: the kind of request, in the plural, for the message: "cancellations".
        """
        return running_cluster(self.cluster, self.zookeeper, what)

    def print_zookeeper_warning(self) -> None:
        """Print the warning that the tool always prints for --zookeeper."""
        from kcsim.scenarios.cli.kafka_tools.reassignment_text import ZOOKEEPER_WARNING

        if self.zookeeper is not None:
            print(ZOOKEEPER_WARNING)


def _print_all(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


# --- reading ---------------------------------------------------------------------------------------------------------------


def propose(
    location: ClusterLocation, text: str, goal_brokers: "list[BrokerId]", disable_rack_aware: bool, seed: int | None
) -> None:
    """Perform --generate. Raises: RefusedError."""
    from random import Random

    from kcsim.controller.admin.reassignment_files import parse_topics_to_move
    from kcsim.controller.admin.reassignments import propose_reassignment
    from kcsim.controller.decisions.broker_ring import RackAwareMode
    from kcsim.scenarios.cli.kafka_tools.reassignment_text import proposal_lines

    mode = RackAwareMode.DISABLED if disable_rack_aware else RackAwareMode.ENFORCED

    async def look(kafka_zk: "KafkaZk") -> "tuple[Plan, Plan]":
        return await propose_reassignment(kafka_zk, parse_topics_to_move(text), goal_brokers, mode, Random(seed))

    location.print_zookeeper_warning()
    _print_all(proposal_lines(*query_cluster(location.connect_string, look)))


def list_moves(location: ClusterLocation, output: OutputFormat) -> None:
    """Perform --list.

    With --zookeeper, the moves are read from the topics' znodes; with a cluster's name, its controller lists them.
    """
    from kcsim.controller.admin.reassignments import ongoing_reassignments
    from kcsim.scenarios.cli.kafka_tools.reassignment_text import ongoing_json, ongoing_lines

    if location.zookeeper is not None:
        found = query_cluster(location.zookeeper, ongoing_reassignments)
    else:
        found = _moving(location.controller("lists"))
    if output is OutputFormat.JSON:
        print(json.dumps(ongoing_json(found), indent=2))
    else:
        _print_all(ongoing_lines(found))


def _moving(controller: "RunningCluster") -> "dict[TopicPartition, ReplicaAssignment]":
    with exit_on_control_errors():
        return controller.list_partition_reassignments()


# --- moving ----------------------------------------------------------------------------------------------------------------


def move_through_zookeeper(location: ClusterLocation, text: str, throttle: int | None) -> None:
    """Perform --execute through the znode. Raises: RefusedError."""
    from kcsim.controller.admin.reassignment_files import parse_move_plan
    from kcsim.controller.admin.reassignments import start_reassignment
    from kcsim.scenarios.cli.kafka_tools.reassignment_text import current_lines, started_line, throttle_lines

    location.print_zookeeper_warning()
    plan = parse_move_plan(text)

    async def act(kafka_zk: "KafkaZk", say: Say) -> None:
        for line in current_lines(await start_reassignment(kafka_zk, plan, throttle)):
            say(line)
        for line in throttle_lines(throttle) if throttle is not None else ():
            say(line)
        say(started_line(plan.targets))

    modify_cluster(location.connect_string, True, act)


def move_through_the_controller(location: ClusterLocation, text: str, throttle: int | None, additional: bool) -> None:
    """Perform --execute through the controller's API. Raises: RefusedError."""
    from kcsim.controller.admin.reassignment_files import parse_move_plan
    from kcsim.controller.admin.reassignments import EXISTING_ASSIGNMENT, TerseReassignmentFailureError
    from kcsim.controller.admin.throttles import set_throttles
    from kcsim.controller.requests import ErrorCode
    from kcsim.scenarios.cli.kafka_tools.reassignment_text import current_lines, refused_lines, started_line, throttle_lines

    plan = parse_move_plan(text)
    controller = location.controller("additional reassignments")
    if _moving(controller) and not additional:
        raise TerseReassignmentFailureError(EXISTING_ASSIGNMENT)
    current = _checked_against_the_cluster(location, plan)
    _print_all(current_lines(current))
    if throttle is not None:
        targets = {partition: replicas for partition, replicas in plan.targets.items() if partition in current}

        async def act(kafka_zk: "KafkaZk", say: Say) -> None:
            await set_throttles(kafka_zk, current, targets, throttle)
            for line in throttle_lines(throttle):
                say(line)

        modify_cluster(location.connect_string, True, act)
    with exit_on_control_errors():
        answers = controller.alter_partition_reassignments(plan.targets)
    errors = {partition: error for partition, error in answers.items() if error is not ErrorCode.NONE}
    _print_all(refused_lines(errors) if errors else [started_line(plan.targets)])
    if errors:
        raise CommandExit(ExitStatus.REFUSED)


def _checked_against_the_cluster(location: ClusterLocation, plan: "MovePlan") -> "Plan":
    """Return the current replicas of a plan's partitions. The controller refuses partitions that do not exist.

    Raises: RefusedError.
    """
    from kcsim.controller.admin.reassignments import current_replicas
    from kcsim.controller.admin.topics import broker_metadata
    from kcsim.controller.decisions.kafka_refusals import AdminCommandFailedError, UnknownTopicOrPartitionError
    from kcsim.controller.decisions.reassignment import check_brokers, check_plan

    check_plan(plan.moves)
    if plan.log_dirs:
        raise AdminCommandFailedError("Moves between the log directories of a broker are not simulated")
    topics = {partition.topic for partition in plan.targets}

    async def look(kafka_zk: "KafkaZk") -> "tuple[set[BrokerId], Plan]":
        alive = {broker.id for broker in await broker_metadata(kafka_zk)}
        return alive, await current_replicas(kafka_zk, topics)

    alive, found = query_cluster(location.connect_string, look)
    check_brokers(plan.targets, alive)
    if topics - {partition.topic for partition in found}:
        raise UnknownTopicOrPartitionError(
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException:"
            " This server does not host this topic-partition."
        )
    return {partition: replicas for partition, replicas in found.items() if partition in plan.targets}


# --- verifying and cancelling ----------------------------------------------------------------------------------------------


def verify_moves(location: ClusterLocation, text: str, preserve_throttles: bool, execute: bool) -> None:
    """Perform --verify. Raises: RefusedError."""
    from kcsim.controller.admin.reassignment_files import parse_move_plan
    from kcsim.controller.admin.reassignments import refuse_log_dirs, verify_reassignment
    from kcsim.scenarios.cli.kafka_tools.reassignment_text import INCOMPLETE_WARNING, NOTHING_OF_DIRECTORIES, status_lines

    location.print_zookeeper_warning()
    plan = parse_move_plan(text)
    refuse_log_dirs(plan)
    under_way = None if location.cluster is None else _moving(location.controller("lists"))

    async def look(kafka_zk: "KafkaZk") -> "ReassignmentVerification":
        return await verify_reassignment(kafka_zk, plan, under_way)

    found = query_cluster(location.connect_string, look)
    if location.cluster is None:
        print(INCOMPLETE_WARNING)
    _print_all(status_lines(found.moves))
    if location.cluster is not None:
        print(NOTHING_OF_DIRECTORIES)
    if not found.is_anything_moving and not preserve_throttles:
        _clear_throttles(location, plan, execute)


def cancel_moves(location: ClusterLocation, text: str, preserve_throttles: bool) -> None:
    """Perform --cancel through the controller's API: no znode can request it. Raises: RefusedError."""
    from kcsim.controller.admin.reassignment_files import parse_move_plan
    from kcsim.controller.requests import ErrorCode
    from kcsim.scenarios.cli.kafka_tools.reassignment_text import (
        NO_MOVES_BETWEEN_DIRECTORIES,
        cancelled_line,
        not_cancelled_lines,
    )

    plan = parse_move_plan(text)
    controller = location.controller("cancellations")
    active = [partition for partition in _moving(controller) if partition in plan.targets]
    if active:
        with exit_on_control_errors():
            answers = controller.alter_partition_reassignments(dict.fromkeys(active))
        errors = {partition: error for partition, error in answers.items() if error is not ErrorCode.NONE}
        if errors:
            _print_all(not_cancelled_lines(errors))
            raise CommandExit(ExitStatus.REFUSED)
    print(cancelled_line(active))
    print(NO_MOVES_BETWEEN_DIRECTORIES)
    if not preserve_throttles:
        _clear_throttles(location, plan, execute=True)


def _clear_throttles(location: ClusterLocation, plan: "MovePlan", execute: bool) -> None:
    from kcsim.controller.admin.throttles import clear_throttles
    from kcsim.scenarios.cli.kafka_tools.reassignment_text import cleared_lines

    async def act(kafka_zk: "KafkaZk", say: Say) -> None:
        for line in cleared_lines(await clear_throttles(kafka_zk, plan.targets)):
            say(line)

    modify_cluster(location.connect_string, execute or location.cluster is not None, act)
