"""A harness for the controller alone: real controller modules, brokers that only acknowledge, and a record of all actions.

The same harness runs on the model of ZooKeeper in virtual time and on a real server. A broker without a controller module is
a registration and a stub; registrations are made, deleted and bounced in one transaction each, by the admin's session, so
that what a controller sees does not depend on timing. An action is over when no controller has anything left to do.
"""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from kcsim import znodes
from kcsim.controller.channels.channel_manager import Callback
from kcsim.controller.config import ControllerConfig
from kcsim.controller.hardening import HARDENED, NOT_HARDENED
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.ports import ControllerPorts
from kcsim.controller.requests import StateChangeRequest
from kcsim.errors import TimedOutError
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.runtime.ports import Runtime
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import BrokerId, BrokerInfo, Endpoint
from kcsim.zk.errors import NoNodeError, ZooKeeperError
from kcsim.zk.kafka.kafka_zk import KafkaZk, gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.settings import ModelSettings
from kcsim.zk.operations import (
    ChildrenRead,
    Create,
    Delete,
    Exists,
    GetChildren,
    Multi,
    NodeFound,
    Notice,
    ReplyOrError,
    Request,
    SessionState,
    SetData,
    Sync,
    WriteOp,
)
from kcsim.zk.ports import FaultableSession, ZooKeeper
from kcsim.zk.wrapped_session import WrappedSession
from kcsim.znodes import paths
from tests.conformance.environment import make_chroot
from tests.conftest import LONGEST_SESSION_MS, TICK_MS
from tests.controller.stub_brokers import FIRST_PORT, StubBrokers
from tests.controller.transcript_recorder import Sent, TranscriptRecorder, writes_of

SESSION_TIMEOUT_MS = LONGEST_SESSION_MS
WITHIN_MS = 120_000
"""Bound of every action; none comes near it."""
STUBS = 9
CONFIG = ControllerConfig(auto_leader_rebalance_enable=False, request_timeout_ms=20_000, inter_broker_protocol_version="2.6")
"""No periodic work runs in the harness. A request that gets no answer times out after this time on a real server, too: it is
short enough to be waited for, and long enough for a controller that is hardly scheduled."""


@dataclass
class Module:
    """A broker's controller module, with the broker's session."""

    client: ZooKeeperClient
    zk: KafkaZk
    controller: KafkaController


@dataclass(frozen=True)
class Intervention:
    """An action that happens once, between a controller's decision to write a znode and the write."""

    path: str
    act: Callable[[], Awaitable[object]]


