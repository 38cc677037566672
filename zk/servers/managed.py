"""A ZooKeeper that this process runs: the operations of ZooKeeperServers on members that a MemberHost hosts.

Blocking work is done on threads, so that the event loop is never blocked. ManagedZooKeeper is also a context manager, plain
and asynchronous: it starts on entry and removes everything on exit.
"""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from kcsim.zk.security import ClientSecurity
from kcsim.zk.servers.errors import (
    MemberStateError,
    NoSuchMemberError,
    NotServingError,
    NotStartedError,
    PortTakenError,
    ServerDiedError,
    ServerError,
)
from kcsim.zk.servers.four_letter_words import Mode, ServerStatus, ask_server
from kcsim.zk.servers.free_ports import free_ports, is_free
from kcsim.zk.servers.ports import PAUSED, UP, MemberHost, State

HOST = "127.0.0.1"
POLL_S = 0.01
LOOK_S = 10.0
"""How long a member that is up may take to answer, where it is asked only once."""
FIRST_LOOK_S, LONGEST_LOOK_S = 0.25, 4.0
"""The same where it is asked repeatedly. A server that is starting may accept a connection and never answer on it."""
START_ATTEMPTS = 5
LOG_END_BYTES = 20_000


class ManagedZooKeeper:
    """One server or an ensemble; see ZooKeeperServers for the contract of each operation."""

    def __init__(
        self, host: MemberHost, members: int, client_ports: Sequence[int] | None = None, serving_timeout_s: float = 120.0
    ) -> None:
        """Prepare to start; nothing is started yet.

        Args:
            client_ports: one per member; None chooses free ports.
            serving_timeout_s: how long members may take from launch to serving.
        """
        if members < 1 or members % 2 == 0:
            raise ValueError(f"an ensemble has an odd number of members, one at least; not {members}")
        if client_ports is not None and len(client_ports) != members:
            raise ValueError(f"{members} members need {members} client ports, {len(client_ports)} given")
        self.member_names = tuple(f"member-{number}" for number in range(1, members + 1))
        self._host = _SerialHost(host)
        self._given_ports = client_ports
        self._serving_timeout_s = serving_timeout_s
        self._ports: Mapping[str, int] = {}
        self._verbs = threading.Lock()
        self._given_up = threading.Event()

    # --- the verbs --------------------------------------------------------------------------------------------------------

    security: ClassVar[ClientSecurity] = ClientSecurity()
    """Clients are accepted without SASL and TLS."""

    @property
    def connect_string(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self._started_ports().values())

    async def start(self) -> None:
        self._given_up.clear()
        try:
            await asyncio.to_thread(self._start)
        except asyncio.CancelledError:
            # The thread cannot be cancelled: make it give up, and wait until everything is removed.
            self._given_up.set()
            await asyncio.to_thread(self._stop)
            raise

    async def stop(self) -> None:
        await asyncio.to_thread(self._stop)

    async def kill(self, name: str, cause: int | None = None) -> None:
        await asyncio.to_thread(self._change, "kill", name, (UP, PAUSED), self._host.kill)

    async def pause(self, name: str, cause: int | None = None) -> None:
        await asyncio.to_thread(self._change, "pause", name, (UP,), self._host.pause)

    async def resume(self, name: str, cause: int | None = None) -> None:
        await asyncio.to_thread(self._change, "resume", name, (PAUSED,), self._host.resume)

    async def start_member(self, *names: str, cause: int | None = None) -> None:
        await asyncio.to_thread(self._start_members, names)

    async def restart(self, name: str, cause: int | None = None) -> None:
        await self.kill(name, cause)
        await self.start_member(name, cause=cause)

    async def leader_name(self) -> str | None:
        return await asyncio.to_thread(lambda: leader_of(self._look()))

    async def wait_for_leader(self, other_than: str | None = None, timeout_s: float = 60.0) -> str:
        return await asyncio.to_thread(self._wait_for_leader, other_than, timeout_s)

    async def states(self) -> Mapping[str, State]:
        self._started_ports()
        return await asyncio.to_thread(self._host.states)

    async def version(self) -> str:
        seen = await asyncio.to_thread(self._look)
        for answer in seen.values():
            if isinstance(answer, ServerStatus) and answer.version:
                return answer.version
        raise NotServingError("a member that reports its version", 0, describe(seen))

    def log_path(self, name: str) -> Path:
        self._check_name(name)
        return self._host.log_path(name)

    def transaction_log_dir(self, name: str) -> Path | None:
        self._check_name(name)
        return self._host.transaction_log_dir(name)

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # --- starting and stopping --------------------------------------------------------------------------------------------

    def _start(self) -> None:
        with self._verbs:
            if self._ports:
                raise ServerError(f"already started, at {self.connect_string}")
            for attempts_left in reversed(range(START_ATTEMPTS)):
                try:
                    self._start_once()
                    return
                except BaseException as error:
                    self._close()
                    chosen_anew = self._given_ports is None and attempts_left > 0
                    if not (isinstance(error, PortTakenError) and chosen_anew):
                        raise

    def _start_once(self) -> None:
        ports = self._given_ports or free_ports(len(self.member_names))
        self._ports = dict(zip(self.member_names, ports, strict=True))
        for name, port in self._ports.items():
            if not is_free(port):
                raise PortTakenError(port, name)
        self._host.prepare(self._ports)
        for name in self.member_names:
            self._host.launch(name)
        self._wait_until_ready(self.member_names)

    def _stop(self) -> None:
        with self._verbs:
            self._close()

    def _close(self) -> None:
        self._ports = {}
        self._host.close()

    def _start_members(self, names: Sequence[str]) -> None:
        with self._verbs:
            for name in names:
                self._require_state("start", name, lambda state: isinstance(state, int))
            for name in names:
                self._host.launch(name)
            self._wait_until_ready(names)

    def _change(self, verb: str, name: str, allowed: Sequence[str], act: Callable[[str], State]) -> None:
        with self._verbs:
            self._require_state(verb, name, lambda state: state in allowed)
            reached = act(name)
            if isinstance(reached, int) and verb != "kill":
                raise self._death(name, reached)

    def _require_state(self, verb: str, name: str, holds: Callable[[State], bool]) -> None:
        self._check_name(name)
        self._started_ports()
        state = self._host.states()[name]
        if not holds(state):
            raise MemberStateError(verb, name, state if isinstance(state, str) else f"down (status {state})")

    def _check_name(self, name: str) -> None:
        if name not in self.member_names:
            raise NoSuchMemberError(name, self.member_names)

    def _started_ports(self) -> Mapping[str, int]:
        if not self._ports:
            raise NotStartedError
        return self._ports

    # --- looking ----------------------------------------------------------------------------------------------------------

    def _look(self, timeout_s: float = LOOK_S) -> dict[str, ServerStatus | str]:
        """Ask each member that can answer for its status; for the others return a text that says why they cannot."""
        ports, states = self._started_ports(), self._host.states()
        return {name: self._look_at(port, states[name], timeout_s) for name, port in ports.items()}

    @staticmethod
    def _look_at(port: int, state: State, timeout_s: float) -> ServerStatus | str:
        if state != UP:
            return state if isinstance(state, str) else f"down (status {state})"
        try:
            return ask_server(HOST, port, timeout_s)
        except OSError as error:
            return f"no answer ({error})"

    def _wait_until_ready(self, names: Sequence[str]) -> None:
        """Wait until these members serve or, if the members that are up make no quorum, until they answer."""
        up = sum(state == UP for state in self._host.states().values())
        quorum = len(self.member_names) // 2 + 1

        def is_ready(seen: dict[str, ServerStatus | str]) -> bool:
            for name in names:
                status = self._host.states()[name]
                if isinstance(status, int):
                    raise self._death(name, status)
            return all(isinstance(a := seen[name], ServerStatus) and (a.mode or up < quorum) for name in names)

        self._wait_for(is_ready, f"{', '.join(names)} to serve", self._serving_timeout_s)

    def _wait_for_leader(self, other_than: str | None, timeout_s: float) -> str:
        seen = self._wait_for(lambda seen: leader_of(seen) not in (None, other_than), "a leader", timeout_s)
        leader = leader_of(seen)
        assert leader is not None
        return leader

    def _wait_for(
        self, holds: Callable[[dict[str, ServerStatus | str]], bool], what: str, timeout_s: float
    ) -> dict[str, ServerStatus | str]:
        until = time.monotonic() + timeout_s
        look_s = FIRST_LOOK_S
        began = time.monotonic()
        while not holds(seen := self._look(look_s)):
            if time.monotonic() > until:
                raise self._not_serving(what, timeout_s, seen)
            if time.monotonic() - began >= look_s:
                look_s = min(2 * look_s, LONGEST_LOOK_S)
            if self._given_up.wait(POLL_S):
                raise ServerError(f"gave up waiting for {what}")
            began = time.monotonic()
        return seen

    def _not_serving(self, what: str, timeout_s: float, seen: dict[str, ServerStatus | str]) -> NotServingError:
        """Return the error of a wait that timed out. Its notes are the ends of the logs of all members, for tracebacks."""
        error = NotServingError(what, timeout_s, describe(seen))
        for name in self.member_names:
            if end := log_end(self._host.log_path(name)):
                error.add_note(f"{name}'s log ends:\n{end}")
        return error

    def _death(self, name: str, status: int) -> ServerError:
        path = self._host.log_path(name)
        end = log_end(path)
        if "BindException" in end or "Address already in use" in end:
            return PortTakenError(self._ports[name] if self._given_ports else None, name)
        return ServerDiedError(name, status, path, summary(end))


