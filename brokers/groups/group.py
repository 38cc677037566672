"""A consumer group from one rebalance to the next: its members, what they own, and the rebalance that a change causes.

This is the part that members and their leader compute, without a coordinator and without time. A change is applied to the
group first; `rebalance` then computes what the members are sent, in one round or, cooperatively, in several.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy, assign
from kcsim.brokers.groups.assignors.cooperative_sticky import CooperativeRound, assign_cooperatively
from kcsim.brokers.groups.assignors.errors import DuplicateMemberError
from kcsim.brokers.groups.assignors.members import GroupMember, known_generation
from kcsim.brokers.groups.assignors.ownership_claims import KafkaRules
from kcsim.brokers.groups.assignors.rack_aware_range import PartitionRacks
from kcsim.brokers.groups.assignors.subscriptions import Subscription
from kcsim.brokers.groups.errors import FewerPartitionsError, UnknownMemberError, UnknownTopicError
from kcsim.vocabulary import TopicPartition

ENOUGH_ROUNDS = 100
"""Cooperative members reach an assignment after two or three rounds; Kafka's own tests allow five."""


@dataclass(frozen=True, slots=True)
class GroupConsumer:
    """A consumer's configuration and what it owns. GroupMember is the part of it that other members see."""

    member_id: str
    subscription: Subscription
    instance_id: str | None = None
    rack: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None

    def as_member(self, topics: Collection[str]) -> GroupMember:
        """Return the consumer as it joins, with its subscription matched against the existing topics."""
        subscribed = self.subscription.topics_among(topics)
        return GroupMember(self.member_id, subscribed, self.instance_id, self.rack, self.owned, self.generation)


@dataclass(frozen=True, slots=True)
class ConsumerGroup:
    """Consumers and topics (topic -> number of partitions). `generation` is the last one; 0 before any assignment.

    Raises: DuplicateMemberError.
    """

    partition_counts: Mapping[str, int]
    consumers: tuple[GroupConsumer, ...] = ()
    generation: int = 0

    def __post_init__(self) -> None:
        for member_id, times in Counter(self.member_ids).items():
            if times > 1:
                raise DuplicateMemberError(member_id)

    @property
    def member_ids(self) -> tuple[str, ...]:
        return tuple(consumer.member_id for consumer in self.consumers)

    @property
    def members(self) -> list[GroupMember]:
        """All consumers as they join."""
        return [consumer.as_member(self.partition_counts) for consumer in self.consumers]

    @property
    def owned(self) -> dict[str, tuple[TopicPartition, ...]]:
        """The partitions that each member owns."""
        return {consumer.member_id: consumer.owned for consumer in self.consumers}


# --- changes ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Join:
    """A consumer joins the group."""

    consumer: GroupConsumer


@dataclass(frozen=True, slots=True)
class Leave:
    """A consumer leaves or crashes; the assignors do not distinguish the two."""

    member_id: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A member of the group changes its subscription."""

    member_id: str
    subscription: Subscription


@dataclass(frozen=True, slots=True)
class SetPartitions:
    """A topic is created with `count` partitions, or gets more partitions until it has `count`."""

    topic: str
    count: int


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """A topic is deleted."""

    topic: str


Change = Join | Leave | Subscribe | SetPartitions | DeleteTopic


def changed(group: ConsumerGroup, change: Change) -> ConsumerGroup:
    """Return the group after a change and before its rebalance.

    Raises: DuplicateMemberError, UnknownMemberError, UnknownTopicError, FewerPartitionsError.
    """
    counts = dict(group.partition_counts)
    match change:
        case Join(consumer):
            return replace(group, consumers=(*group.consumers, consumer))
        case Leave(member_id):
            _check_member(group, member_id)
            return replace(group, consumers=tuple(c for c in group.consumers if c.member_id != member_id))
        case Subscribe(member_id, subscription):
            _check_member(group, member_id)
            consumers = (replace(c, subscription=subscription) if c.member_id == member_id else c for c in group.consumers)
            return replace(group, consumers=tuple(consumers))
        case SetPartitions(topic, count):
            if count < counts.get(topic, 0):
                raise FewerPartitionsError(topic, counts[topic], count)
            return replace(group, partition_counts=counts | {topic: count})
        case DeleteTopic(topic):
            if topic not in counts:
                raise UnknownTopicError(topic, counts)
            del counts[topic]
            return replace(group, partition_counts=counts)
        case _:
            assert_never(change)


def _check_member(group: ConsumerGroup, member_id: str) -> None:
    if member_id not in group.member_ids:
        raise UnknownMemberError(member_id, group.member_ids)


def inherit(group: ConsumerGroup, former: ConsumerGroup) -> ConsumerGroup:
    """Return `group` with its members owning what they own in the former group, and with the former group's generation."""
    known = {consumer.member_id: consumer for consumer in former.consumers}
    consumers = (
        replace(c, owned=known[c.member_id].owned, generation=known[c.member_id].generation) if c.member_id in known else c
        for c in group.consumers
    )
    return replace(group, consumers=tuple(consumers), generation=former.generation)


# --- rebalance -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RebalanceRound:
    """One round of a rebalance: one generation.

    Attributes:
        sent: the assignment that the members are sent.
        revoked: member -> what it stops consuming: eagerly, all that it owned, before it gets its assignment;
            cooperatively, only what it loses. Members that give up nothing are missing.
        withheld: partition -> the member that gets it in a later round.
    """

    generation: int
    sent: Assignment
    revoked: Mapping[str, tuple[TopicPartition, ...]]
    withheld: Mapping[TopicPartition, str]


def rebalance(
    group: ConsumerGroup,
    strategy: AssignmentStrategy,
    rules: KafkaRules = KafkaRules.KAFKA_2_8,
    partition_racks: PartitionRacks | None = None,
) -> tuple[ConsumerGroup, tuple[RebalanceRound, ...]]:
    """Rebalance the group: all members join, and join again for as long as a member has revoked partitions cooperatively.

    Returns: the group when it is stable, its members owning what they were sent last; and the rounds that it took.
    """
    if strategy is AssignmentStrategy.COOPERATIVE_STICKY:
        computed = cooperative_rounds(group.partition_counts, group.members, rules)
        rounds = [RebalanceRound(group.generation + n, r.sent, r.revoked, r.withheld) for n, r in enumerate(computed, 1)]
    else:
        sent = assign(strategy, group.partition_counts, group.members, rules, partition_racks)
        given_up = {member_id: owned for member_id, owned in group.owned.items() if owned}
        rounds = [RebalanceRound(group.generation + 1, sent, given_up, {})]
    last = rounds[-1]
    consumers = (replace(c, owned=last.sent[c.member_id], generation=last.generation) for c in group.consumers)
    return replace(group, consumers=tuple(consumers), generation=last.generation), tuple(rounds)


def cooperative_rounds(
    partition_counts: Mapping[str, int], members: Collection[GroupMember], rules: KafkaRules = KafkaRules.KAFKA_2_8
) -> list[CooperativeRound]:
    """Return the rounds up to the first that revokes nothing, which sends the final assignment. There is at least one.

    Raises: DuplicateMemberError.
    """
    generation = max(map(known_generation, members), default=0)
    rounds = [assign_cooperatively(partition_counts, members, rules)]
    while rounds[-1].revoked:
        generation += 1
        assert len(rounds) < ENOUGH_ROUNDS, f"no end after {len(rounds)} rounds: {rounds[-1]}"
        sent = rounds[-1].sent
        members = [replace(member, owned=sent[member.member_id], generation=generation) for member in members]
        rounds.append(assign_cooperatively(partition_counts, members, rules))
    return rounds
