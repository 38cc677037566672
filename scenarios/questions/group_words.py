"""Consumer groups in words: members, topics and changes as they are written on a command line or in a file.

C1=t0,t1 instance=I1 rack=a owned=t0-0,t0-1 generation=3      a member; C1=/t.*/ subscribes by pattern
t0=3                                                          a topic and how many partitions it has
leave C1    join C3=t0    join C3    subscribe C1=t2    partitions t0=8    delete t0
"""

import re
from collections.abc import Collection, Iterable

from kcsim.brokers.groups.assignors import Strategy
from kcsim.brokers.groups.errors import GroupError, UnknownMemberError, UnknownTopicError
from kcsim.brokers.groups.group import (
    Change,
    Consumer,
    ConsumerGroup,
    DeleteTopic,
    Join,
    Leave,
    SetPartitions,
    Subscribe,
    changed,
)
from kcsim.brokers.groups.subscriptions import Subscription, TopicList, TopicPattern
from kcsim.scenarios.language.words import did_you_mean, listed
from kcsim.zk.vocabulary import TopicPartition

TOPIC = r"[A-Za-z0-9._-]+"
NUMBER = r"[0-9]{1,9}"
PATTERN = r"/(.*)/"
VERBS = ("leave", "join", "subscribe", "partitions", "delete")
MEMBER_FORM = "write a member as C1=t0,t1 or C1=/t.*/"
TOPIC_FORM = "write a topic as t0=3"
MOST_PARTITIONS = 10_000_000


class GroupWordsError(ValueError):
    """Words that make no sense. The message is one line, with the offending word and the nearest valid one."""


def parse_strategies(texts: Iterable[str]) -> list[Strategy]:
    """Read names of assignors, each text one or several with commas between; each once. Raises: GroupWordsError."""
    names = [name.strip() for text in texts for name in text.split(",")]
    known = [strategy.value for strategy in Strategy]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"; there are {listed(known)}"
            raise GroupWordsError(f"unknown strategy {name!r}{hint}")
    return [Strategy(name) for name in dict.fromkeys(names)]


def parse_topic(text: str) -> tuple[str, int]:
    """Read a topic and its number of partitions. Raises: GroupWordsError."""
    topic, equals, count = text.strip().partition("=")
    if not equals:
        raise GroupWordsError(f"{text!r} is no topic; {TOPIC_FORM}")
    return checked_topic(topic), partition_count(topic, count)


def checked_topic(topic: str) -> str:
    """Return it if Kafka would allow the name. Raises: GroupWordsError."""
    if not re.fullmatch(TOPIC, topic):
        raise GroupWordsError(f"{topic!r} is no name of a topic; it may have letters, digits, dots, _ and -")
    return topic


def partition_count(topic: str, count: object) -> int:
    """Return it as a number. Raises: GroupWordsError."""
    if isinstance(count, bool) or not re.fullmatch(NUMBER, str(count)) or not 0 < int(str(count)) <= MOST_PARTITIONS:
        raise GroupWordsError(f"{topic}: {count!r} is no number of partitions; {TOPIC_FORM}")
    return int(str(count))


def parse_partition(text: str) -> TopicPartition:
    """Read t0-3; what follows the last hyphen is the partition. Raises: GroupWordsError."""
    topic, hyphen, number = text.strip().rpartition("-")
    if not hyphen or not re.fullmatch(NUMBER, number):
        raise GroupWordsError(f"{text!r} is no partition; write it as t0-3")
    return TopicPartition(checked_topic(topic), int(number))


def parse_subscription(text: str) -> Subscription:
    """Read t0,t1 or /t.*/. Raises: GroupWordsError, BadPatternError."""
    pattern = re.fullmatch(PATTERN, text)
    if pattern:
        return TopicPattern(pattern[1])
    return topic_list(text.split(","))


def topic_list(topics: Iterable[str]) -> TopicList:
    """Make a subscription of these topics. Raises: GroupWordsError."""
    return TopicList(tuple(checked_topic(topic.strip()) for topic in topics))


