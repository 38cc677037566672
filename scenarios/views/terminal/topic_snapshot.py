"""Topics as `kafka-topics --describe` would have shown them at a point in time, from the znodes of that time."""

from collections.abc import Iterable, Iterator, Mapping

from kcsim import znodes
from kcsim.controller.admin.entity_configs import BROKERS, DEFAULT
from kcsim.controller.admin.topic_descriptions import (
    DEFAULT_MIN_INSYNC_REPLICAS,
    PROPERTIES,
    PartitionDescription,
    TopicDescription,
)
from kcsim.controller.decisions.topic_config import MIN_INSYNC_REPLICAS
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.jvm_hash_order import map_order
from kcsim.text import did_you_mean
from kcsim.vocabulary import TopicPartition
from kcsim.znodes import BadZnodeError, paths


class NoSuchTopicError(Exception):
    """A topic did not exist at that time. The message names the nearest existing one."""


def topic_snapshot(state: ClusterState, wanted: Iterable[str] = ()) -> list[TopicDescription]:
    """Return descriptions of topics, sorted.

    Args:
        wanted: names; none for all.

    Raises: NoSuchTopicError.
    """
    topics = state.of_topics.topics
    for topic in wanted:
        if topic not in topics:
            raise NoSuchTopicError(f"there was no topic {topic!r} then{did_you_mean(topic, sorted(topics))}")
    return [_described(state, topic) for topic in sorted(set(wanted) or topics)]


def _described(state: ClusterState, topic: str) -> TopicDescription:
    topics = state.of_topics.topics
    config = _config(state, paths.topic_config(topic))
    default = _config(state, paths.entity_config(BROKERS, DEFAULT)).get(MIN_INSYNC_REPLICAS)
    fewest = config.get(MIN_INSYNC_REPLICAS, default) or ""
    return TopicDescription(
        topic,
        {name: config[name] for name in map_order(config, PROPERTIES)},
        int(fewest) if fewest.isdigit() else DEFAULT_MIN_INSYNC_REPLICAS,
        topic in state.of_topics.deleting,
        tuple(_partitions(state, topic)),
        topics[topic].topic_id,
    )


def _partitions(state: ClusterState, topic: str) -> Iterator[PartitionDescription]:
    of_topics = state.of_topics
    for number, assignment in sorted(of_topics.topics[topic].assignments.items()):
        partition = TopicPartition(topic, number)
        yield PartitionDescription(number, assignment, of_topics.leader(partition), of_topics.isr(partition))


def _config(state: ClusterState, path: str) -> Mapping[str, str]:
    """Return an entity's settings; none if the znode is missing or cannot be read."""
    znode = state.znodes.get(path)
    if znode is None:
        return {}
    try:
        return znodes.decode_config(path, None if znode.data is None else znode.data.encode(), lambda path, reason: None)
    except BadZnodeError:
        return {}
