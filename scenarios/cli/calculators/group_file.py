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

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

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
from kcsim.text import comma_separated, did_you_mean
from kcsim.vocabulary import TopicPartition

SECTIONS = ("topics", "members", "partition-racks", "then")
MEMBER_KEYS = ("topics", "instance", "rack", "owned", "generation")

T = TypeVar("T")


class GroupFileError(Exception):
    """A file that cannot be used. The message has one line for each problem: FILE:LINE: what."""


class GroupSetup(NamedTuple):
    """The contents of a group file. `changes` are unparsed texts with their places in the file, to be applied in order."""

    topics: dict[str, int]
    consumers: list[GroupConsumer]
    partition_racks: dict[TopicPartition, list[str]]
    changes: list[tuple[str, str]]


def load_group(path: Path) -> GroupSetup:
    """Read a group. Raises: GroupFileError with every problem of the file."""
    return _Loader(path).load()


class _Loader:
    """Loads one file and collects the problems found on the way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._problems: list[tuple[int, str]] = []

    def load(self) -> GroupSetup:
        tree = self._read()
        if not isinstance(tree, dict):
            raise GroupFileError(f"{self._path}:1: this is no group; it begins with topics: and members:")
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
            lines = (f"{self._place(line)}{message}" for line, message in sorted(self._problems))
            raise GroupFileError("\n".join(lines))
        return setup

    def _read(self) -> Any:
        try:
            return YAML(typ="rt").load(self._path.read_text(encoding="utf-8"))
        except OSError as error:
            raise GroupFileError(f"{self._path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise GroupFileError(f"{self._path}: not text in UTF-8 (byte {error.start})") from None
        except DuplicateKeyError as error:
            key = (error.problem or "").partition('"')[2].partition('"')[0]
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise GroupFileError(f"{self._path}:{line}: key {key!r} is there twice") from None
        except MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            message = " ".join(f"{error.context or ''} {error.problem or ''}".split())
            raise GroupFileError(f"{self._path}:{line}: not YAML: {message}") from None
        except YAMLError as error:
            raise GroupFileError(f"{self._path}: not YAML: {' '.join(str(error).split())}") from None

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
                yield self._place(_line(changes, place)), change
            else:
                self._add(changes, place, f"then: {change!r} is no change; write leave C1")

    def _add(self, tree: Any, key: Any, message: str) -> None:
        """Record a problem with a key of a mapping or an index of a list."""
        self._problems.append((_line(tree, key), message))

    def _place(self, line: int) -> str:
        return f"{self._path}:{line}: " if line else f"{self._path}: "


def _line(tree: Any, key: Any) -> int:
    """Return the line of a key, from 1; 0 if it is not known, as for a key that comes from a YAML merge (<<)."""
    if not isinstance(tree, CommentedBase):
        return 0
    try:
        return 1 + int((tree.lc.item(key) if isinstance(tree, list) else tree.lc.key(key))[0])
    except KeyError:
        return 0


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
