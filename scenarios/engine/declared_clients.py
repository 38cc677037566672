"""The producers and consumers that a scenario declares, as its cluster takes them."""

from collections.abc import Mapping

from kcsim.brokers.clients.consumer_config import ConsumerConfig, ConsumerSpec
from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.clients.producer_config import ProducerConfig
from kcsim.brokers.groups.assignors.subscriptions import Subscription, TopicList, TopicPattern
from kcsim.scenarios.language.consumer_model import GroupModel, MemberModel
from kcsim.scenarios.language.workload_model import ProducerModel, WorkloadModel

# --- producers -------------------------------------------------------------------------------------------------------------


def specs_of(declared: WorkloadModel) -> dict[str, ProducerSpec]:
    """Return the specifications of a scenario's producers, by name."""
    return {name: _producer(name, producer) for name, producer in declared.producers.items()}


def _producer(name: str, producer: ProducerModel) -> ProducerSpec:
    return ProducerSpec(
        name=name,
        topics=producer.topics,
        rate=producer.rate,
        records=producer.records,
        record_bytes=producer.record_bytes,
        shares=producer.shares or {},
        config=ProducerConfig.of(producer.settings),
    )


# --- consumers -------------------------------------------------------------------------------------------------------------


def consumers_of(declared: Mapping[str, GroupModel]) -> list[ConsumerSpec]:
    """Return the consumers of a scenario, in the order of the file."""
    return [
        _consumer(name, group_id, group, member)
        for group_id, group in declared.items()
        for name, member in group.each_member().items()
    ]


def _consumer(name: str, group_id: str, group: GroupModel, member: MemberModel) -> ConsumerSpec:
    config = ConsumerConfig.of(group.settings, member.assignors or group.assignors)
    return ConsumerSpec(name, group_id, _subscription(group, member), name if group.static else None, config)


def _subscription(group: GroupModel, member: MemberModel) -> Subscription:
    own = member.topics is not None or member.pattern is not None
    topics, pattern = (member.topics, member.pattern) if own else (group.topics, group.pattern)
    return TopicPattern(pattern) if pattern is not None else TopicList(topics or ())
