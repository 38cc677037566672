"""Clusters in virtual time: what a minute of them costs, how that grows with their size, and how large they can be.

First, clusters of 100 brokers with replication factor 3 lead 10, 100 and 1,000 partitions per broker. Of each such cluster
one quiet virtual minute is measured, then minutes in each of which a broker is killed, and started again 30 s later. Then a
cluster has a million partitions on 300 brokers in three racks: all partitions are created at once, and when every partition
has its leader and its full ISR, a rack that holds one replica of each partition dies. simulated=30000 selects that number of
partitions instead of the million.

Events are those of the event log; transitions are the writes of state znodes, each of which changes a leader or an ISR. No
event is kept: the memory holds the cluster only. Each cluster runs in its own process, so that its memory is measured
separately. Seconds are seconds of processor time, which equal real seconds where nothing else uses the processor; the total
is given in real seconds too.
"""

import gc
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

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.simulated_environment import run_simulated
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import BrokerId
from kcsim.znodes import paths

REPLICATION_FACTOR = 3
RACKS = 3
PARTITIONS_PER_TOPIC = 1000
GROWTH_BROKERS, LED_BY_EACH = 100, (10, 100, 1000)
FAILURES = 3
LARGE_BROKERS, LARGE_PARTITIONS = 300, 1_000_000
MEMORY_LIMIT_GIB = 12
MINUTE_MS = 60_000
SETTLING_MS = 1_000
WITHIN_MS = 10 * MINUTE_MS
SETTINGS = {"auto.leader.rebalance.enable": False}
SEED = 1


def main(size: str | None = None) -> None:
    """Print the cost of each cluster, and how the cost grows."""
    largest = large_partitions(size)
    print(f"\n{GROWTH_BROKERS} brokers in virtual time, and in every virtual minute a failure")
    before: Growth | None = None
    for led_by_each in LED_BY_EACH:
        output = _in_own_process("growth", str(GROWTH_BROKERS * led_by_each), stdout=subprocess.PIPE)
        measured = msgspec.json.decode(output, type=Growth)
        print(measured.describe(before), flush=True)
        before = measured
    _in_own_process("rack", str(largest))


def large_partitions(asked: str | None) -> int:
    """Return the number of partitions of the largest cluster, rounded down to whole topics.

    Raises: SystemExit for an invalid number.
    """
    if not asked:
        return LARGE_PARTITIONS
    if not asked.isdecimal() or int(asked) < PARTITIONS_PER_TOPIC:
        least = f"a number of partitions, {PARTITIONS_PER_TOPIC} at least"
        raise SystemExit(f"simulated={asked}: it is {least}")
    return int(asked) // PARTITIONS_PER_TOPIC * PARTITIONS_PER_TOPIC


def _in_own_process(what: str, size: str, stdout: int | None = None) -> bytes:
    return subprocess.run([sys.executable, "-m", __name__, what, size], check=True, stdout=stdout).stdout


# --- measuring -------------------------------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """Counters at one moment: processor seconds, virtual ms, events and transitions since the beginning."""

    taken_s: float
    virtual_ms: int
    events: int
    transitions: int


@dataclass(frozen=True, slots=True)
class Phase:
    """Difference between two readings."""

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
    """Counter of a run's events as they are appended; it also reports whether controllers have work left."""

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
        """Return None when every queued controller event is done and every request answered; else what is not."""
        queued = self.kinds[EventKind.CONTROLLER_EVENT_QUEUED] - self.kinds[EventKind.CONTROLLER_EVENT_DONE]
        sent = self.kinds[EventKind.REQUEST_SENT] - self.kinds[EventKind.RESPONSE_RECEIVED]
        return f"{queued} controller events are not done, {sent} requests not answered" if queued or sent else None


class Bench:
    """One cluster and the actions on it; each phase is measured when it ends."""

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
        """Create all topics at once, and wait until each partition has a leader and all brokers have received it."""
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
        """Wait for the condition and its consequences, including the first fetches, 50 ms after a leader is known."""
        await self.cluster.wait_until(lambda: condition() or self.meter.unsettled(), WITHIN_MS)
        await self.cluster.runtime.sleep_ms(SETTLING_MS)
        await self.cluster.wait_until(self.meter.unsettled, WITHIN_MS)

    async def quiet_minute(self) -> None:
        await self.cluster.runtime.sleep_ms(MINUTE_MS)

    async def failures(self) -> None:
        """Kill one broker in each minute, let its session expire, and start it again so that it rejoins its ISRs."""
        for name in self.cluster.broker_names[1 : FAILURES + 1]:
            await self.cluster.kill(name)
            await self.cluster.runtime.sleep_ms(MINUTE_MS // 2)
            await self.cluster.start([name])
            await self.cluster.runtime.sleep_ms(MINUTE_MS // 2)

    async def lose_rack(self, lost: Sequence[str]) -> None:
        """Kill all brokers of a rack at once; wait until the controller has noticed and live brokers are notified."""
        for name in lost:
            await self.cluster.kill(name)
        seen, partitions = self.meter.transitions, self.meter.partitions_created

        def condition() -> str | None:
            # Each partition has lost a replica, so each state is written at least once.
            written = self.meter.transitions - seen
            return None if written >= partitions else f"{written} state znodes of {partitions} written"

        await self.settled(condition)

    def check(self, partitions: int, lost: Sequence[str] = ()) -> None:
        """Check that every partition has a live leader, and that its ISR is its replicas without the lost ones."""
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
    # The objects of such a cluster live as long as the cluster does. Scanning millions of objects for garbage at every
    # collection costs a fifth of the time and frees a twentieth of the memory.
    gc.disable()
    try:
        run_simulated(1, spec, RunInfo("bench", SEED, "simulated"), on, (meter.note,))
    finally:
        gc.enable()


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


# --- the two benchmarks ----------------------------------------------------------------------------------------------------


class Growth(msgspec.Struct, frozen=True):
    """Measurements of one cluster; `quiet_s` and `failure_s` are the cost of one virtual minute.

    A quiet cluster has work to do too: fetches, which are not recorded as events.
    """

    partitions: int
    created_s: float
    quiet_s: float
    failure_s: float
    events: int
    transitions: int
    peak_gib: float

    def describe(self, before: "Growth | None") -> str:
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
    """Measure a cluster with this number of partitions."""
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
    """Print how a large cluster comes up, and how it handles the loss of a rack."""
    print(f"\n{partitions:,} partitions on {brokers} brokers in {RACKS} racks, in virtual time", flush=True)

    async def script(bench: Bench) -> None:
        lost = bench.cluster.broker_names[::RACKS]
        _print_phase(f"{brokers} brokers start", await bench.measured(bench.start()))
        _print_phase("topics are created, all partitions led", await bench.measured(bench.create(partitions)))
        bench.check(partitions)
        _print_phase(f"{len(lost)} brokers die, all partitions led", await bench.measured(bench.lose_rack(lost)))
        bench.check(partitions, lost)

    began_s = time.perf_counter()
    run(brokers, script)
    print(f"  in all {time.perf_counter() - began_s:.0f} s of real time, {time.process_time():.0f} s of the processor's")
    assert peak_gib() < MEMORY_LIMIT_GIB, f"{peak_gib():.1f} GiB of memory"


def _print_phase(what: str, phase: Phase) -> None:
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
