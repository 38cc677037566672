"""A failover and the loss of a broker on ten Apache Kafka 2.8.2 brokers: Kafka's controller and ours in turn, in one run.

The ten brokers host all partitions, with replication factor 3. The controller is in an eleventh broker without replicas: a
broker of Kafka with the options of Kafka's own start script, or `kcsim broker`. While /controller is deleted, the ten are
frozen for some milliseconds, so that the eleventh is elected.

Both times end when all state znodes are written and each of the ten brokers has handled the last request that follows, by
the lines "Finished LeaderAndIsr request" and "Add N partitions … in response to UpdateMetadata request" of its log. A
failover begins with the deletion of /controller, a loss with the expiry of the session of a broker that was killed. All
times are those of ZooKeeper's transaction log and of the brokers' logs, to the millisecond of one clock.

All files are in memory where the system has a file system in memory: a broker forces a file to the disk for each partition
that it begins to lead, and here ten brokers would do so on one disk.

With 2,000 partitions, on two cores that did nothing else: a failover 0.18 s, Kafka's 0.66 s; a loss 0.22 s, Kafka's
0.57 s. (On cores that did other work: 0.70 and 1.86 s; 1.05 and 2.43 s.)
"""

import asyncio
import gc
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec, Value, written
from kcsim.controller.admin.elections import request_preferred_election
from kcsim.errors import TimedOutError
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import BrokerId, PartitionState, TopicPartition, Zxid
from kcsim.zk.files.transaction_log import TransactionLogTail
from kcsim.zk.files.transactions import CloseSessionTxn, DeleteTxn, SetDataTxn, Transaction
from kcsim.zk.kafka.kafka_zk import gateways_on
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Delete
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.errors import ServerError
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from kcsim.znodes import paths
from tests.bench.failover import BROKERS, REPLICATION_FACTOR, open_session, placed
from tests.bench.kafka_processes import SERVER_LOG, ProcessTimes, start_kafka

SIZE = 2_000
PARTITIONS_PER_TOPIC = 100
HOSTS = tuple(BrokerId(number) for number in range(1, BROKERS + 1))
CONTROLLER = BrokerId(BROKERS + 1)
KAFKAS, OURS = "Kafka 2.8.2", "ours"
ROUNDS, WARM_UP, FAILOVERS, LOSSES = 3, 3, 2, 2
"""In each round, of either controller: failovers that are not counted and those that are, and losses of a broker."""
SETTINGS: Mapping[str, Value] = {
    "inter.broker.protocol.version": "2.8",
    "zookeeper.session.timeout.ms": 10_000,
    "auto.leader.rebalance.enable": False,
}
IN_MEMORY = Path("/dev/shm")
INDEX_BYTES = 8_192
"""log.index.size.max.bytes: the logs are empty, and each would have two sparse files of 10 MB."""
HOST_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")
"""Ten of them run on one machine, and on few cores."""
QUIET_S = 2.0
"""How long the brokers must have got nothing, once they have got all that is expected, until a measurement is over."""
WITHIN_S = 600.0
POLL_S = 0.1
HANDLED = re.compile(
    r"\[(?P<time>[^]]*)\] INFO \[Broker id=\d+\] (?:"
    r"Finished LeaderAndIsr request in \d+ms correlationId \d+ from controller \d+ for (?P<led>\d+) partitions|"
    r"Add (?P<known>\d+) partitions and deleted \d+ partitions from metadata cache in response to UpdateMetadata request)"
)


class Taken(NamedTuple):
    """What one failover or loss took.

    Attributes:
        wall_s: until the last broker had handled the last request.
        states_s: until the last state znode was written; 0 if none was.
        cpu_s: processor time of the broker with the controller, from the deletion of /controller or the kill of the broker
            until the measurement was over.
    """

    wall_s: float
    states_s: float
    cpu_s: float


class Handled(NamedTuple):
    """What one broker has handled since some moment.

    Attributes:
        last_ms: when it handled the last request, in ms since 1970.
        led, known: the partitions of its LeaderAndIsr and of its UpdateMetadata requests.
    """

    last_ms: int = 0
    led: int = 0
    known: int = 0

    def is_at_least(self, expected: "Handled") -> bool:
        return self.led >= expected.led and self.known >= expected.known


