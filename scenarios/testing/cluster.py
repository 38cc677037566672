"""A cluster of simulated brokers that a test drives in plain calls: on the test's ZooKeeper, or wholly in virtual time."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.scenario_cluster import Moment
from kcsim.brokers.cluster.workload import Workload
from kcsim.brokers.invariants import SAFETY, InvariantChecker
from kcsim.controller.admin.topics import NewTopic
from kcsim.errors import Outcome
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.runtime.wallclock import wall_clock_ms
from kcsim.scenarios.engine.single_steps import SingleSteps
from kcsim.scenarios.engine.steps.brokers import restart
from kcsim.scenarios.engine.untriggered_faults import no_effect_text, untriggered_faults
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.value_types import CONTROLLER, ROLES
from kcsim.scenarios.testing.action_history import TimelineEntry
from kcsim.scenarios.testing.artefacts import TIMELINE, TRACE, unused
from kcsim.scenarios.testing.background import check_condition, condition_text
from kcsim.scenarios.testing.cluster_run import ClusterRun, Work
from kcsim.scenarios.testing.errors import UntriggeredFaultError
from kcsim.scenarios.testing.failure_timeline import RefusedWrites, refusal_text
from kcsim.scenarios.testing.run_text import timeline_of, write_trace
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from kcsim.text import did_you_mean
from kcsim.vocabulary import BrokerId, TopicPartition

T = TypeVar("T")

CLUSTER_WITHIN_S = 30.0
"""Default bound of a wait on a cluster, in the cluster's own time: longer than any session lasts."""
SUMMARY_PARTITIONS = 6

BrokerRef = str | int
"""A broker: its id, broker-N, `controller`, or leader-of, preferred-of or follower-of TOPIC-PARTITION."""


@dataclass(frozen=True)
class TopicSpec:
    """A topic to be created. `assignment`, if given, lists the replicas of partitions 0, 1, …"""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    assignment: Sequence[Sequence[int]] | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    def as_new_topic(self) -> NewTopic:
        placed = None if self.assignment is None else tuple(tuple(map(BrokerId, replicas)) for replicas in self.assignment)
        return NewTopic(self.name, self.partitions, self.replication_factor, placed, self.config)


