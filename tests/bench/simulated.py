"""Clusters in virtual time: what a minute of them costs, how that grows with their size, and how large they can be.

First 100 brokers, replication factor 3, that lead 10, 100 and 1,000 partitions each. Of every such cluster one quiet virtual
minute is measured, then minutes in each of which a broker is killed, and started again 30 s later. Then a million partitions
on 300 brokers in three racks: they are created at once, and when every one has its leader and its full ISR, a rack dies with
a replica of each of them. KCSIM_BENCH=30000 asks for so many instead of the million.

Events are those of the event log; transitions are the state znodes written, each a leader or an ISR that is another than it
was. No event is kept: what memory holds is the cluster. Each cluster has a process of its own, so that memory can be told
apart. Seconds are those of the processor, which are real ones where nothing else wants it; the whole is given in real ones
too.
"""

import gc
import os
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from kcsim.scenarios.admin.topics import NewTopic
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.scenario_cluster import BrokerSpec, ClusterSpec
from kcsim.scenarios.simulated_world import run_simulated
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import BrokerId

REPLICATION_FACTOR = 3
RACKS = 3
PARTITIONS_PER_TOPIC = 1000
GROWTH_BROKERS, LED_BY_EACH = 100, (10, 100, 1000)
FAILURES = 3
LARGE_BROKERS, LARGE_PARTITIONS = 300, 1_000_000
LARGE_ENVIRONMENT_VARIABLE = "KCSIM_BENCH"
MEMORY_LIMIT_GIB = 12
MINUTE_MS = 60_000
SETTLING_MS = 1_000
WITHIN_MS = 10 * MINUTE_MS
SETTINGS = {"auto.leader.rebalance.enable": False}
SEED = 1


def main() -> None:
    """Print what each cluster took, and how that grew."""
    largest = large_partitions(os.environ.get(LARGE_ENVIRONMENT_VARIABLE))
    print(f"\n{GROWTH_BROKERS} brokers in virtual time, and in every virtual minute a failure")
    before: Growth | None = None
    for led_by_each in LED_BY_EACH:
        told = _in_own_process("growth", str(GROWTH_BROKERS * led_by_each), stdout=subprocess.PIPE)
        measured = msgspec.json.decode(told, type=Growth)
        print(measured.told(before), flush=True)
        before = measured
    _in_own_process("rack", str(largest))


def large_partitions(asked: str | None) -> int:
    """How many partitions the largest cluster has; whole topics. Raises: SystemExit for what is no number of them."""
    if not asked:
        return LARGE_PARTITIONS
    if not asked.isdecimal() or int(asked) < PARTITIONS_PER_TOPIC:
        least = f"a number of partitions, {PARTITIONS_PER_TOPIC} at least"
        raise SystemExit(f"{LARGE_ENVIRONMENT_VARIABLE}={asked}: it is {least}")
    return int(asked) // PARTITIONS_PER_TOPIC * PARTITIONS_PER_TOPIC


def _in_own_process(what: str, size: str, stdout: int | None = None) -> bytes:
    return subprocess.run([sys.executable, "-m", __name__, what, size], check=True, stdout=stdout).stdout


# --- measuring -------------------------------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """Of a moment: processor seconds, virtual ms, events and transitions since the beginning."""

    taken_s: float
    virtual_ms: int
    events: int
    transitions: int


@dataclass(frozen=True, slots=True)
class Phase:
    """What happened between two readings."""

    taken_s: float
    virtual_s: float
    events: int
    transitions: int

    @classmethod
    def between(cls, began: Reading, ended: Reading) -> "Phase":
        virtual_s = (ended.virtual_ms - began.virtual_ms) / 1000
        return cls(
            ended.taken_s - began.taken_s, virtual_s, ended.events - began.events, ended.transitions - began.transitions
        )


