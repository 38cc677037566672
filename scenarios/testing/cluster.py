"""A cluster of simulated brokers, driven from a test in plain calls: on the test's ZooKeeper, or wholly in virtual time."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kcsim.scenarios.admin.topics import NewTopic
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import ClusterError
from kcsim.scenarios.invariants import SAFETY, Watch
from kcsim.scenarios.language.words import CONTROLLER, ROLES, did_you_mean
from kcsim.scenarios.scenario_cluster import ClusterSpec, Moment
from kcsim.scenarios.state import ClusterState
from kcsim.scenarios.testing.artefacts import TIMELINE, TRACE, unused
from kcsim.scenarios.testing.background import in_words
from kcsim.scenarios.testing.driven import Driven, Work
from kcsim.scenarios.testing.telling import timeline_of, write_trace
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import BrokerId, TopicPartition

T = TypeVar("T")

CLUSTER_WITHIN_S = 30.0
"""How long a cluster may take for what is waited for, in its own time: longer than any session lasts."""
TOLD_PARTITIONS = 6

Who = str | int
"""A broker: its id, broker-N, `controller`, or leader-of, preferred-of or follower-of TOPIC-PARTITION."""


@dataclass(frozen=True)
class TopicWish:
    """A topic to be created; with an assignment, the replicas of partitions 0, 1, … as given."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    assignment: Sequence[Sequence[int]] | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    def as_new_topic(self) -> NewTopic:
        placed = None if self.assignment is None else tuple(tuple(map(BrokerId, replicas)) for replicas in self.assignment)
        return NewTopic(self.name, self.partitions, self.replication_factor, placed, self.config)


