"""The environment of brokers in processes of their own: wall-clock time, and a real ZooKeeper that the run starts."""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Protocol

from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.environment import ClusterEnvironment
from kcsim.brokers.cluster.live_environment import (
    Around,
    FaultAttributingServers,
    keep_log,
    observed,
    restarted_ms,
    servers_of,
)
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster, ProcessObserver, ProcessSlot
from kcsim.brokers.cluster.processes.process_feed import FeedClock, RunClock
from kcsim.brokers.cluster.processes.process_ports import AdminTools, BrokerProcess
from kcsim.brokers.cluster.processes.proxied_network import ProxiedNetwork
from kcsim.brokers.cluster.run_setup import (
    ADMIN_CONNECT_TIMEOUT_MS,
    ADMIN_SESSION_TIMEOUT_MS,
    RunInfo,
    Subscribers,
    begin_run,
)
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.network.process import NetworkOfRun
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Runtime
from kcsim.runtime.wallclock import WallClockRuntime, wall_clock_ms
from kcsim.vocabulary import Zxid
from kcsim.zk.capture.cause_ledger import CauseLedger
from kcsim.zk.capture.transaction_log_capture import TransactionTail
from kcsim.zk.files.ensemble_log import EnsembleLogTail
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.ports import Session
from kcsim.zk.proxy import ZooKeeperProxy
from kcsim.zk.servers.errors import PortTakenError
from kcsim.zk.servers.free_ports import claimed_port
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from kcsim.zk.servers.ports import ZooKeeperServers

