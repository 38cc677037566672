"""The order in which Java's HashMap and HashSet hand out their keys, where Kafka's result depends on it.

Kafka's documentation calls those results unspecified; but the hash of a string is part of Java's specification and the
layout of its hash tables has been the same since Java 8, so what a real Kafka answers is known. Left out: buckets of eight
keys and more, which Java turns into trees.

Source: java.util.HashMap.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from kcsim.controller.decisions.java_hash import string_hash

SMALLEST_TABLE = 16
FULL = 0.75

Key = TypeVar("Key", bound=Hashable)


def in_hash_order(texts: Iterable[str]) -> list[str]:
    """Return the keys of a HashMap into which these were put, one after the other, in the order of its iteration."""
    keys = HashedKeys[str]()
    for text in texts:
        keys.add(text, string_hash(text))
    return keys.in_order()


class HashedKeys(Generic[Key]):
    """The keys of a HashMap. A table that has grown does not shrink, so what was removed leaves its mark on the order."""

    def __init__(self) -> None:
        self._spread: dict[Key, int] = {}
        self._table = SMALLEST_TABLE

    def __bool__(self) -> bool:
        return bool(self._spread)

    def add(self, key: Key, hash_code: int) -> None:
        self._spread[key] = hash_code ^ hash_code >> 16
        while len(self._spread) > FULL * self._table:
            self._table *= 2

    def remove(self, key: Key) -> None:
        """Raises: KeyError."""
        del self._spread[key]

    def first(self) -> Key:
        """Return the one that iteration begins with. Raises: ValueError when there is none."""
        return min(self._spread, key=self._bucket)

    def in_order(self) -> list[Key]:
        # Keys of one bucket are in the order in which they were put in, as they are in this dict.
        return sorted(self._spread, key=self._bucket)

    def _bucket(self, key: Key) -> int:
        return self._spread[key] & self._table - 1
