"""What each action of kcsim reassign does, and prints."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcsim.scenarios.commands.cluster_work import Say, act_on, look_at
from kcsim.scenarios.commands.ending import ExitStatus, Finished, Output
from kcsim.scenarios.commands.running_cluster import control_trouble_ends_the_command, running_cluster

if TYPE_CHECKING:
    from kcsim.controller.decisions.reassignment import Plan
    from kcsim.scenarios.admin.controller_api import RunningCluster
    from kcsim.scenarios.admin.reassignment_files import MovePlan
    from kcsim.scenarios.admin.reassignments import Verification
    from kcsim.zk.kafka_zk import KafkaZk
    from kcsim.zk.vocabulary import BrokerId, ReplicaAssignment, TopicPartition


@dataclass(frozen=True, slots=True)
class Place:
    """Where the cluster is: by its ZooKeeper, or by its name among those of kcsim up; one of the two."""

    zookeeper: str | None
    cluster: str | None

    @property
    def connect_string(self) -> str:
        """Of the ZooKeeper, or the end of the command."""
        if self.zookeeper is not None:
            return self.zookeeper
        with control_trouble_ends_the_command():
            return self.controller("").connect_string()

    def controller(self, what: str) -> "RunningCluster":
        """Whoever answers for the controller; `what` is asked of it, in the plural. Or the end of the command."""
        return running_cluster(self.cluster, self.zookeeper, what)

    def warn(self) -> None:
        """What the tool always says to --zookeeper."""
        from kcsim.scenarios.admin.reassignment_text import ZOOKEEPER_WARNING

        if self.zookeeper is not None:
            print(ZOOKEEPER_WARNING)


def _print_all(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


# --- looking ---------------------------------------------------------------------------------------------------------------


def propose(place: Place, text: str, goal_brokers: "list[BrokerId]", disable_rack_aware: bool, seed: int | None) -> None:
    """--generate. Raises: RefusedError."""
    from random import Random

    from kcsim.controller.decisions.broker_ring import RackAwareMode
    from kcsim.scenarios.admin.reassignment_files import parse_topics_to_move
    from kcsim.scenarios.admin.reassignment_text import proposal_lines
    from kcsim.scenarios.admin.reassignments import propose_reassignment

    mode = RackAwareMode.DISABLED if disable_rack_aware else RackAwareMode.ENFORCED

    async def look(kafka_zk: "KafkaZk") -> "tuple[Plan, Plan]":
        return await propose_reassignment(kafka_zk, parse_topics_to_move(text), goal_brokers, mode, Random(seed))

    place.warn()
    _print_all(proposal_lines(*look_at(place.connect_string, look)))


def list_moves(place: Place, output: Output) -> None:
    """--list: by ZooKeeper as the topics' znodes tell it, by a cluster's name as its controller does."""
    from kcsim.scenarios.admin.reassignment_text import ongoing_json, ongoing_lines
    from kcsim.scenarios.admin.reassignments import ongoing_reassignments

    if place.zookeeper is not None:
        found = look_at(place.zookeeper, ongoing_reassignments)
    else:
        found = _moving(place.controller("lists"))
    if output is Output.JSON:
        print(json.dumps(ongoing_json(found), indent=2))
    else:
        _print_all(ongoing_lines(found))


def _moving(controller: "RunningCluster") -> "dict[TopicPartition, ReplicaAssignment]":
    with control_trouble_ends_the_command():
        return controller.list_partition_reassignments()


# --- moving ----------------------------------------------------------------------------------------------------------------


def move_through_zookeeper(place: Place, text: str, throttle: int | None) -> None:
    """--execute, by the znode. Raises: RefusedError."""
    from kcsim.scenarios.admin.reassignment_files import parse_move_plan
    from kcsim.scenarios.admin.reassignment_text import current_lines, started_line, throttle_lines
    from kcsim.scenarios.admin.reassignments import start_reassignment

    place.warn()
    plan = parse_move_plan(text)

    async def act(kafka_zk: "KafkaZk", say: Say) -> None:
        for line in current_lines(await start_reassignment(kafka_zk, plan, throttle)):
            say(line)
        for line in throttle_lines(throttle) if throttle is not None else ():
            say(line)
        say(started_line(plan.targets))

    act_on(place.connect_string, True, act)


def move_through_the_controller(place: Place, text: str, throttle: int | None, additional: bool) -> None:
    """--execute, by the controller's API. Raises: RefusedError."""
    from kcsim.controller.requests import ErrorCode
    from kcsim.scenarios.admin.reassignment_files import parse_move_plan
    from kcsim.scenarios.admin.reassignment_text import current_lines, refused_lines, started_line, throttle_lines
    from kcsim.scenarios.admin.reassignments import EXISTING_ASSIGNMENT, TerseReassignmentFailureError
    from kcsim.scenarios.admin.throttles import set_throttles

    plan = parse_move_plan(text)
    controller = place.controller("additional reassignments")
    if _moving(controller) and not additional:
        raise TerseReassignmentFailureError(EXISTING_ASSIGNMENT)
    current = _checked_against_the_cluster(place, plan)
    _print_all(current_lines(current))
    if throttle is not None:
        targets = {partition: replicas for partition, replicas in plan.targets.items() if partition in current}

        async def act(kafka_zk: "KafkaZk", say: Say) -> None:
            await set_throttles(kafka_zk, current, targets, throttle)
            for line in throttle_lines(throttle):
                say(line)

        act_on(place.connect_string, True, act)
    with control_trouble_ends_the_command():
        answers = controller.alter_partition_reassignments(plan.targets)
    errors = {partition: error for partition, error in answers.items() if error is not ErrorCode.NONE}
    _print_all(refused_lines(errors) if errors else [started_line(plan.targets)])
    if errors:
        raise Finished(ExitStatus.VIOLATED)