def parse_member(text: str) -> Consumer:
    """Read a member with its subscription. Raises: GroupWordsError, BadPatternError."""
    first, *others = text.split() or [text]
    member_id, equals, subscription = first.partition("=")
    if not member_id or not equals or not subscription:
        raise GroupWordsError(f"{first!r} does not say who subscribes to what; {MEMBER_FORM}")
    return consumer(member_id, parse_subscription(subscription), _settings(others, text))


def consumer(member_id: str, subscription: Subscription, settings: dict[str, str]) -> Consumer:
    """Make a member of words. Raises: GroupWordsError."""
    known = ("instance", "rack", "owned", "generation")
    for key in settings:
        if key not in known:
            raise GroupWordsError(
                f"{member_id}: unknown word {key!r}{did_you_mean(key, known) or f'; there are {listed(known)}'}"
            )
    generation = settings.get("generation")
    if generation is not None and not re.fullmatch(f"-1|{NUMBER}", generation):
        raise GroupWordsError(f"{member_id}: {generation!r} is no generation; it is a number from 0, or -1 for none")
    owned = tuple(parse_partition(word) for word in settings["owned"].split(",")) if settings.get("owned") else ()
    number = None if generation is None else int(generation)
    return Consumer(member_id, subscription, settings.get("instance"), settings.get("rack"), owned, number)


def _settings(words: Iterable[str], text: str) -> dict[str, str]:
    settings = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise GroupWordsError(
                f"{word!r} in {text!r} says nothing; write instance=I1, rack=a, owned=t0-0,t0-1, generation=3"
            )
        if key in settings:
            raise GroupWordsError(f"{key!r} is there twice in {text!r}")
        settings[key] = value
    return settings


# --- changes ---------------------------------------------------------------------------------------------------------------


def parse_change(text: str, group: ConsumerGroup) -> Change:
    """Read a change to this group. Raises: GroupWordsError, BadPatternError."""
    verb, _, rest = " ".join(text.split()).partition(" ")
    if verb not in VERBS:
        raise GroupWordsError(f"unknown change {text!r}{did_you_mean(verb, VERBS) or f'; there are {listed(VERBS)}'}")
    if not rest:
        raise GroupWordsError(f"{text!r} does not say {'which topic' if verb in ('partitions', 'delete') else 'who'}")
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
        why = "there is nobody to take the subscription from" if not subscriptions else "the others' subscriptions differ"
        raise GroupWordsError(f"{member_id}: {why}; write join {member_id}=t0,t1")
    return subscriptions.pop()


def apply_change(group: ConsumerGroup, text: str) -> ConsumerGroup:
    """Return the group after a change in words. Raises: GroupWordsError, for whatever is wrong."""
    try:
        return changed(group, parse_change(text, group))
    except GroupError as error:
        raise GroupWordsError(f"{text}: {explained(error)}") from None


def explained(error: GroupError) -> str:
    """What is wrong, with the nearest valid word."""
    match error:
        case UnknownMemberError(member_id=word, known=known) | UnknownTopicError(topic=word, known=known):
            return f"{error}{did_you_mean(word, known) or (f'; there are {listed(known)}' if known else '; there are none')}"
        case _:
            return str(error)


def topics_not_there(group: ConsumerGroup) -> list[str]:
    """For each member that subscribes by name to topics that do not exist, a line that says so."""
    return [
        _not_there(member.member_id, missing, group.partition_counts)
        for member in group.consumers
        if isinstance(member.subscription, TopicList)
        and (missing := [t for t in member.subscription.topics if t not in group.partition_counts])
    ]


def _not_there(member_id: str, missing: Collection[str], known: Iterable[str]) -> str:
    hint = did_you_mean(next(iter(missing)), known) if len(missing) == 1 else ""
    return f"{member_id} subscribes to {listed(missing)}, which is not there: ignored until it is{hint}"
