"""A broker's answer to a client's metadata request, from its metadata cache, which may be stale.

Source: Kafka 2.8, MetadataCache.getTopicMetadata; docs/kafka/requests.md 4.2-4, 14.
"""

from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.requests import MetadataRequest, MetadataResponse, PartitionMetadata
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition


def metadata_for(request: MetadataRequest, cache: MetadataCache, listener: str) -> MetadataResponse:
    """Answer a client's metadata request.

    Args:
        listener: the name of the listener whose endpoints are returned; brokers without it are left out.
    """
    known_topics = cache.partitions.topics
    wanted = sorted(known_topics if request.topics is None else set(known_topics).intersection(request.topics))
    endpoints = ((broker, cache.endpoint(broker, listener)) for broker in cache.live_broker_ids)
    return MetadataResponse(
        brokers={broker: endpoint for broker, endpoint in endpoints if endpoint is not None},
        controller_id=cache.controller_id if cache.is_alive(cache.controller_id) else None,
        partitions={tp: _partition(tp, cache) for topic in wanted for tp in cache.partitions.of_topic(topic)},
        topic_errors={
            topic: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for topic in request.topics or () if topic not in known_topics
        },
        racks=cache.racks,
        cluster_id=cache.cluster_id,
        topic_ids={topic: cache.partitions.topic_ids[topic] for topic in wanted if topic in cache.partitions.topic_ids},
    )


def _partition(tp: TopicPartition, cache: MetadataCache) -> PartitionMetadata:
    cached = cache.partitions[tp]
    leader, error = cache.leader_for_clients(tp)
    leader_and_isr = cached.state.leader_and_isr
    epoch, isr = leader_and_isr.leader_epoch, leader_and_isr.isr
    return PartitionMetadata(leader, epoch, error, cached.replicas, isr, cached.offline_replicas)
