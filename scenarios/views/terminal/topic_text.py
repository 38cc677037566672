"""Topics exactly as `kafka-topics` prints them, tabs included, and as JSON.

Source: Kafka 2.8, TopicCommand.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from kcsim.controller.admin.topic_descriptions import DescribeReport, PartitionDescription, TopicDescription, is_reported
from kcsim.vocabulary import BrokerId

COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide."
    " To avoid issues it is best to use either, but not both."
)
ALTER_CONFIG_WARNING = (
    "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future releases.",
    "         Going forward, please use kafka-configs.sh for this functionality",
)
ADD_PARTITIONS_WARNING = (
    "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages"
    " will be affected"
)
DELETION_NOTE = "Note: This will have no impact if delete.topic.enable is not set to true."


def collision_lines(topic: str) -> Iterator[str]:
    """Yield the warning about a new topic's name that the tool prints before it acts."""
    if "." in topic or "_" in topic:
        yield COLLISION_WARNING


def created_line(topic: str) -> str:
    return f"Created topic {topic}."


def message_format_warning(version: str) -> str:
    """Return the warning that the tool prints whenever message.format.version is set."""
    return (
        f"WARNING: The configuration message.format.version={version} is specified. This configuration will be ignored if"
        " the version is newer than the inter.broker.protocol.version specified in the broker."
    )


def description_lines(
    topics: Iterable[TopicDescription],
    report: DescribeReport | None = None,
    live: Collection[BrokerId] = (),
    only_overridden: bool = False,
    by_broker: bool = False,
) -> Iterator[str]:
    """Yield the lines of `--describe`.

    Args:
        report: only partitions that belong to this report, and no line about the topic.
        only_overridden: only topics with settings of their own, and no partitions.
        by_broker: in the tool's format for --bootstrap-server, which also shows adding and removing replicas.
    """
    for topic in topics:
        if report is None and (topic.config or not only_overridden):
            yield _topic_line(topic, by_broker)
        if not only_overridden:
            for partition in topic.partitions:
                if report is None or is_reported(partition, report, topic.min_insync_replicas, live, by_broker):
                    yield _partition_line(topic, partition) + (_on_their_way(partition) if by_broker else "")


def _topic_line(topic: TopicDescription, by_broker: bool) -> str:
    config = ",".join(f"{name}={value}" for name, value in topic.config.items())
    factor = topic.partitions[0].replicas_due(by_broker) if topic.partitions else 0
    topic_id = "" if topic.topic_id is None else f"\tTopicId: {topic.topic_id}"
    return (
        f"Topic: {topic.topic}{topic_id}\tPartitionCount: {len(topic.partitions)}\tReplicationFactor: {factor}"
        f"\tConfigs: {config}{_mark(topic)}"
    )


def _partition_line(topic: TopicDescription, described: PartitionDescription) -> str:
    leader = "none" if described.leader is None else described.leader
    replicas, isr = (",".join(map(str, ids)) for ids in (described.assignment.replicas, described.isr))
    return (
        f"\tTopic: {topic.topic}\tPartition: {described.partition}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}"
        f"{_mark(topic)}"
    )


def _on_their_way(described: PartitionDescription) -> str:
    if not described.assignment.is_being_reassigned:
        return ""
    adding, removing = (
        ",".join(map(str, ids)) for ids in (described.assignment.adding_replicas, described.assignment.removing_replicas)
    )
    return f"\tAdding Replicas: {adding}\tRemoving Replicas: {removing}"


def _mark(topic: TopicDescription) -> str:
    return "\tMarkedForDeletion: true" if topic.is_marked_for_deletion else ""


def list_line(topic: str, is_marked_for_deletion: bool) -> str:
    """Return one line of `--list`."""
    return f"{topic} - marked for deletion" if is_marked_for_deletion else topic


def description_json(
    topics: Iterable[TopicDescription],
    report: DescribeReport | None = None,
    live: Collection[BrokerId] = (),
    only_overridden: bool = False,
) -> list[dict[str, Any]]:
    """Return the facts of `--describe` as JSON; arguments as for description_lines."""
    found = []
    for topic in topics:
        shown = [p for p in topic.partitions if report is None or is_reported(p, report, topic.min_insync_replicas, live)]
        if (only_overridden and not topic.config) or (report is not None and not shown):
            continue
        found.append(
            {
                "topic": topic.topic,
                "replication_factor": topic.replication_factor,
                "config": dict(topic.config),
                "marked_for_deletion": topic.is_marked_for_deletion,
                "partitions": [] if only_overridden else [_partition_json(partition) for partition in shown],
            }
        )
    return found


def _partition_json(described: PartitionDescription) -> dict[str, Any]:
    return {
        "partition": described.partition,
        "leader": described.leader,
        "replicas": described.assignment.replicas,
        "isr": described.isr,
        "adding_replicas": described.assignment.adding_replicas,
        "removing_replicas": described.assignment.removing_replicas,
    }
