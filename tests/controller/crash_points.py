"""A piece of the controller's work, done again and again with the controller struck at each of its writes to ZooKeeper.

A Work says what the cluster looks like, what is done, and what has come of it in the end. `crash_points` plays it
undisturbed and lists the writes that the controller made for it; `play_with` plays it with a blow at one of them, sees a
successor into office, brings everybody back, and returns what is wrong then.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import takewhile

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.invariants import NOT_PROMISED, ONCE_QUIET, ONCE_WHOLE, Invariant, violations
from kcsim.scenarios.scenario_cluster import Moment
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import Event, EventKind
from tests.worlds import WITHIN_MS, Settings, find, play, until_ready

QUIET_MS = 8_000
"""Longer than anything that is still to come after an event leaves a log without one: ISR changes are told after 7.5 s."""
MOMENTARILY_QUIET_MS = 200
"""Longer than an election, and far shorter than a session."""
LIVE_WITHIN_MS = 60_000
SETTINGS: Settings = {"zookeeper.session.timeout.ms": 2000, "auto.leader.rebalance.enable": False}
MOMENTS: tuple[Moment, ...] = ("before", "after")

Step = Callable[[Cluster], Awaitable[None]]
Goal = Callable[[Cluster], str | None]


@dataclass(frozen=True)
class Work:
    """Something that the controller does.

    Args:
        prepare: makes the cluster, up to where the writes begin that count.
        steps: what is done then, one after the other, each once the cluster is quiet.
        goal: None when the work is done, else a sentence that says what is seen instead.
        victim: who is controller when the steps begin; None: whoever becomes it through them.
        may_leave_strays: replicas are taken away from brokers that may not hear of it.
        faults_of_kafka: at which points (as they are told) Kafka itself goes wrong, and a pattern of what is wrong then.
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
    """How the controller is struck."""

    KILLED = "killed"
    EXPIRED = "frozen until its session has expired, another has taken over, and all is quiet"
    DEPOSED = "frozen until /controller was deleted and another has taken over, its session alive"


@dataclass(frozen=True)
class CrashPoint:
    """The nth write to a path or below it, by the victim, from the first step on.

    `nth` counts so in order that a point is the same one in a run whose messages arrive in another order.
    """

    victim: str
    path: str
    nth: int
    moment: Moment

    def __str__(self) -> str:
        return f"{self.moment} write {self.nth} to {self.path}"


REFUSALS = {Blow.EXPIRED: "SESSIONEXPIRED", Blow.DEPOSED: "BADVERSION"}
"""Why ZooKeeper refuses the write that a zombie had in hand."""

# --- undisturbed ---------------------------------------------------------------------------------------------------------


def crash_points(work: Work) -> list[CrashPoint]:
    """Before and after every single write that the controller made for it, its election included. In virtual time."""
    log, began = play_undisturbed(work)
    victim = work.victim or find(log, EventKind.ELECTION_WON)[-1].node
    made = [e for e in find(log, EventKind.ZK_WRITE, node=victim) if e.seq >= began]
    writes = [CrashPoint(victim, e.path or "", _number(e, made), "before") for e in made if _is_of_the_controller(e)]
    return [replace(write, moment=moment) for write in writes for moment in MOMENTS]


def play_undisturbed(work: Work) -> tuple[EventLog, int]:
    """Returns: the event log, and how many events of it came before the first step. Raises: AssertionError."""
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
    """A broker's own writes (registration, ISRs, notifications) are not fenced; an election has no fence yet."""
    return write.controller_epoch_zk_version is not None or write.path == "/controller"


def _number(write: Event, made: Sequence[Event]) -> int:
    path = write.path or ""
    return sum(1 for e in made if e.seq <= write.seq and f"{e.path}/".startswith(f"{path}/"))


# --- disturbed -----------------------------------------------------------------------------------------------------------


def play_with(work: Work, point: CrashPoint, blow: Blow, also: Sequence[Invariant] = ()) -> list[str]:
    """In virtual time. Returns: what is wrong when all is quiet after the blow, and when everybody is back.

    Args:
        also: what must hold both times, besides ONCE_QUIET and ONCE_WHOLE.

    Raises: AssertionError when the controller never came to this point.
    """
    wrong: list[str] = []

    async def script(cluster: Cluster) -> None:
        await work.prepare(cluster)
        await until_quiet(cluster)
        arm(cluster, point, blow)
        has_struck = False
        for step in work.steps:
            await step(cluster)
            if not has_struck and not await until_quiet(cluster, unless=partial(is_struck, cluster, point)):
                has_struck = True
                await see_successor_into_office(cluster, point, blow)
                if blow is Blow.EXPIRED:
                    await until_quiet(cluster)  # so that it misses all that its successor does
                await thaw(cluster, point)
            await until_quiet(cluster)
        assert has_struck, f"the controller never came to this point: {point}"
        wrong.extend(f"once quiet: {told}" for told in amiss(cluster, [*ONCE_QUIET, *work.also, *also]))
        await bring_back(cluster)
        await until_quiet(cluster)
        wrong.extend(f"in the end: {told}" for told in amiss(cluster, [*ONCE_WHOLE, *work.also, *also], work.goal))

    log = play(script, brokers=work.brokers, settings=SETTINGS)
    return wrong + unfenced(log, point, blow)


