"""The sticky assignor. Source: docs/kafka/consumer_groups.md 4 to 6; Kafka 2.8.2 and 3.x, AbstractStickyAssignor."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.errors import DuplicateMemberError
from kcsim.brokers.groups.assignors.members import GroupMember
from kcsim.brokers.groups.assignors.ownership_claims import KafkaRules
from kcsim.brokers.groups.assignors.sticky_assignor import StickyAlgorithm, assign_sticky
from tests.brokers.groups.assignors.given import (
    Group,
    any_group,
    any_owning_group,
    any_quarrelling_group,
    check_valid,
    groups,
    partitions,
    partitions_to_assign,
    written,
)
from tests.examples import fewer

rules_of_both = st.sampled_from(KafkaRules)


def owning(assignment: Assignment, members: Sequence[GroupMember]) -> list[GroupMember]:
    """Return the members as they join next time, with the partitions that they own."""
    return [replace(member, owned=assignment[member.member_id], generation=1) for member in members]


def kept(assignment: Assignment, members: Sequence[GroupMember]) -> int:
    return sum(len(set(member.owned).intersection(assignment[member.member_id])) for member in members)


# --- examples ------------------------------------------------------------------------------------------------------------


def test_of_a_member_that_leaves_only_its_own_partitions_move() -> None:
    """This is the crash of the documentation's first example, by quota and by the general algorithm of its text."""
    topics = {"t0": 2, "t1": 2, "t2": 2, "t3": 2}
    left = [
        GroupMember("C0", topics, owned=partitions("t0-0 t1-1 t3-0"), generation=1),
        GroupMember("C2", topics, owned=partitions("t1-0 t2-1"), generation=1),
    ]
    assert written(assign_sticky(topics, left)) == {"C0": "t0-0 t1-1 t3-0 t0-1", "C2": "t1-0 t2-1 t2-0 t3-1"}
    assert written(assign_sticky(topics, left, algorithm=StickyAlgorithm.GENERAL)) == {
        "C0": "t0-0 t1-1 t2-0 t3-0",
        "C2": "t0-1 t1-0 t2-1 t3-1",
    }


def test_2_8_lets_all_keep_the_most_and_takes_some_back_where_later_versions_let_only_as_many_as_may() -> None:
    members = [GroupMember(f"C{n}", ["t"], owned=partitions(f"t-{2 * n} t-{2 * n + 1}"), generation=1) for n in range(2)]
    members.append(GroupMember("C2", ["t"]))
    by_2_8 = assign_sticky({"t": 4}, members, visit_order=["C0", "C1", "C2"])
    by_3 = assign_sticky({"t": 4}, members, KafkaRules.KAFKA_3)
    assert written(by_2_8) == {"C0": "t-1", "C1": "t-2 t-3", "C2": "t-0"}
    assert written(by_3) == {"C0": "t-0 t-1", "C1": "t-2", "C2": "t-3"}


def test_2_8_forgets_every_claim_older_than_the_newest_generation() -> None:
    members = [
        GroupMember("C0", ["t"], owned=partitions("t-3"), generation=1),
        GroupMember("C1", ["t"], owned=partitions("t-0"), generation=2),
    ]
    assert written(assign_sticky({"t": 4}, members)) == {"C0": "t-1 t-3", "C1": "t-0 t-2"}
    stale_first = [replace(members[0], owned=partitions("t-2")), members[1]]
    assert written(assign_sticky({"t": 4}, stale_first)) == {"C0": "t-1 t-3", "C1": "t-0 t-2"}
    assert written(assign_sticky({"t": 4}, stale_first, KafkaRules.KAFKA_3)) == {"C0": "t-2 t-1", "C1": "t-0 t-3"}


def test_what_two_members_claim_in_one_generation_is_taken_from_both() -> None:
    members = [
        GroupMember("C0", ["t"], owned=partitions("t-0 t-1"), generation=1),
        GroupMember("C1", ["t"], owned=partitions("t-0 t-2"), generation=1),
        GroupMember("C2", ["t"]),
    ]
    for rules in KafkaRules:
        assert written(assign_sticky({"t": 3}, members, rules)) == {"C0": "t-1", "C1": "t-2", "C2": "t-0"}


