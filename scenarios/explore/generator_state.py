"""The cluster's state as the generator of a timetable assumes it, so that most generated steps can be executed.

It is an assumption only: an armed fault may never trigger, a request may be refused. A step that is generated from a wrong
assumption is skipped.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kcsim.controller.capabilities import Release

T = TypeVar("T")

CONTROLLER = "controller"
OFTEN_IN_A_ROLE = 0.4
"""The share of victims that are named by their role: the controller, or a partition's leader."""
SELDOM = 0.1
"""The probability of choosing a target although it is assumed that the action is impossible on it."""
LONG_MS = 1_000
"""Durations from here on are rounded to tenths of a second."""


@dataclass(frozen=True)
class Upgrades:
    """The releases and protocol versions that brokers can be restarted with.

    Attributes:
        releases: the oldest first; all know all of `versions`. Empty: releases and versions stay as they are.
        versions: values of inter.broker.protocol.version, the oldest first.
        version_of: the version that a broker is assumed to have; it is never lowered.
    """

    releases: Sequence[Release]
    versions: Sequence[str]
    version_of: dict[str, str] = field(default_factory=dict)


@dataclass
class GeneratorState:
    """What can be drawn from, and what was drawn so far.

    Attributes:
        rng: the only source of randomness.
        brokers: ids, from 1.
        racks: how many racks there are; 0: none.
        members: how many servers ZooKeeper has.
        topics: every declared topic, with the replicas of each of its partitions.
        created: the topics that are assumed to exist.
        producers, consumers: names of the workload's clients.
        upgrades: what the brokers' releases and protocol versions are drawn from.
        up, paused, gone: names of brokers, or names given to them with `as`.
    """

    rng: random.Random
    brokers: Sequence[int]
    racks: int
    members: int
    topics: dict[str, list[list[int]]]
    created: list[str] = field(default_factory=list)
    producers: Sequence[str] = ()
    consumers: Sequence[str] = ()
    up: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    disconnected: list[str] = field(default_factory=list)
    upgrades: Upgrades = field(default_factory=lambda: Upgrades([], []))
    servers_away: dict[str, str] = field(default_factory=dict)
    names_given: int = 0

    @property
    def names(self) -> list[str]:
        return [f"broker-{broker}" for broker in self.brokers]

    # --- chance

    def choose(self, of: Sequence[T]) -> T:
        return self.rng.choice(of)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def ms(self, least: int, most: int) -> str:
        """Return a random duration as in a file; short and long ones are equally likely (uniform on a log scale)."""
        drawn = round(least * (most / least) ** self.rng.random())
        if drawn >= LONG_MS:
            return f"{round(drawn / 1_000, 1):g}s"
        return f"{max(10, round(drawn, -1))}ms"

    # --- brokers

    def any_broker(self, of: Sequence[str] | None = None) -> str:
        """Return a broker's name, mostly of `of` or, by default, of the brokers that are assumed to run."""
        if self.chance(SELDOM) or not (chosen := self.up if of is None else of):
            return self.choose(self.names)
        return self.choose(chosen)

    def victim(self) -> tuple[str, str | None]:
        """Return the target of a fault, and an alias for it if the target is a role whose broker is not known yet."""
        if not self.chance(OFTEN_IN_A_ROLE):
            return self.any_broker(), None
        self.names_given += 1
        partitions = self.partitions()
        role = CONTROLLER if not partitions or self.chance(0.6) else f"leader-of {self.choose(partitions)}"
        return role, f"victim-{self.names_given}"

    def note(self, who: str, state: list[str] | None) -> None:
        """Assume from now on that a broker is in this list and in no other."""
        for others in (self.up, self.paused, self.gone):
            if who in others:
                others.remove(who)
        if state is not None:
            state.append(who)

    def other_than(self, name: str) -> str:
        return self.choose([other for other in self.names if other != name])

    # --- topics and partitions

    def partitions(self, topics: Sequence[str] | None = None) -> list[str]:
        """Return every partition of these topics, or of those that are assumed to exist."""
        chosen = self.created if topics is None else topics
        return [f"{topic}-{number}" for topic in chosen for number in range(len(self.topics[topic]))]

    def topic(self) -> str:
        """Return a topic; rarely one that is assumed not to exist."""
        return self.choose(self.created if self.created and not self.chance(SELDOM) else list(self.topics))

    def some_partitions(self) -> list[str]:
        """Return one or a few partitions; rarely of a topic that is assumed not to exist."""
        known = self.partitions(list(self.topics) if self.chance(SELDOM) or not self.created else None)
        return sorted(self.rng.sample(known, min(len(known), self.choose((1, 1, 1, 2, 3)))))

    def replicas(self, count: int | None = None) -> list[int]:
        """Return the ids of random brokers for a partition, including dead ones."""
        most = min(3, len(self.brokers))
        wanted = self.rng.randint(1, most) if count is None else min(count, most)
        return self.rng.sample(list(self.brokers), wanted)


def one_or_list(items: Sequence[Any]) -> Any:
    """Return the items as in a file: a single item without brackets."""
    return items[0] if len(items) == 1 else list(items)
