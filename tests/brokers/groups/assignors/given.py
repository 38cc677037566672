"""Groups for property tests, and validity of an assignment."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from hypothesis import strategies as st

from kcsim.brokers.groups.assignors.members import GroupMember
from kcsim.vocabulary import TopicPartition

Topics = dict[str, int]
Group = tuple[Topics, list[GroupMember]]

ids = st.sampled_from([f"c{n}" for n in range(12)])
topic_counts = st.dictionaries(st.sampled_from([f"t{n}" for n in range(5)]), st.integers(1, 9), min_size=1)


@st.composite
def groups(draw: st.DrawFn, equal: bool, owning: bool = False, consistent: bool = True) -> Group:
    """Draw topics and members: `equal` subscriptions; `owning` partitions already; `consistent`: one owner per partition."""
    topics = draw(topic_counts)
    names = [*topics, "unknown"]
    subscriptions = st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)
    common = draw(subscriptions)
    taken: set[TopicPartition] = set()
    members = []
    for member_id in draw(st.lists(ids, min_size=1, unique=True)):
        subscribed = common if equal else draw(subscriptions)
        owned: tuple[TopicPartition, ...] = ()
        if owning:
            pool = [TopicPartition(t, p) for t in subscribed for p in range(topics.get(t, 0))]
            owned = tuple(draw(st.lists(st.sampled_from(pool), unique=True))) if pool else ()
            if consistent:
                owned = tuple(tp for tp in owned if tp not in taken)
                taken.update(owned)
        generation = 1 if consistent else draw(st.none() | st.integers(1, 3))
        members.append(GroupMember(member_id, subscribed, owned=owned, generation=generation))
    return topics, members


any_group = st.booleans().flatmap(lambda equal: groups(equal))
any_owning_group = st.booleans().flatmap(lambda equal: groups(equal, owning=True))
any_quarrelling_group = st.booleans().flatmap(lambda equal: groups(equal, owning=True, consistent=False))


def partitions_to_assign(topics: Mapping[str, int], members: Iterable[GroupMember]) -> list[TopicPartition]:
    """Return every partition of a topic that has a subscriber, in partition order."""
    subscribed = {topic for member in members for topic in member.topics}
    return [TopicPartition(t, p) for t in sorted(subscribed & topics.keys()) for p in range(topics[t])]


def check_valid(
    assignment: Mapping[str, Sequence[TopicPartition]], topics: Mapping[str, int], members: Collection[GroupMember]
) -> None:
    """Check that every member is in the assignment, and each partition with subscribers of its topic is with one of them."""
    assert list(assignment) == sorted(member.member_id for member in members)
    given = [tp for partitions in assignment.values() for tp in partitions]
    assert sorted(given) == partitions_to_assign(topics, members)
    topics_of = {member.member_id: member.topics for member in members}
    strays = [(member_id, tp) for member_id, tps in assignment.items() for tp in tps if tp.topic not in topics_of[member_id]]
    assert strays == []


def written(assignment: Mapping[str, Iterable[TopicPartition]]) -> dict[str, str]:
    """Return a readable form: member -> t0-0 t0-1."""
    return {member_id: " ".join(map(str, partitions)) for member_id, partitions in assignment.items()}


def partitions(text: str) -> tuple[TopicPartition, ...]:
    """Return the partitions in the readable form of one member: the inverse of `written`."""
    return tuple(TopicPartition(topic, int(number)) for topic, _, number in (word.rpartition("-") for word in text.split()))
