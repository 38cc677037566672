"""What `kafka-topics --zookeeper` does, and what it says meanwhile: whoever runs it decides where its lines go.

Source: Kafka 2.8, TopicCommand with ZookeeperTopicService.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kcsim.controller.decisions.kafka_refusals import IllegalArgumentError
from kcsim.controller.decisions.placement import RandomNumbers, Replicas
from kcsim.scenarios.admin.entity_configs import change_topic_config
from kcsim.scenarios.admin.topic_text import (
    ADD_PARTITIONS_WARNING,
    ALTER_CONFIG_WARNING,
    DELETION_NOTE,
    created_line,
)
from kcsim.scenarios.admin.topics import NewTopic, add_partitions, create_topic, delete_topic, matching_topics
from kcsim.zk.kafka_zk import KafkaZk

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Alteration:
    """What --alter is to do, to which topics."""

    pattern: str | None
    if_exists: bool = False
    added: Mapping[str, str] = field(default_factory=dict)
    removed: Sequence[str] = ()
    partitions: int | None = None
    assignment: Sequence[Replicas] | None = None


async def required_topics(
    kafka_zk: KafkaZk, pattern: str | None, if_exists: bool = False, exclude_internal: bool = False
) -> list[str]:
    """The topics that a name or pattern means. Raises: IllegalArgumentError if there are none, and some are needed."""
    return require(pattern, await matching_topics(kafka_zk, pattern, exclude_internal), if_exists)


def require(pattern: str | None, found: list[str], if_exists: bool = False) -> list[str]:
    """The topics found. Raises: IllegalArgumentError if there are none, and some are needed."""
    if not found and pattern is not None and not if_exists:
        raise IllegalArgumentError(f"Topic '{pattern}' does not exist as expected")
    return found


async def create(kafka_zk: KafkaZk, wanted: NewTopic, numbers: RandomNumbers, say: Say) -> None:
    """--create. Raises: RefusedError."""
    await create_topic(kafka_zk, wanted, numbers)
    say(created_line(wanted.name))


async def alter(kafka_zk: KafkaZk, wanted: Alteration, say: Say) -> None:
    """--alter. Raises: RefusedError; what was done and said before, stays."""
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
    """--delete. Raises: RefusedError."""
    for topic in await required_topics(kafka_zk, pattern, if_exists):
        if await delete_topic(kafka_zk, topic):
            say(f"Topic {topic} is marked for deletion.")
            say(DELETION_NOTE)
        else:
            say(f"Topic {topic} is already marked for deletion.")
