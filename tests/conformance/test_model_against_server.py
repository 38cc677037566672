"""The model against a real server: the same random operations, and all results must agree.

Three sessions act on a small tree, so that they often affect each other. After each step a Sync brings both to rest, and
replies, errors, stat fields and notices with their order are compared. Values that two servers cannot have in common are not
compared directly: times are left out; zxids count from the first transaction of the example, sessions are numbered in the
order in which they were opened.
"""

from collections.abc import Callable, Coroutine, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from msgspec import structs

from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.model_server import ModelZooKeeper
from kcsim.zk.operations import (
    Check,
    ChildrenRead,
    Create,
    Created,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Request,
    SessionState,
    SetData,
    Stat,
    Sync,
)
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.conformance.environment import LONGEST_TIMEOUT_MS, Client, Environment, model_of_the_server
from tests.conftest import LONGEST_SESSION_MS, TICK_MS
from tests.requirements import require

EXAMPLES_A_ROUND, STEPS_AN_EXAMPLE = 20, 40
SESSIONS = 3

# --- requests ----------------------------------------------------------------------------------------------------------

PATHS = ["/r/a", "/r/b", "/r/a/x", "/r/a/y", "/r/b/n-0000000000", "/r/b/n-0000000001", "/r", "/r/a/x/deep", "/none/x"]
PARENTS = ["/r/a", "/r/b"]
OFTEN = [*PATHS[:5]] * 3

paths = st.sampled_from([*OFTEN, *PATHS])
data = st.sampled_from([None, b"", b"x", b"0123456789"])
versions = st.sampled_from([-1, -1, -1, 0, 1, 2]).map(ZkVersion)
watch = st.sampled_from([True, True, False])
lasting_creates = st.builds(Create, paths, data)
ephemeral_creates = st.builds(Create, paths, data, st.just(True))
sequential_creates = st.builds(Create, st.sampled_from(PARENTS).map(lambda p: f"{p}/n-"), data, st.booleans(), st.just(True))
sets = st.builds(SetData, paths, data, versions)
deletes = st.builds(Delete, paths, versions)
writes = sets | lasting_creates | lasting_creates | ephemeral_creates | sequential_creates | deletes
reads = st.one_of(*(st.builds(kind, paths, watch) for kind in (Exists, GetData, GetChildren)))
multis = st.builds(Multi, st.lists(writes | st.builds(Check, paths, versions), max_size=4).map(tuple))
multi_reads = st.builds(
    MultiRead, st.lists(st.builds(GetData, paths) | st.builds(GetChildren, paths), max_size=6).map(tuple)
)
who = st.integers(0, SESSIONS - 1)


# --- the two sides -----------------------------------------------------------------------------------------------------


