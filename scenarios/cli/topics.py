"""kcsim topics: kafka-topics --zookeeper."""

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.cluster_access import modify_cluster, query_cluster
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.kafka_options import NO_ZOOKEEPER, ZooKeeperOption, only_action, refuse_together, require_options
from kcsim.scenarios.cli.running_cluster import zookeeper_or_running_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kcsim.controller.admin.topics import NewTopic
    from kcsim.controller.decisions.placement import Replicas
    from kcsim.scenarios.cli.kafka_tools.topic_tool import Alteration
    from kcsim.vocabulary import BrokerId
    from kcsim.zk.kafka.kafka_zk import KafkaZk

ACTIONS = ("list", "describe", "create", "alter", "delete")
REPORTS = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)
GOES_WITH = {
    "config": ("create", "alter"),
    "delete-config": ("alter",),
    "partitions": ("create", "alter"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    **dict.fromkeys(REPORTS, ("describe",)),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
    "disable-rack-aware": ACTIONS,
}
"""Option -> the actions that accept it."""
Config = Annotated[list[str] | None, typer.Option("--config", metavar="NAME=VALUE", help="A setting; may be repeated.")]


def topics(
    zookeeper: ZooKeeperOption = None,
    list_: Annotated[bool, typer.Option("--list", help="List all available topics.")] = False,
    describe: Annotated[bool, typer.Option("--describe", help="List details for the given topics.")] = False,
    create: Annotated[bool, typer.Option("--create", help="Create a new topic.")] = False,
    alter: Annotated[bool, typer.Option("--alter", help="Alter the number of partitions, or settings.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete a topic.")] = False,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="The topic; but for --create, a regular expression for its name.")
    ] = None,
    partitions: Annotated[int | None, typer.Option(help="How many; with --alter, in the end.")] = None,
    replication_factor: Annotated[int | None, typer.Option(help="Replicas of each partition.")] = None,
    replica_assignment: Annotated[
        str | None, typer.Option(metavar="0:1,1:2", help="Brokers of partition 0, of partition 1, …")
    ] = None,
    config: Config = None,
    delete_config: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A setting to be removed.")] = None,
    disable_rack_aware: Annotated[bool, typer.Option("--disable-rack-aware", help="Place without racks.")] = False,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="Ignore a topic that does not exist.")] = False,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Do nothing if the topic exists.")] = False,
    exclude_internal: Annotated[bool, typer.Option("--exclude-internal", help="Leave out Kafka's own topics.")] = False,
    under_replicated_partitions: Annotated[
        bool, typer.Option("--under-replicated-partitions", help="Only where a replica is not in sync.")
    ] = False,
    unavailable_partitions: Annotated[
        bool, typer.Option("--unavailable-partitions", help="Only those whose leader is not there.")
    ] = False,
    under_min_isr_partitions: Annotated[
        bool, typer.Option("--under-min-isr-partitions", help="Only where fewer than min.insync.replicas are in sync.")
    ] = False,
    at_min_isr_partitions: Annotated[
        bool, typer.Option("--at-min-isr-partitions", help="Only where just min.insync.replicas are in sync.")
    ] = False,
    topics_with_overrides: Annotated[
        bool, typer.Option("--topics-with-overrides", help="Only topics with settings of their own.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Taken, and without effect, as in Kafka.")] = False,
    execute: Annotated[
        bool, typer.Option("--execute", help="Write, also to a ZooKeeper that kcsim has not started.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of the placement's start index and shift; random, if left out.")] = None,
    output: Annotated[OutputFormat, typer.Option(help="Of --list and --describe.")] = OutputFormat.TABLE,
) -> None:
    """Create, delete, describe, or change a topic, as kafka-topics does.

    On a ZooKeeper that neither kcsim up nor kcsim zk start runs, this only reports the writes, unless --execute is given.

    \b
    kcsim topics --zookeeper localhost:2181 --create --topic orders --partitions 6 --replication-factor 3
    kcsim topics --zookeeper localhost:2181 --describe --under-replicated-partitions

    Exit status: 0 done, 2 ZooKeeper failed, 4 refused (the message is Kafka's), 5 a dry run, 64 the options are invalid.
    """
    reports = dict(
        zip(
            REPORTS,
            (under_replicated_partitions, unavailable_partitions, under_min_isr_partitions, at_min_isr_partitions),
            strict=True,
        )
    )
    zookeeper = zookeeper_or_running_cluster(zookeeper)
    actions = {"list": list_, "describe": describe, "create": create, "alter": alter, "delete": delete}
    options = {
        "zookeeper": zookeeper,
        "topic": topic,
        "config": config,
        "delete-config": delete_config,
        "partitions": partitions is not None,
        "replication-factor": replication_factor is not None,
        "replica-assignment": replica_assignment,
        **reports,
        "topics-with-overrides": topics_with_overrides,
        "if-exists": if_exists,
        "if-not-exists": if_not_exists,
        "exclude-internal": exclude_internal,
        "disable-rack-aware": disable_rack_aware,
    }
    action = _checked_action(actions, {name for name, value in options.items() if value})
    assert zookeeper is not None
    with _exit_on_refusal():
        match action:
            case "list":
                _list(zookeeper, topic, exclude_internal, output)
            case "describe":
                report = next((name for name, is_given in reports.items() if is_given), None)
                _describe(zookeeper, topic, if_exists, exclude_internal, report, topics_with_overrides, output)
            case "create":
                assert topic is not None
                added, explicit = _parsed(config), _explicit(replica_assignment)
                wanted = _wanted(topic, partitions, replication_factor, explicit, added, disable_rack_aware)
                _create(zookeeper, execute, wanted, if_not_exists, seed)
            case "alter":
                from kcsim.scenarios.cli.kafka_tools.topic_tool import Alteration

                added, explicit = _parsed(config), _explicit(replica_assignment)
                _alter(zookeeper, execute, Alteration(topic, if_exists, added, delete_config or (), partitions, explicit))
            case _:
                _delete(zookeeper, execute, topic, if_exists)