class ClusterForTest:
    """Brokers, their controller, and the actions that a test can apply to them.

    An action returns when it has taken effect, returns the name of the affected broker, and raises ClusterError when it
    cannot be done. Waits and sleeps are in the cluster's own time: in virtual time they take no wall-clock time.

    Attributes:
        brokers: broker-1, broker-2, …
        zookeeper: the ZooKeeper that the cluster is on; None in virtual time.
    """

    def __init__(self, run: ClusterRun, spec: ClusterSpec, seed: int, zookeeper: ZooKeeperForTest | None = None) -> None:
        self.brokers = tuple(broker.name for broker in spec.brokers)
        self.zookeeper = zookeeper
        self._run = run
        self._numbers = random.Random(f"{seed} topics")
        self._spec = spec
        self._steps: SingleSteps | None = None
        self._events: Sequence[Event] = []
        self._watch = InvariantChecker(())
        self._epoch_ms = 0
        self.call(self._attach)
        if zookeeper is not None:
            zookeeper.report_refused_writes(self._refused_writes)

    async def _attach(self, cluster: Cluster) -> None:
        self._events = cluster.log.events
        self._epoch_ms = wall_clock_ms() - cluster.runtime.now_ms()
        self._watch = InvariantChecker(SAFETY, cluster, cluster.state)
        cluster.log.subscribe(self._watch.observe)

    def call(self, work: Work[T]) -> T:
        """Run a function on the Cluster and return its result: `cluster.call(lambda c: c.servers.kill("leader"))`."""
        return self._run.call(work)

    # --- reads

    def records(self, topic: str) -> RecordCounts:
        """Return what has become of the records of a topic that brokers have acknowledged to Kafka's clients.

        They are counted in the logs of the present leaders: `lost` are those that are not there any more.
        """
        counts = self._run.read(lambda cluster: Workload(cluster, {}).counts())
        return sum((one for tp, one in counts.items() if tp.topic == topic), RecordCounts())

    @property
    def is_simulated(self) -> bool:
        """Whether the cluster runs in virtual time."""
        return self.zookeeper is None

    @property
    def bootstrap_servers(self) -> str:
        """The brokers' addresses, as Kafka's clients take them: host:port,… The ports of brokers that run are open.

        Raises: ClusterError in virtual time, where nothing listens.
        """
        servers = self._run.read(lambda cluster: cluster.bootstrap_servers)
        if servers is None:
            raise ClusterError("no Kafka client reaches a cluster in virtual time: its brokers have no TCP ports")
        return servers

    @property
    def events(self) -> list[Event]:
        """All events so far, in order."""
        return list(self._events)

    @property
    def state(self) -> ClusterState:
        """The present state of the cluster: znodes, processes, sessions, topics. A copy, which does not change later.

        In the condition of a wait it is no copy, because it is asked for after every event.
        """
        is_condition = self._run.is_own_thread
        return self._run.read(lambda cluster: cluster.state if is_condition else deepcopy(cluster.state))

    @property
    def controller(self) -> str | None:
        """The name of the controller; None if /controller names no broker, or one that does not run."""
        return self._look(_running_controller)

    @property
    def controller_epoch(self) -> int | None:
        return self._look(lambda state: state.controller_epoch)

    def leader(self, topic: str, partition: int = 0) -> str | None:
        """Return the name of a partition's leader; None if its state names no broker, or one that does not run."""
        return self._look(lambda state: _running_leader(state, TopicPartition(topic, partition)))

    def isr(self, topic: str, partition: int = 0) -> tuple[str, ...]:
        """Return the names of the in-sync replicas in a partition's state, whether they run or not."""
        return self._look(lambda state: tuple(f"broker-{b}" for b in state.of_topics.isr(TopicPartition(topic, partition))))

    @property
    def now_s(self) -> float:
        """Seconds since the cluster's run began."""
        return self._run.read(lambda cluster: cluster.runtime.now_ms() / 1000)

    @property
    def violations(self) -> list[str]:
        """The violated invariants so far, each with its name. Invariants must hold whatever is done to a cluster."""
        return [str(violation) for violation in self._watch.violations]

    def _look(self, at: Callable[[ClusterState], T]) -> T:
        return self._run.read(lambda cluster: at(cluster.state))

    # --- waiting; each method raises TimedOutError with what was last seen

    def wait_until(self, holds: Callable[[], T | None], within_s: float = CLUSTER_WITHIN_S, what: str = "") -> T:
        """Wait until a condition holds, and return its value.

        Args:
            holds: evaluated after every event; returns false, None or an empty value as long as the condition does not
                hold. It may read this cluster: `lambda: cluster.controller == "broker-2"`.
            what: names the awaited condition in messages.

        Raises: TimedOutError with what was last seen; TypeError for a condition that takes arguments.
        """
        check_condition(holds)
        awaited = what or condition_text(holds)

        async def wait(cluster: Cluster) -> T:
            found: list[T] = []

            def look() -> str | None:
                value = holds()
                if not value:
                    return f"{awaited}; last seen: {state_summary(cluster.state)}"
                found.append(value)
                return None

            await cluster.wait_until(look, _ms(within_s))
            return found[-1]

        return self.call(wait)

    def wait_for_controller(self, other_than: str | None = None, within_s: float = CLUSTER_WITHIN_S) -> str:
        """Wait until a registered broker that runs is the controller, and return its name."""

        def controller() -> str | None:
            state = self.state
            name = _running_controller(state) if state.controller_id in state.registered else None
            return None if name == other_than else name

        return self.wait_until(controller, within_s, f"a controller{f' other than {other_than}' if other_than else ''}")

    def wait_for_metadata(self, within_s: float = CLUSTER_WITHIN_S) -> None:
        """Wait until the metadata of every running broker name a live controller and all running brokers."""
        self.call(lambda cluster: cluster.wait_until(cluster.incomplete_metadata, _ms(within_s)))

    def wait_for_leader(
        self, topic: str, partition: int = 0, other_than: str | None = None, within_s: float = CLUSTER_WITHIN_S
    ) -> str:
        """Wait until a registered broker that runs leads a partition, and return its name.

        Raises: ClusterError at once for a topic or partition that does not exist; TimedOutError.
        """
        which = TopicPartition(topic, partition)
        self._look(lambda state: _check_exists(state, which))

        def leader() -> str | None:
            state = self.state
            name = _running_leader(state, which) if state.of_topics.leader(which) in state.registered else None
            return None if name == other_than else name

        return self.wait_until(leader, within_s, f"a leader of {which}{f' other than {other_than}' if other_than else ''}")

    def wait_for_event(self, kind: str, within_s: float = CLUSTER_WITHIN_S, after: int = -1, **fields: object) -> Event:
        """Wait for an event, and return the first one that matches.

        Args:
            kind: as in the event log: ElectionWon. Raises: ValueError for a kind that does not exist.
            after: seq of an event; only later events count.
            fields: values that the event must have: node="broker-2", controller_epoch=2.
        """
        wanted = event_kind(kind)
        awaited = ", ".join([kind, *(f"{name} {value!r}" for name, value in fields.items())])

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
                return None if found else f"{awaited}; last seen: {last}"

            await cluster.wait_until(look, _ms(within_s))
            return found[0]

        return self.call(wait)

    def let_pass(self, seconds: float) -> None:
        """Let this many seconds of the cluster's time pass, to check that something does *not* happen.

        Otherwise wait for it.
        """

        async def sleep(cluster: Cluster) -> None:
            await cluster.runtime.sleep_ms(_ms(seconds))

        self.call(sleep)

    def step(self, *steps: str) -> None:
        """Do steps of the scenario language, one after the other: `cluster.step("slow-link: {between: clients, and: all,
        delay: 1s}")`.

        Raises: ScenarioFileError for a text that is no valid step, before anything is done; ClusterError, ServerError or
            TimedOutError for a step that cannot be done.
        """

        async def do(cluster: Cluster) -> None:
            if self._steps is None:
                self._steps = SingleSteps(cluster, _scenario_of(self._spec))
            await self._steps.do(steps)

        self.call(do)

    # --- brokers

    def start(self, *brokers: BrokerRef) -> tuple[str, ...]:
        """Start the given brokers, or all brokers if none is given, and wait until they are registered."""
        names = tuple(map(_broker, brokers)) or self.brokers

        async def start(cluster: Cluster) -> tuple[str, ...]:
            await cluster.start(names)
            return names

        return self.call(start)

    def stop(self, who: BrokerRef) -> str:
        """Shut a broker down in a controlled way, as SIGTERM does."""
        return self._do(who, lambda cluster, name: cluster.stop(name))

    def restart(self, who: BrokerRef) -> str:
        """Shut a broker down in a controlled way, and start it again."""
        return self._do(who, restart)

    def kill(self, who: BrokerRef) -> str:
        """Kill a broker, as SIGKILL does. Its session is left to expire."""
        return self._do(who, lambda cluster, name: cluster.kill(name))

    def pause(self, who: BrokerRef) -> str:
        """Freeze a broker, as SIGSTOP or a long garbage collection does."""
        return self._do(who, lambda cluster, name: cluster.pause(name))

    def pause_controller(self) -> str:
        """Freeze the controller: soon another one is elected, and the frozen one does not know of it."""
        return self.pause(CONTROLLER)

    def resume(self, who: BrokerRef) -> str:
        """Resume a frozen broker."""
        return self._do(who, lambda cluster, name: cluster.resume(name))

    def expire(self, who: BrokerRef) -> str:
        """Let ZooKeeper end a broker's session although the broker is alive."""
        return self._do(who, lambda cluster, name: cluster.expire(name))

    def disconnect(self, who: BrokerRef) -> str:
        """Cut a broker off from ZooKeeper until `reconnect`. Its session is not closed."""
        return self._do(who, lambda cluster, name: cluster.disconnect(name))

    def reconnect(self, who: BrokerRef) -> str:
        """Let a broker reach ZooKeeper again."""
        return self._do(who, lambda cluster, name: cluster.reconnect(name))

    def fail_log_dir(self, who: BrokerRef) -> str:
        """Fail the first log directory of a broker that still works, with all its replicas."""
        return self._do(who, lambda cluster, name: cluster.fail_log_dir(name))

    def slow_follower(self, who: BrokerRef, records_per_second: float | None) -> str:
        """Limit the rate at which a broker copies records from leaders; 0: it copies none; None: no limit any more."""
        return self._do(who, lambda cluster, name: cluster.slow_follower(name, records_per_second))

    def pause_at_write(self, who: BrokerRef, path: str | None = None, moment: Moment = "before", nth: int = 1) -> str:
        """Freeze a broker at its nth write to ZooKeeper at this path or below it. Return without waiting for the write."""
        return self._do(who, lambda cluster, name: _arm(cluster.arm_pause, name, moment, path, nth))

    def kill_at_write(self, who: BrokerRef, path: str | None = None, moment: Moment = "before", nth: int = 1) -> str:
        """Kill a broker at its nth write to ZooKeeper at this path or below it. Return without waiting for the write."""
        return self._do(who, lambda cluster, name: _arm(cluster.arm_kill, name, moment, path, nth))

    def _do(self, who: BrokerRef, act: Callable[[Cluster, str], Any]) -> str:
        async def do(cluster: Cluster) -> str:
            name = resolve_broker(cluster.state, who)
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
        """Create a topic, as `kafka-topics --create` does, and wait until each partition has a leader.

        Args:
            within_s: bound of the wait; None: do not wait.
        """
        spec = TopicSpec(name, partitions, replication_factor, assignment, config or {})

        async def create(cluster: Cluster) -> None:
            await cluster.topics.create(spec.as_new_topic(), self._numbers)

        self.call(create)
        if within_s is not None:
            for number in range(len(assignment or ()) or partitions):
                self.wait_for_leader(name, number, within_s=within_s)

    def delete_topic(self, name: str) -> None:
        """Request a topic's deletion, as `kafka-topics --delete` does."""

        async def delete(cluster: Cluster) -> None:
            await cluster.topics.delete(name)

        self.call(delete)

    # --- end of the run

    def check_that_faults_had_an_effect(self) -> None:
        """Raise UntriggeredFaultError if an armed fault has not been triggered so far; steps with `if-possible` may.

        Called at the end of a test that has passed.
        """
        left_out = () if self._steps is None else self._steps.may_have_no_effect
        if faults := [event for event in untriggered_faults(self.events) if event.seq not in left_out]:
            raise UntriggeredFaultError("; ".join(map(no_effect_text, faults)))

    def write_artefacts(self, directory: Path) -> None:
        """Write the timeline, the event log and the violated invariants. Raises: OSError."""
        events = self.events
        unused(directory, TIMELINE).write_text(timeline_of(events, self.brokers), encoding="utf-8")
        write_trace(events, unused(directory, TRACE))
        if self.violations:
            text = "".join(f"{violation}\n" for violation in self.violations)
            unused(directory, "violations.txt").write_text(text, encoding="utf-8")

    def _refused_writes(self) -> RefusedWrites:
        """Return the writes that ZooKeeper has refused to the cluster's processes."""
        sessions: set[str] = set()
        entries = []
        for event in self.events:
            if event.kind is EventKind.SESSION_STATE and event.session_id is not None:
                sessions.add(event.session_id)
            elif event.kind is EventKind.ZK_WRITE_REFUSED and event.outcome == Outcome.NOT_APPLIED.value:
                text = refusal_text(event.op or "write", event.path or "", event.count or 1, event.error or "")
                entries.append(TimelineEntry(self._epoch_ms + event.t_ms, event.node, text))
        return RefusedWrites(frozenset(sessions), entries)

    def close(self) -> None:
        """End the run. Raises: the error that ended the run earlier, if any."""
        self._run.end()


