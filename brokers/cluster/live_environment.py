"""The live environment: wall-clock time and a real ZooKeeper."""

import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kcsim.brokers.clients.acknowledged_records import AcknowledgedRecords
from kcsim.brokers.cluster.broker_slots import open_disks
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.environment import ClusterEnvironment
from kcsim.brokers.cluster.run_setup import (
    ADMIN_CONNECT_TIMEOUT_MS,
    ADMIN_SESSION_TIMEOUT_MS,
    RunInfo,
    Script,
    Subscribers,
    begin_run,
)
from kcsim.brokers.cluster.stalls import watch_for_stalls
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.network.client_link import ClientListener, OpenPort, OpensPorts
from kcsim.brokers.ports import OpensControlPlanes, OpenTransport
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind, data_text
from kcsim.eventlog.outages import BROKER_PREFIX
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ, SCENARIO
from kcsim.runtime.ports import Runtime
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.zk.capture.client_change_capture import ClientChangeCapture, ReportingZooKeeper
from kcsim.zk.capture.transaction_log_capture import CaughtUpSession, TransactionLogCapture
from kcsim.zk.files.ensemble_log import EnsembleLogTail
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import DataRead, GetData
from kcsim.zk.ports import ZooKeeper
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.errors import InMigrationError, OccupiedError
from kcsim.zk.servers.external import ExternalZooKeeper, children_of, require_chroot
from kcsim.zk.servers.ports import ZooKeeperServers
from kcsim.znodes import kraft_controller_in, paths

if TYPE_CHECKING:
    from kcsim.brokers.cluster.client_observer import ClientObservers

LOOK_EVERY_MS = 20
READ_WITHIN_S = 0.0005


Around = Callable[[str], AbstractContextManager[None]]
"""Connect string of a run's ZooKeeper -> a context that surrounds the run while ZooKeeper is up."""


@dataclass(frozen=True, slots=True)
class _RunBeginning:
    """The beginning of a run.

    Attributes:
        seq: of its first event.
        epoch_ms: in ms since 1970.
        disks: those whose logs are kept in files, by broker.
    """

    seq: int
    epoch_ms: int
    disks: Mapping[str, Disk]


def run_live(
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: Script,
    subscribers: Subscribers,
    around: Around = lambda _: nullcontext(),
    zk_log: Path | None = None,
) -> EventLog:
    """Start the chosen ZooKeeper (unless it is external), run a script on a cluster on it, and leave nothing behind.

    Args:
        zk_log: a data directory to copy its transaction log to; only with one server that the run started.

    Raises: what the script raises; ServerError (NoChrootError, InMigrationError and OccupiedError before anything is
        written), StorageError (also before), ZooKeeperUnavailableError.
    """
    runtime = WallClockRuntime()
    log = EventLog(runtime.now_ms)

    async def main() -> None:
        servers = servers_of(choice, spec)
        try:
            await servers.start()
            already = await _check_external(servers, spec) if isinstance(servers, ExternalZooKeeper) else ""
            epoch_ms = restarted_ms(runtime)
            began_ms = epoch_ms if spec.has_brokers_elsewhere else None
            described = replace(info, zookeeper=info.zookeeper + already, began_ms=began_ms)
            disks = open_disks(spec, info.seed)  # what is refused has not begun
            began = _RunBeginning(begin_run(log, described, spec, subscribers), epoch_ms, disks)
            with around(servers.connect_string):
                await _run_on(servers, choice, spec, runtime, log, script, began)
        finally:
            if zk_log is not None:
                keep_log(servers, zk_log)
            await servers.stop()

    runtime.run(main())
    return log


def restarted_ms(runtime: WallClockRuntime) -> int:
    """Restart the clock of a run. Return when that was, in ms since 1970, to the ms also on a busy machine.

    The times of several processes are compared, so the clock must not be restarted long before the time is read.
    """
    while True:
        before_s = time.time()
        runtime.restart_clock()
        if time.time() - before_s < READ_WITHIN_S:
            return int(before_s * 1000)


def keep_log(servers: ZooKeeperServers, directory: Path) -> None:
    """Copy the transaction log of a run's only server to a directory that outlives the run. Raises: OSError."""
    (name,) = servers.member_names
    written = servers.transaction_log_dir(name)
    if written is not None and written.is_dir():
        shutil.copytree(written, directory / written.name, dirs_exist_ok=True)