def _checked_action(actions: "Mapping[str, bool]", given: set[str]) -> str:
    """Return the action if all given options are allowed with it and with each other; otherwise end the command."""
    action = only_action(actions, "--list, --describe, --create, --alter or --delete")
    if "zookeeper" not in given:
        fail(NO_ZOOKEEPER, ExitStatus.USAGE)
    if action not in ("list", "describe") or (action == "describe" and "if-exists" in given):
        require_options(given, ["topic"])
    if action == "create" and "replica-assignment" not in given:
        require_options(given, ["partitions", "replication-factor"])
    refuse_together(given | {action}, {name: [a for a in ACTIONS if a not in known] for name, known in GOES_WITH.items()})
    if action == "create":
        refuse_together(given, {"replica-assignment": ["partitions", "replication-factor"]})
    refuse_together(given, {name: [*(r for r in REPORTS if r != name), "topics-with-overrides"] for name in REPORTS})
    return action


@contextmanager
def _exit_on_refusal() -> "Iterator[None]":
    """End the command on a refusal, with the line that kafka-topics prints for it."""
    from kcsim.controller.decisions.kafka_refusals import RefusedError, topic_command_line

    try:
        yield
    except RefusedError as refusal:
        print(topic_command_line(refusal))
        raise CommandExit(ExitStatus.REFUSED) from None


# --- reading ---------------------------------------------------------------------------------------------------------------


def _list(zookeeper: str, pattern: str | None, exclude_internal: bool, output: OutputFormat) -> None:
    from kcsim.controller.admin.topics import matching_topics
    from kcsim.scenarios.views.terminal.topic_text import list_line

    async def look(kafka_zk: "KafkaZk") -> dict[str, bool]:
        marked = await kafka_zk.topic_deletions.topics()
        return {topic: topic in marked for topic in await matching_topics(kafka_zk, pattern, exclude_internal)}

    found = query_cluster(zookeeper, look)
    if output is OutputFormat.JSON:
        print(json.dumps([{"topic": topic, "marked_for_deletion": marked} for topic, marked in found.items()], indent=2))
        return
    for topic, marked in found.items():
        print(list_line(topic, marked))