class ClusterForTest:
    """Brokers, their controller, and what can be done to them.

    A verb returns when it has taken effect, says to which broker that was, and raises ClusterError when it cannot be done.
    What is waited for, and what passes, is the cluster's own time: virtual, it takes no time of ours.

    Attributes:
        brokers: broker-1, broker-2, …
        zookeeper: that it is on; None in virtual time.
    """

    def __init__(self, driven: Driven, spec: ClusterSpec, seed: int, zookeeper: ZooKeeperForTest | None = None) -> None:
        self.brokers = tuple(broker.name for broker in spec.brokers)
        self.zookeeper = zookeeper
        self._driven = driven
        self._numbers = random.Random(f"{seed} topics")
        self._events: list[Event] = []
        self._watch = Watch(())
        self.call(self._attach)

    async def _attach(self, cluster: Cluster) -> None:
        self._events = cluster.log.events
        self._watch = Watch(SAFETY, cluster, cluster.state)
        cluster.log.subscribe(self._watch.see)

    def call(self, work: Work[T]) -> T:
        """Have anything done that a cluster can do: `cluster.call(lambda c: c.servers.kill("leader"))`."""
        return self._driven.call(work)

    # --- looks

    @property
    def is_simulated(self) -> bool:
        """Whether it lives in virtual time."""
        return self.zookeeper is None

    @property
    def events(self) -> list[Event]:
        """All that has happened, in order."""
        return list(self._events)

    @property
    def state(self) -> ClusterState:
        """The cluster as it is now: znodes, processes, sessions, topics. A copy: it stays as it is."""

        async def look(cluster: Cluster) -> ClusterState:
            return deepcopy(cluster.state)

        return self.call(look)

    @property
    def controller(self) -> str | None:
        """Who holds the role; None if nobody does."""
        return self._look(lambda state: _name(state.controller_id))

    @property
    def controller_epoch(self) -> int | None:
        return self._look(lambda state: state.controller_epoch)

    def leader(self, topic: str, partition: int = 0) -> str | None:
        """Who leads a partition; None if nobody does."""
        return self._look(lambda state: _name(state.of_topics.leader(TopicPartition(topic, partition))))

    def isr(self, topic: str, partition: int = 0) -> tuple[str, ...]:
        """The in-sync replicas of a partition."""
        return self._look(lambda state: tuple(f"broker-{b}" for b in state.of_topics.isr(TopicPartition(topic, partition))))

    @property
    def now_s(self) -> float:
        """Seconds since the cluster's run began."""

        async def look(cluster: Cluster) -> float:
            return cluster.runtime.now_ms() / 1000

        return self.call(look)

    @property
    def violations(self) -> list[str]:
        """What was seen so far that must never be, whatever is done to a cluster; each with the name of its invariant."""
        return [str(violation) for violation in self._watch.violations]

    def _look(self, at: Callable[[ClusterState], T]) -> T:
        async def look(cluster: Cluster) -> T:
            return at(cluster.state)

        return self.call(look)

    # --- waiting; each raises TimedOutError, which says what was last seen

    def wait_until(
        self, holds: Callable[[ClusterState], object], within_s: float = CLUSTER_WITHIN_S, what: str = ""
    ) -> ClusterState:
        """Wait until something holds of the state, looked at after every event, and return the state as it then was."""
        asked = what or in_words(holds)

        async def wait(cluster: Cluster) -> ClusterState:
            state = cluster.state
            await cluster.wait_until(lambda: None if holds(state) else f"{asked}; last seen: {told(state)}", _ms(within_s))
            return deepcopy(state)

        return self.call(wait)

    def wait_for_controller(self, other_than: str | None = None, within_s: float = CLUSTER_WITHIN_S) -> str:
        """Wait until a broker that is registered holds the role, and return its name."""

        def holds(state: ClusterState) -> bool:
            return state.controller_id in state.registered and _name(state.controller_id) != other_than

        what = f"a controller{f' other than {other_than}' if other_than else ''}"
        name = _name(self.wait_until(holds, within_s, what).controller_id)
        assert name is not None
        return name

    def wait_for_leader(
        self, topic: str, partition: int = 0, other_than: str | None = None, within_s: float = CLUSTER_WITHIN_S
    ) -> str:
        """Wait until a broker that is registered leads a partition, and return its name."""
        which = TopicPartition(topic, partition)

        def holds(state: ClusterState) -> bool:
            leader = state.of_topics.leader(which)
            return leader in state.registered and _name(leader) != other_than

        what = f"a leader of {which}{f' other than {other_than}' if other_than else ''}"
        name = _name(self.wait_until(holds, within_s, what).of_topics.leader(which))
        assert name is not None
        return name

    def wait_for_event(self, kind: str, within_s: float = CLUSTER_WITHIN_S, after: int = -1, **fields: object) -> Event:
        """Wait for an event, and return the first one that there is.

        Args:
            kind: as in the event log: ElectionWon. Raises: ValueError for one that does not exist.
            after: seq of an event; only a later one counts.
            fields: what it has to say: node="broker-2", controller_epoch=2.
        """
        wanted = event_kind(kind)
        asked = ", ".join([kind, *(f"{name} {value!r}" for name, value in fields.items())])

        async def wait(cluster: Cluster) -> Event:
            found: list[Event] = []
            place = after + 1
            last = "none of that kind"

            def look() -> str | None:
                nonlocal place, last
                while place < len(cluster.log.events) and not found:
                    event, place = cluster.log.events[place], place + 1
                    if event.kind is wanted:
                        last = str({name: getattr(event, name) for name in fields}) if fields else str(event)
                        found.extend([event] if all(getattr(event, n) == v for n, v in fields.items()) else [])
                return None if found else f"{asked}; last seen: {last}"

            await cluster.wait_until(look, _ms(within_s))
            return found[0]

        return self.call(wait)

    def let_pass(self, seconds: float) -> None:
        """Let so much of the cluster's time pass: for what is *not* to happen. For what is, wait for it."""

        async def sleep(cluster: Cluster) -> None:
            await cluster.runtime.sleep_ms(_ms(seconds))

        self.call(sleep)

    # --- brokers

    def start(self, *brokers: Who) -> tuple[str, ...]:
        """Start brokers, all if none is named, and wait until they are registered."""
        names = tuple(map(_broker, brokers)) or self.brokers

        async def start(cluster: Cluster) -> tuple[str, ...]:
            await cluster.start(names)
            return names

        return self.call(start)

    def stop(self, who: Who) -> str:
        """Stop a broker in order, as SIGTERM does."""
        return self._do(who, lambda cluster, name: cluster.stop(name))

    def kill(self, who: Who) -> str:
        """Kill a broker, as SIGKILL does; its session is left to expire."""
        return self._do(who, lambda cluster, name: cluster.kill(name))

    def pause(self, who: Who) -> str:
        """Freeze a broker, as SIGSTOP or a long garbage collection does."""
        return self._do(who, lambda cluster, name: cluster.pause(name))

    def pause_controller(self) -> str:
        """Freeze whoever holds the role: before long there is another one, and this one knows nothing of it."""
        return self.pause(CONTROLLER)

    def resume(self, who: Who) -> str:
        """Let a frozen broker go on."""
        return self._do(who, lambda cluster, name: cluster.resume(name))

    def expire(self, who: Who) -> str:
        """Let ZooKeeper end the broker's session although the broker lives."""
        return self._do(who, lambda cluster, name: cluster.expire(name))

    def disconnect(self, who: Who) -> str:
        """Cut a broker off from ZooKeeper until `reconnect`; its session is not closed."""
        return self._do(who, lambda cluster, name: cluster.disconnect(name))

    def reconnect(self, who: Who) -> str:
        """Let a broker reach ZooKeeper again."""
        return self._do(who, lambda cluster, name: cluster.reconnect(name))

    def pause_at_write(self, who: Who, path: str | None = None, moment: Moment = "before", nth: int = 1) -> str:
        """Freeze a broker when it comes to a write to ZooKeeper, at this path or below it; returns at once."""
        return self._do(who, lambda cluster, name: _arm(cluster.arm_pause, name, moment, path, nth))

    def kill_at_write(self, who: Who, path: str | None = None, moment: Moment = "before", nth: int = 1) -> str:
        """Kill a broker when it comes to a write to ZooKeeper, at this path or below it; returns at once."""
        return self._do(who, lambda cluster, name: _arm(cluster.arm_kill, name, moment, path, nth))

    def _do(self, who: Who, act: Callable[[Cluster, str], Any]) -> str:
        async def do(cluster: Cluster) -> str:
            name = found(cluster.state, who)
            await act(cluster, name)
            return name

        return self.call(do)

    # --- topics

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int = 1,
        assignment: Sequence[Sequence[int]] | None = None,
        config: Mapping[str, str] | None = None,
        within_s: float | None = CLUSTER_WITHIN_S,
    ) -> None:
        """Create a topic, as `kafka-topics --create`, and wait until each partition is led.

        Args:
            within_s: None: do not wait.
        """
        wish = TopicWish(name, partitions, replication_factor, assignment, config or {})

        async def create(cluster: Cluster) -> None:
            await cluster.topics.create(wish.as_new_topic(), self._numbers)

        self.call(create)
        if within_s is not None:
            for number in range(len(assignment or ()) or partitions):
                self.wait_for_leader(name, number, within_s=within_s)

    def delete_topic(self, name: str) -> None:
        """Ask for a topic's deletion, as `kafka-topics --delete`."""

        async def delete(cluster: Cluster) -> None:
            await cluster.topics.delete(name)

        self.call(delete)

    # --- its end

    def write_story(self, directory: Path) -> None:
        """Write the timeline and the event log, and what was violated. Raises: OSError."""
        events = self.events
        unused(directory, TIMELINE).write_text(timeline_of(events, self.brokers), encoding="utf-8")
        write_trace(events, unused(directory, TRACE))
        if self.violations:
            text = "".join(f"{violation}\n" for violation in self.violations)
            unused(directory, "violations.txt").write_text(text, encoding="utf-8")

    def close(self) -> None:
        """End the run. Raises: what has ended it before."""
        self._driven.end()


