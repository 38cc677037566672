"""Draw steps of a careless administrator on Kafka's znodes: creations, changes and deletions that must not be made.

Kafka's controller trusts the content of these znodes, and some of these steps make it fail (docs/kafka/controller.md 15).
"""

from collections.abc import Callable, Sequence
from typing import Any

from kcsim.scenarios.explore.generator_state import GeneratorState
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.znodes import paths

StepDict = dict[str, Any]


def _of_a_partition(s: GeneratorState) -> tuple[str, int]:
    topic, _, number = s.choose(s.partitions(list(s.topics))).rpartition("-")
    return topic, int(number)


def _reassignment_to_nowhere(s: GeneratorState) -> StepDict:
    topic, number = _of_a_partition(s)
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": number, "replicas": []}]}
    return {"zk-create": {"path": paths.REASSIGN_PARTITIONS, "data": plan}}


def _reassignment_without_partitions(s: GeneratorState) -> StepDict:
    return {"zk-create": {"path": paths.REASSIGN_PARTITIONS, "data": {"version": 1}}}


def _reassignment_of_unknown_topic(s: GeneratorState) -> StepDict:
    plan = {"version": 1, "partitions": [{"topic": "ghost", "partition": 0, "replicas": s.replicas()}]}
    return {"zk-create": {"path": paths.REASSIGN_PARTITIONS, "data": plan}}


def _election_of_unknown_topic(s: GeneratorState) -> StepDict:
    plan = {"version": 1, "partitions": [{"topic": "ghost", "partition": 0}]}
    return {"zk-create": {"path": paths.PREFERRED_REPLICA_ELECTION, "data": plan}}


def _election_of_nothing(s: GeneratorState) -> StepDict:
    return {"zk-create": {"path": paths.PREFERRED_REPLICA_ELECTION, "data": s.choose(("", "nonsense", {"version": 1}))}}


def _deletion_of_unknown_topic(s: GeneratorState) -> StepDict:
    return {"zk-create": {"path": paths.delete_topic("ghost"), "data": None}}


def _invalid_topic(s: GeneratorState) -> StepDict:
    topic = s.topic()
    data = s.choose(("", "nonsense", {"version": 1, "partitions": {"0": "x"}}, {"version": 1, "partitions": {"0": []}}))
    act = "zk-set" if topic in s.created else "zk-create"
    return {act: {"path": paths.topic(topic), "data": data}}


def _topic_lost(s: GeneratorState) -> StepDict:
    topic, number = _of_a_partition(s)
    return {"zk-delete": s.choose((paths.topic_partition_state(TopicPartition(topic, number)), paths.delete_topic(topic)))}


def _request_withdrawn(s: GeneratorState) -> StepDict:
    return {"zk-delete": s.choose((paths.REASSIGN_PARTITIONS, paths.PREFERRED_REPLICA_ELECTION))}


def _epoch_touched(s: GeneratorState) -> StepDict:
    return {"zk-set": {"path": paths.CONTROLLER_EPOCH, "data": s.choose(("7", "0", "many"))}}


def _controller_overwritten(s: GeneratorState) -> StepDict:
    named = {"version": 1, "brokerid": s.choose(list(s.brokers)), "timestamp": "0"}
    return {"zk-set": {"path": paths.CONTROLLER, "data": s.choose((named, "nonsense"))}}


def _controller_by_hand(s: GeneratorState) -> StepDict:
    named = {"version": 1, "brokerid": s.choose(list(s.brokers)), "timestamp": "0"}
    return {"zk-create": {"path": paths.CONTROLLER, "data": named, "ephemeral": True}}


def _registration_deleted(s: GeneratorState) -> StepDict:
    return {"zk-delete": paths.broker_id(BrokerId(s.choose(list(s.brokers))))}


def _empty_notification(s: GeneratorState) -> StepDict:
    data = s.choose(({"version": 1, "partitions": []}, "", "nonsense"))
    path = f"{paths.ISR_CHANGE_NOTIFICATION}/isr_change_"
    return {"zk-create": {"path": path, "data": data, "sequential": True}}


CORRUPTIONS: Sequence[Callable[[GeneratorState], StepDict]] = (
    _reassignment_to_nowhere,
    _reassignment_without_partitions,
    _reassignment_of_unknown_topic,
    _election_of_unknown_topic,
    _election_of_nothing,
    _deletion_of_unknown_topic,
    _invalid_topic,
    _topic_lost,
    _request_withdrawn,
    _epoch_touched,
    _controller_overwritten,
    _controller_by_hand,
    _registration_deleted,
    _empty_notification,
)


def corrupt_znode(s: GeneratorState) -> StepDict:
    """Draw one of the corruptions."""
    return s.choose(CORRUPTIONS)(s)