class Side:
    """One of the two: a ZooKeeper, a way to run coroutines on it, and its sessions."""

    def __init__(self, environment: Environment, do: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._environment = environment
        self._do = do
        self._first_zxid = 0
        self._sessions: list[SessionId] = []
        self.clients: list[Client] = [self.open() for _ in range(SESSIONS)]
        created = self.run(self.clients[0].get(Create("/r"), Created))
        self.run(self.clients[0].ask(Create("/r/a", b"a"), Create("/r/b"), Create("/r/a/x", b"")))
        self._first_zxid = created.zxid

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._do(coroutine)

    def open(self) -> Client:
        client: Client = self.run(self._environment.open(LONGEST_TIMEOUT_MS))
        self._sessions.append(client.session.session_id)
        return client

    def remove(self) -> None:
        """Delete all znodes of the example.

        Each example has the same paths, whose hashes decide in which order the ephemeral znodes of a session are deleted.
        """

        async def remove_below(path: str) -> None:
            for name in (await cleaner.get(GetChildren(path), ChildrenRead)).children:
                await remove_below(f"{path}/{name}")
            await cleaner.does(Delete(path))

        cleaner = self.open()
        self.run(remove_below("/r"))

    def close(self) -> None:
        self.run(self._environment.close())

    def rest(self, connected: list[int]) -> list[Any]:
        """Return the notices of each connected session since the last time, including all that were in transit."""
        return [self.comparable(self.run(self.clients[n].heard())) for n in connected]

    def comparable(self, value: Any) -> Any:
        """Return a value in a form in which the two sides must be equal."""
        match value:
            case Stat():
                zxids = [self._ordinal(zxid) for zxid in (value.czxid, value.mzxid, value.pzxid)]
                owner = value.ephemeral_owner and self._sessions.index(value.ephemeral_owner) + 1
                return "Stat", *zxids, *value[4:7], owner, *value[8:10]
            case ZooKeeperError():
                return type(value).__name__, value.path
            case list() | tuple():
                return [self.comparable(item) for item in value]
            case msgspec.Struct():
                return type(value).__name__, [self._comparable_field(f.name, value) for f in structs.fields(value)]
            case _ if is_dataclass(value):
                return type(value).__name__, [self._comparable_field(f.name, value) for f in fields(value) if f.compare]
            case _:
                return value

    def _comparable_field(self, name: str, value: Any) -> Any:
        field = getattr(value, name)
        return name, self._ordinal(field) if name == "zxid" else self.comparable(field)

    def _ordinal(self, zxid: Zxid) -> int | None:
        return zxid - self._first_zxid if zxid else None


def model_side() -> Side:
    runtime = SimulatedRuntime()

    def do(coroutine: Coroutine[Any, Any, Any]) -> Any:
        outcome: list[Any] = []

        async def keep_outcome() -> None:
            outcome.append(await coroutine)

        task = runtime.spawn("step", keep_outcome())
        while not task.is_done:
            runtime.env.step()
        return outcome[0]

    return Side(Environment(runtime, model_of_the_server(runtime)), do)


def server_side(connect_string: str) -> tuple[Side, WallClockRuntime]:
    runtime = WallClockRuntime()
    environment = Environment(runtime, LiveZooKeeper(connect_string))
    return Side(environment, runtime.loop.run_until_complete), runtime


# --- the machine -------------------------------------------------------------------------------------------------------


class ModelAgainstServer(RuleBasedStateMachine):
    """State machine in which each rule does one thing to both sides and compares the results."""

    connect_string: str
    model_connect_string: str | None  # None: the model in virtual time
    performed = 0

    @initialize()
    def begin(self) -> None:
        cls = ModelAgainstServer
        self.is_connected = [True] * SESSIONS
        self.on_sockets = [server_side(self.connect_string)]
        if cls.model_connect_string is None:
            self.model = model_side()
        else:
            self.on_sockets.append(server_side(cls.model_connect_string))
            self.model = self.on_sockets[-1][0]
        self.sides = [self.model, self.on_sockets[0][0]]

    def teardown(self) -> None:
        if hasattr(self, "sides"):
            for side, runtime in self.on_sockets:
                side.remove()
                side.close()
                runtime.loop.close()

    def both(self, act: Callable[[Side], Coroutine[Any, Any, Any]]) -> None:
        """Do something on both sides, let both come to rest, and compare."""
        model, server = (side.comparable(side.run(act(side))) for side in self.sides)
        assert model == server, f"the model (left) answers otherwise than the server: {model}, {server}"
        connected = [n for n, is_connected in enumerate(self.is_connected) if is_connected]
        model, server = (side.rest(connected) for side in self.sides)
        assert model == server, f"other notices from the model (left) than from the server: {model}, {server}"

    def ask(self, n: int, requests: list[Request]) -> None:
        if self.is_connected[n]:
            ModelAgainstServer.performed += len(requests)
            self.both(lambda side: side.clients[n].ask(*requests))

    @rule(n=who, requests=st.lists(writes, min_size=1, max_size=6))
    def write(self, n: int, requests: list[Request]) -> None:
        self.ask(n, requests)

    @rule(n=who, requests=st.lists(writes | reads, min_size=2, max_size=8))
    def write_and_read(self, n: int, requests: list[Request]) -> None:
        self.ask(n, requests)

    @rule(n=who, requests=st.lists(reads, min_size=2, max_size=8))
    def read_and_watch(self, n: int, requests: list[Request]) -> None:
        self.ask(n, requests)

    @rule(n=who, multi=multis)
    def transact(self, n: int, multi: Multi) -> None:
        self.ask(n, [multi])

    @rule(n=who, multi_read=multi_reads)
    def read_many(self, n: int, multi_read: MultiRead) -> None:
        self.ask(n, [multi_read, Sync()])

    @rule(n=who, fault=st.sampled_from(["bounce", "cut off", "close", "expire"]))
    def disturb(self, n: int, fault: str) -> None:
        """Break the connection briefly or for longer, or end the session: its owner then opens another."""
        if not self.is_connected[n]:
            return
        ModelAgainstServer.performed += 1
        self.is_connected[n] = fault != "cut off"
        self.both(lambda side: FAULTS[fault](side.clients[n]))
        if fault in ("close", "expire"):
            self.open_another(n)

    @precondition(lambda self: not all(self.is_connected))
    @rule()
    def come_back(self) -> None:
        """Reconnect sessions that were cut off: each gets what it has missed."""
        ModelAgainstServer.performed += 1
        n = self.is_connected.index(False)
        self.is_connected[n] = True
        self.both(lambda side: _come_back(side.clients[n]))

    def open_another(self, n: int) -> None:
        for side in self.sides:
            side.clients[n] = side.open()


async def _cut_off(client: Client) -> None:
    client.session.refuse_connections()
    await client.session.cut()
    await client.until(SessionState.SUSPENDED)


async def _come_back(client: Client) -> None:
    client.session.allow_connections()
    await client.until(SessionState.CONNECTED)


async def _bounce(client: Client) -> None:
    await client.session.cut()
    await client.until(SessionState.SUSPENDED, SessionState.CONNECTED)


async def _expire(client: Client) -> None:
    await client.session.expire()
    await client.until(SessionState.SUSPENDED, SessionState.EXPIRED)


async def _close(client: Client) -> None:
    await client.session.close()


FAULTS = {"bounce": _bounce, "cut off": _cut_off, "close": _close, "expire": _expire}


@pytest.fixture
def server_of_its_own() -> Iterator[EmbeddedZooKeeper]:
    """Yield a server for this test only: zxids are compared, and abandoned sessions of other tests would use some."""
    require("java")
    settings_ = ServerSettings(tick_time_ms=TICK_MS, max_session_timeout_ms=LONGEST_SESSION_MS)
    with EmbeddedZooKeeper(settings=settings_) as zookeeper:
        yield zookeeper


OPERATIONS = [300, pytest.param(2_000, marks=pytest.mark.slow), pytest.param(100_000, marks=pytest.mark.nightly)]


@pytest.mark.live
@pytest.mark.parametrize("operations", OPERATIONS)
def test_the_model_agrees_with_the_server(server_of_its_own: EmbeddedZooKeeper, operations: int) -> None:
    """Examples with the same number of operations have the same operations."""
    compare(server_of_its_own.connect_string, None, operations)


@pytest.mark.live
@pytest.mark.parametrize("operations", OPERATIONS)
def test_the_model_behind_a_socket_agrees_with_the_server(server_of_its_own: EmbeddedZooKeeper, operations: int) -> None:
    settings_ = ServerSettings(tick_time_ms=TICK_MS, max_session_timeout_ms=LONGEST_SESSION_MS)
    with ModelZooKeeper(settings=settings_) as zookeeper:
        compare(server_of_its_own.connect_string, zookeeper.connect_string, operations)


def compare(connect_string: str, model_connect_string: str | None, operations: int) -> None:
    """Do this many random operations on both, and compare."""
    ModelAgainstServer.performed = 0
    ModelAgainstServer.connect_string = connect_string
    ModelAgainstServer.model_connect_string = model_connect_string
    how = settings(
        max_examples=min(EXAMPLES_A_ROUND, operations // STEPS_AN_EXAMPLE),
        stateful_step_count=STEPS_AN_EXAMPLE,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    round_ = 0
    while ModelAgainstServer.performed < operations:
        run_state_machine_as_test(seed(round_)(type("Round", (ModelAgainstServer,), {})), settings=how)
        round_ += 1
