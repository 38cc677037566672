"""After any faults of a group's members and its coordinator, every partition is consumed by one member once the faults stop.

Random timetables in virtual time; the seed is in the test's name. Source: docs/kafka/consumer_groups.md 4, 7.
"""

import random

import pytest

from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.network.process_states import ProcessState
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import TopicPartition
from tests.brokers.cluster.consuming import ORDERS, Consuming, consumer, play
from tests.tiers import tiered

NAMES = ("c1", "c2", "c3", "c4")
OFFSETS_0 = TopicPartition("__consumer_offsets", 0)
STEPS = 8
SETTLED_WITHIN_MS = 120_000


class _RandomActions:
    """Executor of one random action at a time; it keeps which consumers run and are frozen, and which broker is down."""

    def __init__(self, run: Consuming, drawn: random.Random) -> None:
        self._run = run
        self._drawn = drawn
        self.states = dict.fromkeys(NAMES, ProcessState.DEAD)
        self._down: str | None = None

    def _in(self, state: ProcessState) -> list[str]:
        return [name for name, found in self.states.items() if found is state]

    async def one(self) -> None:
        consumers = self._run.cluster.consumers
        running, frozen, dead = (self._in(state) for state in (ProcessState.RUNNING, ProcessState.PAUSED, ProcessState.DEAD))
        actions = [*["start"] * bool(dead), *["stop", "kill", "pause"] * (len(running) > 1), *["resume"] * bool(frozen)]
        match self._drawn.choice([*actions, "broker"]):
            case "start":
                await consumers.start([self._set(dead, ProcessState.RUNNING)])
            case "stop":
                await consumers.stop(self._set(running, ProcessState.DEAD))
            case "kill":
                await consumers.kill(self._set(running, ProcessState.DEAD))
            case "pause":
                await consumers.pause(self._set(running, ProcessState.PAUSED))
            case "resume":
                await consumers.resume(self._set(frozen, ProcessState.RUNNING))
            case _:
                await self._broker()

    def _set(self, names: list[str], state: ProcessState) -> str:
        name = self._drawn.choice(names)
        self.states[name] = state
        return name

    async def _broker(self) -> None:
        """Crash the coordinator or freeze it, or bring back the broker that is down."""
        cluster = self._run.cluster
        if self._down is not None:
            if cluster.state.processes[self._down] == ProcessState.PAUSED.value:
                await cluster.resume(self._down)
            else:
                number = int(self._down.removeprefix("broker-"))
                await self._run.until(lambda: number not in cluster.state.registered, f"{self._down} is missed")
                await cluster.start([self._down])
            self._down = None
        elif OFFSETS_0 in cluster.state.of_topics.states:
            self._down = self._run.coordinator()
            await (cluster.kill if self._drawn.random() < 0.5 else cluster.pause)(self._down)

    async def settle(self) -> None:
        """Stop all faults, and let every process that can continue do so."""
        for name in self._in(ProcessState.PAUSED):
            await self._run.cluster.consumers.resume(name)
            self.states[name] = ProcessState.RUNNING
        if self._down is not None:
            await self._broker()


def amiss(run: Consuming, running: list[str]) -> list[str]:
    """Return the partitions that are not consumed by exactly one of these consumers."""
    owned = run.owned(*running)
    return [tp for n in range(6) if sum((tp := f"{ORDERS}-{n}") in mine for mine in owned) != 1]


@pytest.mark.parametrize("seed", tiered(range(5), fast=5))
@pytest.mark.parametrize("strategy", [*AssignmentStrategy])
def test_once_nothing_happens_any_more_every_partition_is_consumed_by_one(strategy: AssignmentStrategy, seed: int) -> None:
    async def script(run: Consuming) -> None:
        drawn = random.Random(seed)
        run.cluster.consumers.declare([consumer(name, strategies=(strategy,), is_static=seed % 2 == 1) for name in NAMES])
        actions = _RandomActions(run, drawn)
        actions.states["c1"] = ProcessState.RUNNING
        await run.cluster.consumers.start(["c1"])
        for _ in range(STEPS):
            await run.cluster.runtime.sleep_ms(drawn.randrange(15_000))
            await actions.one()
        await actions.settle()
        running = [name for name, state in actions.states.items() if state is ProcessState.RUNNING]
        await run.cluster.wait_until(
            lambda: f"{found} of {running}, who have {run.owned(*running)}" if (found := amiss(run, running)) else None,
            SETTLED_WITHIN_MS,
        )

    play(script, seed=seed, zookeeper_session_timeout_ms=2_000)


@pytest.mark.parametrize("seed", tiered(range(5), fast=3))
def test_a_cooperative_partition_is_never_given_to_one_while_another_member_still_has_it(seed: int) -> None:
    """A consumer that was frozen or killed may still believe that it owns partitions; it is no longer a member."""

    async def script(run: Consuming) -> None:
        drawn = random.Random(seed)
        both = (AssignmentStrategy.COOPERATIVE_STICKY,)
        run.cluster.consumers.declare([consumer(name, strategies=both) for name in NAMES])
        running: list[str] = []
        for _ in range(STEPS):
            idle = [name for name in NAMES if name not in running]
            if idle and (not running or drawn.random() < 0.6):
                running.append(drawn.choice(idle))
                await run.cluster.consumers.start(running[-1:])
            else:
                await run.cluster.consumers.stop(running.pop(drawn.randrange(len(running))))
            await run.cluster.runtime.sleep_ms(drawn.randrange(10_000))
        owners: dict[str, str] = {}
        for event in run.cluster.log.events:
            for tp in event.partitions or () if event.node.startswith("consumer") else ():
                if event.kind is EventKind.PARTITIONS_ASSIGNED:
                    assert tp not in owners, f"#{event.seq}: {event.node} gets {tp}, which {owners[tp]} has"
                    owners[tp] = event.node
                else:
                    del owners[tp]

    play(script, seed=seed)