def _scenario_of(spec: ClusterSpec) -> Scenario:
    """Return a scenario that declares the brokers, for the steps that name them."""
    brokers = [{"id": broker.broker_id, "rack": broker.rack} for broker in spec.brokers]
    declared = {"name": "test", "description": "The cluster of a test.", "cluster": {"brokers": brokers}}
    return Scenario.model_validate({**declared, "timetable": [{"start": "all"}]})


async def _arm(
    arm: Callable[[str, Moment, str | None, int], int], name: str, moment: Moment, path: str | None, nth: int
) -> None:
    arm(name, moment, path, nth)


def resolve_broker(state: ClusterState, who: BrokerRef) -> str:
    """Return the broker that a reference denotes at this moment. Raises: ClusterError."""
    if who == CONTROLLER:
        name = _name(state.controller_id)
        if name is None:
            raise ClusterError("no broker is the controller now")
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


def _broker(who: BrokerRef) -> str:
    return f"broker-{who}" if isinstance(who, int) else who


def _name(broker: int | None) -> str | None:
    return None if broker is None else f"broker-{broker}"


def _running_controller(state: ClusterState) -> str | None:
    return _if_running(state, _name(state.controller_id))


def _running_leader(state: ClusterState, partition: TopicPartition) -> str | None:
    return _if_running(state, _name(state.of_topics.leader(partition)))


