"""What the maker of a timetable believes of the cluster by now, so that most of what it draws can be done.

Belief only: a fault that waits for a write may never strike, an act may be refused. What is drawn from a wrong belief is a
step that is passed over.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

CONTROLLER = "controller"
OFTEN_IN_A_ROLE = 0.4
"""So many of those whom something is done to are named by what they are: the controller, or a partition's leader."""
SELDOM = 0.1
"""So often somebody is chosen of whom it is believed that it cannot be done to them."""
LONG_MS = 1_000
"""Times from here on are whole tenths of a second."""


@dataclass
class Situation:
    """What is drawn from, and what was drawn so far.

    Attributes:
        numbers: the only source of chance.
        brokers: ids, from 1.
        racks: how many racks there are; 0: none.
        members: how many servers ZooKeeper has.
        topics: every topic that is declared, with the replicas of each of its partitions.
        created: those that there are, as is believed.
        producers, consumers: names of the workload's clients.
        up, paused, gone: names of brokers, or names given to them with `as`.
    """

    numbers: random.Random
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
    cut: list[str] = field(default_factory=list)
    servers_away: dict[str, str] = field(default_factory=dict)
    names_given: int = 0

    @property
    def names(self) -> list[str]:
        return [f"broker-{broker}" for broker in self.brokers]

    # --- chance

    def one(self, of: Sequence[T]) -> T:
        return self.numbers.choice(of)

    def is_so(self, probability: float) -> bool:
        return self.numbers.random() < probability

    def ms(self, least: int, most: int) -> str:
        """A time as a file has it; short ones are as likely as long ones."""
        drawn = round(least * (most / least) ** self.numbers.random())
        if drawn >= LONG_MS:
            return f"{round(drawn / 1_000, 1):g}s"
        return f"{max(10, round(drawn, -1))}ms"

    # --- who

    def somebody(self, of: Sequence[str] | None = None) -> str:
        """A broker by name, of those believed to run unless said otherwise."""
        if self.is_so(SELDOM) or not (chosen := self.up if of is None else of):
            return self.one(self.names)
        return self.one(chosen)

    def victim(self) -> tuple[str, str | None]:
        """Whom something is done to; and a name for whoever that turns out to be, where it is not known yet."""
        if not self.is_so(OFTEN_IN_A_ROLE):
            return self.somebody(), None
        self.names_given += 1
        partitions = self.partitions()
        role = CONTROLLER if not partitions or self.is_so(0.6) else f"leader-of {self.one(partitions)}"
        return role, f"victim-{self.names_given}"

    def note(self, who: str, state: list[str] | None) -> None:
        """Believe from now on that a broker is in this list, and in no other."""
        for others in (self.up, self.paused, self.gone):
            if who in others:
                others.remove(who)
        if state is not None:
            state.append(who)

    def other_than(self, name: str) -> str:
        return self.one([other for other in self.names if other != name])

    # --- what

    def partitions(self, topics: Sequence[str] | None = None) -> list[str]:
        """Every partition of these topics, or of those that there are."""
        chosen = self.created if topics is None else topics
        return [f"{topic}-{number}" for topic in chosen for number in range(len(self.topics[topic]))]

    def topic(self) -> str:
        """A topic; seldom one that there is not."""
        return self.one(self.created if self.created and not self.is_so(SELDOM) else list(self.topics))

    def some_partitions(self) -> list[str]:
        """One or a few partitions; seldom of a topic that there is not."""
        known = self.partitions(list(self.topics) if self.is_so(SELDOM) or not self.created else None)
        return sorted(self.numbers.sample(known, min(len(known), self.one((1, 1, 1, 2, 3)))))

    def replicas(self, count: int | None = None) -> list[int]:
        """Brokers for a partition, dead ones included."""
        most = min(3, len(self.brokers))
        wanted = self.numbers.randint(1, most) if count is None else min(count, most)
        return self.numbers.sample(list(self.brokers), wanted)


def one_or_list(items: Sequence[Any]) -> Any:
    """As a file has them: one thing alone without brackets."""
    return items[0] if len(items) == 1 else list(items)