class ControllerHarness:
    """The environment in which controllers act.

    Attributes:
        recorder: what the controllers did.
        modules: the controller modules that run, by broker.
        sessions: the latest session of each broker.
        hold_after_elections: brokers' sessions send no more requests once so many elections were won in all; None: no limit.
    """

    def __init__(self, runtime: Runtime, zookeeper: ZooKeeper, log: EventLog) -> None:
        self.runtime = runtime
        self.log = log
        self.stubs = StubBrokers(STUBS)
        self.recorder = TranscriptRecorder()
        self.modules: dict[BrokerId, Module] = {}
        self._zookeeper = zookeeper
        self.sessions: dict[BrokerId, FaultableSession] = {}
        self._events: Counter[str] = Counter()  # queued and not done, per node
        self._requests: Counter[tuple[str, BrokerId]] = Counter()  # given to a sender and not answered
        self.hold_after_elections: int | None = None
        self._interventions: list[Intervention] = []
        self.admin: FaultableSession
        log.subscribe(self._count)
        log.subscribe(self.recorder.observe)

    # --- opening

    async def open(self) -> None:
        """Open the admin's session and create the znodes that every broker creates when it starts."""
        client = ZooKeeperClient(self.runtime, self._zookeeper, self.log.sink("admin"), SESSION_TIMEOUT_MS, WITHIN_MS)
        await client.connect()
        await gateways_on(client).cluster.create_top_level_paths()
        await client.close()
        self.admin = await self._zookeeper.open_session(SESSION_TIMEOUT_MS, _ignore, WITHIN_MS)

    async def close(self) -> None:
        self.hold_after_elections = None
        for broker in list(self.modules):
            await self.stop_module(broker)
        await self.admin.close()

    # --- brokers and their controller modules

    async def start_brokers(self, brokers: Iterable[BrokerId]) -> None:
        """Register brokers, all in one transaction."""
        await self.write(*(Create(paths.broker_id(b), znodes.encode_broker(listening(b)), ephemeral=True) for b in brokers))

    async def kill_brokers(self, brokers: Sequence[BrokerId]) -> None:
        """Remove registrations: all in one transaction, or with the session of a broker that has a controller module."""
        stubs = [broker for broker in brokers if broker not in self.modules]
        await self.write(*(Delete(paths.broker_id(broker)) for broker in stubs))
        for broker in brokers:
            if broker in self.modules:
                await self.stop_module(broker)

    async def bounce_broker(self, broker: BrokerId) -> None:
        """Delete a registration and create it anew in one transaction, so that no controller sees it missing."""
        path = paths.broker_id(broker)
        await self.write(Delete(path), Create(path, znodes.encode_broker(listening(broker)), ephemeral=True))

    async def start_module(self, broker: BrokerId, config: ControllerConfig = CONFIG) -> KafkaController:
        """Start a broker that stands for election."""
        sink = self.log.sink(f"broker-{broker}")
        watched = _WatchedZooKeeper(self, broker, self._zookeeper)
        client = ZooKeeperClient(self.runtime, watched, sink, SESSION_TIMEOUT_MS, WITHIN_MS)
        await client.connect()
        zk = gateways_on(client)

        async def register(cause: Cause) -> None:
            await zk.brokers.register(listening(broker), cause)

        await register(None)
        ports = ControllerPorts(self.runtime, self.stubs, sink, random.Random(broker))
        controller = KafkaController(broker, config, ports, client, zk, register)
        self._listen_to(broker, controller)
        self.modules[broker] = Module(client, zk, controller)
        self.recorder.acts(broker)
        controller.startup(None)
        return controller

    def _listen_to(self, broker: BrokerId, controller: KafkaController) -> None:
        """Record each request when its sender gets it: in the order of the flushes, whatever the order of the answers."""
        send = controller.channel_manager.send_request

        def heard(recipient: BrokerId, request: StateChangeRequest, callback: Callback | None, cause: int) -> None:
            self._requests[f"broker-{broker}", recipient] += 1
            self.recorder.sent(Sent(broker, recipient, request, cause))
            send(recipient, request, callback, cause)

        patch.object(controller.channel_manager, "send_request", heard).start()

    async def stop_module(self, broker: BrokerId) -> None:
        """Stop a controller module; its session is closed first, as when the broker is killed: the module cannot resign."""
        module = self.modules.pop(broker)
        self.recorder.acts_no_more(broker)
        await module.client.close()
        await module.controller.shutdown(None)
        del self._events[f"broker-{broker}"]

    def has_opened(self, broker: BrokerId, session: FaultableSession) -> None:
        """Remember a broker's new session."""
        self.sessions[broker] = session

    @property
    def active(self) -> KafkaController:
        """Return the active controller; if none is active, any module's."""
        controllers = [module.controller for module in self.modules.values()]
        return next((c for c in controllers if c.is_active), controllers[0])

    # --- writes of the admin by hand

    async def write(self, *ops: WriteOp) -> None:
        """Write as one transaction. Raises: ZooKeeperError."""
        if not ops:
            return
        (reply,) = await self.ask(Multi(ops))
        error = getattr(reply, "error", reply)
        if isinstance(error, ZooKeeperError):
            raise error

    async def ask(self, *requests: Request) -> list[ReplyOrError]:
        # Recorded first: on a real server a controller may learn of a write, and write itself, before the reply arrives
        # here.
        self.recorder.keep(write for request in requests for write in writes_of(request))
        return await self.admin.call(list(requests))

    async def put(self, path: str, data: bytes | None) -> None:
        """Create a znode, with its missing ancestors, or set it."""
        (found,) = await self.ask(Exists(path))
        if isinstance(found, NodeFound):
            await self.write(SetData(path, data))
            return
        missing: list[str] = []
        for ancestor in paths.lineage(path)[:-1]:
            (found,) = await self.ask(Exists(ancestor))
            if isinstance(found, NoNodeError):
                missing.append(ancestor)
        await self.write(*map(Create, missing), Create(path, data))

    async def tree(self, path: str) -> list[str]:
        """Return a znode's path and all paths below it, each before its children."""
        (read,) = await self.ask(GetChildren(path))
        children = read.children if isinstance(read, ChildrenRead) else ()
        return [path, *[below for child in children for below in await self.tree(paths.child(path, child))]]

    # --- interventions

    def before_write_of(self, path: str, act: Callable[[], Awaitable[object]]) -> None:
        """Schedule an action that happens once, when a controller is about to write this znode."""
        self._interventions.append(Intervention(path, act))

    async def intervene(self, writes: Sequence[WriteOp]) -> None:
        """Carry out the first intervention that is due before these writes."""
        due = [i for i in self._interventions if any(write.path == i.path for write in writes)]
        if due:
            self._interventions.remove(due[0])
            await due[0].act()

    async def pass_hold(self) -> None:
        """Wait while `hold_after_elections` elections were won."""
        while self.hold_after_elections is not None and self.recorder.elections >= self.hold_after_elections:
            await self.runtime.sleep_ms(1)

    # --- waiting

    def _count(self, event: Event) -> None:
        match event.kind:
            case EventKind.CONTROLLER_EVENT_QUEUED:
                self._events[event.node] += 1
            case EventKind.CONTROLLER_EVENT_DONE | EventKind.CONTROLLER_EVENT_PREEMPTED:
                self._events[event.node] -= 1
            case EventKind.RESPONSE_RECEIVED:
                self._requests[event.node, BrokerId(event.broker_id or 0)] -= 1
            case EventKind.REQUEST_ABANDONED:
                self._requests[event.node, BrokerId(event.broker_id or 0)] -= event.count or 0

    def under_way(self) -> str | None:
        """Return what is still to be done; None if nothing.

        Requests to a stub that is down do not count: they wait for it.
        """
        for node, count in self._events.items():
            if count:
                return f"{count} events of the controller of {node}"
        for broker, module in self.modules.items():
            if module.client.session_state is not SessionState.CONNECTED:
                return f"the session of broker {broker} is {module.client.session_state}"
        for (node, broker), count in self._requests.items():
            if count and self.stubs.brokers[broker].is_up:
                return f"{count} requests from {node} to broker {broker}"
        return None

    async def until(self, waiting: Callable[[], str | None]) -> None:
        """Wait until `waiting` returns None. Raises: TimedOutError."""
        deadline_ms = self.runtime.now_ms() + WITHIN_MS
        while (what := waiting()) is not None:
            if self.runtime.now_ms() > deadline_ms:
                raise TimedOutError(f"waited {WITHIN_MS} ms; still there: {what}")
            await self.runtime.sleep_ms(1)

    async def settle(self) -> None:
        """Wait until no controller has anything to do.

        ZooKeeper's pending notifications arrive before the answer to a Sync.
        """
        while True:
            await self.until(self.under_way)
            heard = len(self.log.events)
            for module in list(self.modules.values()):
                await module.client.session.call([Sync()])
            if len(self.log.events) == heard:
                return


