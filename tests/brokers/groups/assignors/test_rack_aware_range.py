"""Rack-aware range. Source: docs/kafka/consumer_groups.md 8; KIP-881; Kafka 3.5, RangeAssignor."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.groups.assignors.members import GroupMember
from kcsim.brokers.groups.assignors.rack_aware_range import assign_range_by_rack, rack_mismatches
from kcsim.brokers.groups.assignors.range_assignor import assign_range
from kcsim.vocabulary import TopicPartition
from tests.brokers.groups.assignors.given import Group, any_group, check_valid, partitions_to_assign, written
from tests.examples import fewer

racks = st.sampled_from("abc")


def racks_of(**topics: str) -> dict[TopicPartition, list[str]]:
    """Return racks per partition: t="ab c" -> t-0 in racks a and b, t-1 in c."""
    return {TopicPartition(t, p): list(where) for t, text in topics.items() for p, where in enumerate(text.split())}


def test_members_get_partitions_with_a_replica_in_their_rack() -> None:
    members = [GroupMember("C0", ["t"], rack="a"), GroupMember("C1", ["t"], rack="b")]
    assignment = assign_range_by_rack({"t": 4}, members, racks_of(t="b b a a"))
    assert written(assignment) == {"C0": "t-2 t-3", "C1": "t-0 t-1"}


def test_balance_goes_before_racks() -> None:
    members = [GroupMember("C0", ["t"], rack="a"), GroupMember("C1", ["t"], rack="b")]
    by_rack = racks_of(t="b b b a")
    assignment = assign_range_by_rack({"t": 4}, members, by_rack)
    assert written(assignment) == {"C0": "t-2 t-3", "C1": "t-0 t-1"}
    assert rack_mismatches(assignment, members, by_rack) == 1


def test_co_partitioned_topics_stay_together() -> None:
    """One member gets partition p of both topics or of neither; where no rack has both, plain range decides."""
    members = [GroupMember("C0", ["t", "u"], rack="a"), GroupMember("C1", ["t", "u"], rack="b")]
    together = assign_range_by_rack({"t": 2, "u": 2}, members, racks_of(t="b a", u="b a"))
    assert written(together) == {"C0": "t-1 u-1", "C1": "t-0 u-0"}
    apart = assign_range_by_rack({"t": 2, "u": 2}, members, racks_of(t="b a", u="a b"))
    assert written(apart) == {"C0": "t-0 u-0", "C1": "t-1 u-1"}


def test_a_member_without_a_rack_takes_any() -> None:
    members = [GroupMember("C0", ["t"]), GroupMember("C1", ["t"], rack="b")]
    by_rack = racks_of(t="b a a b")
    assignment = assign_range_by_rack({"t": 4}, members, by_rack)
    assert written(assignment) == {"C0": "t-0 t-1", "C1": "t-2 t-3"}
    assert rack_mismatches(assignment, members, by_rack) == 1


def with_racks(group: Group, draw: st.DataObject) -> tuple[list[GroupMember], dict[TopicPartition, list[str]]]:
    topics, members = group
    placed = [GroupMember(m.member_id, m.topics, rack=draw.draw(st.none() | racks)) for m in members]
    replicas = st.lists(racks, max_size=3, unique=True)
    return placed, {tp: draw.draw(replicas) for tp in partitions_to_assign(topics, members)}


@fewer(4)
@given(any_group, st.data())
def test_every_topic_is_cut_as_evenly_as_by_plain_range(group: Group, draw: st.DataObject) -> None:
    topics, _ = group
    members, by_rack = with_racks(group, draw)
    assignment = assign_range_by_rack(topics, members, by_rack)
    check_valid(assignment, topics, members)
    plain = assign_range(topics, members)
    for topic in topics:
        sizes = [Counter(tp.topic for tp in tps)[topic] for tps in assignment.values()]
        plain_sizes = [Counter(tp.topic for tp in tps)[topic] for tps in plain.values()]
        assert sorted(sizes) == sorted(plain_sizes)


@fewer(4)
@given(any_group)
def test_without_racks_it_is_plain_range(group: Group) -> None:
    assert assign_range_by_rack(*group, {}) == assign_range(*group)