def _check_exists(state: ClusterState, partition: TopicPartition) -> None:
    """Check that a partition exists. Raises: ClusterError with the nearest one."""
    topics = state.of_topics.topics
    if partition.topic not in topics:
        known = f"; there are {', '.join(sorted(topics))}" if topics else ", and no other; create it first"
        hint = did_you_mean(partition.topic, topics) or known
        raise ClusterError(f"there is no topic {partition.topic}{hint}")
    if state.of_topics.assignment(partition) is None:
        numbers = [tp.partition for tp in state.of_topics.partitions() if tp.topic == partition.topic]
        raise ClusterError(f"there is no partition {partition}; {partition.topic} has {min(numbers)} to {max(numbers)}")


def _if_running(state: ClusterState, name: str | None) -> str | None:
    return None if name is None or state.not_running(name) is not None else name


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def event_kind(text: str) -> EventKind:
    """Return the event kind of this name. Raises: ValueError with the nearest existing name."""
    try:
        return EventKind(text)
    except ValueError:
        raise ValueError(f"no event is called {text!r}{did_you_mean(text, list(EventKind))}") from None


def state_summary(state: ClusterState) -> str:
    """Return a summary of a cluster's state in one sentence."""
    processes = ", ".join(f"{name} {what}" for name, what in sorted(state.processes.items()))
    return "; ".join(
        [
            f"controller {_name(state.controller_id) or 'none'}, epoch {state.controller_epoch}",
            processes or "no broker was started",
            f"registered {', '.join(map(str, state.registered)) or 'none'}",
            *_partitions(state),
        ]
    )


def _partitions(state: ClusterState) -> Iterable[str]:
    partitions = list(state.of_topics.partitions())
    for partition in partitions[:SUMMARY_PARTITIONS]:
        leader, isr = state.of_topics.leader(partition), state.of_topics.isr(partition)
        yield f"{partition} led by {_name(leader) or 'no broker'}, ISR {list(isr)}"
    if len(partitions) > SUMMARY_PARTITIONS:
        yield f"and {len(partitions) - SUMMARY_PARTITIONS} more partitions"
