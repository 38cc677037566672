"""The live world: the wall clock, and a real ZooKeeper."""

import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import SCENARIO
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.reply_feed import ReplyFeed, ReportingZooKeeper
from kcsim.scenarios.runs import ADMIN_CONNECT_TIMEOUT_MS, ADMIN_SESSION_TIMEOUT_MS, RunInfo, Script, Subscribers, begin
from kcsim.scenarios.runtimes.wallclock import WallClockRuntime
from kcsim.scenarios.scenario_cluster import ClusterSpec
from kcsim.scenarios.transaction_feed import TransactionFeed
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.zk import paths
from kcsim.zk.events import EventFields, EventKind, data_text
from kcsim.zk.files.ensemble_log import EnsembleLogTail
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import ChildrenRead, DataRead, GetChildren, GetData
from kcsim.zk.ports import Runtime, Session, ZooKeeper
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.errors import OccupiedError
from kcsim.zk.servers.external import ExternalZooKeeper, require_chroot
from kcsim.zk.servers.ports import ZooKeeperServers

LOOK_EVERY_MS = 20


Around = Callable[[str], AbstractContextManager[None]]
"""Given the connect string of a run's ZooKeeper, what surrounds the run while that serves."""


def run_live(
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: Script,
    subscribers: Subscribers,
    around: Around = lambda _: nullcontext(),
    zk_log: Path | None = None,
) -> EventLog:
    """Start the chosen ZooKeeper, unless it is somebody's, run a script on a cluster on it, and leave nothing behind.

    Args:
        zk_log: a data directory to keep its transaction log in; only with one server, of ours.

    Raises: what the script raises; ServerError (NoChrootError and OccupiedError before anything is written),
        ZooKeeperUnavailableError.
    """
    runtime = WallClockRuntime()
    log = EventLog(runtime.now_ms)

    async def main() -> None:
        servers = servers_of(choice, spec)
        try:
            await servers.start()
            already = await _look_around(servers) if isinstance(servers, ExternalZooKeeper) else ""
            runtime.restart_clock()
            began = begin(log, replace(info, zookeeper=info.zookeeper + already), subscribers)
            with around(servers.connect_string):
                await _run_on(servers, choice, spec, runtime, log, script, began)
        finally:
            if zk_log is not None:
                keep_log(servers, zk_log)
            await servers.stop()

    runtime.run(main())
    return log


def keep_log(servers: ZooKeeperServers, directory: Path) -> None:
    """Copy the transaction log of a run's only server to where it outlives the run. Raises: OSError."""
    (name,) = servers.member_names
    written = servers.transaction_log_dir(name)
    if written is not None and written.is_dir():
        shutil.copytree(written, directory / written.name, dirs_exist_ok=True)


def servers_of(choice: ZooKeeperChoice, spec: ClusterSpec) -> ZooKeeperServers:
    """The servers of a choice, not started yet. Raises: BadConnectStringError."""
    settings = ServerSettings(tick_time_ms=spec.tick_time_ms, max_session_timeout_ms=spec.max_session_timeout_ms)
    match choice.kind:
        case ZooKeeperKind.DOCKER:
            from kcsim.zk.servers.container import ContainerZooKeeper  # brings Docker's SDK

            return ContainerZooKeeper(choice.members, settings)
        case ZooKeeperKind.EXTERNAL:
            assert choice.connect is not None
            return ExternalZooKeeper(choice.connect)
        case _:
            return EmbeddedZooKeeper(choice.members, settings)


