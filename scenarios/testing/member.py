"""One ZooKeeper client of a test, of any kind, behind a proxy of its own that injects faults.

The code under test is given the proxy's address in place of ZooKeeper's, and needs no change.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from kcsim.errors import TimedOutError
from kcsim.runtime.wallclock import wall_clock_ms
from kcsim.scenarios.testing.action_history import ActionHistory
from kcsim.scenarios.testing.background import WITHIN_S, Flag, wait_until
from kcsim.zk.proxy import Breakpoint, BreakpointMoment, ProxiedSession, ProxiedWrite, ProxyThread, RecentWrites
from kcsim.zk.security import Tls


class WritePause:
    """A pause of a client at one of its own writes.

    When the client makes the write, its request (or, with `after`, the reply) is held back, and so is everything behind it.
    `release` ends the pause; so do the end of a `with` block and the end of the test.
    """

    def __init__(
        self, what: str, moment: BreakpointMoment, wanted: Callable[[ProxiedWrite], bool], nth: int, history: ActionHistory
    ) -> None:
        self.writes: tuple[ProxiedWrite, ...] = ()
        self._what = what
        self._wanted = wanted
        self._still_to_come = nth
        self._history = history
        self._reached, self._released = Flag(), Flag()
        self.breakpoint = Breakpoint(moment, self._matches, self._stand)

    @property
    def is_reached(self) -> bool:
        return self._reached.is_raised

    def wait_until_reached(self, within_s: float = WITHIN_S) -> Sequence[ProxiedWrite]:
        """Wait until the client is paused there, and return the writes of its request. Raises: TimedOutError."""
        if not self._reached.wait(within_s):
            raise TimedOutError(f"not within {within_s:g} s: {self._what}; last seen: it has come to no such write")
        return self.writes

    def release(self) -> None:
        """Let the client continue. If it has not reached the write yet, it will not pause there. Idempotent."""
        if self.is_reached and not self._released.is_raised:
            self._history.note(self._what, "released")
        self._released.mark_raised()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()

    def _matches(self, writes: Sequence[ProxiedWrite]) -> bool:
        if self._released.is_raised or not any(map(self._wanted, writes)):
            return False
        self._still_to_come -= 1
        self.writes = tuple(writes)
        return self._still_to_come == 0

    def _stand(self) -> None:
        self._history.note(self._what, f"reached, with {'; '.join(f'{w.op} {w.path}' for w in self.writes)}")
        self._reached.mark_raised()
        self._released.wait()


class Member:
    """A client, under the name that the test gave it.

    Attributes:
        name: its name in messages and in the timeline.
        connect_string: the address for the client, in place of ZooKeeper's; with the same chroot.
        recent_writes: what the client has written.
    """

    def __init__(self, name: str, connect_string: str, history: ActionHistory, tls: Tls | None = None) -> None:
        """Open the client's proxy. Raises: ProxyError."""
        self.name = name
        self._history = history
        self._pauses: list[WritePause] = []
        self.recent_writes = RecentWrites(wall_clock_ms)
        self._proxy = ProxyThread(connect_string, self.recent_writes, tls)
        self._proxy.start()
        self.connect_string = self._proxy.connect_string

    # --- reads

    @property
    def sessions(self) -> list[ProxiedSession]:
        """The sessions that the client has opened, oldest first."""
        return self._proxy.sessions

    @property
    def is_connected(self) -> bool:
        return any(session.is_connected for session in self.sessions)

    def wait_until_connected(self, within_s: float = WITHIN_S) -> ProxiedSession:
        """Wait until the client has a session and a connection, and return the session. Raises: TimedOutError."""

        def connected() -> ProxiedSession | None:
            return next((s for s in reversed(self.sessions) if s.is_connected and not s.has_ended), None)

        return wait_until(connected, f"{self.name} to be connected", within_s, lambda: self.sessions or "no session of it")

    # --- faults

    def expire(self) -> None:
        """Make ZooKeeper end the client's session as if it had expired. On return its ephemeral znodes are gone.

        The client loses its connection, and learns of the expiration when it reconnects. Raises: NoSessionError.
        """
        began_ms = self._history.now_ms()
        self._proxy.expire()
        self._history.note(self.name, "its session is ended by the test, as if it had expired", began_ms)

    def cut(self) -> int:
        """Break the client's connections. It may reconnect at once. Returns: the number of broken connections."""
        broken = self._proxy.cut()
        self._note(f"{broken} connection{'s' * (broken != 1)} cut")
        return broken

    def disconnect(self) -> None:
        """Break the client's connections and refuse new ones until `reconnect`.

        Its session's timeout runs, and may expire.
        """
        self._proxy.refuse()
        broken = self._proxy.cut()
        self._note(f"cut off from ZooKeeper ({broken} connection{'s' * (broken != 1)} broken)")

    def reconnect(self) -> None:
        """Let the client reach ZooKeeper again."""
        self._proxy.allow()
        self._note("can reach ZooKeeper again")

    def suspend(self) -> None:
        """Hold back all traffic between client and ZooKeeper, in both directions, until `resume`. Connections stay open.

        This is what a network that drops packets does, and, as seen by all other nodes, a process that is frozen for long.
        """
        self._proxy.hold()
        self._note("suspended: no request is delivered")

    def resume(self) -> None:
        """Deliver what was held back, in order, and let later traffic pass."""
        self._proxy.release()
        self._note("resumed")

    def pause_at_write(
        self, path: str | None = None, *, op: str | None = None, moment: BreakpointMoment = "before", nth: int = 1
    ) -> WritePause:
        """Make the client pause at a write that it has yet to make. Return without waiting for the write.

        Args:
            path: only writes to this znode or below it count; None: all.
            op: only a `create`, a `set` or a `delete` counts; None: all.
            moment: `before`: nothing of the write has reached ZooKeeper; `after`: applied (or refused), the reply not yet
                seen.
            nth: 1 for the first such write from now on, 2 for the second, …
        """
        where = f"{self.name} {moment} its {op or 'write'}{f' of {path}' if path else ''}"
        pause = WritePause(where, moment, lambda write: _is_wanted(write, path, op), nth, self._history)
        self._pauses.append(pause)
        self._proxy.break_at(pause.breakpoint)
        return pause

    def close(self) -> None:
        """Release the client from every pause and stop its proxy. Its connections break."""
        for pause in self._pauses:
            pause.release()
        self._proxy.release()
        self._proxy.stop()

    def _note(self, what: str) -> None:
        self._history.note(self.name, what)


def _is_wanted(write: ProxiedWrite, path: str | None, op: str | None) -> bool:
    if write.op == "check" or op not in (None, write.op):
        return False
    return path is None or write.path == path or write.path.startswith(path.rstrip("/") + "/")