def main(size: str | None = None) -> None:
    """Print the times of both controllers. Args: size: how many partitions; None: SIZE."""
    try:
        kafka = find_kafka(None)
    except ServerError as error:
        print(f"\nnot on brokers of Apache Kafka: {error}")
        return
    partitions = int(size or SIZE)
    with ExitStack() as ends:
        ends.enter_context(_files_in_memory())
        settings = ServerSettings(heap_mb=1024, tick_time_ms=2000)
        server = ends.enter_context(EmbeddedZooKeeper(settings=settings))
        hosts = GuardedProcesses(what="kafka-bench")
        ends.callback(hosts.close)
        bench = Bench(server, kafka, hosts, partitions)
        bench.run()
    print(f"\n{partitions:,} partitions on {BROKERS} brokers of Apache Kafka {kafka.version}: medians of {ROUNDS} rounds")
    _print("/controller deleted until all brokers have taken it up", bench.failovers)
    _print("session of a broker ended until all others have taken it up", bench.losses)


@contextmanager
def _files_in_memory() -> Iterator[None]:
    """Create temporary directories in memory, if there is a file system for it."""
    before = tempfile.tempdir
    if IN_MEMORY.is_dir():
        tempfile.tempdir = str(IN_MEMORY)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _print(what: str, taken: Mapping[str, Sequence[Taken]]) -> None:
    print(f"  {what}")
    medians = {}
    for whose, found in taken.items():
        walls = [one.wall_s for one in found]
        wall_s, states_s, cpu_s = (statistics.median(column) for column in zip(*found, strict=True))
        medians[whose] = wall_s
        states = f", states written {states_s:.3f} s" if states_s else ""
        spread = f"({min(walls):.3f} to {max(walls):.3f} of {len(walls)})"
        print(f"    {whose:<12} {wall_s:7.3f} s {spread}{states}; processor time of the controller {cpu_s:5.2f} s")
    print(f"    ratio {medians[OURS] / medians[KAFKAS]:.2f}")