async def _run_on(
    servers: ZooKeeperServers,
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    runtime: WallClockRuntime,
    log: EventLog,
    script: Script,
    began: int,
) -> None:
    live, zookeeper, look = _observed(servers, log)
    admin = await zookeeper.open_session(ADMIN_SESSION_TIMEOUT_MS, lambda _: None, ADMIN_CONNECT_TIMEOUT_MS, began)
    members = None if choice.kind is ZooKeeperKind.EXTERNAL else BlamedServers(servers, live)
    cluster = Cluster(spec, runtime, log, zookeeper, admin, members, int(time.time() * 1000))
    observer = runtime.spawn("observer", observe(runtime, admin, look))
    try:
        await script(cluster)
    finally:
        observer.kill()
        await observer.join()
        log.append(SCENARIO, EventKind.RUN_ENDED, began, EventFields())
        await cluster.close()
        await admin.close()


async def _look_around(servers: ExternalZooKeeper) -> str:
    """Make sure that a run may begin there, and return what its reader has to know of the place, in words.

    Raises: NoChrootError, a chroot is never made by us; OccupiedError.
    """
    above = LiveZooKeeper(servers.connect_string.removesuffix(servers.chroot))
    session = await above.open_session(ADMIN_SESSION_TIMEOUT_MS, lambda _: None, ADMIN_CONNECT_TIMEOUT_MS)

    async def children(path: str) -> Sequence[str] | None:
        (reply,) = await session.call([GetChildren(path)])
        return reply.children if isinstance(reply, ChildrenRead) else None

    try:
        await require_chroot(servers.chroot, children)
        if registered := await children(servers.chroot + paths.BROKER_IDS):
            raise OccupiedError(servers.connect_string, registered)
        (epoch,) = await session.call([GetData(servers.chroot + paths.CONTROLLER_EPOCH)])
        told = data_text(epoch.data) if isinstance(epoch, DataRead) else None
        return "" if told is None else f", where {paths.CONTROLLER_EPOCH} is {told} already"
    finally:
        await session.close()


def _observed(
    servers: ZooKeeperServers, log: EventLog
) -> tuple[LiveZooKeeper, ZooKeeper, Callable[[Session], Awaitable[None]]]:
    """A client, a way to ZooKeeper over it whose changes reach the event log, and a look at what none of us heard of.

    Where ZooKeeper's transaction log can be read it is the source of all of them.
    """
    directories = [servers.transaction_log_dir(name) for name in servers.member_names]
    if all(directory is not None for directory in directories):
        feed = TransactionFeed(log, EnsembleLogTail([d for d in directories if d is not None]))
        log.follow_transactions(feed.catch_up)
        live = LiveZooKeeper(servers.connect_string, ledger=feed)
        return live, live, feed.look
    replies = ReplyFeed(log)
    live = LiveZooKeeper(servers.connect_string, ledger=replies)
    return live, ReportingZooKeeper(live, replies), replies.look


async def observe(runtime: Runtime, admin: Session, look: Callable[[Session], Awaitable[None]]) -> None:
    """Look now and then. It only reads; what it sees is appended to the log, which wakes whoever waits for it."""
    while True:
        await look(admin)
        await runtime.sleep_ms(LOOK_EVERY_MS)


class BlamedServers:
    """Servers whose faults are told to the clients' sessions as the cause of what these then go through."""

    def __init__(self, servers: ZooKeeperServers, zookeeper: LiveZooKeeper) -> None:
        self._servers = servers
        self._zookeeper = zookeeper

    @property
    def member_names(self) -> tuple[str, ...]:
        return self._servers.member_names

    async def leader_name(self) -> str | None:
        return await self._servers.leader_name()

    async def kill(self, name: str, cause: int | None = None) -> None:
        self._zookeeper.blame(cause)
        await self._servers.kill(name, cause)

    async def start_member(self, *names: str, cause: int | None = None) -> None:
        self._zookeeper.blame(cause)
        await self._servers.start_member(*names, cause=cause)

    async def pause(self, name: str, cause: int | None = None) -> None:
        self._zookeeper.blame(cause)
        await self._servers.pause(name, cause)

    async def resume(self, name: str, cause: int | None = None) -> None:
        self._zookeeper.blame(cause)
        await self._servers.resume(name, cause)
