"""A group's states, votes and records. Source: docs/kafka/consumer_groups.md 10."""

from itertools import product

import pytest

from kcsim.brokers.groups.group_metadata import (
    ENTERED_FROM,
    GroupMetadata,
    GroupState,
    IllegalGroupStateError,
    MemberMetadata,
    OffsetRecord,
    StoredRecord,
    restored,
)
from kcsim.brokers.groups.offsets_topic import partition_for
from kcsim.brokers.groups.requests import Subscription
from kcsim.jvm_hash_order import string_hash
from kcsim.vocabulary import TopicPartition

ORDERS_0 = TopicPartition("orders", 0)


def member(member_id: str, *protocols: str, instance_id: str | None = None) -> MemberMetadata:
    subscriptions = tuple((name, Subscription(("orders",))) for name in protocols or ("range",))
    return MemberMetadata(member_id, instance_id, 10_000, 60_000, subscriptions)


def group_of(*members: MemberMetadata) -> GroupMetadata:
    group = GroupMetadata("billing")
    for one in members:
        group.add(one)
    return group


@pytest.mark.parametrize(("state", "wanted"), [*product(GroupState, GroupState)])
def test_every_pair_of_states_is_in_the_table_or_refused(state: GroupState, wanted: GroupState) -> None:
    group = GroupMetadata("billing", state)
    if state in ENTERED_FROM[wanted]:
        group.transition_to(wanted)
        assert group.state is wanted
    else:
        with pytest.raises(IllegalGroupStateError, match=f"from {state.value} to {wanted.value}"):
            group.transition_to(wanted)


def test_the_first_member_leads_and_the_next_one_when_it_leaves() -> None:
    group = group_of(member("b"), member("a"))
    assert group.leader == "b"
    group.remove("b")
    assert group.leader == "a"


def test_a_static_member_that_is_back_has_its_place_under_another_id() -> None:
    group = group_of(member("a"), member("s-1", "sticky", instance_id="s"), member("b", "round-robin"))
    successor = group.replace_static("s", "s-2")
    assert successor == member("s-2", "sticky", instance_id="s")
    assert list(group.members.values()) == [member("a"), successor, member("b", "round-robin")]
    assert list(group.members) == ["a", "s-2", "b"]
    assert (group.static_members, group.leader) == ({"s": "s-2"}, "a")


def test_a_static_member_that_is_back_leads_if_it_led() -> None:
    group = group_of(member("s-1", instance_id="s"), member("b"))
    group.replace_static("s", "s-2")
    assert group.leader == "s-2"


def test_a_leader_that_did_not_rejoin_is_replaced_by_one_that_did() -> None:
    group = group_of(member("a"), member("b"), member("c"))
    group.choose_leader(["b", "c"])
    assert group.leader == "b"
    group.choose_leader(["c", "b"])
    assert group.leader == "b"


@pytest.mark.parametrize(
    ("likes", "chosen"),
    [
        ([("range", "sticky"), ("sticky", "range"), ("sticky", "range")], "sticky"),
        ([("range", "sticky"), ("sticky", "range")], "range"),  # a tie: the first in string order
        ([("roundrobin", "range"), ("roundrobin", "range"), ("range",)], "range"),  # all must support it
    ],
)
def test_votes_choose_the_assignor(likes: list[tuple[str, ...]], chosen: str) -> None:
    group = group_of(*(member(f"c{n}", *names) for n, names in enumerate(likes)))
    assert group.selected_protocol() == chosen


def test_the_last_word_on_each_group_and_offset_counts() -> None:
    group = group_of(member("a"), member("i-1", instance_id="i"))
    group.transition_to(GroupState.PREPARING_REBALANCE)
    group.next_generation()
    first = group.snapshot({"a": (ORDERS_0,)})
    group.remove("a")
    offsets = [OffsetRecord("billing", ORDERS_0, offset) for offset in (3, 9)]
    records: list[StoredRecord] = [first, offsets[0], group.snapshot(), offsets[1]]
    found = restored(records)["billing"]
    assert (found.state, found.generation, list(found.members), found.static_members) == (
        GroupState.STABLE,
        1,
        ["i-1"],
        {"i": "i-1"},
    )
    assert found.offsets == {ORDERS_0: 9}


def test_what_is_kept_of_a_group_does_not_change_with_it() -> None:
    group = group_of(member("a"))
    kept = group.snapshot({"a": (ORDERS_0,)})
    group.take_assignment({})
    assert kept.members[0].assignment == (ORDERS_0,)
    restored([kept])["billing"].take_assignment({})
    assert kept.members[0].assignment == (ORDERS_0,)


@pytest.mark.parametrize(("group_id", "partition"), [("", 0), ("a", 47), ("billing", 9), ("polygenelubricants", 0)])
def test_a_group_belongs_to_the_partition_that_javas_hash_of_its_id_names(group_id: str, partition: int) -> None:
    """The hash of the last one is the smallest integer, for whose absolute value Kafka uses 0."""
    assert partition_for(group_id, 50) == partition


def test_a_negative_hash_counts_without_its_sign() -> None:
    hashed = string_hash("consumers")
    signed = hashed - (1 << 32) if hashed >= 1 << 31 else hashed
    assert signed < 0
    assert partition_for("consumers", 50) == -signed % 50
