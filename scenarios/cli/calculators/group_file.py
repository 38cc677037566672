"""Reads a consumer group from a YAML file, and reports every problem in the file with its line.

topics: {t0: 3, t1: 2}
members:
  C0: [t0, t1]
  C1: /t.*/                              # a pattern
  C2: {topics: [t0], instance: I1, rack: a, owned: [t0-0], generation: 3}
partition-racks: {t0-0: [a, b]}          # makes range rack-aware
then: [leave C1, join C3=t0, partitions t0=8]
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kcsim.brokers.groups.assignors.errors import GroupError
from kcsim.brokers.groups.assignors.subscriptions import Subscription
from kcsim.brokers.groups.group import GroupConsumer
from kcsim.scenarios.cli.calculators.group_parser import (
    GroupParseError,
    checked_topic,
    consumer,
    error_text,
    parse_partition,
    parse_subscription,
    partition_count,
    topic_list,
)
from kcsim.scenarios.language.yaml_error_messages import quote_yaml_error
from kcsim.scenarios.language.yaml_reader import FileError, FileProblem, known_line_of, read_text, read_yaml
from kcsim.text import comma_separated, did_you_mean
from kcsim.vocabulary import TopicPartition

SECTIONS = ("topics", "members", "partition-racks", "then")
MEMBER_KEYS = ("topics", "instance", "rack", "owned", "generation")

T = TypeVar("T")


class GroupFileError(FileError):
    """A group that cannot be used."""


class GroupSetup(NamedTuple):
    """The contents of a group file. `changes` are unparsed texts with their places in the file, to be applied in order."""

    topics: dict[str, int]
    consumers: list[GroupConsumer]
    partition_racks: dict[TopicPartition, list[str]]
    changes: list[tuple[str, str]]


def load_group(path: Path) -> GroupSetup:
    """Read a group. Raises: GroupFileError with every problem of the file."""
    text = read_text(path, GroupFileError)
    return _Loader(str(path)).load(read_yaml(text, str(path), GroupFileError, "group", quote_yaml_error))


class _Loader:
    """Loads the tree of one file and collects the problems found on the way."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._problems: list[FileProblem] = []

    def load(self, tree: Any) -> GroupSetup:
        if not isinstance(tree, dict):
            raise GroupFileError([FileProblem(self._file, 1, "this is no group; it begins with topics: and members:")])
        for key in tree:
            if key not in SECTIONS:
                hint = did_you_mean(key, SECTIONS) or f"; there are {comma_separated(SECTIONS)}"
                self._add(tree, key, f"unknown key {key!r}{hint}")
        setup = GroupSetup(
            dict(self._entries(tree, "topics", lambda topic, count: (checked_topic(topic), partition_count(topic, count)))),
            list(self._entries(tree, "members", _member)),
            dict(self._entries(tree, "partition-racks", lambda tp, racks: (parse_partition(tp), _words(racks, "racks")))),
            list(self._changes(tree)),
        )
        if self._problems:
            raise GroupFileError(sorted(self._problems, key=lambda problem: (problem.line or 0, problem.message)))
        return setup

    def _entries(self, tree: Mapping[str, Any], section: str, read: Callable[[str, Any], T]) -> Iterator[T]:
        entries = tree.get(section)
        if entries is None:
            return
        if not isinstance(entries, dict):
            self._add(tree, section, f"{section}: {entries!r} is no mapping of names")
            return
        for name, value in entries.items():
            try:
                yield read(str(name), value)
            except GroupParseError as error:
                self._add(entries, name, f"{error}")
            except GroupError as error:
                self._add(entries, name, f"{name}: {error_text(error)}")

    def _changes(self, tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        changes = tree.get("then")
        if changes is None:
            return
        if not isinstance(changes, list):
            self._add(tree, "then", f"then: {changes!r} is no list of changes")
            return
        for place, change in enumerate(changes):
            if isinstance(change, str):
                yield str(FileProblem(self._file, known_line_of(changes, place), "")), change
            else:
                self._add(changes, place, f"then: {change!r} is no change; write leave C1")

    def _add(self, tree: Any, key: Any, message: str) -> None:
        """Record a problem with a key of a mapping or an index of a list."""
        self._problems.append(FileProblem(self._file, known_line_of(tree, key), message))


def _member(name: str, value: Any) -> GroupConsumer:
    if not isinstance(value, dict):
        return consumer(name, _subscription(name, value), {})
    for key in value:
        if key not in MEMBER_KEYS:
            hint = did_you_mean(key, MEMBER_KEYS) or f"; there are {comma_separated(MEMBER_KEYS)}"
            raise GroupParseError(f"{name}: unknown key {key!r}{hint}")
    if "topics" not in value:
        raise GroupParseError(f"{name} has no subscription: topics: is missing")
    settings = {key: ",".join(_words(value[key], key)) for key in MEMBER_KEYS[1:] if value.get(key) is not None}
    return consumer(name, _subscription(name, value["topics"]), settings)


def _subscription(name: str, value: Any) -> Subscription:
    if isinstance(value, str):
        return parse_subscription(value)
    if isinstance(value, list) and value:
        return topic_list(_words(value, name))
    raise GroupParseError(f"{name}: {value!r} is no subscription; write [t0, t1] or /t.*/")


def _words(value: Any, what: str) -> list[str]:
    values = value if isinstance(value, list) else [value]
    for word in values:
        if not isinstance(word, str | int) or isinstance(word, bool):
            raise GroupParseError(f"{what}: {word!r} is no word")
    return [str(word) for word in values]
