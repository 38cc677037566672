"""The names that a scenario file defines: brokers, topics, clients, and names given with `as`."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcsim.scenarios.language.consumer_steps import CONSUMER_STEPS
from kcsim.scenarios.language.steps import VERBS, verb_of
from kcsim.scenarios.language.topic_steps import TOPIC_STEPS
from kcsim.scenarios.language.value_types import ALL, NOT, KnownNames
from kcsim.scenarios.language.workload_steps import WORKLOAD_STEPS
from kcsim.znodes import paths

MAX_BROKERS = 1_000
FREE_TEXT = (
    *("as", "data", "path", "claim", "detail", "kind", "topic", "topics"),
    *(step.verb() for step in (*TOPIC_STEPS, *WORKLOAD_STEPS, *CONSUMER_STEPS)),
)
"""Keys whose values are not names of brokers."""


def collect_known_names(tree: Mapping[str, Any], report: Callable[[Any, str, str], None] | None = None) -> KnownNames:
    """Return all names that the valid parts of a scenario define.

    Args:
        report: called with each problem that does not raise an error: the mapping that contains it, the key, a sentence.
    """
    timetable = tree.get("timetable")
    given = [(name, verbs) for step in _steps(timetable) for name, verbs in _names_given(step)]
    zookeeper = tree.get("zookeeper")
    members = zookeeper.get("members", 1) if isinstance(zookeeper, dict) else 1
    return KnownNames(
        brokers=tuple(_broker_names(tree.get("cluster"))),
        aliases=tuple(name for name, verbs in given if verbs != ["zookeeper"]) if isinstance(timetable, list) else None,
        members=tuple(f"member-{n}" for n in range(1, members + 1 if isinstance(members, int) else 1)),
        member_aliases=tuple(name for name, verbs in given if "zookeeper" in verbs),
        topics=_known_topics(tree),
        racks=tuple(_rack_names(tree.get("cluster"))),
        clients=tuple(_client_names(tree)),
        producers=_known_producers(tree),
        endless_producers=tuple(_endless_producers(tree)),
        consumers=_known_consumers(tree),
        groups=_known_groups(tree),
        znodes=tuple(_znodes(timetable)),
        report=report,
    )


def _znodes(timetable: Any) -> Iterator[str]:
    for step in _steps(timetable):
        for by_hand in (step.get(verb) for verb in ("zk-create", "zk-recreate", "zk-set")):
            if isinstance(by_hand, dict) and isinstance(by_hand.get("path"), str):
                yield by_hand["path"]


def _names_given(step: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name that a step gives, with the step's verbs; for an invalid step, all names and all verbs."""
    given = step.get("as")
    verbs = [verb for verb in VERBS if verb in step]
    yield from ((name, verbs) for name in (given if isinstance(given, list) else [given]) if isinstance(name, str))


def alias_problems(timetable: Any) -> Iterator[tuple[Mapping[str, Any], str, str]]:
    """Yield the problems of names given with `as`: one is given once, to one broker or server, and before it is used.

    Yields: the mapping that contains the problem, the key, a sentence.
    """
    steps = list(_steps(timetable))
    first = {step["as"]: n for n, step in reversed(list(enumerate(steps))) if isinstance(step.get("as"), str)}
    for number, step in enumerate(steps):
        for mapping, key, name in _names_in(step):
            if first.get(name, -1) >= number:
                yield mapping, key, f"{name!r} is used before a step has given this name"
        alias = step.get("as")
        if isinstance(alias, str) and first[alias] != number:
            yield step, "as", f"the name {alias!r} is given twice"
        if alias is not None and _is_several(step):
            yield step, "as", f"{alias!r} would name several; name one"


def _steps(timetable: Any) -> Iterator[Mapping[str, Any]]:
    yield from (step for step in timetable if isinstance(step, dict)) if isinstance(timetable, list) else ()


def _broker_names(cluster: Any) -> Iterator[str]:
    brokers = cluster.get("brokers") if isinstance(cluster, dict) else None
    if isinstance(brokers, list):
        yield from (f"broker-{item['id']}" for item in brokers if isinstance(item, dict) and isinstance(item.get("id"), int))
    elif isinstance(brokers, int):
        yield from (f"broker-{number}" for number in range(1, min(brokers, MAX_BROKERS) + 1))


