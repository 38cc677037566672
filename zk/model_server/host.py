"""The members of the model as a MemberHost: in a thread of this process, on ports of 127.0.0.1, ready in milliseconds."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeVar

from kcsim.vocabulary import SessionId
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.memory.journal import Journal
from kcsim.zk.memory.members import Members, MemberState
from kcsim.zk.memory.server import MemoryServer
from kcsim.zk.model_server.service import LostReply, ModelService
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.errors import MemberStateError, NotStartedError, PortTakenError
from kcsim.zk.servers.managed import HOST
from kcsim.zk.servers.ports import PAUSED, UP, State

T = TypeVar("T")
KILLED = -9
"""The exit status of a killed member, as that of a process."""
ELECTION_S = 0.05
LAG = "hold back"
SESSIONS_A_MS_BITS = 8


class ModelHost:
    """Runs the members of one ensemble. They share one tree, so a member that joins again has all transactions."""

    def __init__(self, settings: ServerSettings) -> None:
        if settings.sasl_users or settings.read_only_mode or settings.entries:
            raise ValueError("the model has no SASL, no read-only mode and no zoo.cfg; an embedded ZooKeeper has")
        self._settings = settings
        self._ports: Mapping[str, int] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._service: ModelService | None = None
        self._listeners: dict[str, asyncio.Server] = {}
        self._directory: Path | None = None
        self._log: LogWriter | None = None
        self._pauses: dict[str, int] = {}  # member -> number that changes with each pause and resume
        self._ended = asyncio.Event()
        self._cleaning: asyncio.Future[None] | None = None

    # --- MemberHost

    def prepare(self, client_ports: Mapping[str, int]) -> None:
        self.close()
        self._ports = client_ports
        self._directory = Path(mkdtemp(prefix="kcsim-zookeeper-model-"))
        self._log = LogWriter(self._directory / "data", is_followed=True)
        members = Members(len(client_ports))
        for name in members.names:
            members.set_state(name, MemberState.DEAD)
            members.leave(name)
        epoch_ms = int(time.time() * 1000)
        settings = self._settings
        server = MemoryServer(
            settings.tick_time_ms, settings.min_session_timeout_ms, settings.max_session_timeout_ms, epoch_ms
        )
        # Session ids differ from those of an earlier ZooKeeper on this port, whose clients may still try to reconnect.
        server.sessions.begin_at(epoch_ms << SESSIONS_A_MS_BITS)
        running: Future[asyncio.AbstractEventLoop] = Future()
        self._ended = asyncio.Event()
        live = _live(running, self._ended)
        self._thread = threading.Thread(target=asyncio.run, args=(live,), name="kcsim-zookeeper-model", daemon=True)
        self._thread.start()
        self._loop = running.result()
        journal = Journal(self._log.write, epoch_ms)
        self._service = ModelService(server, members, journal, longest_frame=settings.jute_max_buffer)
        self._call(self._begin())

    def launch(self, name: str) -> None:
        self._call(self._launch(name))

    def kill(self, name: str) -> State:
        return self._in_loop(lambda: self._kill(name))

    def pause(self, name: str) -> State:
        return self._in_loop(lambda: self._pause(name))

    def resume(self, name: str) -> State:
        return self._in_loop(lambda: self._resume(name))

    def states(self) -> Mapping[str, State]:
        states = self.service.members.states
        texts: Mapping[MemberState, State] = {MemberState.UP: UP, MemberState.PAUSED: PAUSED, MemberState.DEAD: KILLED}
        return {name: texts[state] for name, state in states.items()}

    def log_path(self, name: str) -> Path:
        return self._home / f"{name}.log"

    def transaction_log_dir(self, name: str) -> Path | None:
        return self._home / "data" / "version-2"

    def close(self) -> None:
        if self._loop is not None:
            self._call(self._end())
            self._loop.call_soon_threadsafe(self._ended.set)
            assert self._thread is not None
            self._thread.join()
        self._loop = self._thread = self._service = None
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._directory is not None:
            rmtree(self._directory, ignore_errors=True)
            self._directory = None

    # --- faults that a real server cannot be given exactly

    def expire(self, session_id: SessionId) -> bool:
        """End a session now; return whether there was one."""
        return self._in_loop(lambda: self.service.expire(session_id))

    def lose_reply(self, path: str | None, session_id: SessionId | None) -> None:
        """Apply the next write to a path, and break its connection before the reply."""
        self._in_loop(lambda: self.service.lose_reply(LostReply(session_id, path)))

    def drop_watches(self, path: str) -> int:
        """Remove all watches on a path, without an event; return how many."""
        return self._in_loop(lambda: self.service.drop_watches(path))

    def lag(self, name: str) -> None:
        """Let a follower apply no transaction from now on. Raises: MemberStateError."""
        self._in_loop(lambda: self._lag(name))

    def catch_up(self, name: str) -> None:
        """Let a follower that lags behind apply all transactions. Raises: MemberStateError."""
        self._in_loop(lambda: self._catch_up(name))

    # --- in the loop

    @property
    def service(self) -> ModelService:
        if self._service is None:
            raise NotStartedError
        return self._service

    @property
    def _home(self) -> Path:
        if self._directory is None:
            raise NotStartedError
        return self._directory

    async def _begin(self) -> None:
        self._cleaning = asyncio.ensure_future(self.service.delete_unused_forever())

    async def _launch(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        try:
            port = self._ports[name]
            self._listeners[name] = await loop.create_server(
                self.service.connection_at(name), HOST, port, reuse_address=True
            )
        except OSError:
            raise PortTakenError(self._ports[name], name) from None
        self._note(name, f"listens on {HOST}:{self._ports[name]}")
        members = self.service.members
        members.set_state(name, MemberState.UP)
        self._elect()
        members.join(name)

    def _elect(self) -> None:
        members = self.service.members
        if members.elect():
            self.service.begin_epoch()
            if members.is_ensemble and members.leader is not None:
                self._note(members.leader, "leads")

    def _kill(self, name: str) -> State:
        self._listeners.pop(name).close()
        self.service.members.set_state(name, MemberState.DEAD)
        self._stop_serving({name, *self.service.members.leave(name)})
        self._note(name, "killed")
        return KILLED

    def _lag(self, name: str) -> None:
        members = self.service.members
        if not members.serves(name):
            raise MemberStateError(LAG, name, "not serving")
        if members.leader == name:
            raise MemberStateError(LAG, name, "the leader, which applies each transaction first")
        if self.service.is_lagging(name):
            raise MemberStateError(LAG, name, "lagging behind already")
        self.service.lag(name)
        self._note(name, "lags behind")

    def _catch_up(self, name: str) -> None:
        if not self.service.is_lagging(name):
            raise MemberStateError("catch up", name, "not lagging behind")
        self.service.catch_up(name)
        self._note(name, "has caught up")

    def _stop_serving(self, names: set[str]) -> None:
        for name in names:
            self.service.stop_serving(name)
        if self.service.members.leader is None:
            asyncio.get_running_loop().call_later(ELECTION_S, self._elect)

    def _pause(self, name: str) -> State:
        service = self.service
        service.members.set_state(name, MemberState.PAUSED)
        for connection in service.connections_of(name):
            connection.hold()
        if service.members.is_ensemble:
            pause = self._pauses[name] = self._pauses.get(name, 0) + 1
            delay_s = self._settings.sync_limit * self._settings.tick_time_ms / 1000
            asyncio.get_running_loop().call_later(delay_s, self._give_up, name, pause)
        self._note(name, "paused")
        return PAUSED

    def _give_up(self, name: str, pause: int) -> None:
        """Let the other members give up a member that is still in this pause, after the sync limit."""
        members = self.service.members
        if self._pauses[name] == pause and members.states[name] is MemberState.PAUSED:
            self._stop_serving(set(members.leave(name)))

    def _resume(self, name: str) -> State:
        service = self.service
        service.members.set_state(name, MemberState.UP)
        self._pauses[name] = self._pauses.get(name, 0) + 1
        if not service.members.serves(name):
            for connection in service.connections_of(name):
                connection.break_off()
            self._elect()
            service.members.join(name)
        service.resume(name)
        self._note(name, "resumed")
        return UP

    def _note(self, name: str, what: str) -> None:
        """Append a line to a member's log."""
        with self.log_path(name).open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {what}\n")

    async def _end(self) -> None:
        if self._cleaning is not None:
            self._cleaning.cancel()
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()
        for connection in list(self.service.connections.values()):
            connection.break_off()
        await asyncio.sleep(0)

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise NotStartedError
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _in_loop(self, work: Callable[[], T]) -> T:
        async def do() -> T:
            return work()

        return self._call(do())


async def _live(running: "Future[asyncio.AbstractEventLoop]", ended: asyncio.Event) -> None:
    running.set_result(asyncio.get_running_loop())
    await ended.wait()
