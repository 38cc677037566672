"""The actions of `kafka-topics --zookeeper` and their output. The caller decides where the output lines go.

Source: Kafka 2.8, TopicCommand with ZookeeperTopicService.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kcsim.controller.admin.entity_configs import change_topic_config
from kcsim.controller.admin.topics import NewTopic, add_partitions, create_topic, delete_topic, matching_topics
from kcsim.controller.decisions.kafka_refusals import IllegalArgumentError
from kcsim.controller.decisions.placement import RandomNumbers, Replicas
from kcsim.scenarios.views.terminal.topic_text import (
    ADD_PARTITIONS_WARNING,
    ALTER_CONFIG_WARNING,
    DELETION_NOTE,
    created_line,
)
from kcsim.zk.kafka.kafka_zk import KafkaZk

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Alteration:
    """The changes that --alter makes, and the pattern of the topics that it changes."""

    pattern: str | None
    if_exists: bool = False
    added: Mapping[str, str] = field(default_factory=dict)
    removed: Sequence[str] = ()
    partitions: int | None = None
    assignment: Sequence[Replicas] | None = None


async def required_topics(
    kafka_zk: KafkaZk, pattern: str | None, if_exists: bool = False, exclude_internal: bool = False
) -> list[str]:
    """Return the topics that match a name or pattern.

    Raises: IllegalArgumentError if there are none although one is required.
    """
    return require(pattern, await matching_topics(kafka_zk, pattern, exclude_internal), if_exists)


def require(pattern: str | None, found: list[str], if_exists: bool = False) -> list[str]:
    """Return the topics found. Raises: IllegalArgumentError if there are none although one is required."""
    if not found and pattern is not None and not if_exists:
        raise IllegalArgumentError(f"Topic '{pattern}' does not exist as expected")
    return found


async def create(kafka_zk: KafkaZk, wanted: NewTopic, numbers: RandomNumbers, say: Say) -> None:
    """Perform --create. Raises: RefusedError."""
    await create_topic(kafka_zk, wanted, numbers)
    say(created_line(wanted.name))


async def alter(kafka_zk: KafkaZk, wanted: Alteration, say: Say) -> None:
    """Perform --alter. Raises: RefusedError; changes and output made before the refusal remain."""
    for topic in await required_topics(kafka_zk, wanted.pattern, wanted.if_exists):
        if wanted.added or wanted.removed:
            for line in ALTER_CONFIG_WARNING:
                say(line)
            await change_topic_config(kafka_zk, topic, wanted.added, wanted.removed)
            say(f"Updated config for topic {topic}.")
        if wanted.partitions is not None:
            say(ADD_PARTITIONS_WARNING)
            await add_partitions(kafka_zk, topic, wanted.partitions, wanted.assignment)
            say("Adding partitions succeeded!")


async def delete(kafka_zk: KafkaZk, pattern: str | None, if_exists: bool, say: Say) -> None:
    """Perform --delete. Raises: RefusedError."""
    for topic in await required_topics(kafka_zk, pattern, if_exists):
        if await delete_topic(kafka_zk, topic):
            say(f"Topic {topic} is marked for deletion.")
            say(DELETION_NOTE)
        else:
            say(f"Topic {topic} is already marked for deletion.")
