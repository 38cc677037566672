"""Parses consumer groups: members, topics and changes as they are written on a command line or in a file.

C1=t0,t1 instance=I1 rack=a owned=t0-0,t0-1 generation=3      a member; C1=/t.*/ subscribes by pattern
t0=3                                                          a topic and how many partitions it has
leave C1    join C3=t0    join C3    subscribe C1=t2    partitions t0=8    delete t0
"""

import re
from collections.abc import Collection, Iterable

from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.groups.assignors.errors import GroupError
from kcsim.brokers.groups.assignors.subscriptions import Subscription, TopicList, TopicPattern
from kcsim.brokers.groups.errors import UnknownMemberError, UnknownTopicError
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
)
from kcsim.text import comma_separated, did_you_mean
from kcsim.vocabulary import TopicPartition

TOPIC = r"[A-Za-z0-9._-]+"
NUMBER = r"[0-9]{1,9}"
PATTERN = r"/(.*)/"
VERBS = ("leave", "join", "subscribe", "partitions", "delete")
MEMBER_FORM = "write a member as C1=t0,t1 or C1=/t.*/"
TOPIC_FORM = "write a topic as t0=3"
MOST_PARTITIONS = 10_000_000


class GroupParseError(ValueError):
    """A text that cannot be parsed. The message is one line, with the offending word and the nearest valid one."""


def parse_strategies(texts: Iterable[str]) -> list[AssignmentStrategy]:
    """Read the names of assignors, separated by commas within a text; repeated names count once. Raises: GroupParseError."""
    names = [name.strip() for text in texts for name in text.split(",")]
    known = [strategy.value for strategy in AssignmentStrategy]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"; there are {comma_separated(known)}"
            raise GroupParseError(f"unknown strategy {name!r}{hint}")
    return [AssignmentStrategy(name) for name in dict.fromkeys(names)]


def parse_topic(text: str) -> tuple[str, int]:
    """Read a topic and its number of partitions. Raises: GroupParseError."""
    topic, equals, count = text.strip().partition("=")
    if not equals:
        raise GroupParseError(f"{text!r} is no topic; {TOPIC_FORM}")
    return checked_topic(topic), partition_count(topic, count)


def checked_topic(topic: str) -> str:
    """Return the topic's name if Kafka allows it. Raises: GroupParseError."""
    if not re.fullmatch(TOPIC, topic):
        raise GroupParseError(f"{topic!r} is no name of a topic; it may have letters, digits, dots, _ and -")
    return topic


def partition_count(topic: str, count: object) -> int:
    """Return a number of partitions as an integer. Raises: GroupParseError."""
    if isinstance(count, bool) or not re.fullmatch(NUMBER, str(count)) or not 0 < int(str(count)) <= MOST_PARTITIONS:
        raise GroupParseError(f"{topic}: {count!r} is no number of partitions; {TOPIC_FORM}")
    return int(str(count))


def parse_partition(text: str) -> TopicPartition:
    """Read a partition such as t0-3; the number after the last hyphen is the partition. Raises: GroupParseError."""
    topic, hyphen, number = text.strip().rpartition("-")
    if not hyphen or not re.fullmatch(NUMBER, number):
        raise GroupParseError(f"{text!r} is no partition; write it as t0-3")
    return TopicPartition(checked_topic(topic), int(number))


def parse_subscription(text: str) -> Subscription:
    """Read a subscription such as t0,t1 or /t.*/. Raises: GroupParseError, BadPatternError."""
    pattern = re.fullmatch(PATTERN, text)
    if pattern:
        return TopicPattern(pattern[1])
    return topic_list(text.split(","))


def topic_list(topics: Iterable[str]) -> TopicList:
    """Return the subscription to these topics. Raises: GroupParseError."""
    return TopicList(tuple(checked_topic(topic.strip()) for topic in topics))


def parse_member(text: str) -> GroupConsumer:
    """Read a member with its subscription. Raises: GroupParseError, BadPatternError."""
    first, *others = text.split() or [text]
    member_id, equals, subscription = first.partition("=")
    if not member_id or not equals or not subscription:
        raise GroupParseError(f"{first!r} does not name a member and its topics; {MEMBER_FORM}")
    return consumer(member_id, parse_subscription(subscription), _settings(others, text))