class Bench:
    """One ZooKeeper, ten brokers of Kafka, and a controller of either kind in turn.

    Attributes:
        failovers, losses: by controller.
    """

    def __init__(self, server: EmbeddedZooKeeper, kafka: KafkaInstallation, hosts: GuardedProcesses, size: int) -> None:
        self._runtime = WallClockRuntime()
        self._connect_string = server.connect_string
        self._kafka = kafka
        self._hosts = hosts
        self._size = size
        (member,) = server.member_names
        directory = server.transaction_log_dir(member)
        assert directory is not None
        self._transactions = TransactionLogTail(directory, Zxid(0))
        self._logs = BrokerLogs({host: hosts.directory / _name(host) / SERVER_LOG for host in HOSTS})
        self._replicas: dict[TopicPartition, tuple[BrokerId, ...]] = {}
        self.failovers: dict[str, list[Taken]] = {KAFKAS: [], OURS: []}
        self.losses: dict[str, list[Taken]] = {KAFKAS: [], OURS: []}

    def run(self) -> None:
        self._runtime.run(self._main())

    async def _main(self) -> None:
        log = EventLog(self._runtime.now_ms)
        self._admin = await open_session(self._runtime, LiveZooKeeper(self._connect_string), log, "admin")
        self._zk = gateways_on(self._admin)
        for host in HOSTS:
            self._start_host(host)
        await self._until_registered(*HOSTS)
        await self._create_topics()
        victims = iter(HOSTS * (2 * ROUNDS))
        for number in range(ROUNDS):
            lost = [next(victims) for _ in range(LOSSES)]  # the same ones with either controller
            for whose in (KAFKAS, OURS):
                await self._measure(whose, lost)
                print(f"  round {number + 1}, {whose}: {self._latest(whose)}", file=sys.stderr, flush=True)
        await self._admin.close()

    def _latest(self, whose: str) -> str:
        failovers, losses = self.failovers[whose][-FAILOVERS:], self.losses[whose][-LOSSES:]
        walls = [" ".join(f"{one.wall_s:.3f}" for one in some) for some in (failovers, losses)]
        return f"failovers {walls[0]} s, losses {walls[1]} s"

    async def _measure(self, whose: str, victims: Sequence[BrokerId]) -> None:
        """Let the eleventh broker be that of one kind, measure, and end it."""
        guarded = GuardedProcesses(what="controller-bench")
        try:
            times = self._start_controller(guarded, whose)
            await self._until_registered(*HOSTS, CONTROLLER)
            for number in range(WARM_UP + FAILOVERS):
                taken = await self._failover(times)
                if number >= WARM_UP:
                    self.failovers[whose].append(taken)
            for victim in victims:
                self.losses[whose].append(await self._loss(times, victim))
                await self._return(victim)
            guarded.terminate(whose)
            await self._until_registered(*HOSTS)
            await self._until_elected(set(HOSTS))
            await asyncio.sleep(QUIET_S)
        finally:
            guarded.close()

    # --- the cluster

    def _start_host(self, host: BrokerId) -> None:
        settings = {**SETTINGS, "log.index.size.max.bytes": INDEX_BYTES}
        spec = KafkaBrokerSpec(host, self._connect_string, settings)
        start_kafka(self._hosts, _name(host), spec, self._kafka, HOST_JVM)

    def _start_controller(self, guarded: GuardedProcesses, whose: str) -> ProcessTimes:
        if whose == KAFKAS:
            return start_kafka(guarded, whose, KafkaBrokerSpec(CONTROLLER, self._connect_string, SETTINGS), self._kafka)
        words = ["--id", str(CONTROLLER), "--zookeeper", self._connect_string, "--execute"]
        for name, value in SETTINGS.items():
            words += ["--setting", f"{name}={written(value)}"]
        command = [sys.executable, "-m", "kcsim.scenarios", "broker", *words]
        return ProcessTimes(guarded.start(whose, command, guarded.directory / "console"))

    async def _create_topics(self) -> None:
        for number in range(self._size // PARTITIONS_PER_TOPIC):
            topic, state = f"topic-{number:03}", placed(PARTITIONS_PER_TOPIC, number)
            await self._zk.topics.create(topic, state)
            self._replicas |= {TopicPartition(topic, p): one.replicas for p, one in state.assignments.items()}
        await self._until_in_sync()
        await asyncio.sleep(QUIET_S)

    async def _until_registered(self, *brokers: BrokerId) -> None:
        async def differing() -> str | None:
            found = {info.broker_id for info, _ in await self._zk.brokers.read_all_with_epochs()}
            return None if found == {*brokers} else f"registered: {sorted(found)}"

        await _until(differing)

    async def _until_elected(self, brokers: set[BrokerId]) -> None:
        async def another() -> str | None:
            holder = await self._zk.controller.read_id()
            return None if holder in brokers else f"the controller is {holder}"

        await _until(another, 0.001)

    async def _until_in_sync(self) -> None:
        async def missing() -> str | None:
            states = await self._states()
            less = [
                tp for tp in self._replicas if tp not in states or len(states[tp].leader_and_isr.isr) < REPLICATION_FACTOR
            ]
            return f"{len(less)} partitions without all replicas in their ISR" if less else None

        await _until(missing, 1.0)

    async def _states(self) -> dict[TopicPartition, PartitionState]:
        return await self._zk.partition_states.read(self._replicas)

    # --- measurements

    async def _failover(self, times: ProcessTimes) -> Taken:
        """Delete /controller, and measure until all brokers have got all partitions again."""
        self._begin()
        cpu_s = times.cpu_s()
        for host in HOSTS:
            self._hosts.pause(_name(host))
        await self._admin.request([Delete(paths.CONTROLLER)])
        await self._until_elected({CONTROLLER})
        for host in HOSTS:
            self._hosts.resume(_name(host))
        hosted = Counter(chain.from_iterable(self._replicas.values()))
        done = await self._until_handled({host: Handled(led=hosted[host], known=self._size) for host in HOSTS})
        deleted = [t.time_ms for t in self._transactions.read_to() if DeleteTxn(paths.CONTROLLER) in t.ops]
        return Taken((done - deleted[0]) / 1000, 0.0, times.cpu_s() - cpu_s)

    async def _loss(self, times: ProcessTimes, victim: BrokerId) -> Taken:
        """Kill a broker, and measure from the end of its session."""
        self._begin()
        cpu_s = times.cpu_s()
        self._hosts.kill(_name(victim))
        touched = {tp: replicas for tp, replicas in self._replicas.items() if victim in replicas}
        beside = Counter(chain.from_iterable(touched.values()))
        expected = {host: Handled(led=beside[host], known=len(touched)) for host in HOSTS if host != victim}
        done = await self._until_handled(expected)
        cpu_s = times.cpu_s() - cpu_s
        states = await self._states()
        assert all(victim not in states[tp].leader_and_isr.isr for tp in touched), "all states are written"
        transactions = self._transactions.read_to()
        ended_ms = next(t.time_ms for t in transactions if _ends(t, paths.broker_id(victim)))
        written_ms = max(t.time_ms for t in transactions if _writes_state(t))
        return Taken((max(done, written_ms) - ended_ms) / 1000, (written_ms - ended_ms) / 1000, cpu_s)

    async def _return(self, victim: BrokerId) -> None:
        """Start a broker again, and let it lead what it led before."""
        self._start_host(victim)
        await self._until_in_sync()
        await request_preferred_election(self._zk)

        async def others() -> str | None:
            states = await self._states()
            less = [tp for tp, replicas in self._replicas.items() if states[tp].leader_and_isr.leader != replicas[0]]
            return f"{len(less)} partitions without their preferred leader" if less else None

        await _until(others, 1.0)
        await asyncio.sleep(QUIET_S)

    def _begin(self) -> None:
        self._transactions.read_to()
        self._logs.read()
        self._logs.forget()
        gc.collect()

    async def _until_handled(self, expected: Mapping[BrokerId, Handled]) -> int:
        """Return when the last of these brokers handled its last request, in ms since 1970, once there are no more."""

        async def missing() -> str | None:
            self._logs.read()
            handled = self._logs.handled
            less = {host: handled[host] for host in expected if not handled[host].is_at_least(expected[host])}
            if less:
                return f"handled {less} of {[expected[host] for host in less]}"
            last_ms = max(handled[host].last_ms for host in expected)
            return None if time.time() - last_ms / 1000 > QUIET_S else "requests until now"

        await _until(missing)
        return max(self._logs.handled[host].last_ms for host in expected)


class BrokerLogs:
    """What the brokers' logs say about requests that they have handled. Attributes: handled: since `forget`."""

    def __init__(self, logs: Mapping[BrokerId, Path]) -> None:
        self._logs = logs
        self._read: Counter[BrokerId] = Counter()  # bytes
        self.forget()

    def forget(self) -> None:
        self.handled = dict.fromkeys(self._logs, Handled())

    def read(self) -> None:
        """Read what has been written since the last call, up to the last whole line."""
        for broker, log in self._logs.items():
            with log.open("rb") as file:
                file.seek(self._read[broker])
                whole = file.read()
            whole = whole[: whole.rfind(b"\n") + 1]
            self._read[broker] += len(whole)
            for found in HANDLED.finditer(whole.decode(errors="replace")):
                before = self.handled[broker]
                led, known = (int(found[name] or 0) for name in ("led", "known"))
                self.handled[broker] = Handled(_ms_of(found["time"]), before.led + led, before.known + known)


def _ms_of(text: str) -> int:
    """Return a time of log4j, in UTC, as ms since 1970."""
    return round(datetime.strptime(text, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp() * 1000)


def _ends(transaction: Transaction, registration: str) -> bool:
    return any(isinstance(op, CloseSessionTxn) and registration in (op.deleted or ()) for op in transaction.ops)


def _writes_state(transaction: Transaction) -> bool:
    return any(isinstance(op, SetDataTxn) and op.path.endswith("/state") for op in transaction.ops)


async def _until(look: Callable[[], Awaitable[str | None]], poll_s: float = POLL_S) -> None:
    """Wait until nothing is missing. Args: look: returns what is. Raises: TimedOutError."""
    began_s = time.monotonic()
    while (missing := await look()) is not None:
        if time.monotonic() - began_s > WITHIN_S:
            raise TimedOutError(f"waited {WITHIN_S:g} s; last seen: {missing}")
        await asyncio.sleep(poll_s)


def _name(host: BrokerId) -> str:
    return f"broker-{host}"
