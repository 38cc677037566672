"""A stage for the controller alone: real controller modules, brokers that only acknowledge, and everything noted.

The same stage stands on the model of ZooKeeper in virtual time and on a real server. A broker without a controller module is
a registration and a stub; registrations are made, deleted and bounced in one transaction each, by the admin's session, so
that what a controller sees does not depend on timing. A deed is over when no controller has anything left to do.
"""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from kcsim.controller.channel_manager import Callback
from kcsim.controller.config import ControllerConfig
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.requests import StateChangeRequest
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.runtimes.simulated import SimulatedRuntime
from kcsim.scenarios.runtimes.wallclock import WallClockRuntime
from kcsim.scenarios.wrapped_session import WrappedSession
from kcsim.zk import paths, znodes
from kcsim.zk.errors import NoNodeError, TimedOutError, ZooKeeperError
from kcsim.zk.events import Event, EventKind
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.operations import (
    ChildrenRead,
    Create,
    Delete,
    Exists,
    Found,
    GetChildren,
    Multi,
    Notice,
    ReplyOrError,
    Request,
    SessionState,
    SetData,
    Sync,
    WriteOp,
)
from kcsim.zk.ports import Cause, FaultableSession, Runtime, ZooKeeper
from kcsim.zk.vocabulary import BrokerId, BrokerInfo, Endpoint
from kcsim.zk.zookeeper_client import ZooKeeperClient
from tests.conformance.world import make_chroot
from tests.conftest import TICK_MS
from tests.controller.stage_notes import Notebook, Sent, writes_of
from tests.controller.stub_brokers import FIRST_PORT, StubBrokers

SESSION_TIMEOUT_MS = 20 * TICK_MS
WITHIN_MS = 10_000
"""No deed takes longer; none comes near."""
STUBS = 9
CONFIG = ControllerConfig(auto_leader_rebalance_enable=False, request_timeout_ms=1000)
"""Nothing happens by itself on the stage, and who waits in vain for an answer does not do so for long."""


@dataclass
class Module:
    """A broker's controller module, with the broker's session."""

    client: ZooKeeperClient
    zk: KafkaZk
    controller: KafkaController


@dataclass(frozen=True)
class Intervention:
    """Something that happens, once, between a controller's decision to write a znode and the write."""

    path: str
    act: Callable[[], Awaitable[object]]