def test_a_partition_goes_back_to_the_member_that_owned_it_in_an_older_generation() -> None:
    """This holds if that member has at least two partitions fewer; without the memory, C1 would come first."""
    members = [
        GroupMember("C0", ["t"], owned=partitions("t-0 t-1 t-2 t-3 t-4 t-5"), generation=2),
        GroupMember("C1", ["t"]),
        GroupMember("C2", ["t", "u"], owned=partitions("t-0"), generation=1),
    ]
    assert written(assign_sticky({"t": 6}, members)) == {"C0": "t-4 t-5", "C1": "t-1 t-2", "C2": "t-0 t-3"}
    forgotten = [*members[:2], replace(members[2], owned=())]
    assert written(assign_sticky({"t": 6}, forgotten)) == {"C0": "t-4 t-5", "C1": "t-0 t-2", "C2": "t-1 t-3"}


def test_a_partition_is_taken_from_a_member_that_no_longer_subscribes_to_its_topic() -> None:
    members = [
        GroupMember("C0", ["t"], owned=partitions("t-0 u-0"), generation=1),
        GroupMember("C1", ["t", "u"], owned=partitions("t-1"), generation=1),
    ]
    assert written(assign_sticky({"t": 2, "u": 1}, members)) == {"C0": "t-0", "C1": "t-1 u-0"}


def test_a_rebalance_ends_where_that_of_2_8_2_goes_round_in_circles() -> None:
    """Kafka's class does not return from this one: it moves other partitions than intended, in order to avoid swaps."""
    members = [
        GroupMember("m3", ["t1"], owned=partitions("t1-7 t1-12 t1-16 t1-0 t1-9 t1-11 t1-3"), generation=2),
        GroupMember("m4", ["t2", "t1"], owned=partitions("t1-9"), generation=1),
        *(GroupMember(member_id, ["t1"]) for member_id in ("m7", "m9", "m15", "m16")),
        GroupMember(
            "m10", ["t1"], owned=partitions("t1-22 t1-14 t1-13 t1-7 t1-21 t1-3 t1-17 t1-15 t1-0 t1-19"), generation=3
        ),
        GroupMember("m13", ["t2"]),
    ]
    assignment = assign_sticky({"t1": 25, "t2": 10}, members)
    check_valid(assignment, {"t1": 25, "t2": 10}, members)
    assert assignment.sizes == {"m10": 5, "m13": 5, "m15": 4, "m16": 4, "m3": 4, "m4": 5, "m7": 4, "m9": 4}


def test_claims_on_partitions_that_are_gone_are_dropped() -> None:
    member = GroupMember("C0", ["t"], owned=partitions("t-0 t-7 gone-0"), generation=1)
    assert written(assign_sticky({"t": 1}, [member])) == {"C0": "t-0"}


def test_a_group_without_members_has_an_empty_assignment() -> None:
    assert assign_sticky({"t": 3}, []) == {}


def test_two_members_with_one_id_are_refused() -> None:
    with pytest.raises(DuplicateMemberError, match="'C0' is there twice"):
        assign_sticky({"t": 1}, [GroupMember("C0", ["t"]), GroupMember("C0", ["t"])])


# --- properties: valid and balanced ----------------------------------------------------------------------------------------


@fewer(4)
@given(any_quarrelling_group, rules_of_both, st.sampled_from(StickyAlgorithm))
def test_whatever_members_claim_every_partition_goes_to_one_subscriber(
    group: Group, rules: KafkaRules, algorithm: StickyAlgorithm
) -> None:
    topics, members = group
    check_valid(assign_sticky(topics, members, rules, algorithm), topics, members)


@fewer(4)
@given(groups(equal=True, owning=True, consistent=False), rules_of_both)
def test_with_equal_subscriptions_sizes_differ_by_at_most_one(group: Group, rules: KafkaRules) -> None:
    sizes = assign_sticky(*group, rules).sizes.values()
    assert max(sizes) - min(sizes) <= 1


