"""Range and round robin. Source: docs/kafka/consumer_groups.md 1 to 3; Kafka 2.8, RangeAssignor, RoundRobinAssignor."""

from hypothesis import given

from kcsim.brokers.groups.assignors.members import GroupMember, in_member_order
from kcsim.brokers.groups.assignors.range_assignor import assign_range
from kcsim.brokers.groups.assignors.round_robin_assignor import assign_round_robin
from tests.brokers.groups.assignors.given import Group, any_group, check_valid, groups, partitions_to_assign, written
from tests.examples import fewer


def test_range_gives_the_first_members_one_more_of_every_topic() -> None:
    """The imbalance grows with the number of topics: 20 to 10 with ten topics of three partitions."""
    topics = {f"t{n}": 3 for n in range(10)}
    assert assign_range(topics, [GroupMember("C0", topics), GroupMember("C1", topics)]).sizes == {"C0": 20, "C1": 10}


def test_static_members_come_first_and_by_instance_id() -> None:
    """A static member that restarts under another member id therefore keeps its partitions."""
    members = [GroupMember("a", ["t"]), GroupMember("z", ["t"], "i1"), GroupMember("y", ["t"], "i2")]
    assert [member.member_id for member in in_member_order(members)] == ["z", "y", "a"]
    assert written(assign_range({"t": 3}, members)) == {"a": "t-2", "y": "t-1", "z": "t-0"}


def test_ids_are_compared_as_strings_and_partitions_as_numbers() -> None:
    members = [GroupMember("c2", ["t"]), GroupMember("c10", ["t"])]
    assert written(assign_round_robin({"t": 11}, members)) == {
        "c10": "t-0 t-2 t-4 t-6 t-8 t-10",
        "c2": "t-1 t-3 t-5 t-7 t-9",
    }


def test_a_topic_without_partitions_is_ignored_and_nobody_is_left_out() -> None:
    assert written(assign_range({"t": 0}, [GroupMember("c", ["t", "unknown"])])) == {"c": ""}
    assert written(assign_round_robin({}, [GroupMember("c", [])])) == {"c": ""}


@fewer(4)
@given(any_group)
def test_range_cuts_each_topic_into_consecutive_runs_the_first_ones_longer_by_one(group: Group) -> None:
    topics, members = group
    assignment = assign_range(topics, members)
    check_valid(assignment, topics, members)
    for topic in topics:
        subscribers = [member for member in in_member_order(members) if topic in member.topics]
        runs = [[tp.partition for tp in assignment[member.member_id] if tp.topic == topic] for member in subscribers]
        sizes = [len(run) for run in runs]
        assert [partition for run in runs for partition in run] == (list(range(topics[topic])) if subscribers else [])
        assert sizes == sorted(sizes, reverse=True)
        assert not sizes or sizes[0] - sizes[-1] <= 1


@fewer(4)
@given(any_group)
def test_round_robin_is_one_cursor_that_skips_who_does_not_subscribe(group: Group) -> None:
    """The reference is the rule as documented, applied to one partition at a time."""
    topics, members = group
    ring = in_member_order(members)
    dealt: dict[str, list[object]] = {member.member_id: [] for member in ring}
    cursor = 0
    for tp in partitions_to_assign(topics, members):
        while tp.topic not in ring[cursor % len(ring)].topics:
            cursor += 1
        dealt[ring[cursor % len(ring)].member_id].append(tp)
        cursor += 1
    assert {member_id: list(tps) for member_id, tps in assign_round_robin(topics, members).items()} == dealt


@fewer(4)
@given(groups(equal=True))
def test_round_robin_is_balanced_when_subscriptions_are_equal(group: Group) -> None:
    sizes = assign_round_robin(*group).sizes.values()
    assert max(sizes) - min(sizes) <= 1


@fewer(4)
@given(any_group)
def test_the_order_of_members_and_topics_does_not_matter(group: Group) -> None:
    topics, members = group
    shuffled = list(reversed(members))
    backwards = dict(reversed(topics.items()))
    assert assign_range(backwards, shuffled) == assign_range(topics, members)
    assert assign_round_robin(backwards, shuffled) == assign_round_robin(topics, members)