class Stage:
    """Where controllers act.

    Attributes:
        notebook: what they did.
        modules: the controller modules that run, by broker.
        sessions: theirs; the latest of each broker.
    """

    def __init__(self, runtime: Runtime, zookeeper: ZooKeeper, log: EventLog) -> None:
        self.runtime = runtime
        self.log = log
        self.stubs = StubBrokers(STUBS)
        self.notebook = Notebook()
        self.modules: dict[BrokerId, Module] = {}
        self._zookeeper = zookeeper
        self.sessions: dict[BrokerId, FaultableSession] = {}
        self._events: Counter[str] = Counter()  # queued and not done, per node
        self._requests: Counter[tuple[str, BrokerId]] = Counter()  # given to a sender and not answered
        self._interventions: list[Intervention] = []
        self.admin: FaultableSession
        log.subscribe(self._count)
        log.subscribe(self.notebook.told)

    # --- life

    async def open(self) -> None:
        """Open the admin's session and make the znodes that every broker makes when it starts."""
        client = ZooKeeperClient(self.runtime, self._zookeeper, self.log.sink("admin"), SESSION_TIMEOUT_MS, WITHIN_MS)
        await client.connect()
        await KafkaZk(client).create_top_level_paths()
        await client.close()
        self.admin = await self._zookeeper.open_session(SESSION_TIMEOUT_MS, _ignore, WITHIN_MS)

    async def close(self) -> None:
        for broker in list(self.modules):
            await self.stop_module(broker)
        await self.admin.close()

    # --- brokers and their controller modules

    async def start_brokers(self, brokers: Iterable[BrokerId]) -> None:
        """Register them, all in one transaction."""
        await self.write(*(Create(paths.broker_id(b), znodes.encode_broker(listening(b)), ephemeral=True) for b in brokers))

    async def kill_brokers(self, brokers: Sequence[BrokerId]) -> None:
        """Their registrations go: all in one transaction, or with the session of one that has a controller module."""
        stubs = [broker for broker in brokers if broker not in self.modules]
        await self.write(*(Delete(paths.broker_id(broker)) for broker in stubs))
        for broker in brokers:
            if broker in self.modules:
                await self.stop_module(broker)

    async def bounce_broker(self, broker: BrokerId) -> None:
        """Its registration is deleted and created anew in one transaction, so that nobody sees it gone."""
        path = paths.broker_id(broker)
        await self.write(Delete(path), Create(path, znodes.encode_broker(listening(broker)), ephemeral=True))

    async def start_module(self, broker: BrokerId, config: ControllerConfig = CONFIG) -> KafkaController:
        """Start a broker that stands for election."""
        sink = self.log.sink(f"broker-{broker}")
        watched = _WatchedZooKeeper(self, broker, self._zookeeper)
        client = ZooKeeperClient(self.runtime, watched, sink, SESSION_TIMEOUT_MS, WITHIN_MS)
        await client.connect()
        zk = KafkaZk(client)

        async def register(cause: Cause) -> None:
            await zk.register_broker(listening(broker), cause)

        await register(None)
        controller = KafkaController(broker, self.runtime, client, zk, sink, register, self.stubs, config)
        self._listen_to(broker, controller)
        self.modules[broker] = Module(client, zk, controller)
        self.notebook.acts(broker)
        controller.startup(None)
        return controller

    def _listen_to(self, broker: BrokerId, controller: KafkaController) -> None:
        """Note each request when it is handed to its sender: in the order of the flushes, whoever answers first."""
        send = controller.channel_manager.send_request

        def heard(recipient: BrokerId, request: StateChangeRequest, callback: Callback | None, cause: int) -> None:
            self._requests[f"broker-{broker}", recipient] += 1
            self.notebook.sent(Sent(broker, recipient, request, cause))
            send(recipient, request, callback, cause)

        patch.object(controller.channel_manager, "send_request", heard).start()

    async def stop_module(self, broker: BrokerId) -> None:
        """The session goes first, as when the broker is killed: its module has no chance to say goodbye."""
        module = self.modules.pop(broker)
        self.notebook.acts_no_more(broker)
        await module.client.close()
        await module.controller.shutdown(None)
        del self._events[f"broker-{broker}"]

    def has_opened(self, broker: BrokerId, session: FaultableSession) -> None:
        """A broker's session from now on."""
        self.sessions[broker] = session

    @property
    def active(self) -> KafkaController:
        """The controller; or, if nobody is active, any that is not."""
        controllers = [module.controller for module in self.modules.values()]
        return next((c for c in controllers if c.is_active), controllers[0])

    # --- what the admin does by hand

    async def write(self, *ops: WriteOp) -> None:
        """Write as one transaction. Raises: ZooKeeperError."""
        if not ops:
            return
        (reply,) = await self.ask(Multi(ops))
        error = getattr(reply, "error", reply)
        if isinstance(error, ZooKeeperError):
            raise error

    async def ask(self, *requests: Request) -> list[ReplyOrError]:
        # Noted first: on a real server a controller may hear of a write, and write itself, before its reply is here.
        self.notebook.keep(write for request in requests for write in writes_of(request))
        return await self.admin.call(list(requests))

    async def put(self, path: str, data: bytes | None) -> None:
        """Create a znode, with its missing ancestors, or set it."""
        (found,) = await self.ask(Exists(path))
        if isinstance(found, Found):
            await self.write(SetData(path, data))
            return
        missing: list[str] = []
        for ancestor in paths.lineage(path)[:-1]:
            (found,) = await self.ask(Exists(ancestor))
            if isinstance(found, NoNodeError):
                missing.append(ancestor)
        await self.write(*map(Create, missing), Create(path, data))

    async def tree(self, path: str) -> list[str]:
        """A znode and all below it, each before its children."""
        (read,) = await self.ask(GetChildren(path))
        children = read.children if isinstance(read, ChildrenRead) else ()
        return [path, *[below for child in children for below in await self.tree(paths.child(path, child))]]

    # --- what happens in between

    def before_write_of(self, path: str, act: Callable[[], Awaitable[object]]) -> None:
        """Let something happen, once, when a controller is about to write this znode."""
        self._interventions.append(Intervention(path, act))

    async def intervene(self, writes: Sequence[WriteOp]) -> None:
        """Let the first happen that is due before these writes."""
        due = [i for i in self._interventions if any(write.path == i.path for write in writes)]
        if due:
            self._interventions.remove(due[0])
            await due[0].act()

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
        """What is still to be done; None if nothing. Requests to a stub that is down do not count: they wait for it."""
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
        """Wait until there is nothing to wait for. Raises: TimedOutError."""
        deadline_ms = self.runtime.now_ms() + WITHIN_MS
        while (what := waiting()) is not None:
            if self.runtime.now_ms() > deadline_ms:
                raise TimedOutError(f"waited {WITHIN_MS} ms; still there: {what}")
            await self.runtime.sleep_ms(1)

    async def settle(self) -> None:
        """Wait until no controller has anything to do. What ZooKeeper has to tell them comes before the answer to a Sync."""
        while True:
            await self.until(self.under_way)
            heard = len(self.log.events)
            for module in list(self.modules.values()):
                await module.client.session.call([Sync()])
            if len(self.log.events) == heard:
                return