@fewer(4)
@given(any_quarrelling_group, rules_of_both)
def test_no_partition_could_move_to_a_member_with_two_fewer(group: Group, rules: KafkaRules) -> None:
    topics, members = group
    assignment = assign_sticky(topics, members, rules, StickyAlgorithm.GENERAL)
    smallest = {
        topic: min(assignment.sizes[m.member_id] for m in members if topic in m.topics) for topic in subscribed(group)
    }
    assert [tp for tps in assignment.values() for tp in tps if len(tps) - smallest[tp.topic] >= 2] == []


def subscribed(group: Group) -> set[str]:
    return {tp.topic for tp in partitions_to_assign(*group)}


# --- properties: sticky ----------------------------------------------------------------------------------------------------


@fewer(4)
@given(groups(equal=True, owning=True), rules_of_both)
def test_with_equal_subscriptions_as_many_partitions_stay_as_balance_allows(group: Group, rules: KafkaRules) -> None:
    """Every member may keep the minimum; only as many members may keep one more as end with one more."""
    topics, members = group
    least, extras = divmod(len(partitions_to_assign(topics, members)), len(members))
    with_more = sum(len(member.owned) > least for member in members)
    most_that_can_stay = sum(min(len(member.owned), least) for member in members) + min(extras, with_more)
    assert kept(assign_sticky(topics, members, rules), members) == most_that_can_stay


@fewer(4)
@given(any_group, rules_of_both, st.sampled_from(StickyAlgorithm))
def test_nothing_moves_when_nothing_has_changed(group: Group, rules: KafkaRules, algorithm: StickyAlgorithm) -> None:
    topics, members = group
    first = assign_sticky(topics, members, rules, algorithm)
    again = assign_sticky(topics, owning(first, members), rules, algorithm)
    assert {m: set(tps) for m, tps in again.items()} == {m: set(tps) for m, tps in first.items()}


@fewer(4)
@given(groups(equal=True), rules_of_both)
def test_with_equal_subscriptions_only_the_partitions_of_a_member_that_leaves_move(group: Group, rules: KafkaRules) -> None:
    topics, members = group
    stay = owning(assign_sticky(topics, members, rules), members)[1:]
    assert kept(assign_sticky(topics, stay, rules), stay) == sum(len(member.owned) for member in stay)


@fewer(4)
@given(any_owning_group, rules_of_both)
def test_two_members_never_swap_partitions_of_one_topic(group: Group, rules: KafkaRules) -> None:
    """A net effect of one partition from A to B and another from B to A could have been avoided."""
    topics, members = group
    assignment = assign_sticky(topics, members, rules, StickyAlgorithm.GENERAL)
    new_owner = {tp: member_id for member_id, tps in assignment.items() for tp in tps}
    moves = Counter(
        (tp.topic, member.member_id, new_owner[tp])
        for member in members
        for tp in member.owned
        if new_owner[tp] != member.member_id
    )
    assert [move for move in moves if (move[0], move[2], move[1]) in moves] == []


# --- properties: one answer ------------------------------------------------------------------------------------------------


@fewer(4)
@given(any_owning_group, rules_of_both)
def test_the_order_of_members_and_topics_does_not_matter(group: Group, rules: KafkaRules) -> None:
    topics, members = group
    backwards = [replace(member, topics=tuple(reversed(tuple(member.topics)))) for member in reversed(members)]
    assert assign_sticky(dict(reversed(topics.items())), backwards, rules) == assign_sticky(topics, members, rules)


ONCE = """
from kcsim.brokers.groups.assignors.members import GroupMember
from kcsim.brokers.groups.assignors.sticky_assignor import assign_sticky
from kcsim.vocabulary import TopicPartition
owned = [TopicPartition("t1", n) for n in range(20)]
members = [GroupMember(f"c{n}", {"t1", f"t{n}", "t7"}, owned=owned[n:15], generation=n % 3) for n in range(9)]
print(assign_sticky({f"t{n}": 20 for n in range(9)}, members))
"""


def test_the_hash_seed_does_not_matter() -> None:
    """No decision depends on the order of one of our sets; here even the subscriptions are sets."""
    answers = {
        subprocess.run(
            [sys.executable, "-c", ONCE], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1
    assert "Assignment({'c0': [" in answers.pop()