def _describe(
    zookeeper: str,
    pattern: str | None,
    if_exists: bool,
    exclude_internal: bool,
    report_name: str | None,
    only_overridden: bool,
    output: OutputFormat,
) -> None:
    from kcsim.controller.admin.topic_descriptions import DescribeReport, TopicDescription, describe_topics, live_brokers
    from kcsim.scenarios.cli.kafka_tools.topic_tool import required_topics
    from kcsim.scenarios.views.terminal.topic_text import description_json, description_lines

    async def look(kafka_zk: "KafkaZk") -> "tuple[list[TopicDescription], set[BrokerId]]":
        topics = await required_topics(kafka_zk, pattern, if_exists, exclude_internal)
        return await describe_topics(kafka_zk, topics), await live_brokers(kafka_zk)

    found, live = query_cluster(zookeeper, look)
    report = None if report_name is None else DescribeReport(report_name)
    if output is OutputFormat.JSON:
        print(json.dumps(description_json(found, report, live, only_overridden), indent=2))
        return
    for line in description_lines(found, report, live, only_overridden):
        print(line)


# --- changing --------------------------------------------------------------------------------------------------------------


def _wanted(
    topic: str,
    partitions: int | None,
    replication_factor: int | None,
    explicit: "Sequence[Replicas] | None",
    config: "Mapping[str, str]",
    disable_rack_aware: bool,
) -> "NewTopic":
    from kcsim.controller.admin.topics import NewTopic
    from kcsim.controller.decisions.broker_ring import RackAwareMode

    mode = RackAwareMode.DISABLED if disable_rack_aware else RackAwareMode.ENFORCED
    if explicit is not None:
        return NewTopic(topic, assignment=explicit, config=config, mode=mode)
    assert partitions is not None
    assert replication_factor is not None
    return NewTopic(topic, partitions, replication_factor, config=config, mode=mode)


def _create(zookeeper: str, execute: bool, wanted: "NewTopic", if_not_exists: bool, seed: int | None) -> None:
    from random import Random

    from kcsim.controller.decisions.kafka_refusals import TopicExistsError
    from kcsim.scenarios.cli.kafka_tools.topic_tool import create
    from kcsim.scenarios.views.terminal.topic_text import collision_lines

    for line in collision_lines(wanted.name):
        print(line)
    try:
        modify_cluster(zookeeper, execute, lambda kafka_zk, say: create(kafka_zk, wanted, Random(seed), say))
    except TopicExistsError:
        if not if_not_exists:
            raise


def _alter(zookeeper: str, execute: bool, wanted: "Alteration") -> None:
    from kcsim.controller.decisions.topic_config import check_setting_names
    from kcsim.scenarios.cli.kafka_tools.topic_tool import alter

    check_setting_names(wanted.removed)
    modify_cluster(zookeeper, execute, lambda kafka_zk, say: alter(kafka_zk, wanted, say))


def _delete(zookeeper: str, execute: bool, pattern: str | None, if_exists: bool) -> None:
    from kcsim.scenarios.cli.kafka_tools.topic_tool import delete

    modify_cluster(zookeeper, execute, lambda kafka_zk, say: delete(kafka_zk, pattern, if_exists, say))


# --- reading options -------------------------------------------------------------------------------------------------------


def _parsed(config: list[str] | None) -> "Mapping[str, str]":
    """Parse --config NAME=VALUE, which may be repeated. Raises: RefusedError."""
    from kcsim.controller.decisions.kafka_refusals import IllegalArgumentError
    from kcsim.controller.decisions.topic_config import MESSAGE_FORMAT_VERSION, check_topic_config
    from kcsim.scenarios.views.terminal.topic_text import message_format_warning

    pairs = [re.split(r"\s*=\s*", setting.strip()) for setting in config or ()]
    if any(len(pair) != 2 or not pair[1] for pair in pairs):
        raise IllegalArgumentError(
            'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
        )
    added = dict(pairs)
    check_topic_config(added)
    if MESSAGE_FORMAT_VERSION in added:
        print(message_format_warning(added[MESSAGE_FORMAT_VERSION]))
    return added


def _explicit(text: str | None) -> "Sequence[Replicas] | None":
    """Parse --replica-assignment. Raises: RefusedError."""
    from kcsim.controller.decisions.kafka_refusals import IllegalArgumentError
    from kcsim.controller.decisions.topic_creation import parse_replica_assignment

    try:
        return parse_replica_assignment(text) if text else None
    except ValueError as error:
        raise IllegalArgumentError(f"--replica-assignment: {error}") from None