def unexpected(work: Work, point: CrashPoint, wrong: Sequence[str]) -> list[str]:
    """What is wrong at a point and should not be, or should be and is not; each with its point."""
    pattern = work.faults_of_kafka.get(str(point))
    if pattern is not None and not wrong:
        return [f"{point}: nothing is wrong, but Kafka goes wrong here: {pattern}"]
    return [f"{point}: {told}" for told in wrong if pattern is None or not re.search(pattern, told)]


def unfenced(log: EventLog, point: CrashPoint, blow: Blow) -> list[str]:
    """The write that a zombie had in hand is refused, and whatever it tries until it wins anew (controller.md 13)."""
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
    """On a real ZooKeeper, where nobody can afford to wait for quiet: waits until all is as it must be, bounded.

    Args:
        work: of one step, prepared without waiting for quiet.

    Raises: TimedOutError with what is wrong.
    """

    async def script(cluster: Cluster) -> None:
        async def until_well(invariants: Sequence[Invariant], goal: Goal | None = None) -> None:
            await cluster.wait_until(lambda: next(iter(amiss(cluster, invariants, goal)), None), LIVE_WITHIN_MS)

        await work.prepare(cluster)
        await until_well(ONCE_QUIET)
        arm(cluster, point, blow)
        (step,) = work.steps
        await step(cluster)
        await cluster.wait_until(lambda: None if is_struck(cluster, point) else f"not struck {point}", WITHIN_MS)
        await see_successor_into_office(cluster, point, blow)
        await thaw(cluster, point)
        await until_well([*ONCE_QUIET, *work.also])
        await bring_back(cluster)
        await until_well([*ONCE_WHOLE, *work.also], work.goal)

    play(script, on="embedded", brokers=work.brokers, settings=SETTINGS)


def arm(cluster: Cluster, point: CrashPoint, blow: Blow) -> None:
    """Have the controller struck when it comes to this point."""
    fault = cluster.arm_kill if blow is Blow.KILLED else cluster.arm_pause
    fault(point.victim, point.moment, point.path, point.nth)


def is_struck(cluster: Cluster, point: CrashPoint) -> bool:
    return cluster.state.processes.get(point.victim) in ("dead", "paused")


async def see_successor_into_office(cluster: Cluster, point: CrashPoint, blow: Blow) -> None:
    """Wait until another broker has taken over."""
    if blow is Blow.DEPOSED and _holder(cluster) == point.victim:
        # Not at once: a broker that has not looked at /controller again since it was created would miss the deletion.
        await until_quiet(cluster, for_ms=MOMENTARILY_QUIET_MS)
        await cluster.zk_delete("/controller")
    await cluster.wait_until(partial(_no_successor, cluster, point), WITHIN_MS)


async def thaw(cluster: Cluster, point: CrashPoint) -> None:
    """Let a frozen controller go on where it stood: a zombie."""
    if cluster.state.processes[point.victim] == "paused":
        await cluster.resume(point.victim)


def _no_successor(cluster: Cluster, point: CrashPoint) -> str | None:
    """None when a broker that was not struck has taken over."""
    holder, epoch = _holder(cluster), cluster.state.controller_epoch
    if holder in (None, point.victim) or epoch is None:
        return f"{holder} holds /controller in epoch {epoch}"
    return until_ready(cluster, epoch)()


def _holder(cluster: Cluster) -> str | None:
    return None if cluster.state.controller_id is None else f"broker-{cluster.state.controller_id}"


def amiss(cluster: Cluster, invariants: Sequence[Invariant], goal: Goal | None = None) -> list[str]:
    """What is not as it must be."""
    missed = goal(cluster) if goal is not None else None
    found = [missed] if missed is not None else []
    return found + violations(cluster.log.events, invariants, inside=cluster)


async def bring_back(cluster: Cluster) -> None:
    """Start every broker that is not running, and thaw what is frozen."""
    states = cluster.state.processes
    for name in cluster.broker_names:
        if states.get(name) == "paused":
            await cluster.resume(name)
    away = [name for name in cluster.broker_names if states.get(name) in ("dead", "stopped")]
    if away:
        await cluster.start(away)


async def until_quiet(cluster: Cluster, unless: Callable[[], bool] = lambda: False, for_ms: int = QUIET_MS) -> bool:
    """Wait until nothing has happened for so long; False as soon as `unless` is true."""
    while True:
        if unless():
            return False
        try:
            await cluster.wait_until(partial(_no_news, cluster, len(cluster.log.events)), for_ms)
        except TimedOutError:
            return True


def _no_news(cluster: Cluster, seen: int) -> str | None:
    return None if len(cluster.log.events) > seen else "nothing happens"
