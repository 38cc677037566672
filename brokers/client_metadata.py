"""What a broker tells clients of the cluster, from its metadata cache: it may be old.

Source: Kafka 2.8, MetadataCache.getTopicMetadata; reference requests.md 4.2-4, 14.
"""

from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.requests import MetadataRequest, MetadataResponse, PartitionMetadata
from kcsim.zk.vocabulary import TopicPartition


def metadata_for(request: MetadataRequest, cache: MetadataCache, listener: str) -> MetadataResponse:
    """Answer a client.

    Args:
        listener: by whose name brokers are reached; those that have none such are left out.
    """
    known_topics = cache.partitions.topics
    wanted = sorted(known_topics if request.topics is None else set(known_topics).intersection(request.topics))
    endpoints = ((broker, cache.endpoint(broker, listener)) for broker in cache.live_broker_ids)
    return MetadataResponse(
        brokers={broker: endpoint for broker, endpoint in endpoints if endpoint is not None},
        controller_id=cache.controller_id if cache.is_alive(cache.controller_id) else None,
        partitions={tp: _partition(tp, cache) for topic in wanted for tp in cache.partitions.of_topic(topic)},
        unknown_topics=tuple(topic for topic in request.topics or () if topic not in known_topics),
    )


def _partition(tp: TopicPartition, cache: MetadataCache) -> PartitionMetadata:
    told = cache.partitions[tp]
    leader, error = cache.leader_for_clients(tp)
    leader_and_isr = told.state.leader_and_isr
    return PartitionMetadata(leader, leader_and_isr.leader_epoch, error, told.replicas, leader_and_isr.isr)