class _WatchedZooKeeper:
    def __init__(self, stage: Stage, broker: BrokerId, inner: ZooKeeper) -> None:
        self._stage = stage
        self._broker = broker
        self._inner = inner

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> FaultableSession:
        opened = await self._inner.open_session(timeout_ms, listener, connect_timeout_ms, cause)
        self._stage.has_opened(self._broker, opened)
        return _WatchedSession(self._stage, self._broker, opened)


class _WatchedSession(WrappedSession):
    """A session whose writes are noted, and may be preceded."""

    def __init__(self, stage: Stage, broker: BrokerId, inner: FaultableSession) -> None:
        super().__init__(inner)
        self._stage = stage
        self._broker = broker

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        await self._stage.intervene([write for request in requests for write in writes_of(request)])
        replies = await self.inner.call(requests, cause)
        self._stage.notebook.wrote(self._broker, requests, replies)
        return replies


def listening(broker: BrokerId, host: str = "localhost") -> BrokerInfo:
    """What a broker says of itself."""
    return BrokerInfo(broker, (Endpoint("PLAINTEXT", "PLAINTEXT", host, FIRST_PORT + broker),))


def configured(settings: Mapping[str, str]) -> ControllerConfig:
    """The stage's settings with some changed; names as in Kafka: delete.topic.enable."""
    changes: dict[str, Any] = {
        name.replace(".", "_"): value == "true" if value in ("true", "false") else int(value)
        for name, value in settings.items()
    }
    return replace(CONFIG, **changes)


def _ignore(notice: Notice) -> None:
    return


Script = Callable[[Stage], Coroutine[Any, Any, None]]


def on_model(script: Script) -> Stage:
    """Play on the model of ZooKeeper, in virtual time; return the stage with all that is noted."""
    runtime = SimulatedRuntime()
    log = EventLog(runtime.now_ms)
    zookeeper = MemoryZooKeeper(runtime, log.sink("zookeeper"), random.Random(1), tick_time_ms=TICK_MS)
    stage = Stage(runtime, zookeeper, log)
    runtime.run(_played(stage, script))
    return stage


def on_server(connect_string: str, chroot: str, script: Script) -> Stage:
    """Play on a real server, below a chroot of the play's own."""
    runtime = WallClockRuntime()

    async def in_chroot() -> Stage:
        await make_chroot(connect_string, chroot)
        stage = Stage(runtime, LiveZooKeeper(connect_string + chroot), EventLog(runtime.now_ms))
        await _played(stage, script)
        return stage

    return runtime.run(in_chroot())


async def _played(stage: Stage, script: Script) -> None:
    await stage.open()
    try:
        await script(stage)
    finally:
        await stage.close()
