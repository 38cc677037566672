"""The actions of `kafka-configs --zookeeper` on topics and brokers, and their output.

Source: Kafka 2.8, ConfigCommand; its output for these actions was recorded from Kafka 2.8.2. Its advice to use
--bootstrap-server is left out: there is none here.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kcsim.controller.admin.entity_configs import BROKERS, DEFAULT, TOPICS, change_broker_config, change_topic_config
from kcsim.controller.admin.throttles import BROKER_THROTTLES
from kcsim.controller.decisions.kafka_refusals import IllegalArgumentError, InvalidConfigurationError
from kcsim.jvm_hash_order import map_order
from kcsim.vocabulary import BrokerId
from kcsim.zk.kafka.kafka_zk import KafkaZk

Say = Callable[[str], None]
ENTITY_TYPES = (TOPICS, BROKERS)
PROPERTIES_TABLE = 16
FOR_BOOTSTRAPPING = (
    "Broker configuration updates using ZooKeeper are supported for bootstrapping before brokers are started"
    " to enable encrypted password configs to be stored in ZooKeeper."
)


@dataclass(frozen=True, slots=True)
class ConfigEntity:
    """A topic, a broker, or all brokers; `name` is None for all entities of the type in --describe."""

    entity_type: str
    name: str | None

    def __str__(self) -> str:
        # Kafka's tool drops the plural of topics only.
        kind = "topic" if self.entity_type == TOPICS else self.entity_type
        return f"default {kind}" if self.name == DEFAULT else f"{kind} '{self.name}'"


@dataclass(frozen=True, slots=True)
class ConfigAlteration:
    """The changes that --alter makes to one entity's settings."""

    entity: ConfigEntity
    added: Mapping[str, str] = field(default_factory=dict)
    removed: Sequence[str] = ()


async def described(kafka_zk: KafkaZk, entity: ConfigEntity) -> dict[str, dict[str, str]]:
    """Return the settings of an entity, or of every entity of its type that has settings: name -> settings."""
    names = [entity.name] if entity.name is not None else sorted(await kafka_zk.configs.entities(entity.entity_type))
    return {name: await kafka_zk.configs.read_entity(entity.entity_type, name) for name in names}


def description_line(entity: ConfigEntity, config: Mapping[str, str]) -> str:
    """Return the line of --describe for one entity."""
    return f"Configs for {entity} are {','.join(f'{name}={config[name]}' for name in _as_java_lists(config))}"


def _as_java_lists(names: Collection[str]) -> list[str]:
    """Return the names in the order of Java's Properties: a hash table that grows once it is three quarters full."""
    table = PROPERTIES_TABLE
    while len(names) >= table * 3 // 4:
        table *= 2
    return map_order(names, table)


async def alter(kafka_zk: KafkaZk, wanted: ConfigAlteration, say: Say) -> None:
    """Perform --alter. Raises: RefusedError; nothing has been written then."""
    entity = wanted.entity
    assert entity.name is not None
    await _check_brokers_are_stopped(kafka_zk, wanted)
    held = await kafka_zk.configs.read_entity(entity.entity_type, entity.name)
    if missing := [name for name in wanted.removed if name not in held]:
        raise InvalidConfigurationError(f"Invalid config(s): {','.join(missing)}")
    if entity.entity_type == TOPICS:
        await change_topic_config(kafka_zk, entity.name, wanted.added, wanted.removed)
    else:
        broker = None if entity.name == DEFAULT else BrokerId(int(entity.name))
        await change_broker_config(kafka_zk, broker, wanted.added, wanted.removed)
    say(f"Completed updating config for entity: {entity}.")


async def _check_brokers_are_stopped(kafka_zk: KafkaZk, wanted: ConfigAlteration) -> None:
    """Refuse settings of a running broker, except throttles: it would not receive them. Raises: IllegalArgumentError."""
    entity = wanted.entity
    unheard = [name for name in (*wanted.added, *wanted.removed) if name not in BROKER_THROTTLES]
    if entity.entity_type != BROKERS or not unheard:
        return
    running = {str(info.broker_id) for info, _ in await kafka_zk.brokers.read_all_with_epochs()}
    if entity.name == DEFAULT and running:
        who = "for default cluster if any broker is running."
    elif entity.name in running:
        who = f"when broker {entity.name} is running."
    else:
        return
    option = f"--bootstrap-server option must be specified to update broker configs Set({', '.join(unheard)})."
    raise IllegalArgumentError(f"requirement failed: {option} {who} {FOR_BOOTSTRAPPING}")


def parse_settings(text: str) -> dict[str, str]:
    """Parse --add-config: k1=v1,k2=[v1,v2],k3=v3. Raises: IllegalArgumentError."""
    pairs = [part.partition("=") for part in _outside_brackets(text)]
    if any(not equals for _, equals, _ in pairs):
        message = 'Invalid entity config: all configs to be added must be in the format "key=val".'
        raise IllegalArgumentError(f"requirement failed: {message}")
    return {name.strip(): value.strip().removeprefix("[").removesuffix("]") for name, _, value in pairs}


def _outside_brackets(text: str) -> list[str]:
    """Return the parts between commas outside brackets: a=[1,2],b=3 is a=[1,2] and b=3."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
