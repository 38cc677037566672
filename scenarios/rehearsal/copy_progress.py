"""How far the copies of a reassignment are: bytes that new replicas still have to fetch, at the rates of a throttle.

The simulated brokers copy no bytes. A new replica is held back until its bytes would have arrived: its size, and what
producers write to the partition meanwhile. A broker receives, and sends, no more than the throttle for all copies together,
which share it evenly: no copy could be faster without a slower one becoming slower still (max-min fairness). What producers
write to copies that are complete takes its part of the throttle, as in Kafka: a broker counts the bytes of all throttled
partitions, in sync or not. Source: Kafka 2.8, ReplicationQuotaManager.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from kcsim.vocabulary import TopicPartition

User = TypeVar("User")
Link = TypeVar("Link")

LEAST_COPY_MS = 1_000
"""A copy takes this long at least, also of a partition of unknown size and without a throttle."""


class CopyKey(NamedTuple):
    """A copy: of a partition, to a broker."""

    partition: TopicPartition
    to: int


@dataclass
class ReplicaCopy:
    """A copy. Attributes: left: bytes to be fetched; bytes_in_per_s: what producers write; active_ms: time with a source."""

    left: float
    bytes_in_per_s: float
    active_ms: int = 0

    @property
    def is_done(self) -> bool:
        return self.left <= 0 and self.active_ms >= LEAST_COPY_MS


class CopyProgress:
    """The copies of one batch. Args: throttle: bytes per s that a broker receives, and sends; None: any number."""

    def __init__(self, throttle: int | None) -> None:
        self._throttle = throttle
        self._copies: dict[CopyKey, ReplicaCopy] = {}
        self._done: dict[CopyKey, float] = {}  # -> bytes per s that producers write

    def add(self, key: CopyKey, size_bytes: int, bytes_in_per_s: float) -> None:
        self._copies[key] = ReplicaCopy(size_bytes, bytes_in_per_s)

    @property
    def all(self) -> Sequence[CopyKey]:
        return [*self._copies, *self._done]

    @property
    def unfinished(self) -> Sequence[CopyKey]:
        return list(self._copies)

    def rates(self, sources: Mapping[CopyKey, int]) -> dict[CopyKey, float]:
        """Return by how many bytes per s each copy comes closer to its end, which can be negative.

        Args:
            sources: the broker that a copy fetches from; a copy that is not there makes no progress.
        """
        if self._throttle is None:
            return dict.fromkeys((key for key in self._copies if key in sources), math.inf)
        taken = Counter[tuple[str, int]]()
        for key, rate in self._done.items():
            if key in sources:
                for link in _links(key, sources):
                    taken[link] += rate  # type: ignore[assignment]  # a Counter also counts floats
        active = [key for key in self._copies if key in sources]
        shares = fair_shares({key: _links(key, sources) for key in active}, self._throttle, taken)
        return {key: share - self._copies[key].bytes_in_per_s for key, share in shares.items()}

    def next_end_ms(self, rates: Mapping[CopyKey, float]) -> int | None:
        """Return when the next copy ends at these rates; None: never."""
        ends = [end for key, rate in rates.items() if (end := self._end_ms(key, rate)) is not None]
        return min(ends, default=None)

    def _end_ms(self, key: CopyKey, rate: float) -> int | None:
        copy = self._copies[key]
        if copy.left > 0 and rate <= 0:
            return None
        return max(math.ceil(1_000 * copy.left / rate) if copy.left > 0 else 0, LEAST_COPY_MS - copy.active_ms, 0)

    def advance(self, rates: Mapping[CopyKey, float], by_ms: int) -> list[CopyKey]:
        """Let time pass at these rates. Returns: the copies that have ended."""
        for key, rate in rates.items():
            copy = self._copies[key]
            copy.left = 0.0 if rate == math.inf else max(0.0, copy.left - rate * by_ms / 1_000)
            copy.active_ms += by_ms
        ended = [key for key, copy in self._copies.items() if copy.is_done]
        for key in ended:
            self._done[key] = self._copies.pop(key).bytes_in_per_s
        return ended


def _links(key: CopyKey, sources: Mapping[CopyKey, int]) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("from", sources[key]), ("to", key.to)


def fair_shares(links_of: Mapping[User, Iterable[Link]], capacity: float, taken: Mapping[Link, float]) -> dict[User, float]:
    """Return the max-min fair share of each user of links, which have the same capacity, less what is taken of them."""
    users: dict[Link, dict[User, None]] = {}
    for user, links in links_of.items():
        for link in links:
            users.setdefault(link, {})[user] = None
    left = {link: max(0.0, capacity - taken.get(link, 0.0)) for link in users}
    shares: dict[User, float] = {}
    while users:
        tightest = min(users, key=lambda link: left[link] / len(users[link]))
        share = left[tightest] / len(users[tightest])
        for user in users.pop(tightest):
            shares[user] = share
            for link in links_of[user]:
                if link in users:
                    left[link] = max(0.0, left[link] - share)
                    users[link].pop(user, None)
                    if not users[link]:
                        del users[link]
    return shares