HOST = "127.0.0.1"
ProcessScript = Callable[[ProcessCluster], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class SlotContext:
    """The surroundings of one broker's process.

    Attributes:
        zookeeper: the connect string.
        zookeeper_proxy: that of the proxy between the broker and ZooKeeper.
        directory: the broker's own.
        port: where it listens.
        advertised_port: where others reach it; None: at the same port.
    """

    zookeeper: str
    zookeeper_proxy: str
    directory: Path
    port: int
    advertised_port: int | None
    guarded: GuardedProcesses


@dataclass(frozen=True, slots=True)
class FeedContext:
    """What a feed reads, and where it writes. Attributes: clock: of the event log. tail: of ZooKeeper's transaction log."""

    log: EventLog
    clock: FeedClock
    tail: TransactionTail
    slots: Sequence[ProcessSlot]
    run: RunClock


class Feed(Protocol):
    """Appends to the event log what brokers have done, as far as their software reports it."""

    @property
    def ledger(self) -> CauseLedger: ...
    def attribute_session_end(self, broker: str, cause: int, *, is_expiry: bool = False) -> None: ...
    def catch_up(self, zxid: Zxid) -> None: ...
    async def look(self, session: Session) -> None: ...
    async def settle(self, session: Session) -> None: ...


class BrokerSoftware(Protocol):
    """The software of the brokers: Apache Kafka, or kcsim.

    Attributes:
        tools: a client for requests to the controller.
        sees_inside: as ProcessObserver has it.
    """

    @property
    def tools(self) -> AdminTools: ...
    @property
    def sees_inside(self) -> bool: ...
    def process(self, broker: BrokerSpec, spec: ClusterSpec, place: SlotContext) -> BrokerProcess: ...
    def feed(self, at: FeedContext) -> Feed: ...
    def consumer_network(self, runtime: Runtime) -> NetworkOfRun | None:
        """Return the way of a scenario's consumers to the brokers; None: consumers are not supported."""
        ...


def run_on_processes(
    software: BrokerSoftware,
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: ProcessScript,
    subscribers: Subscribers,
    around: Around = lambda _: nullcontext(),
    zk_log: Path | None = None,
) -> EventLog:
    """Start a ZooKeeper and run a script on a cluster of brokers in processes on it; leave nothing behind.

    Args:
        choice: EMBEDDED, ENSEMBLE or MODEL: what brokers do is read from ZooKeeper's transaction log.
        zk_log: a data directory to copy that log to; only with one server.

    Raises: what the script raises; ServerError.
    """
    runtime = WallClockRuntime()
    clock = FeedClock(runtime.now_ms)
    log = EventLog(clock.now_ms)

    async def main() -> None:
        servers = servers_of(choice, spec)
        try:
            await servers.start()
            epoch_ms = restarted_ms(runtime)
            run = RunClock(begin_run(log, info, spec, subscribers), epoch_ms, wall_clock_ms)
            with around(servers.connect_string):
                await _run_on(servers, software, spec, runtime, (log, clock, run), script)
        finally:
            if zk_log is not None:
                keep_log(servers, zk_log)
            await servers.stop()

    runtime.run(main())
    return log


async def _run_on(
    servers: ZooKeeperServers,
    software: BrokerSoftware,
    spec: ClusterSpec,
    runtime: WallClockRuntime,
    logged: tuple[EventLog, FeedClock, RunClock],
    script: ProcessScript,
) -> None:
    log, clock, run = logged
    async with AsyncExitStack() as ends:
        guarded = GuardedProcesses(what="brokers")  # one for all brokers; their files are deleted with it
        ends.callback(guarded.close)
        network = None
        if spec.listener_proxies:
            network = ProxiedNetwork(Random(f"{log.events[run.seq].seed} network"))
            ends.push_async_callback(network.stop)
        slots = []
        for broker in spec.brokers:
            slots.append(await _slot(servers.connect_string, software, spec, broker, (guarded, network, ends)))
            ends.push_async_callback(slots[-1].proxy.stop)
        directories = [d for d in map(servers.transaction_log_dir, servers.member_names) if d is not None]
        feed = software.feed(FeedContext(log, clock, EnsembleLogTail(directories), slots, run))
        log.follow_transactions(feed.catch_up)
        live = LiveZooKeeper(servers.connect_string, ledger=feed.ledger)
        admin = await live.open_session(ADMIN_SESSION_TIMEOUT_MS, lambda _: None, ADMIN_CONNECT_TIMEOUT_MS, run.seq)
        ends.push_async_callback(admin.close)
        members = FaultAttributingServers(servers, live)
        environment = ClusterEnvironment(runtime, log, live, admin, members, run.epoch_ms)
        observer = ProcessObserver(feed.attribute_session_end, partial(feed.settle, admin), software.sees_inside)
        cluster = ProcessCluster(
            environment, slots, software.tools, observer, servers.connect_string, software.consumer_network(runtime)
        )
        ends.push_async_callback(cluster.close)
        if network is not None:
            cluster.inject_faults_into(network)
        async with observed(runtime, log, spec, partial(feed.look, admin)):
            await script(cluster)


async def _slot(
    connect_string: str,
    software: BrokerSoftware,
    spec: ClusterSpec,
    broker: BrokerSpec,
    parts: tuple[GuardedProcesses, ProxiedNetwork | None, AsyncExitStack],
) -> ProcessSlot:
    """Return a broker's slot, with a started proxy to ZooKeeper, one in front of its listener if there is a network, and a
    process that is not started yet.
    """
    guarded, network, ends = parts
    proxy = ZooKeeperProxy(connect_string)
    await proxy.start()
    given = None if spec.client_ports is None else spec.client_ports[broker.broker_id]
    # Claimed, because the process may be started long after: another run could choose the same port meanwhile.
    port = ends.enter_context(claimed_port()) if given is None or network is not None else given
    advertised = None
    if network is not None:
        try:
            advertised = (await network.open_proxy(broker.name, port, given)).port
        except OSError:
            raise PortTakenError(given, broker.name) from None
    directory = guarded.directory / broker.name
    place = SlotContext(connect_string, proxy.connect_string, directory, port, advertised, guarded)
    return ProcessSlot(software.process(broker, spec, place), proxy, f"{HOST}:{advertised or port}")