def servers_of(choice: ZooKeeperChoice, spec: ClusterSpec) -> ZooKeeperServers:
    """Return the servers of a choice, not started yet. Raises: BadConnectStringError."""
    settings = ServerSettings(tick_time_ms=spec.tick_time_ms, max_session_timeout_ms=spec.max_session_timeout_ms)
    match choice.kind:
        case ZooKeeperKind.DOCKER:
            from kcsim.zk.servers.container import ContainerZooKeeper  # imports Docker's SDK

            return ContainerZooKeeper(choice.members, settings)
        case ZooKeeperKind.EXTERNAL:
            assert choice.connect is not None
            return ExternalZooKeeper(choice.connect, security=choice.security)
        case ZooKeeperKind.MODEL:
            from kcsim.zk.model_server import ModelZooKeeper

            return ModelZooKeeper(choice.members, settings)
        case _:
            return EmbeddedZooKeeper(choice.members, settings)


async def _run_on(
    servers: ZooKeeperServers,
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    runtime: WallClockRuntime,
    log: EventLog,
    script: Script,
    began: _RunBeginning,
) -> None:
    records = AcknowledgedRecords()
    clients = None if spec.client_ports is None else _observers_of_clients(runtime, log, spec, records)
    causes = RequestCauses()
    open_port = None if clients is None else _port_opener(runtime, clients, causes)
    live, zookeeper, capture = _client_with_capture(servers, spec.zookeeper_proxy, log)
    direct = zookeeper if spec.zookeeper_proxy is None else LiveZooKeeper(servers.connect_string, security=servers.security)
    admin = await direct.open_session(ADMIN_SESSION_TIMEOUT_MS, lambda _: None, ADMIN_CONNECT_TIMEOUT_MS, began.seq)
    if isinstance(capture, TransactionLogCapture):
        admin = CaughtUpSession(admin, capture)
    members = None if choice.kind is ZooKeeperKind.EXTERNAL else FaultAttributingServers(servers, live)
    environment = ClusterEnvironment(
        runtime,
        log,
        zookeeper,
        admin,
        members,
        began.epoch_ms,
        open_port,
        _control_plane_opener(runtime, causes) if spec.control_plane_over_tcp else None,
        records,
        clients,
        began.disks,
    )

    async def look() -> None:
        await capture.look(admin)
        if clients is not None:
            clients.report_due()

    try:
        cluster = Cluster(spec, environment)
        try:
            async with observed(runtime, log, spec, look):
                try:
                    await script(cluster)
                finally:
                    if clients is not None:
                        clients.report_all()
        finally:
            await cluster.close()
    finally:
        await admin.close()


async def _check_external(servers: ExternalZooKeeper, spec: ClusterSpec) -> str:
    """Check that a run may begin on this ZooKeeper. Return what a reader must know about it, as text.

    Raises: NoChrootError (a run never creates a chroot); InMigrationError; OccupiedError unless the cluster may have brokers
        in other processes.
    """
    above = LiveZooKeeper(servers.connect_string.removesuffix(servers.chroot), security=servers.security)
    session = await above.open_session(ADMIN_SESSION_TIMEOUT_MS, lambda _: None, ADMIN_CONNECT_TIMEOUT_MS)

    try:
        await require_chroot(servers.chroot, session)
        replies = await session.call([GetData(servers.chroot + path) for path in (paths.CONTROLLER, paths.MIGRATION)])
        found = [reply.data if isinstance(reply, DataRead) else None for reply in replies]
        # A proxy in front of ZooKeeper belongs to a run that has started both; a migration is a part of that run.
        if spec.zookeeper_proxy is None and (kraft_controller := kraft_controller_in(*found)) is not None:
            raise InMigrationError(servers.connect_string, kraft_controller)
        registered = await children_of(session, servers.chroot + paths.BROKER_IDS)
        if registered and not spec.has_brokers_elsewhere:
            raise OccupiedError(servers.connect_string, registered)
        (epoch,) = await session.call([GetData(servers.chroot + paths.CONTROLLER_EPOCH)])
        text = data_text(epoch.data) if isinstance(epoch, DataRead) else None
        return "" if text is None else f", where {paths.CONTROLLER_EPOCH} is {text} already"
    finally:
        await session.close()


