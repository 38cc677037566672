"""kcsim elect-leaders: kafka-preferred-replica-election --zookeeper, and kafka-leader-election on a cluster of kcsim up."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.cluster_access import Say, modify_cluster
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.cli.kafka_options import ZooKeeperOption
from kcsim.scenarios.cli.running_cluster import checked_location

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcsim.scenarios.cli.kafka_tools.controller_api import RunningCluster
    from kcsim.vocabulary import TopicPartition
    from kcsim.zk.kafka.kafka_zk import KafkaZk


class ElectionTypeOption(StrEnum):
    """--election-type."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"


def elect_leaders(
    zookeeper: ZooKeeperOption = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="A cluster of kcsim up instead: its controller is asked itself.")
    ] = None,
    election_type: Annotated[
        ElectionTypeOption, typer.Option(help="preferred: the first replica, if it is in sync. unclean: any that lives.")
    ] = ElectionTypeOption.PREFERRED,
    topic: Annotated[str | None, typer.Option(metavar="NAME", help="With --partition: of this topic.")] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="With --topic: only this partition.")] = None,
    path_to_json_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help='{"partitions": [{"topic": "foo", "partition": 1}, …]}')
    ] = None,
    all_topic_partitions: Annotated[
        bool, typer.Option("--all-topic-partitions", help="All; with --zookeeper, the same as to name none.")
    ] = False,
    execute: Annotated[
        bool, typer.Option("--execute", help="Write, also to a ZooKeeper that kcsim has not started.")
    ] = False,
) -> None:
    """Elect leaders of partitions.

    With --zookeeper, a preferred leader election is requested in /admin/preferred_replica_election. There is no znode for
    unclean elections: they are requested from the controller of a cluster that kcsim up runs (--zookeeper finds it, too).

    \b
    kcsim elect-leaders --zookeeper localhost:2181
    kcsim elect-leaders --zookeeper localhost:2181 --election-type unclean --topic orders --partition 0

    Exit status: 0 done, 2 the request could not be sent, 4 refused or not elected (the message is Kafka's), 5 a dry run,
    64 the options are invalid.
    """
    partitions = _partitions(topic, partition, path_to_json_file, all_topic_partitions)
    zookeeper = checked_location(zookeeper, cluster)
    if zookeeper is not None and election_type is ElectionTypeOption.PREFERRED:
        _through_zookeeper(zookeeper, execute, partitions)
        return
    if partitions is None and not all_topic_partitions:
        options = "topic, all-topic-partitions, path-to-json-file"
        fail(f"One and only one of the following options is required: {options}", ExitStatus.USAGE)
    from kcsim.scenarios.cli.running_cluster import running_cluster

    _through_the_controller(running_cluster(cluster, zookeeper, "unclean elections"), election_type, partitions)


def _partitions(
    topic: str | None, partition: int | None, file: Path | None, is_all: bool
) -> "Sequence[TopicPartition] | None":
    """Return the partitions that the options name; None for all."""
    from kcsim.controller.admin.reassignment_files import parse_partitions_to_elect
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.scenarios.cli.option_file import read_option_file
    from kcsim.vocabulary import TopicPartition

    if [topic is not None, file is not None, is_all].count(True) > 1:
        options = "topic, all-topic-partitions, path-to-json-file"
        fail(f"One and only one of the following options is required: {options}", ExitStatus.USAGE)
    if topic is not None and partition is None:
        fail("Missing required option(s): partition", ExitStatus.USAGE)
    if topic is None and partition is not None:
        fail("Option partition is only allowed if topic is used", ExitStatus.USAGE)
    if topic is not None and partition is not None:
        return [TopicPartition(topic, partition)]
    if file is None:
        return None
    try:
        return parse_partitions_to_elect(read_option_file("--path-to-json-file", file))
    except RefusedError as refusal:
        fail(f"{file}: {refusal}", ExitStatus.USAGE)


def _through_zookeeper(zookeeper: str, execute: bool, partitions: "Sequence[TopicPartition] | None") -> None:
    from kcsim.controller.admin.elections import request_preferred_election
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.scenarios.cli.kafka_tools.election_text import PREFERRED_TOOL_WARNINGS, requested_election_lines

    async def act(kafka_zk: "KafkaZk", say: Say) -> None:
        for line in requested_election_lines(await request_preferred_election(kafka_zk, partitions)):
            say(line)

    for line in PREFERRED_TOOL_WARNINGS:
        print(line)
    try:
        modify_cluster(zookeeper, execute, act)
    except RefusedError as refusal:
        print("kafka.common.AdminCommandFailedException: Admin command failed", file=sys.stderr)
        print(f"Caused by: kafka.admin.{refusal.kafka_name}: {refusal}", file=sys.stderr)
        raise CommandExit(ExitStatus.REFUSED) from None


def _through_the_controller(
    running: "RunningCluster", election: ElectionTypeOption, partitions: "Sequence[TopicPartition] | None"
) -> None:
    from kcsim.controller.capabilities import is_from
    from kcsim.controller.events import ElectionType
    from kcsim.scenarios.cli.kafka_tools.election_text import REASON_IS_PRINTED_SINCE, failures, result_lines
    from kcsim.scenarios.cli.running_cluster import exit_on_control_errors

    election_type = ElectionType(election.value.upper())
    with exit_on_control_errors():
        results, release = running.elect_leaders(election_type, partitions)
    for line in result_lines(election_type, results, release):
        print(line)
    failed = failures(results)
    if failed:
        message = f"{len(failed)} replica(s) could not be elected"
        exception = "" if is_from(release, REASON_IS_PRINTED_SINCE) else "kafka.common.AdminCommandFailedException: "
        print(f"{exception}{message}", file=sys.stderr)
        raise CommandExit(ExitStatus.REFUSED)
