"""A ZooKeeper that we run: the verbs of ZooKeeperServers over members that some MemberHost hosts.

Blocking work is done on threads, so that an event loop is never held up. Also a context manager, plain and asynchronous:
starting on entry, leaving nothing behind on exit.
"""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from kcsim.zk.servers.errors import (
    MemberStateError,
    NoSuchMemberError,
    NotServingError,
    NotStartedError,
    PortTakenError,
    ServerDiedError,
    ServerError,
)
from kcsim.zk.servers.four_letter_words import Answer, Mode, ask_server
from kcsim.zk.servers.free_ports import free_ports, is_free
from kcsim.zk.servers.ports import PAUSED, UP, MemberHost, State

HOST = "127.0.0.1"
POLL_S = 0.01
START_ATTEMPTS = 5
LOG_END_BYTES = 20_000


class ManagedZooKeeper:
    """One server or an ensemble; see ZooKeeperServers for what each verb promises."""

    def __init__(
        self, host: MemberHost, members: int, client_ports: Sequence[int] | None = None, serving_timeout_s: float = 30.0
    ) -> None:
        """Prepare to start; nothing is started yet.

        Args:
            client_ports: one per member; None takes free ones.
            serving_timeout_s: how long members may take from launch to serving.
        """
        if members < 1 or members % 2 == 0:
            raise ValueError(f"an ensemble has an odd number of members, one at least; not {members}")
        if client_ports is not None and len(client_ports) != members:
            raise ValueError(f"{members} members need {members} client ports, {len(client_ports)} given")
        self.member_names = tuple(f"member-{number}" for number in range(1, members + 1))
        self._host = host
        self._given_ports = client_ports
        self._serving_timeout_s = serving_timeout_s
        self._ports: Mapping[str, int] = {}
        self._verbs = threading.Lock()
        self._given_up = threading.Event()

    # --- the verbs --------------------------------------------------------------------------------------------------------

    @property
    def connect_string(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self._started_ports().values())

    async def start(self) -> None:
        self._given_up.clear()
        try:
            await asyncio.to_thread(self._start)
        except asyncio.CancelledError:
            # The thread cannot be cancelled: have it give up, and wait until nothing is left.
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

    async def wait_for_leader(self, other_than: str | None = None, timeout_s: float = 15.0) -> str:
        return await asyncio.to_thread(self._wait_for_leader, other_than, timeout_s)

    async def states(self) -> Mapping[str, State]:
        self._started_ports()
        return await asyncio.to_thread(self._host.states)

    async def version(self) -> str:
        seen = await asyncio.to_thread(self._look)
        for answer in seen.values():
            if isinstance(answer, Answer) and answer.version:
                return answer.version
        raise NotServingError("a member that tells its version", 0, describe(seen))

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

    def _look(self) -> dict[str, Answer | str]:
        """Ask each member that can answer; the others have a word that says why not."""
        ports, states = self._started_ports(), self._host.states()
        return {name: self._look_at(port, states[name]) for name, port in ports.items()}

    @staticmethod
    def _look_at(port: int, state: State) -> Answer | str:
        if state != UP:
            return state if isinstance(state, str) else f"down (status {state})"
        try:
            return ask_server(HOST, port)
        except OSError as error:
            return f"no answer ({error})"

    def _wait_until_ready(self, names: Sequence[str]) -> None:
        """Wait until these members serve or, if those that are up cannot make a quorum, answer at all."""
        up = sum(state == UP for state in self._host.states().values())
        quorum = len(self.member_names) // 2 + 1

        def is_ready(seen: dict[str, Answer | str]) -> bool:
            for name in names:
                status = self._host.states()[name]
                if isinstance(status, int):
                    raise self._death(name, status)
            return all(isinstance(a := seen[name], Answer) and (a.mode or up < quorum) for name in names)

        self._wait_for(is_ready, f"{', '.join(names)} to serve", self._serving_timeout_s)

    def _wait_for_leader(self, other_than: str | None, timeout_s: float) -> str:
        seen = self._wait_for(lambda seen: leader_of(seen) not in (None, other_than), "a leader", timeout_s)
        leader = leader_of(seen)
        assert leader is not None
        return leader

    def _wait_for(
        self, holds: Callable[[dict[str, Answer | str]], bool], what: str, timeout_s: float
    ) -> dict[str, Answer | str]:
        until = time.monotonic() + timeout_s
        while not holds(seen := self._look()):
            if time.monotonic() > until:
                raise NotServingError(what, timeout_s, describe(seen))
            if self._given_up.wait(POLL_S):
                raise ServerError(f"gave up waiting for {what}")
        return seen

    def _death(self, name: str, status: int) -> ServerError:
        path = self._host.log_path(name)
        end = log_end(path)
        if "BindException" in end or "Address already in use" in end:
            return PortTakenError(self._ports[name] if self._given_ports else None, name)
        return ServerDiedError(name, status, path, summary(end))


def leader_of(seen: Mapping[str, Answer | str]) -> str | None:
    """The first member that says that it leads. A leader just resumed may still believe so for a moment."""
    for name, answer in seen.items():
        if isinstance(answer, Answer) and answer.mode in (Mode.LEADER, Mode.STANDALONE):
            return name
    return None


def describe(seen: Mapping[str, Answer | str]) -> str:
    words = {
        name: (answer.mode or "up, does not serve") if isinstance(answer, Answer) else answer
        for name, answer in seen.items()
    }
    return ", ".join(f"{name}: {word}" for name, word in words.items())


def log_end(path: Path) -> str:
    """The last part of a log; empty when there is none."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - LOG_END_BYTES))
            return log.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def summary(log: str) -> str:
    """The last lines that say something, stack frames left out, as one line."""
    telling = [line.strip() for line in log.splitlines() if line.strip() and not re.match(r"\s+at |\s*\.\.\. \d+", line)]
    return " | ".join(telling[-3:]) or "(it is empty)"
