"""kcsim status and watch with --zookeeper: any cluster, as its ZooKeeper shows it. ZooKeeper is read, never written."""

import io
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcsim.eventlog.event_log import EventLog, FailSafeTraceWriter
from kcsim.runtime.wallclock import WallClockRuntime, wall_clock_ms
from kcsim.scenarios.cli.cluster_access import exit_on_zookeeper_errors
from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.kafka_tools.cluster_session import cluster_session
from kcsim.scenarios.cli.zookeeper_argument import security_of
from kcsim.scenarios.views.narration.story_words import duration
from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on
from kcsim.scenarios.views.terminal.cluster_snapshot import FollowedCluster
from kcsim.scenarios.views.terminal.cluster_text import cluster_json, cluster_lines
from kcsim.zk.capture.observed_trace import ObservedTrace
from kcsim.zk.capture.znode_observer import ZnodeObserver
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.servers.external import ConnectString, parse_connect_string
from kcsim.znodes import paths

if TYPE_CHECKING:
    from kcsim.eventlog.events import Event

LAST_EVENTS = 12
LOOK_EVERY_MS = 200
"""How long to wait for a change at most before Ctrl-C and the end of a connection are noticed."""


class WatchedCluster:
    """A cluster's state and latest events, as its znodes show them.

    Args:
        where: its ZooKeeper.
        kept: where to write the events, if anywhere.
        subscribers: are called with each event.
    """

    def __init__(
        self,
        runtime: WallClockRuntime,
        where: ConnectString,
        kept: FailSafeTraceWriter | None,
        subscribers: "Iterable[Callable[[Event], None]]" = (),
    ) -> None:
        self._runtime = runtime
        self._where = where
        self._kept = kept
        self._subscribers = tuple(subscribers)
        self._observer = ZnodeObserver(runtime, LiveZooKeeper(str(where), security=security_of(str(where))), wall_clock_ms)
        self._log = EventLog(runtime.now_ms)
        self._log.keeps_events = False
        self._followed = FollowedCluster()
        self._written = io.StringIO()
        self._last_events: deque[str] = deque(maxlen=LAST_EVENTS)
        self._trace: ObservedTrace | None = None

    async def start(self) -> None:
        """Read the cluster. Raises: ZooKeeperUnavailableError, ZooKeeperError."""
        tree = await self._observer.start()
        self._runtime.restart_clock()
        if paths.BROKER_IDS not in tree.znodes:
            fail(
                f"no broker of Kafka has ever registered in {self._where}: {paths.BROKER_IDS} does not exist",
                ExitStatus.UNDECIDED,
            )
        self._log.subscribe(self._followed.apply)
        if self._kept is not None:
            self._log.subscribe(self._kept.write)
        for subscriber in self._subscribers:
            self._log.subscribe(subscriber)
        names = tuple(f"broker-{paths.name(path)}" for path in tree.children(paths.BROKER_IDS))
        self._trace = ObservedTrace(self._log.put, tree)
        self._trace.begin(wall_clock_ms(), f"observed in ZooKeeper at {self._where}")
        self._log.subscribe(ConsoleTimeline(console_on(self._written), names))
        self._log.subscribe(self._collect_sentences)

    def _collect_sentences(self, event: "Event") -> None:
        self._last_events.extend(self._written.getvalue().splitlines())
        self._written.seek(0)
        self._written.truncate()

    async def close(self) -> None:
        if self._trace is not None:
            self._trace.end()
        await self._observer.close()

    async def follow(self) -> None:
        """Wait a moment for changes, and take them."""
        assert self._trace is not None
        for transaction in await self._observer.next_changes(LOOK_EVERY_MS):
            self._trace.take(transaction)
        if self._kept is not None:
            self._kept.flush()

    def lines(self, everything: bool) -> list[str]:
        """Return the state as text. The first line has times and changes always."""
        watched = f"watched for {duration(self._runtime.now_ms())}"
        lines = [f"ZooKeeper {self._where}, {watched}", *self.gaps()]
        lines += cluster_lines(self._followed.snapshot(), everything)
        if self._last_events:
            lines += ["", "Last events", *(f"  {line}" for line in self._last_events)]
        return lines

    def gaps(self) -> list[str]:
        """Return what is not known of the cluster now, and why."""
        gaps = []
        if not self._observer.is_connected:
            gaps.append("ZooKeeper does not answer: this is the state that it had before")
        if unreadable := self._observer.unreadable:
            gaps.append(f"{len(unreadable)} znodes cannot be read by this client, such as {min(unreadable)}")
        return gaps

    def as_json(self) -> dict[str, Any]:
        return {"connect_string": str(self._where), **cluster_json(self._followed.snapshot())}


@asynccontextmanager
async def observed(
    runtime: WallClockRuntime,
    zookeeper: str,
    kept: FailSafeTraceWriter | None,
    subscribers: "Iterable[Callable[[Event], None]]" = (),
) -> AsyncIterator[WatchedCluster]:
    """Follow the cluster of a ZooKeeper until the context ends. Raises: ZooKeeperUnavailableError, ZooKeeperError."""
    where = parse_connect_string(zookeeper)
    async with cluster_session(runtime, where, security_of(zookeeper)):
        pass  # it has found the chroot, and printed its notes
    cluster = WatchedCluster(runtime, where, kept, subscribers)
    try:
        await cluster.start()
        yield cluster
    finally:
        await cluster.close()


def look_at_zookeeper(zookeeper: str, look: Callable[[WatchedCluster], None]) -> None:
    """Read a cluster once. A ZooKeeper error ends the command."""
    runtime = WallClockRuntime()

    async def work() -> None:
        async with observed(runtime, zookeeper, None) as cluster:
            look(cluster)

    with exit_on_zookeeper_errors():
        runtime.run(work())


def watch_zookeeper(zookeeper: str, trace: Path | None, every_s: float, show: Callable[[WatchedCluster], None]) -> None:
    """Follow a cluster until Ctrl-C. A ZooKeeper error at the beginning ends the command.

    Args:
        every_s: how often to call `show`, at most.
    """
    runtime = WallClockRuntime()
    with closing(FailSafeTraceWriter(trace)) if trace else nullcontext() as kept:

        async def work() -> None:
            async with observed(runtime, zookeeper, kept) as cluster:
                shown_ms = None
                while True:
                    if shown_ms is None or runtime.now_ms() >= shown_ms + every_s * 1000:
                        shown_ms = runtime.now_ms()
                        show(cluster)
                    await cluster.follow()

        with exit_on_zookeeper_errors():
            runtime.run(work())