class _SerialHost:
    """A member host that is called by one thread at a time: members are looked at while others are started or killed."""

    def __init__(self, host: MemberHost) -> None:
        self._host = host
        self._calls = threading.Lock()

    def prepare(self, client_ports: Mapping[str, int]) -> None:
        with self._calls:
            self._host.prepare(client_ports)

    def launch(self, name: str) -> None:
        with self._calls:
            self._host.launch(name)

    def kill(self, name: str) -> State:
        with self._calls:
            return self._host.kill(name)

    def pause(self, name: str) -> State:
        with self._calls:
            return self._host.pause(name)

    def resume(self, name: str) -> State:
        with self._calls:
            return self._host.resume(name)

    def states(self) -> Mapping[str, State]:
        with self._calls:
            return self._host.states()

    def log_path(self, name: str) -> Path:
        return self._host.log_path(name)

    def transaction_log_dir(self, name: str) -> Path | None:
        return self._host.transaction_log_dir(name)

    def close(self) -> None:
        with self._calls:
            self._host.close()


def leader_of(seen: Mapping[str, ServerStatus | str]) -> str | None:
    """Return the first member that reports to be leader or standalone; a leader just resumed may be an outdated one."""
    for name, answer in seen.items():
        if isinstance(answer, ServerStatus) and answer.mode in (Mode.LEADER, Mode.STANDALONE):
            return name
    return None


def describe(seen: Mapping[str, ServerStatus | str]) -> str:
    words = {
        name: (answer.mode or "up, does not serve") if isinstance(answer, ServerStatus) else answer
        for name, answer in seen.items()
    }
    return ", ".join(f"{name}: {word}" for name, word in words.items())


def log_end(path: Path) -> str:
    """Return the last part of a log; empty when the file does not exist."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - LOG_END_BYTES))
            return log.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def summary(log: str) -> str:
    """Return the last three non-empty lines as one line, stack frames left out."""
    informative = [line.strip() for line in log.splitlines() if line.strip() and not re.match(r"\s+at |\s*\.\.\. \d+", line)]
    return " | ".join(informative[-3:]) or "(it is empty)"
