"""Runs of a piece of the controller's work with a fault at each of the controller's writes to ZooKeeper.

A Work defines the cluster, the actions and the expected result. `crash_points` plays it without faults and lists the writes
that the controller made for it. `play_with` plays it with a fault at one of these writes, waits until a successor has taken
over, brings every broker back, and returns the violations.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import takewhile

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.scenario_cluster import Moment
from kcsim.brokers.invariants import AFTER_RECOVERY, AT_QUIESCENCE, NOT_PROMISED, Invariant, violations
from kcsim.errors import TimedOutError
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from tests.brokers.cluster.environments import WITHIN_MS, Settings, find, play, until_ready

QUIET_MS = 8_000
"""Longer than any silent delay between an event and its consequences: ISR changes are reported after 7.5 s."""
MOMENTARILY_QUIET_MS = 200
"""Longer than an election, and far shorter than a session."""
QUIET_WAIT_MS = 50
"""Length of the waits of which a quiet time consists."""
LIVE_WITHIN_MS = 120_000
SETTINGS: Settings = {
    "zookeeper.session.timeout.ms": 2000,
    "auto.leader.rebalance.enable": False,
    # A leader asks a controller that is frozen for so long before it asks the successor: a quiet time is longer.
    "controller.socket.timeout.ms": 3000,
}
MOMENTS: tuple[Moment, ...] = ("before", "after")

Step = Callable[[Cluster], Awaitable[None]]
Goal = Callable[[Cluster], str | None]


@dataclass(frozen=True)
class Work:
    """A piece of work of the controller.

    Args:
        prepare: makes the cluster, up to the point from which writes count.
        steps: the actions, in order; each begins once the cluster is quiet.
        goal: returns None when the work is done, else a sentence about what is observed instead.
        victim: the controller when the steps begin; None: the broker that becomes controller through the steps.
        may_leave_strays: replicas are removed from brokers that may not receive the StopReplica.
        faults_of_kafka: crash points (as text) at which Kafka itself fails, each with a pattern of the violation.
    """

    name: str
    prepare: Step
    steps: Sequence[Step]
    goal: Goal
    victim: str | None = "broker-1"
    brokers: int = 4
    may_leave_strays: bool = False
    faults_of_kafka: Mapping[str, str] = field(default_factory=dict)

    @property
    def also(self) -> Sequence[Invariant]:
        return () if self.may_leave_strays else NOT_PROMISED


class Blow(StrEnum):
    """The fault that is injected into the controller."""

    KILLED = "killed"
    EXPIRED = "frozen until its session has expired, another has taken over, and all is quiet"
    DEPOSED = "frozen until /controller was deleted and another has taken over, its session alive"


@dataclass(frozen=True)
class CrashPoint:
    """The nth write to a path or below it, by the victim, from the first step on.

    `nth` counts per path, so that a point stays the same in a run whose messages arrive in another order.
    """

    victim: str
    path: str
    nth: int
    moment: Moment

    def __str__(self) -> str:
        return f"{self.moment} write {self.nth} to {self.path}"


REFUSALS = {Blow.EXPIRED: "SESSIONEXPIRED", Blow.DEPOSED: "BADVERSION"}
"""Errors with which ZooKeeper refuses the write that a zombie had in progress."""

# --- without faults ------------------------------------------------------------------------------------------------------


def crash_points(work: Work) -> list[CrashPoint]:
    """Return the points before and after every write that the controller made for the work, its election included.

    Runs in virtual time.
    """
    log, began = play_undisturbed(work)
    victim = work.victim or find(log, EventKind.ELECTION_WON)[-1].node
    made = [e for e in find(log, EventKind.ZK_WRITE, node=victim) if e.seq >= began]
    writes = [CrashPoint(victim, e.path or "", _number(e, made), "before") for e in made if _is_of_the_controller(e)]
    return [replace(write, moment=moment) for write in writes for moment in MOMENTS]


def play_undisturbed(work: Work) -> tuple[EventLog, int]:
    """Play the work without faults.

    Returns: the event log, and the number of its events before the first step.
    Raises: AssertionError if the goal is missed.
    """
    began = 0

    async def script(cluster: Cluster) -> None:
        nonlocal began
        await work.prepare(cluster)
        await until_quiet(cluster)
        began = len(cluster.log.events)
        for step in work.steps:
            await step(cluster)
            await until_quiet(cluster)
        assert work.goal(cluster) is None, f"{work.name}, undisturbed: {work.goal(cluster)}"

    return play(script, brokers=work.brokers, settings=SETTINGS), began


def _is_of_the_controller(write: Event) -> bool:
    """Return whether the write is the controller's.

    A broker's own writes (registration, ISRs, notifications) are not fenced; an election has no fence yet.
    """
    return write.controller_epoch_zk_version is not None or write.path == "/controller"


def _number(write: Event, made: Sequence[Event]) -> int:
    path = write.path or ""
    return sum(1 for e in made if e.seq <= write.seq and f"{e.path}/".startswith(f"{path}/"))


# --- with a fault --------------------------------------------------------------------------------------------------------


def play_with(work: Work, point: CrashPoint, blow: Blow, also: Sequence[Invariant] = ()) -> list[str]:
    """Play the work with a fault at a point, in virtual time.

    Args:
        also: invariants that must hold both times, besides AT_QUIESCENCE and AFTER_RECOVERY.

    Returns: the violations when the cluster is quiet after the fault, and when all brokers are back.
    Raises: AssertionError when the controller never came to this point.
    """
    wrong: list[str] = []

    async def script(cluster: Cluster) -> None:
        await work.prepare(cluster)
        await until_quiet(cluster)
        arm(cluster, point, blow)
        triggered = False
        for step in work.steps:
            await step(cluster)
            if not triggered and not await until_quiet(cluster, unless=partial(has_triggered, cluster, point)):
                triggered = True
                await see_successor_into_office(cluster, point, blow)
                if blow is Blow.EXPIRED:
                    await until_quiet(cluster)  # so that it misses everything that its successor does
                await thaw(cluster, point)
            await until_quiet(cluster)
        assert triggered, f"the controller never came to this point: {point}"
        wrong.extend(f"once quiet: {problem}" for problem in amiss(cluster, [*AT_QUIESCENCE, *work.also, *also]))
        await bring_back(cluster)
        await until_quiet(cluster)
        wrong.extend(f"in the end: {problem}" for problem in amiss(cluster, [*AFTER_RECOVERY, *work.also, *also], work.goal))

    log = play(script, brokers=work.brokers, settings=SETTINGS)
    return wrong + unfenced(log, point, blow)


def unexpected(work: Work, point: CrashPoint, wrong: Sequence[str]) -> list[str]:
    """Return unexpected violations at a point, and an expected violation that did not occur; each with its point."""
    pattern = work.faults_of_kafka.get(str(point))
    if pattern is not None and not wrong:
        return [f"{point}: nothing is wrong, but Kafka goes wrong here: {pattern}"]
    return [f"{point}: {problem}" for problem in wrong if pattern is None or not re.search(pattern, problem)]


def unfenced(log: EventLog, point: CrashPoint, blow: Blow) -> list[str]:
    """Return violations of fencing by a zombie (docs/kafka/controller.md 13).

    The write that it had in progress must be refused, and so must its fenced writes until it is elected again.
    """
    if blow is Blow.KILLED:
        return []
    resumed = find(log, EventKind.PROCESS_STATE, node=point.victim, state="running")[-1].seq
    later = [e for e in log.events if e.node == point.victim and e.seq > resumed]
    epoch = max(int(e.data or 0) for e in find(log, EventKind.ZNODE_CHANGED, path="/controller_epoch") if e.seq < resumed)
    later = list(takewhile(lambda e: e.kind is not EventKind.ELECTION_WON or (e.controller_epoch or 0) <= epoch, later))
    fenced = {e.seq for e in later if e.kind is EventKind.ZK_WRITE and e.controller_epoch_zk_version is not None}
    refused = {e.cause for e in later if e.kind is EventKind.ZK_WRITE_REFUSED}
    found = [f"as a zombie it wrote what follows from #{seq}" for seq in sorted(fenced - refused)]
    if point.moment == "after" or point.path == "/controller":
        return found
    why = REFUSALS[blow]
    if not any(e.kind is EventKind.ZK_WRITE_REFUSED and e.error == why for e in later):
        found.append(f"the write that it had in hand as a zombie was not refused with {why}")
    return found


def play_live_with(work: Work, point: CrashPoint, blow: Blow) -> None:
    """Play the work on a real ZooKeeper: wait, bounded, until everything is as it must be, instead of waiting for quiet.

    Sessions are not left to expire by themselves: the victim is frozen, and its session ended. A victim to be killed dies
    then.

    Args:
        work: has one step, and is prepared without waiting for quiet.

    Raises: TimedOutError with the violation.
    """

    async def script(cluster: Cluster) -> None:
        async def until_well(invariants: Sequence[Invariant], goal: Goal | None = None) -> None:
            await cluster.wait_until(lambda: next(iter(amiss(cluster, invariants, goal)), None), LIVE_WITHIN_MS)

        await work.prepare(cluster)
        await until_well(AT_QUIESCENCE)
        cluster.arm_pause(point.victim, point.moment, point.path, point.nth)
        (step,) = work.steps
        await step(cluster)
        await cluster.wait_until(lambda: None if has_triggered(cluster, point) else f"not struck {point}", WITHIN_MS)
        if blow is not Blow.DEPOSED:
            await cluster.expire(point.victim)
        if blow is Blow.KILLED:
            await cluster.kill(point.victim)
        await see_successor_into_office(cluster, point, blow)
        await thaw(cluster, point)
        await until_well([*AT_QUIESCENCE, *work.also])
        await bring_back(cluster)
        await until_well([*AFTER_RECOVERY, *work.also], work.goal)

    play(script, on="embedded", brokers=work.brokers, settings=SETTINGS)


def arm(cluster: Cluster, point: CrashPoint, blow: Blow) -> None:
    """Arm the fault for the moment at which the controller comes to this point."""
    fault = cluster.arm_kill if blow is Blow.KILLED else cluster.arm_pause
    fault(point.victim, point.moment, point.path, point.nth)


def has_triggered(cluster: Cluster, point: CrashPoint) -> bool:
    return cluster.state.processes.get(point.victim) in ("dead", "paused")


async def see_successor_into_office(cluster: Cluster, point: CrashPoint, blow: Blow) -> None:
    """Wait until another broker has taken over."""
    if blow is Blow.DEPOSED and _holder(cluster) == point.victim:
        # Not immediately: a broker that has not read /controller since its creation would miss the deletion.
        await until_quiet(cluster, for_ms=MOMENTARILY_QUIET_MS)
        await cluster.znodes.delete("/controller")
    await cluster.wait_until(partial(_no_successor, cluster, point), WITHIN_MS)


async def thaw(cluster: Cluster, point: CrashPoint) -> None:
    """Let a frozen controller continue where it stopped: as a zombie."""
    if cluster.state.processes[point.victim] == "paused":
        await cluster.resume(point.victim)


def _no_successor(cluster: Cluster, point: CrashPoint) -> str | None:
    """Return None when a broker other than the victim has taken over; else a description of /controller."""
    holder, epoch = _holder(cluster), cluster.state.controller_epoch
    if holder in (None, point.victim) or epoch is None:
        return f"{holder} holds /controller in epoch {epoch}"
    return until_ready(cluster, epoch)()


def _holder(cluster: Cluster) -> str | None:
    return None if cluster.state.controller_id is None else f"broker-{cluster.state.controller_id}"


def amiss(cluster: Cluster, invariants: Sequence[Invariant], goal: Goal | None = None) -> list[str]:
    """Return the missed goal, if it is missed, and the violations of invariants."""
    missed = goal(cluster) if goal is not None else None
    found = [missed] if missed is not None else []
    return found + violations(cluster.log.events, invariants, inside=cluster)


async def bring_back(cluster: Cluster) -> None:
    """Start every broker that is not running, and resume every frozen one."""
    states = cluster.state.processes
    for name in cluster.broker_names:
        if states.get(name) == "paused":
            await cluster.resume(name)
    away = [name for name in cluster.broker_names if states.get(name) in ("dead", "stopped")]
    if away:
        await cluster.start(away)


async def until_quiet(cluster: Cluster, unless: Callable[[], bool] = lambda: False, for_ms: int = QUIET_MS) -> bool:
    """Wait until nothing has happened for for_ms; return False as soon as `unless` is true.

    The time passes in short waits, all of which must end without news: where the process is starved, these are late as well.
    """
    quiet_ms = 0
    while quiet_ms < for_ms:
        if unless():
            return False
        try:
            await cluster.wait_until(partial(_no_news, cluster, len(cluster.log.events)), QUIET_WAIT_MS)
        except TimedOutError:
            quiet_ms += QUIET_WAIT_MS
        else:
            quiet_ms = 0
    return True


def _no_news(cluster: Cluster, seen: int) -> str | None:
    return None if len(cluster.log.events) > seen else "nothing happens"