def _checked_against_the_cluster(place: Place, plan: "MovePlan") -> "Plan":
    """Where the partitions of a plan are; those that do not exist the controller refuses. Raises: RefusedError."""
    from kcsim.controller.decisions.kafka_refusals import AdminCommandFailedError, UnknownTopicOrPartitionError
    from kcsim.controller.decisions.reassignment import check_plan
    from kcsim.scenarios.admin.reassignments import current_replicas
    from kcsim.scenarios.admin.topics import broker_metadata

    check_plan(plan.moves)
    if plan.log_dirs:
        raise AdminCommandFailedError("Moves between the log directories of a broker are not simulated")
    topics = {partition.topic for partition in plan.targets}

    async def look(kafka_zk: "KafkaZk") -> "tuple[set[BrokerId], Plan]":
        alive = {broker.id for broker in await broker_metadata(kafka_zk)}
        return alive, await current_replicas(kafka_zk, topics)

    alive, found = look_at(place.connect_string, look)
    for broker in sorted({broker for replicas in plan.targets.values() for broker in replicas}):
        if broker not in alive:
            raise AdminCommandFailedError(f"Unknown broker id {broker}")
    if topics - {partition.topic for partition in found}:
        raise UnknownTopicOrPartitionError(
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException:"
            " This server does not host this topic-partition."
        )
    return {partition: replicas for partition, replicas in found.items() if partition in plan.targets}


# --- afterwards ------------------------------------------------------------------------------------------------------------


def verify_moves(place: Place, text: str, preserve_throttles: bool, execute: bool) -> None:
    """--verify. Raises: RefusedError."""
    from kcsim.scenarios.admin.reassignment_files import parse_move_plan
    from kcsim.scenarios.admin.reassignment_text import INCOMPLETE_WARNING, NOTHING_OF_DIRECTORIES, status_lines
    from kcsim.scenarios.admin.reassignments import refuse_log_dirs, verify_reassignment

    place.warn()
    plan = parse_move_plan(text)
    refuse_log_dirs(plan)
    under_way = None if place.cluster is None else _moving(place.controller("lists"))

    async def look(kafka_zk: "KafkaZk") -> "Verification":
        return await verify_reassignment(kafka_zk, plan, under_way)

    found = look_at(place.connect_string, look)
    if place.cluster is None:
        print(INCOMPLETE_WARNING)
    _print_all(status_lines(found.moves))
    if place.cluster is not None:
        print(NOTHING_OF_DIRECTORIES)
    if not found.is_anything_moving and not preserve_throttles:
        _clear_throttles(place, plan, execute)


def cancel_moves(place: Place, text: str, preserve_throttles: bool) -> None:
    """--cancel, by the controller's API: there is no znode to ask for it. Raises: RefusedError."""
    from kcsim.controller.requests import ErrorCode
    from kcsim.scenarios.admin.reassignment_files import parse_move_plan
    from kcsim.scenarios.admin.reassignment_text import NO_MOVES_BETWEEN_DIRECTORIES, cancelled_line, not_cancelled_lines

    plan = parse_move_plan(text)
    controller = place.controller("cancellations")
    active = [partition for partition in _moving(controller) if partition in plan.targets]
    if active:
        with control_trouble_ends_the_command():
            answers = controller.alter_partition_reassignments(dict.fromkeys(active))
        errors = {partition: error for partition, error in answers.items() if error is not ErrorCode.NONE}
        if errors:
            _print_all(not_cancelled_lines(errors))
            raise Finished(ExitStatus.VIOLATED)
    print(cancelled_line(active))
    print(NO_MOVES_BETWEEN_DIRECTORIES)
    if not preserve_throttles:
        _clear_throttles(place, plan, execute=True)


def _clear_throttles(place: Place, plan: "MovePlan", execute: bool) -> None:
    from kcsim.scenarios.admin.reassignment_text import cleared_lines
    from kcsim.scenarios.admin.throttles import clear_throttles

    async def act(kafka_zk: "KafkaZk", say: Say) -> None:
        for line in cleared_lines(await clear_throttles(kafka_zk, plan.targets)):
            say(line)

    act_on(place.connect_string, execute or place.cluster is not None, act)
