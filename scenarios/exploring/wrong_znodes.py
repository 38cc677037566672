"""What a hand that is not careful does to Kafka's znodes: creates, overwrites and deletes what it should not.

Kafka's controller believes what it finds there, and some of this it does not survive (reference controller.md 15).
"""

from collections.abc import Callable, Sequence
from typing import Any

from kcsim.scenarios.exploring.situation import Situation
from kcsim.zk import paths
from kcsim.zk.vocabulary import BrokerId, TopicPartition

Step = dict[str, Any]


def _of_a_partition(s: Situation) -> tuple[str, int]:
    topic, _, number = s.one(s.partitions(list(s.topics))).rpartition("-")
    return topic, int(number)


def _reassignment_to_nowhere(s: Situation) -> Step:
    topic, number = _of_a_partition(s)
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": number, "replicas": []}]}
    return {"zk-create": {"path": paths.REASSIGN_PARTITIONS, "data": plan}}


def _reassignment_without_partitions(s: Situation) -> Step:
    return {"zk-create": {"path": paths.REASSIGN_PARTITIONS, "data": {"version": 1}}}


def _reassignment_of_a_stranger(s: Situation) -> Step:
    plan = {"version": 1, "partitions": [{"topic": "ghost", "partition": 0, "replicas": s.replicas()}]}
    return {"zk-create": {"path": paths.REASSIGN_PARTITIONS, "data": plan}}


def _election_of_a_stranger(s: Situation) -> Step:
    plan = {"version": 1, "partitions": [{"topic": "ghost", "partition": 0}]}
    return {"zk-create": {"path": paths.PREFERRED_REPLICA_ELECTION, "data": plan}}


def _election_of_nothing(s: Situation) -> Step:
    return {"zk-create": {"path": paths.PREFERRED_REPLICA_ELECTION, "data": s.one(("", "nonsense", {"version": 1}))}}


def _deletion_of_a_stranger(s: Situation) -> Step:
    return {"zk-create": {"path": paths.delete_topic("ghost"), "data": None}}


def _topic_that_is_none(s: Situation) -> Step:
    topic = s.topic()
    data = s.one(("", "nonsense", {"version": 1, "partitions": {"0": "x"}}, {"version": 1, "partitions": {"0": []}}))
    act = "zk-set" if topic in s.created else "zk-create"
    return {act: {"path": paths.topic(topic), "data": data}}


def _topic_lost(s: Situation) -> Step:
    topic, number = _of_a_partition(s)
    return {"zk-delete": s.one((paths.topic_partition_state(TopicPartition(topic, number)), paths.delete_topic(topic)))}


def _request_withdrawn(s: Situation) -> Step:
    return {"zk-delete": s.one((paths.REASSIGN_PARTITIONS, paths.PREFERRED_REPLICA_ELECTION))}


def _epoch_touched(s: Situation) -> Step:
    return {"zk-set": {"path": paths.CONTROLLER_EPOCH, "data": s.one(("7", "0", "many"))}}


def _controller_overwritten(s: Situation) -> Step:
    named = {"version": 1, "brokerid": s.one(list(s.brokers)), "timestamp": "0"}
    return {"zk-set": {"path": paths.CONTROLLER, "data": s.one((named, "nonsense"))}}


def _controller_by_hand(s: Situation) -> Step:
    named = {"version": 1, "brokerid": s.one(list(s.brokers)), "timestamp": "0"}
    return {"zk-create": {"path": paths.CONTROLLER, "data": named, "ephemeral": True}}


def _registration_deleted(s: Situation) -> Step:
    return {"zk-delete": paths.broker_id(BrokerId(s.one(list(s.brokers))))}


def _empty_notification(s: Situation) -> Step:
    data = s.one(({"version": 1, "partitions": []}, "", "nonsense"))
    path = f"{paths.ISR_CHANGE_NOTIFICATION}/isr_change_"
    return {"zk-create": {"path": path, "data": data, "sequential": True}}


WRONG_ACTS: Sequence[Callable[[Situation], Step]] = (
    _reassignment_to_nowhere,
    _reassignment_without_partitions,
    _reassignment_of_a_stranger,
    _election_of_a_stranger,
    _election_of_nothing,
    _deletion_of_a_stranger,
    _topic_that_is_none,
    _topic_lost,
    _request_withdrawn,
    _epoch_touched,
    _controller_overwritten,
    _controller_by_hand,
    _registration_deleted,
    _empty_notification,
)


def a_wrong_znode(s: Situation) -> Step:
    """Draw one of them."""
    return s.one(WRONG_ACTS)(s)
