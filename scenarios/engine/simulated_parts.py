"""What only a cluster of simulated brokers has: consumers, and faults in its answers."""

from collections.abc import Mapping

from kcsim.brokers.clients.consumer_config import ConsumerConfig, ConsumerSpec
from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.clients.producer_config import ProducerConfig
from kcsim.brokers.cluster.scenario_cluster import SimulatedBrokers
from kcsim.brokers.groups.assignors.subscriptions import Subscription, TopicList, TopicPattern
from kcsim.scenarios.language.consumer_model import GroupModel, MemberModel
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.workload_model import ProducerModel, WorkloadModel


class SimulatedParts:
    """The parts of one run; declares the clients of the scenario, so that steps can name them before they run."""

    def __init__(self, cluster: SimulatedBrokers, scenario: Scenario) -> None:
        self.cluster = cluster
        self.consumers = cluster.consumers
        self.consumers.declare(consumers_of(scenario.workload.groups))


def racks_of(scenario: Scenario) -> dict[str, list[str]]:
    """Return each rack with the names of its brokers."""
    racks: dict[str, list[str]] = {}
    for broker in scenario.cluster.members():
        if broker.rack is not None:
            racks.setdefault(broker.rack, []).append(f"broker-{broker.id}")
    return racks


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
