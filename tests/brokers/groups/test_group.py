"""A group through changes and rebalances, and differences of assignments. Source: docs/kafka/consumer_groups.md 7, 11."""

import pytest
from hypothesis import given

from kcsim.brokers.groups.assignors.assignment_difference import AssignmentDifference, OwnerChange, assignment_difference
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy, assign
from kcsim.brokers.groups.assignors.errors import DuplicateMemberError, GroupError
from kcsim.brokers.groups.assignors.subscriptions import TopicList, TopicPattern
from kcsim.brokers.groups.errors import FewerPartitionsError, UnknownMemberError, UnknownTopicError
from kcsim.brokers.groups.group import (
    Change,
    ConsumerGroup,
    DeleteTopic,
    GroupConsumer,
    Join,
    Leave,
    SetPartitions,
    Subscribe,
    changed,
    rebalance,
)
from tests.brokers.groups.assignors.given import Group, any_owning_group, partitions, written

T = TopicList(("t",))
TWO = ConsumerGroup({"t": 4}, (GroupConsumer("C0", T), GroupConsumer("C1", T)))


@pytest.mark.parametrize("strategy", AssignmentStrategy)
def test_members_own_what_they_were_last_assigned_and_the_generation_rises_with_each_round(
    strategy: AssignmentStrategy,
) -> None:
    stable, rounds = rebalance(TWO, strategy)
    assert [round_.generation for round_ in rounds] == [1] == [stable.generation]
    assert stable.owned == dict(rounds[-1].sent)
    assert {consumer.generation for consumer in stable.consumers} == {1}


def test_eagerly_everybody_gives_up_everything_and_cooperatively_only_what_moves() -> None:
    for strategy, given_up, generations in (
        (AssignmentStrategy.STICKY, {"C0": "t-0 t-2", "C1": "t-1 t-3"}, [2]),
        (AssignmentStrategy.COOPERATIVE_STICKY, {"C0": "t-0"}, [2, 3]),
    ):
        stable, _ = rebalance(TWO, strategy)
        joined = changed(stable, Join(GroupConsumer("C2", T)))
        _, rounds = rebalance(joined, strategy)
        assert (written(rounds[0].revoked), [r.generation for r in rounds]) == (given_up, generations)


def test_a_pattern_sees_a_new_topic_and_a_list_does_not() -> None:
    group = ConsumerGroup({"t": 1}, (GroupConsumer("C0", T), GroupConsumer("C1", TopicPattern(".*"))))
    grown, _ = rebalance(changed(group, SetPartitions("u", 2)), AssignmentStrategy.RANGE)
    assert written(grown.owned) == {"C0": "t-0", "C1": "u-0 u-1"}
    shrunk, _ = rebalance(changed(grown, DeleteTopic("u")), AssignmentStrategy.RANGE)
    assert written(shrunk.owned) == {"C0": "t-0", "C1": ""}


def test_a_member_may_subscribe_to_something_else() -> None:
    group = ConsumerGroup({"t": 2, "u": 1}, TWO.consumers)
    other, _ = rebalance(changed(group, Subscribe("C1", TopicList(("u",)))), AssignmentStrategy.STICKY)
    assert written(other.owned) == {"C0": "t-0 t-1", "C1": "u-0"}


def test_the_last_member_may_leave() -> None:
    stable, rounds = rebalance(changed(changed(TWO, Leave("C0")), Leave("C1")), AssignmentStrategy.COOPERATIVE_STICKY)
    assert (stable.owned, len(rounds)) == ({}, 1)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (Leave("C7"), UnknownMemberError),
        (Subscribe("C7", T), UnknownMemberError),
        (Join(GroupConsumer("C1", T)), DuplicateMemberError),
        (DeleteTopic("u"), UnknownTopicError),
        (SetPartitions("t", 3), FewerPartitionsError),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(change: Change, error: type[GroupError]) -> None:
    with pytest.raises(error):
        changed(TWO, change)


# --- differences -----------------------------------------------------------------------------------------------------------


def test_a_difference_distinguishes_moved_from_merely_added_and_revoked() -> None:
    before = {"C0": partitions("t-0 t-1"), "C1": partitions("t-2 u-0")}
    after = {"C0": partitions("t-0"), "C2": partitions("t-1 t-2 v-0")}
    t_1, t_2 = partitions("t-1 t-2")
    assert assignment_difference(before, after) == AssignmentDifference(
        moved={t_1: OwnerChange("C0", "C2"), t_2: OwnerChange("C1", "C2")},
        revoked={"C0": (t_1,), "C1": partitions("t-2 u-0")},
        added={"C2": partitions("t-1 t-2 v-0")},
        kept=1,
    )


@given(any_owning_group)
def test_what_was_had_less_the_revoked_with_the_added_is_what_is_had(group: Group) -> None:
    topics, members = group
    before = {member.member_id: member.owned for member in members}
    after = assign(AssignmentStrategy.STICKY, topics, members)
    found = assignment_difference(before, after)
    for member_id, had in before.items():
        kept = set(had) - set(found.revoked.get(member_id, ()))
        assert kept | set(found.added.get(member_id, ())) == set(after[member_id])
    assert found.kept == sum(map(len, before.values())) - sum(map(len, found.revoked.values()))
    assert all(tp in found.added[move.target] and tp in found.revoked[move.source] for tp, move in found.moved.items())