def consumer(member_id: str, subscription: Subscription, settings: dict[str, str]) -> GroupConsumer:
    """Return a member with these settings, which are still text. Raises: GroupParseError."""
    known = ("instance", "rack", "owned", "generation")
    for key in settings:
        if key not in known:
            raise GroupParseError(
                f"{member_id}: unknown word {key!r}{did_you_mean(key, known) or f'; there are {comma_separated(known)}'}"
            )
    generation = settings.get("generation")
    if generation is not None and not re.fullmatch(f"-1|{NUMBER}", generation):
        raise GroupParseError(f"{member_id}: {generation!r} is no generation; it is a number from 0, or -1 for none")
    owned = tuple(parse_partition(word) for word in settings["owned"].split(",")) if settings.get("owned") else ()
    number = None if generation is None else int(generation)
    return GroupConsumer(member_id, subscription, settings.get("instance"), settings.get("rack"), owned, number)


def _settings(words: Iterable[str], text: str) -> dict[str, str]:
    settings = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise GroupParseError(
                f"{word!r} in {text!r} is not understood; write instance=I1, rack=a, owned=t0-0,t0-1, generation=3"
            )
        if key in settings:
            raise GroupParseError(f"{key!r} is there twice in {text!r}")
        settings[key] = value
    return settings


# --- changes ---------------------------------------------------------------------------------------------------------------


def parse_change(text: str, group: ConsumerGroup) -> Change:
    """Read a change to this group. Raises: GroupParseError, BadPatternError."""
    verb, _, rest = " ".join(text.split()).partition(" ")
    if verb not in VERBS:
        raise GroupParseError(
            f"unknown change {text!r}{did_you_mean(verb, VERBS) or f'; there are {comma_separated(VERBS)}'}"
        )
    if not rest:
        raise GroupParseError(f"{text!r} does not name {'a topic' if verb in ('partitions', 'delete') else 'a member'}")
    match verb:
        case "leave":
            return Leave(rest)
        case "join" if "=" in rest.partition(" ")[0]:
            return Join(parse_member(rest))
        case "join":
            first, *others = rest.split()
            return Join(consumer(first, _subscription_of_all(first, group), _settings(others, rest)))
        case "subscribe":
            member = parse_member(rest)
            return Subscribe(member.member_id, member.subscription)
        case "partitions":
            return SetPartitions(*parse_topic(rest))
        case _:
            return DeleteTopic(rest)


def _subscription_of_all(member_id: str, group: ConsumerGroup) -> Subscription:
    subscriptions = {consumer.subscription for consumer in group.consumers}
    if len(subscriptions) != 1:
        why = "there is no member to take the subscription from" if not subscriptions else "the others' subscriptions differ"
        raise GroupParseError(f"{member_id}: {why}; write join {member_id}=t0,t1")
    return subscriptions.pop()


def apply_change(group: ConsumerGroup, text: str) -> ConsumerGroup:
    """Return the group after a change given as text. Raises: GroupParseError, for every kind of error in it."""
    try:
        return changed(group, parse_change(text, group))
    except GroupError as error:
        raise GroupParseError(f"{text}: {error_text(error)}") from None


def error_text(error: GroupError) -> str:
    """Return an error's message with the nearest valid word."""
    match error:
        case UnknownMemberError(member_id=word, known=known) | UnknownTopicError(topic=word, known=known):
            there = f"there are {comma_separated(known)}" if known else "there are none"
            return f"{error}{did_you_mean(word, known) or f'; {there}'}"
        case _:
            return str(error)


def topics_not_there(group: ConsumerGroup) -> list[str]:
    """Return a line for each member that subscribes by name to topics that do not exist."""
    return [
        _not_there(member.member_id, missing, group.partition_counts)
        for member in group.consumers
        if isinstance(member.subscription, TopicList)
        and (missing := [t for t in member.subscription.topics if t not in group.partition_counts])
    ]


def _not_there(member_id: str, missing: Collection[str], known: Iterable[str]) -> str:
    hint = did_you_mean(next(iter(missing)), known) if len(missing) == 1 else ""
    return f"{member_id} subscribes to {comma_separated(missing)}, which is not there: ignored until it is{hint}"