class Meter:
    """Counts the events of a run as they come, and says when its controllers have nothing to do."""

    def __init__(self) -> None:
        self.kinds: Counter[EventKind] = Counter()
        self.transitions = 0
        self.partitions_created = 0

    def note(self, event: Event) -> None:
        self.kinds[event.kind] += 1
        if event.kind in (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED):
            assert event.path is not None
            if event.path.startswith(paths.BROKER_TOPICS) and event.path.endswith("/state"):
                self.transitions += 1
                self.partitions_created += event.kind is EventKind.ZNODE_CREATED

    def read(self, cluster: Cluster) -> Reading:
        return Reading(time.process_time(), cluster.runtime.now_ms(), self.kinds.total(), self.transitions)

    def unsettled(self) -> str | None:
        """None when every controller event that was queued is done, and every request answered."""
        queued = self.kinds[EventKind.CONTROLLER_EVENT_QUEUED] - self.kinds[EventKind.CONTROLLER_EVENT_DONE]
        sent = self.kinds[EventKind.REQUEST_SENT] - self.kinds[EventKind.RESPONSE_RECEIVED]
        return f"{queued} controller events are not done, {sent} requests not answered" if queued or sent else None


class Bench:
    """One cluster, and what is done to it; the phases are measured as they end."""

    def __init__(self, cluster: Cluster, meter: Meter) -> None:
        self.cluster = cluster
        self.meter = meter

    async def measured(self, work: Coroutine[Any, Any, None]) -> Phase:
        began = self.meter.read(self.cluster)
        await work
        return Phase.between(began, self.meter.read(self.cluster))

    async def start(self) -> None:
        await self.cluster.start(self.cluster.broker_names)

    async def create(self, partitions: int) -> None:
        """Create topics, all at once, and wait until each partition has a leader and all brokers know."""
        runtime, numbers = self.cluster.runtime, random.Random(SEED)
        of_each = min(partitions, PARTITIONS_PER_TOPIC)

        async def create(number: int) -> None:
            wanted = NewTopic(f"topic-{number:04}", of_each, REPLICATION_FACTOR)
            await self.cluster.topics.create(wanted, numbers)

        tasks = [runtime.spawn(f"create topic {n}", create(n)) for n in range(partitions // of_each)]
        for task in tasks:
            await task.join()
        await self.settled(lambda: None if self.meter.partitions_created == partitions else "not all have a leader")

    async def settled(self, condition: Callable[[], str | None]) -> None:
        """Wait for the condition and for what follows: the first fetches too, which come 50 ms after a leader is known."""
        await self.cluster.wait_until(lambda: condition() or self.meter.unsettled(), WITHIN_MS)
        await self.cluster.runtime.sleep_ms(SETTLING_MS)
        await self.cluster.wait_until(self.meter.unsettled, WITHIN_MS)

    async def quiet_minute(self) -> None:
        await self.cluster.runtime.sleep_ms(MINUTE_MS)

    async def failures(self) -> None:
        """In each minute a broker dies, its session expires, it comes back and into its ISRs."""
        for name in self.cluster.broker_names[1 : FAILURES + 1]:
            await self.cluster.kill(name)
            await self.cluster.runtime.sleep_ms(MINUTE_MS // 2)
            await self.cluster.start([name])
            await self.cluster.runtime.sleep_ms(MINUTE_MS // 2)

    async def lose_rack(self, lost: Sequence[str]) -> None:
        """All brokers of a rack die at once; wait until the controller has seen it, and whoever lives knows."""
        for name in lost:
            await self.cluster.kill(name)
        seen, partitions = self.meter.transitions, self.meter.partitions_created

        def condition() -> str | None:
            # Each partition has lost a replica, so each state is written at least once.
            written = self.meter.transitions - seen
            return None if written >= partitions else f"{written} state znodes of {partitions} written"

        await self.settled(condition)

    def check(self, partitions: int, lost: Sequence[str] = ()) -> None:
        """Every partition is led, by a broker that lives, and its ISR is its replicas but for those that are lost."""
        of_topics = self.cluster.state.of_topics
        dead = {BrokerId(int(name.removeprefix("broker-"))) for name in lost}
        found = list(of_topics.partitions())
        assert len(found) == partitions, f"{len(found)} partitions of {partitions}"
        for tp in found:
            assignment, isr = of_topics.assignment(tp), of_topics.isr(tp)
            assert assignment is not None
            assert set(isr) == set(assignment.replicas) - dead, f"{tp}: ISR {isr} of {assignment.replicas}"
            assert of_topics.leader(tp) in isr, f"{tp} is led by {of_topics.leader(tp)}"


def run(brokers: int, script: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    """Run a script on a cluster in virtual time."""
    meter = Meter()

    async def on(cluster: Cluster) -> None:
        cluster.log.keeps_events = False
        await script(Bench(cluster, meter))

    spec = ClusterSpec(tuple(BrokerSpec(n + 1, f"rack-{n % RACKS}") for n in range(brokers)), SETTINGS)
    # What such a cluster consists of lives as long as it does. To look through millions of objects for what could be thrown
    # away, whenever some more have been made, costs a fifth of the time and finds a twentieth of the memory.
    gc.disable()
    try:
        run_simulated(1, spec, RunInfo("bench", SEED, "simulated"), on, (meter.note,))
    finally:
        gc.enable()


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


# --- the two benchmarks ----------------------------------------------------------------------------------------------------


class Growth(msgspec.Struct, frozen=True):
    """What was measured of one cluster; `quiet_s` and `failure_s` are what one virtual minute took.

    A quiet cluster is busy too: with fetches, of which there are no events.
    """

    partitions: int
    created_s: float
    quiet_s: float
    failure_s: float
    events: int
    transitions: int
    peak_gib: float

    def told(self, before: "Growth | None") -> str:
        growth = ""
        if before is not None:
            events, taken = self.events / before.events, self.failure_s / before.failure_s
            growth = f"; against the row above: events {events:.1f} x, time {taken:.1f} x"
        return (
            f"  {self.partitions:>7,} partitions: created in {self.created_s:.1f} s, {self.peak_gib:.2f} GiB at most;"
            f" a quiet minute {self.quiet_s:.1f} s, with a failure {self.failure_s:.1f} s\n"
            f"          {self.events:,} events and {self.transitions:,} transitions a failure:"
            f" {self.events / self.failure_s:,.0f} and {self.transitions / self.failure_s:,.0f} a second,"
            f" {self.failure_s / self.events * 1e6:.0f} us an event{growth}"
        )


def growth(brokers: int, partitions: int) -> Growth:
    """Measure a cluster with so many partitions."""
    measured: list[Growth] = []

    async def script(bench: Bench) -> None:
        await bench.start()
        created = await bench.measured(bench.create(partitions))
        quiet = await bench.measured(bench.quiet_minute())
        failed = await bench.measured(bench.failures())
        bench.check(partitions)
        measured.append(
            Growth(
                partitions,
                created.taken_s,
                quiet.taken_s,
                failed.taken_s / FAILURES,
                failed.events // FAILURES,
                failed.transitions // FAILURES,
                peak_gib(),
            )
        )

    run(brokers, script)
    return measured[0]


def lose_rack(brokers: int, partitions: int) -> None:
    """Print how a large cluster comes up, and how it takes the loss of a rack."""
    print(f"\n{partitions:,} partitions on {brokers} brokers in {RACKS} racks, in virtual time", flush=True)

    async def script(bench: Bench) -> None:
        lost = bench.cluster.broker_names[::RACKS]
        _tell(f"{brokers} brokers start", await bench.measured(bench.start()))
        _tell("topics are created, all partitions led", await bench.measured(bench.create(partitions)))
        bench.check(partitions)
        _tell(f"{len(lost)} brokers die, all partitions led", await bench.measured(bench.lose_rack(lost)))
        bench.check(partitions, lost)

    began_s = time.perf_counter()
    run(brokers, script)
    print(f"  in all {time.perf_counter() - began_s:.0f} s of real time, {time.process_time():.0f} s of the processor's")
    assert peak_gib() < MEMORY_LIMIT_GIB, f"{peak_gib():.1f} GiB of memory"


def _tell(what: str, phase: Phase) -> None:
    print(
        f"  {what:<38} {phase.taken_s:7.1f} s for {phase.virtual_s:5.1f} virtual s; {phase.events:>9,} events"
        f" ({phase.events / phase.taken_s:7,.0f}/s), {phase.transitions:>9,} transitions; {peak_gib():5.2f} GiB at most",
        flush=True,
    )


if __name__ == "__main__":
    what, size = sys.argv[1], int(sys.argv[2])
    if what == "growth":
        sys.stdout.buffer.write(msgspec.json.encode(growth(GROWTH_BROKERS, size)))
    else:
        lose_rack(LARGE_BROKERS, size)
