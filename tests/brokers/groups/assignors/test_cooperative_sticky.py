"""Cooperative sticky. Source: docs/kafka/consumer_groups.md 7; Kafka 2.8, CooperativeStickyAssignor; KIP-429."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.groups.assignors.cooperative_sticky import assign_cooperatively
from kcsim.brokers.groups.assignors.members import GroupMember
from kcsim.brokers.groups.assignors.ownership_claims import KafkaRules
from kcsim.brokers.groups.assignors.sticky_assignor import assign_sticky
from kcsim.brokers.groups.group import cooperative_rounds
from kcsim.vocabulary import TopicPartition
from tests.brokers.groups.assignors.given import Group, any_owning_group, check_valid, groups, partitions, written
from tests.examples import fewer

rules_of_both = st.sampled_from(KafkaRules)
KAFKA_ALLOWS = 5
"""Number of rounds that Kafka's own tests allow."""


def test_a_joining_member_waits_a_round_for_what_the_other_gives_up() -> None:
    members = [GroupMember("C0", ["t"], owned=partitions("t-0 t-1 t-2"), generation=1), GroupMember("C1", ["t"])]
    first, second = cooperative_rounds({"t": 3}, members)
    t_2 = TopicPartition("t", 2)
    assert written(first.target) == {"C0": "t-0 t-1", "C1": "t-2"}
    assert (written(first.sent), first.withheld, first.revoked) == ({"C0": "t-0 t-1", "C1": ""}, {t_2: "C1"}, {"C0": (t_2,)})
    assert (written(second.sent), second.withheld, second.revoked) == (written(first.target), {}, {})


def test_a_crash_needs_one_round() -> None:
    """The partitions of a member that is gone have no owner, so no member has to revoke them."""
    rounds = cooperative_rounds({"t": 4}, [GroupMember("C0", ["t"], owned=partitions("t-0 t-1"), generation=3)])
    assert [written(r.sent) for r in rounds] == [{"C0": "t-0 t-1 t-2 t-3"}]


def test_2_8_does_not_look_at_generations() -> None:
    """Its subscriptions carry none: an old claim counts like any other, and a partition claimed twice has no owner."""
    members = [
        GroupMember("C0", ["t"], owned=partitions("t-0 t-1"), generation=2),
        GroupMember("C1", ["t"], owned=partitions("t-0"), generation=1),
    ]
    by_2_8 = assign_cooperatively({"t": 2}, members)
    by_3 = assign_cooperatively({"t": 2}, members, KafkaRules.KAFKA_3)
    assert (written(by_2_8.sent), by_2_8.withheld) == ({"C0": "t-1", "C1": ""}, {TopicPartition("t", 0): "C1"})
    assert written(by_3.target) == {"C0": "t-0", "C1": "t-1"}


@fewer(4)
@given(any_owning_group, rules_of_both)
def test_no_partition_is_sent_to_a_member_while_another_one_still_owns_it(group: Group, rules: KafkaRules) -> None:
    topics, members = group
    for assigned in cooperative_rounds(topics, members, rules):
        owner = {tp: member.member_id for member in members for tp in member.owned}
        sent = {tp: member_id for member_id, tps in assigned.sent.items() for tp in tps}
        assert {tp: (owner[tp], m) for tp, m in sent.items() if owner.get(tp, m) != m} == {}
        members = [replace(member, owned=assigned.sent[member.member_id]) for member in members]


@fewer(4)
@given(groups(equal=True, owning=True, consistent=False), rules_of_both)
def test_nor_when_several_claim_it(group: Group, rules: KafkaRules) -> None:
    """The member whose claim is honoured keeps the partition; any other member gets it only when no member owns it."""
    topics, members = group
    assigned = assign_cooperatively(topics, members, rules)
    for member in members:
        new = set(assigned.sent[member.member_id]) - set(member.owned)
        assert new.isdisjoint(tp for other in members for tp in other.owned)


@fewer(4)
@given(any_owning_group, rules_of_both)
def test_what_is_withheld_is_what_somebody_else_has_to_revoke(group: Group, rules: KafkaRules) -> None:
    topics, members = group
    assigned = assign_cooperatively(topics, members, rules)
    assert assigned.target == assign_sticky(topics, [replace(m, generation=1) for m in members], rules)
    assert set(assigned.withheld) <= {tp for tps in assigned.revoked.values() for tp in tps}
    assert all(tp in assigned.target[member_id] for tp, member_id in assigned.withheld.items())
    assert {m: tuple(tp for tp in tps if tp not in assigned.withheld) for m, tps in assigned.target.items()} == assigned.sent


@fewer(4)
@given(any_owning_group, rules_of_both)
def test_the_rounds_end_soon_and_with_everything_assigned(group: Group, rules: KafkaRules) -> None:
    topics, members = group
    rounds = cooperative_rounds(topics, members, rules)
    assert len(rounds) <= KAFKA_ALLOWS
    assert rounds[-1].withheld == {}
    check_valid(rounds[-1].sent, topics, members)