def _client_with_capture(
    servers: ZooKeeperServers, proxy: str | None, log: EventLog
) -> tuple[LiveZooKeeper, ZooKeeper, TransactionLogCapture | ClientChangeCapture]:
    """Return a client, a ZooKeeper port on it whose changes reach the event log, and the capture of these changes.

    If ZooKeeper's transaction log can be read, it is the source of all changes.

    Args:
        proxy: the connect string of a proxy to go through, if there is one; only to a ZooKeeper that the run did not start.
    """
    directories = [servers.transaction_log_dir(name) for name in servers.member_names]
    if all(directory is not None for directory in directories):
        feed = TransactionLogCapture(log, EnsembleLogTail([d for d in directories if d is not None]))
        log.follow_transactions(feed.catch_up)
        live = LiveZooKeeper(servers.connect_string, feed.ledger, servers.security)
        return live, live, feed
    replies = ClientChangeCapture(log)
    live = LiveZooKeeper(proxy or servers.connect_string, replies.ledger, servers.security)
    return live, ReportingZooKeeper(live, replies), replies


@asynccontextmanager
async def observed(
    runtime: Runtime, log: EventLog, spec: ClusterSpec, look: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Observe a run until its end, which is then appended to the log: changes by others, and stalls of this process.

    Args:
        look: called periodically. It only reads; what it appends to the log wakes the tasks that wait for it.
    """

    async def observe() -> None:
        while True:
            await look()
            await runtime.sleep_ms(LOOK_EVERY_MS)

    observer = runtime.spawn("observer", observe())
    node = spec.brokers[0].name if spec.has_brokers_elsewhere else SCENARIO
    stalls = runtime.spawn("stalls", watch_for_stalls(runtime, log, spec.session_timeout_ms, node))
    try:
        yield
    finally:
        stalls.kill()
        observer.kill()
        await observer.join()
        log.append(SCENARIO, EventKind.RUN_ENDED, RUN_STARTED_SEQ, EventFields())


def _observers_of_clients(
    runtime: WallClockRuntime, log: EventLog, spec: ClusterSpec, records: AcknowledgedRecords
) -> "ClientObservers":
    # Imported here, because it takes half a second, and no session may wait for it.
    from kcsim.brokers.cluster.client_observer import ClientObservers
    from kcsim.brokers.cluster.error_causes import ErrorCauses

    causes = ErrorCauses(BrokerConfig.of(spec.settings, spec.protections).offsets_topic_num_partitions)
    log.subscribe(causes)
    return ClientObservers(runtime, log, causes, records)


def _port_opener(runtime: WallClockRuntime, clients: "ClientObservers", causes: RequestCauses) -> OpensPorts:
    from kcsim.brokers.wire.client_port import ClientPort

    def open_port(host: str, port: int, listener: ClientListener) -> OpenPort:
        return ClientPort(runtime, (host, port), listener, clients.of(listener.node), causes)

    return open_port


def _control_plane_opener(runtime: WallClockRuntime, causes: RequestCauses) -> OpensControlPlanes:
    from kcsim.brokers.wire.control_plane import TcpControlPlane  # imported here for the same reason

    def open_control_plane(node: str) -> OpenTransport:
        return TcpControlPlane(runtime, node.removeprefix(BROKER_PREFIX), causes)

    return open_control_plane


class FaultAttributingServers:
    """ZooKeeper servers whose faults are set as the cause of what then happens to the clients' sessions."""

    def __init__(self, servers: ZooKeeperServers, zookeeper: LiveZooKeeper) -> None:
        self._servers = servers
        self._zookeeper = zookeeper

    @property
    def member_names(self) -> tuple[str, ...]:
        return self._servers.member_names

    async def leader_name(self) -> str | None:
        return await self._servers.leader_name()

    async def kill(self, name: str, cause: int | None = None) -> None:
        self._zookeeper.set_server_fault_cause(cause)
        await self._servers.kill(name, cause)

    async def start_member(self, *names: str, cause: int | None = None) -> None:
        self._zookeeper.set_server_fault_cause(cause)
        await self._servers.start_member(*names, cause=cause)

    async def pause(self, name: str, cause: int | None = None) -> None:
        self._zookeeper.set_server_fault_cause(cause)
        await self._servers.pause(name, cause)

    async def resume(self, name: str, cause: int | None = None) -> None:
        self._zookeeper.set_server_fault_cause(cause)
        await self._servers.resume(name, cause)