async def _arm(
    arm: Callable[[str, Moment, str | None, int], int], name: str, moment: Moment, path: str | None, nth: int
) -> None:
    arm(name, moment, path, nth)


def found(state: ClusterState, who: Who) -> str:
    """The broker that is meant at this moment. Raises: ClusterError."""
    if who == CONTROLLER:
        name = _name(state.controller_id)
        if name is None:
            raise ClusterError("nobody is the controller now")
        return name
    role, of, text = str(who).partition("-of ")
    if of and role in ROLES:
        topic, _, number = text.rpartition("-")
        if not number.isdecimal():
            raise ClusterError(f"{text!r} is no partition; write one as orders-0")
        name = _name(state.of_topics.broker_in_role(role, TopicPartition(topic, int(number))))
        if name is None:
            raise ClusterError(f"{text} has no {role} now")
        return name
    return _broker(who)


def _broker(who: Who) -> str:
    return f"broker-{who}" if isinstance(who, int) else who


def _name(broker: int | None) -> str | None:
    return None if broker is None else f"broker-{broker}"


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def event_kind(text: str) -> EventKind:
    """The kind of this name. Raises: ValueError with the nearest one."""
    try:
        return EventKind(text)
    except ValueError:
        raise ValueError(f"no event is called {text!r}{did_you_mean(text, list(EventKind))}") from None


def told(state: ClusterState) -> str:
    """A cluster in one sentence."""
    processes = ", ".join(f"{name} {what}" for name, what in sorted(state.processes.items()))
    return "; ".join(
        [
            f"controller {_name(state.controller_id) or 'nobody'}, epoch {state.controller_epoch}",
            processes or "no broker was started",
            f"registered {', '.join(map(str, state.registered)) or 'nobody'}",
            *_partitions(state),
        ]
    )


def _partitions(state: ClusterState) -> Iterable[str]:
    partitions = list(state.of_topics.partitions())
    for partition in partitions[:TOLD_PARTITIONS]:
        leader, isr = state.of_topics.leader(partition), state.of_topics.isr(partition)
        yield f"{partition} led by {_name(leader) or 'nobody'}, ISR {list(isr)}"
    if len(partitions) > TOLD_PARTITIONS:
        yield f"and {len(partitions) - TOLD_PARTITIONS} more partitions"