def _rack_names(cluster: Any) -> Iterator[str]:
    brokers, racks = (cluster.get(key) if isinstance(cluster, dict) else None for key in ("brokers", "racks"))
    if isinstance(brokers, list):
        named = (item.get("rack") for item in brokers if isinstance(item, dict))
        yield from dict.fromkeys(rack for rack in named if isinstance(rack, str))
    elif isinstance(racks, int):
        yield from (f"rack-{number}" for number in range(1, min(racks, MAX_BROKERS) + 1))


def _client_names(tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield the network nodes of producers and consumers."""
    yield from (f"producer-{name}" for name in _known_producers(tree) or ())
    yield from (f"consumer-{name}" for name in _known_consumers(tree) or ())


def _known_topics(tree: Mapping[str, Any]) -> dict[str, range | None] | None:
    """Return the topics that the file declares or creates by hand, each with its partitions; None if they are invalid."""
    cluster = tree.get("cluster")
    declared = cluster.get("topics", {}) if isinstance(cluster, dict) else None
    if not isinstance(declared, dict):
        return None
    counts = {str(name): _partition_count(topic) for name, topic in declared.items()}
    for step in _steps(tree.get("timetable")):
        grown = step.get("add-partitions")
        for name, wanted in grown.items() if isinstance(grown, dict) else ():
            before, after = counts.get(name), _last_number(wanted) + 1 if isinstance(wanted, dict) else wanted
            counts[name] = max(before, after) if isinstance(before, int) and isinstance(after, int) else None
        for by_hand in (step.get("zk-create"), step.get("zk-set")):
            path = by_hand.get("path") if isinstance(by_hand, dict) else None
            known = paths.parse(path) if isinstance(path, str) else None
            if known is not None and known.kind is paths.PathKind.TOPIC and known.topic is not None:
                counts[known.topic] = None
    return {name: range(count) if isinstance(count, int) and count > 0 else None for name, count in counts.items()}


def _producers(tree: Mapping[str, Any]) -> Any:
    workload = tree.get("workload", {})
    return workload.get("producers", {}) if isinstance(workload, dict) else None


def _known_producers(tree: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return every producer; None if the producers are invalid."""
    producers = _producers(tree)
    return tuple(map(str, producers)) if isinstance(producers, dict) else None


def _groups(tree: Mapping[str, Any]) -> Any:
    workload = tree.get("workload", {})
    return workload.get("groups", {}) if isinstance(workload, dict) else None


def _known_groups(tree: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return every consumer group; None if the groups are invalid."""
    groups = _groups(tree)
    return tuple(map(str, groups)) if isinstance(groups, dict) else None


def _known_consumers(tree: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return every consumer of all groups; None if the groups are invalid."""
    groups = _groups(tree)
    if not isinstance(groups, dict):
        return None
    members = [group.get("members") if isinstance(group, dict) else None for group in groups.values()]
    if not all(isinstance(named, list | dict) for named in members):
        return None
    return tuple(str(name) for named in members for name in named or ())


def _endless_producers(tree: Mapping[str, Any]) -> Iterator[str]:
    producers = _producers(tree)
    for name, producer in producers.items() if isinstance(producers, dict) else ():
        if isinstance(producer, dict) and "records" not in producer:
            yield str(name)


def _partition_count(topic: Any) -> int | None:
    if not isinstance(topic, dict):
        return None
    assignment, partitions = topic.get("assignment"), topic.get("partitions")
    count = len(assignment) if isinstance(assignment, dict) else partitions
    return count if isinstance(count, int) else None


def _last_number(assignment: Mapping[Any, Any]) -> int:
    return max((number for number in assignment if isinstance(number, int)), default=-1)


def _names_in(node: Any, key: str = "") -> Iterator[tuple[Any, str, str]]:
    """Yield every text in a step that may be a name: (the mapping that contains it, its key, the name)."""
    for part, value in node.items() if isinstance(node, dict) else ():
        if part in FREE_TEXT:
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                yield node, part, item.removeprefix(NOT)
            else:
                yield from _names_in(item)


def _is_several(step: Mapping[str, Any]) -> bool:
    verb = verb_of(step)
    target = step.get(verb) if verb else None
    if isinstance(target, dict):
        target = next(iter(target.values()), None)
    return target == ALL or (isinstance(target, list) and len(target) > 1)