class _WatchedZooKeeper:
    def __init__(self, harness: ControllerHarness, broker: BrokerId, inner: ZooKeeper) -> None:
        self._harness = harness
        self._broker = broker
        self._inner = inner

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> FaultableSession:
        opened = await self._inner.open_session(timeout_ms, listener, connect_timeout_ms, cause)
        self._harness.has_opened(self._broker, opened)
        return _WatchedSession(self._harness, self._broker, opened)


class _WatchedSession(WrappedSession):
    """A session whose writes are recorded, and may be preceded by interventions."""

    def __init__(self, harness: ControllerHarness, broker: BrokerId, inner: FaultableSession) -> None:
        super().__init__(inner)
        self._harness = harness
        self._broker = broker

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        await self._harness.pass_hold()
        await self._harness.intervene([write for request in requests for write in writes_of(request)])
        replies = await self.inner.call(requests, cause)
        self._harness.recorder.wrote(self._broker, requests, replies)
        return replies


def listening(broker: BrokerId, host: str = "localhost") -> BrokerInfo:
    """Return what a broker registers."""
    return BrokerInfo(broker, (Endpoint("PLAINTEXT", "PLAINTEXT", host, FIRST_PORT + broker),))


def configured(settings: Mapping[str, str]) -> ControllerConfig:
    """Return the harness's settings with some changed; names as in Kafka: delete.topic.enable. Also hardening=on."""
    changes: dict[str, Any] = {
        name.replace(".", "_"): value == "true" if value in ("true", "false") else int(value) if value.isdigit() else value
        for name, value in settings.items()
        if name != "hardening"
    }
    return replace(CONFIG, **changes, hardening=HARDENED if settings.get("hardening") == "on" else NOT_HARDENED)


def _ignore(notice: Notice) -> None:
    return


Script = Callable[[ControllerHarness], Coroutine[Any, Any, None]]


def on_model(script: Script) -> ControllerHarness:
    """Run a script on the model of ZooKeeper, in virtual time; return the harness with its record."""
    runtime = SimulatedRuntime()
    log = EventLog(runtime.now_ms)
    zookeeper = MemoryZooKeeper(
        runtime,
        log.sink("zookeeper"),
        random.Random(1),
        ModelSettings(tick_time_ms=TICK_MS, max_session_timeout_ms=LONGEST_SESSION_MS),
    )
    harness = ControllerHarness(runtime, zookeeper, log)
    runtime.run(_played(harness, script))
    return harness


def on_server(connect_string: str, chroot: str, script: Script) -> ControllerHarness:
    """Run a script on a real server, below its own chroot."""
    runtime = WallClockRuntime()

    async def in_chroot() -> ControllerHarness:
        await make_chroot(connect_string, chroot)
        harness = ControllerHarness(runtime, LiveZooKeeper(connect_string + chroot), EventLog(runtime.now_ms))
        await _played(harness, script)
        return harness

    return runtime.run(in_chroot())


async def _played(harness: ControllerHarness, script: Script) -> None:
    await harness.open()
    try:
        await script(harness)
    finally:
        await harness.close()
