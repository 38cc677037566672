"""kcsim configs: kafka-configs --zookeeper, of topics and brokers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.cluster_access import modify_cluster, query_cluster
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.kafka_options import NO_ZOOKEEPER, ZooKeeperOption, only_action
from kcsim.scenarios.cli.running_cluster import zookeeper_or_running_cluster

if TYPE_CHECKING:
    from kcsim.scenarios.cli.kafka_tools.config_tool import ConfigEntity


def configs(
    zookeeper: ZooKeeperOption = None,
    describe: Annotated[bool, typer.Option("--describe", help="List the settings of the given entity.")] = False,
    alter: Annotated[bool, typer.Option("--alter", help="Alter the settings of the entity.")] = False,
    entity_type: Annotated[str | None, typer.Option(metavar="topics|brokers", help="The type of the entity.")] = None,
    entity_name: Annotated[str | None, typer.Option(metavar="NAME", help="A topic's name, or a broker's id.")] = None,
    entity_default: Annotated[bool, typer.Option("--entity-default", help="All brokers, instead of one.")] = False,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="The same as --entity-type topics --entity-name.")
    ] = None,
    broker: Annotated[
        str | None, typer.Option(metavar="ID", help="The same as --entity-type brokers --entity-name.")
    ] = None,
    add_config: Annotated[
        str | None, typer.Option(metavar="K1=V1,K2=[V2,V3]", help="Settings to add; brackets around a list.")
    ] = None,
    delete_config: Annotated[str | None, typer.Option(metavar="K1,K2", help="Settings to remove.")] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Write, also to a ZooKeeper that kcsim has not started.")
    ] = False,
    output: Annotated[OutputFormat, typer.Option(help="Of --describe.")] = OutputFormat.TABLE,
) -> None:
    """Describe or alter settings of topics and brokers, as kafka-configs does.

    On a ZooKeeper that neither kcsim up nor kcsim zk start runs, this only reports the writes, unless --execute is given.

    \b
    kcsim configs --describe --topic orders
    kcsim configs --alter --topic orders --add-config retention.ms=3600000,cleanup.policy=[compact,delete]
    kcsim configs --alter --broker 2 --add-config leader.replication.throttled.rate=1000000

    Exit status: 0 done, 2 ZooKeeper failed, 4 refused (the message is Kafka's), 5 a dry run, 64 the options are invalid.
    """
    action = only_action({"describe": describe, "alter": alter}, "--describe, --alter")
    entity = _entity(entity_type, entity_name, entity_default, topic, broker)
    found = zookeeper_or_running_cluster(zookeeper)
    if found is None:
        fail(NO_ZOOKEEPER, ExitStatus.USAGE)
    with _exit_on_refusal():
        if action == "describe":
            _describe(found, entity, output)
        else:
            _alter(found, execute, entity, add_config, delete_config)


def _entity(
    entity_type: str | None, name: str | None, is_default: bool, topic: str | None, broker: str | None
) -> "ConfigEntity":
    """Return the entity that the options name, or end the command with the message of Kafka's tool."""
    from kcsim.controller.admin.entity_configs import BROKERS, DEFAULT, TOPICS
    from kcsim.scenarios.cli.kafka_tools.config_tool import ENTITY_TYPES, ConfigEntity

    if topic is not None or broker is not None:
        if [topic, broker, entity_type].count(None) != 2 or name is not None or is_default:
            fail("give one of --topic, --broker and --entity-type, each with its own name", ExitStatus.USAGE)
        entity_type, name = (TOPICS, topic) if topic is not None else (BROKERS, broker)
    if entity_type is None:
        fail("At least one entity type must be specified", ExitStatus.USAGE)
    if entity_type not in ENTITY_TYPES:
        fail(f"--entity-type: {entity_type!r} is not one of topics, brokers", ExitStatus.USAGE)
    if is_default and (name is not None or entity_type != BROKERS):
        fail("--entity-default stands for all brokers: it goes with --entity-type brokers, without a name", ExitStatus.USAGE)
    if entity_type == BROKERS and name is not None and not name.isdecimal():
        fail(f"The entity name for brokers must be a valid integer broker id, but it is: {name}", ExitStatus.USAGE)
    return ConfigEntity(entity_type, DEFAULT if is_default else name)


@contextmanager
def _exit_on_refusal() -> Iterator[None]:
    from kcsim.controller.decisions.kafka_refusals import RefusedError

    try:
        yield
    except RefusedError as refusal:
        print(refusal)
        raise CommandExit(ExitStatus.REFUSED) from None


def _describe(zookeeper: str, entity: "ConfigEntity", output: OutputFormat) -> None:
    from kcsim.scenarios.cli.kafka_tools.config_tool import ConfigEntity, described, description_line

    found = query_cluster(zookeeper, lambda kafka_zk: described(kafka_zk, entity))
    if output is OutputFormat.JSON:
        print(json.dumps({"entity_type": entity.entity_type, "configs": found}, indent=2))
        return
    for name, config in found.items():
        print(description_line(ConfigEntity(entity.entity_type, name), config))


def _alter(zookeeper: str, execute: bool, entity: "ConfigEntity", added: str | None, removed: str | None) -> None:
    from kcsim.scenarios.cli.kafka_tools.config_tool import ConfigAlteration, alter, parse_settings

    if entity.name is None:
        fail(f"an entity name must be specified with --alter of {entity.entity_type}", ExitStatus.USAGE)
    if added is None and removed is None:
        options = "--add-config, --add-config-file, or --delete-config"
        fail(f"At least one of {options} must be specified with --alter", ExitStatus.USAGE)
    names = [name.strip() for name in (removed or "").split(",") if name.strip()]
    wanted = ConfigAlteration(entity, {} if added is None else parse_settings(added), names)
    modify_cluster(zookeeper, execute, lambda kafka_zk, say: alter(kafka_zk, wanted, say))
