"""kcsim elect-leaders: kafka-preferred-replica-election --zookeeper, and kafka-leader-election on a cluster of kcsim up."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.cluster_work import Say, act_on
from kcsim.scenarios.commands.ending import ExitStatus, Finished, give_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcsim.scenarios.admin.controller_api import RunningCluster
    from kcsim.zk.kafka_zk import KafkaZk
    from kcsim.zk.vocabulary import TopicPartition


class Election(StrEnum):
    """--election-type."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"


def elect_leaders(
    zookeeper: Annotated[str | None, typer.Option(metavar="host:port,…/chroot", help="Where the cluster is.")] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="A cluster of kcsim up instead: its controller is asked itself.")
    ] = None,
    election_type: Annotated[
        Election, typer.Option(help="preferred: the first replica, if it is in sync. unclean: any that lives.")
    ] = Election.PREFERRED,
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

    With --zookeeper, preferred leaders are asked for in /admin/preferred_replica_election. Unclean elections go through the
    controller's API, which no znode stands for: of a cluster that kcsim up runs, and which --zookeeper finds, too.

    \b
    kcsim elect-leaders --zookeeper localhost:2181
    kcsim elect-leaders --zookeeper localhost:2181 --election-type unclean --topic orders --partition 0

    Exit status: 0 done, 1 refused or not elected, in Kafka's words, 2 it could not be asked for, 64 the options make no
    sense.
    """
    partitions = _partitions(topic, partition, path_to_json_file, all_topic_partitions)
    if (zookeeper is None) == (cluster is None):
        give_up("give either --zookeeper or --cluster", ExitStatus.USAGE)
    if zookeeper is not None and election_type is Election.PREFERRED:
        _through_zookeeper(zookeeper, execute, partitions)
        return
    if partitions is None and not all_topic_partitions:
        options = "topic, all-topic-partitions, path-to-json-file"
        give_up(f"One and only one of the following options is required: {options}", ExitStatus.USAGE)
    from kcsim.scenarios.commands.running_cluster import running_cluster

    _through_the_controller(running_cluster(cluster, zookeeper, "unclean elections"), election_type, partitions)


def _partitions(
    topic: str | None, partition: int | None, file: Path | None, is_all: bool
) -> "Sequence[TopicPartition] | None":
    """Those that the options name; None for all."""
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.scenarios.admin.reassignment_files import parse_partitions_to_elect
    from kcsim.scenarios.commands.json_file import read_text
    from kcsim.zk.vocabulary import TopicPartition

    if [topic is not None, file is not None, is_all].count(True) > 1:
        options = "topic, all-topic-partitions, path-to-json-file"
        give_up(f"One and only one of the following options is required: {options}", ExitStatus.USAGE)
    if topic is not None and partition is None:
        give_up("Missing required option(s): partition", ExitStatus.USAGE)
    if topic is None and partition is not None:
        give_up("Option partition is only allowed if topic is used", ExitStatus.USAGE)
    if topic is not None and partition is not None:
        return [TopicPartition(topic, partition)]
    if file is None:
        return None
    try:
        return parse_partitions_to_elect(read_text("--path-to-json-file", file))
    except RefusedError as refusal:
        give_up(f"{file}: {refusal}", ExitStatus.USAGE)


def _through_zookeeper(zookeeper: str, execute: bool, partitions: "Sequence[TopicPartition] | None") -> None:
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.scenarios.admin.election_text import PREFERRED_TOOL_WARNINGS, asked_lines
    from kcsim.scenarios.admin.elections import ask_for_preferred_election

    async def act(kafka_zk: "KafkaZk", say: Say) -> None:
        for line in asked_lines(await ask_for_preferred_election(kafka_zk, partitions)):
            say(line)

    for line in PREFERRED_TOOL_WARNINGS:
        print(line)
    try:
        act_on(zookeeper, execute, act)
    except RefusedError as refusal:
        print("kafka.common.AdminCommandFailedException: Admin command failed", file=sys.stderr)
        print(f"Caused by: kafka.admin.{refusal.kafka_name}: {refusal}", file=sys.stderr)
        raise Finished(ExitStatus.VIOLATED) from None


def _through_the_controller(
    running: "RunningCluster", election: Election, partitions: "Sequence[TopicPartition] | None"
) -> None:
    from kcsim.controller.events import ElectionType
    from kcsim.scenarios.admin.election_text import failures, result_lines
    from kcsim.scenarios.commands.running_cluster import control_trouble_ends_the_command

    election_type = ElectionType(election.value.upper())
    with control_trouble_ends_the_command():
        results = running.elect_leaders(election_type, partitions)
    for line in result_lines(election_type, results):
        print(line)
    failed = failures(results)
    if failed:
        told = f"{len(failed)} replica(s) could not be elected"
        print(f"kafka.common.AdminCommandFailedException: {told}", file=sys.stderr)
        raise Finished(ExitStatus.VIOLATED)
