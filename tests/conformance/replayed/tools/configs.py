"""kafka-configs --alter, of topics and brokers.

Source: Kafka 2.8, ConfigCommand.
"""

from collections.abc import Iterator

from kcsim.controller.admin.entity_configs import BROKERS, DEFAULT, TOPICS, change_broker_config, change_topic_config
from kcsim.controller.admin.throttles import BROKER_THROTTLES
from kcsim.controller.decisions.kafka_refusals import (
    InvalidConfigurationError,
    RefusedError,
    UnknownTopicOrPartitionError,
)
from kcsim.zk.kafka.kafka_zk import KafkaZk
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.tools.command_line import Command, CommandOutput, ToolFailedError
from tests.conformance.replayed.tools.reach import Reach

KNOWN = ("alter", "entity-type", "entity-name", "entity-default", "add-config", "delete-config", "topic", "broker")
ZOOKEEPER_WARNINGS = (
    "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.",
    "Use --bootstrap-server instead to specify a broker to connect to.",
)
BOOTSTRAPPING = (
    "Broker configuration updates using ZooKeeper are supported for bootstrapping before brokers are started"
    " to enable encrypted password configs to be stored in ZooKeeper."
)


class ConfigTool:
    """kafka-configs on one cluster."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def run(self, command: Command, output: CommandOutput) -> None:
        """Run the command. Raises: ToolFailedError, NotSupportedError."""
        command.require_known(KNOWN)
        command.action(["alter"])
        entity_type, name = _entity(command)
        is_direct = self._reach.is_direct(command)
        if is_direct:
            output.out += ZOOKEEPER_WARNINGS
        async with self._reach.kafka_zk(command) as kafka_zk:
            try:
                await self._alter(kafka_zk, command, entity_type, name, output)
            except RefusedError as refusal:
                is_plain = is_direct and isinstance(refusal, InvalidConfigurationError)
                output.err.append(str(refusal) if is_plain else _failed(command))
                raise ToolFailedError from None
        output.out.append(_done_directly(entity_type, name) if is_direct else _done_by_a_broker(entity_type, name))

    async def _alter(
        self, kafka_zk: KafkaZk, command: Command, entity_type: str, name: str | None, output: CommandOutput
    ) -> None:
        added, removed = command.settings("add-config"), [*command.settings("delete-config")]
        for refusal in self._refusals(command, entity_type, name, [*added, *removed]):
            output.err.append(refusal)
            raise ToolFailedError
        if entity_type == TOPICS and not self._reach.is_direct(command) and not self._reach.knows_topic(name):
            # The broker knows a topic by UpdateMetadata, once the topic has had a leader.
            raise UnknownTopicOrPartitionError(f"Topic '{name}' does not exist.")
        held = await kafka_zk.configs.read_entity(entity_type, DEFAULT if name is None else name)
        if missing := [setting for setting in removed if setting not in held]:
            output.err.append(f"Invalid config(s): {','.join(missing)}")
            raise ToolFailedError
        if entity_type == TOPICS:
            assert name is not None
            await change_topic_config(kafka_zk, name, added, removed)
        else:
            await change_broker_config(kafka_zk, None if name is None else command.broker("entity-name"), added, removed)

    def _refusals(self, command: Command, entity_type: str, name: str | None, settings: list[str]) -> Iterator[str]:
        """Yield why the tool does not write these settings to ZooKeeper itself: a running broker would not receive them."""
        unheard = [setting for setting in settings if setting not in BROKER_THROTTLES]
        if entity_type != BROKERS or not unheard or not self._reach.is_direct(command):
            return
        registered = self._reach.cluster.state.registered
        if name is None and registered:
            who = "for default cluster if any broker is running."
        elif name is not None and int(name) in registered:
            who = f"when broker {name} is running."
        else:
            return
        option = f"--bootstrap-server option must be specified to update broker configs Set({', '.join(unheard)})."
        yield f"requirement failed: {option} {who} {BOOTSTRAPPING}"


def _entity(command: Command) -> tuple[str, str | None]:
    """Return the entity type, and the name of one entity; None for all brokers. Raises: NotSupportedError."""
    for short, entity_type in (("topic", TOPICS), ("broker", BROKERS)):
        if short in command:
            return entity_type, command.one(short)
    entity_type = command.one("entity-type")
    if entity_type not in (TOPICS, BROKERS) or len(command.flags["entity-type"]) > 1:
        raise NotSupportedError(f"{command.tool} of {', '.join(command.flags['entity-type'])}")
    if "entity-default" in command and entity_type == BROKERS:
        return entity_type, None
    return entity_type, command.one("entity-name")


def _done_directly(entity_type: str, name: str | None) -> str:
    if name is None:
        return f"Completed updating config for entity: default {entity_type}."
    # Kafka's tool drops the plural of topics only.
    return f"Completed updating config for entity: {'topic' if entity_type == TOPICS else entity_type} '{name}'."


def _done_by_a_broker(entity_type: str, name: str | None) -> str:
    if name is None:
        return f"Completed updating default config for {entity_type} in the cluster."
    return f"Completed updating config for {entity_type.removesuffix('s')} {name}."


def _failed(command: Command) -> str:
    return f"Error while executing config command with args '{' '.join(command.words)}'"
