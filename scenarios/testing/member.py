"""One client of ZooKeeper in a test, whatever it is: reached through a proxy of its own, so that it can be faulted.

The code under test is given the client's address in place of ZooKeeper's, and knows nothing of all this.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from kcsim.scenarios.testing.background import WITHIN_S, Flag, wait_until
from kcsim.scenarios.testing.diary import Diary
from kcsim.zk.errors import TimedOutError
from kcsim.zk.proxy import Breakpoint, Moment, ProxiedSession, ProxiedWrite, ProxyThread


class Pause:
    """A client that stands still at a write of its own, once it has come to it.

    Its request (or, `after`, its answer) waits, and all that comes behind it. `release` lets it go on; so do the end of a
    `with` block and the end of the test.
    """

    def __init__(self, what: str, moment: Moment, wanted: Callable[[ProxiedWrite], bool], nth: int, diary: Diary) -> None:
        self.writes: tuple[ProxiedWrite, ...] = ()
        self._what = what
        self._wanted = wanted
        self._still_to_come = nth
        self._diary = diary
        self._reached, self._released = Flag(), Flag()
        self.breakpoint = Breakpoint(moment, self._matches, self._stand)

    @property
    def is_reached(self) -> bool:
        return self._reached.is_raised

    def wait_until_reached(self, within_s: float = WITHIN_S) -> Sequence[ProxiedWrite]:
        """Wait until the client stands there, and return the writes of its request. Raises: TimedOutError."""
        if not self._reached.wait(within_s):
            raise TimedOutError(f"not within {within_s:g} s: {self._what}; last seen: it has come to no such write")
        return self.writes

    def release(self) -> None:
        """Let the client go on; if it has not come there yet, let it pass. Idempotent."""
        if self.is_reached and not self._released.is_raised:
            self._diary.note(self._what, "released")
        self._released.lift()

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
        self._diary.note(self._what, f"reached, with {'; '.join(f'{w.op} {w.path}' for w in self.writes)}")
        self._reached.lift()
        self._released.wait()


class Member:
    """A client, by the name that the test has for it.

    Attributes:
        name: in messages and in the timeline.
        connect_string: for the client, in place of ZooKeeper's; the same chroot.
    """

    def __init__(self, name: str, connect_string: str, diary: Diary) -> None:
        """Open its proxy. Raises: ProxyError."""
        self.name = name
        self._diary = diary
        self._pauses: list[Pause] = []
        self._proxy = ProxyThread(connect_string)
        self._proxy.start()
        self.connect_string = self._proxy.connect_string

    # --- looks

    @property
    def sessions(self) -> list[ProxiedSession]:
        """The sessions that it has opened, oldest first."""
        return self._proxy.sessions

    @property
    def is_connected(self) -> bool:
        return any(session.is_connected for session in self.sessions)

    def wait_until_connected(self, within_s: float = WITHIN_S) -> ProxiedSession:
        """Wait until it has a session and a connection, and return the session. Raises: TimedOutError."""

        def connected() -> ProxiedSession | None:
            return next((s for s in reversed(self.sessions) if s.is_connected and not s.has_ended), None)

        return wait_until(connected, f"{self.name} to be connected", within_s, lambda: self.sessions or "no session of it")

    # --- faults

    def expire(self) -> None:
        """Make ZooKeeper end its session, as if its time had run out: on return its ephemeral znodes are gone.

        It loses its connection, and hears of its session's end when it comes back. Raises: NoSessionError.
        """
        began_ms = self._diary.now_ms()
        self._proxy.expire()
        self._diary.note(self.name, "its session is ended by the test, as if it had expired", began_ms)

    def cut(self) -> int:
        """Break its connections; it may come back at once. Returns: how many there were."""
        broken = self._proxy.cut()
        self._note(f"{broken} connection{'s' * (broken != 1)} cut")
        return broken

    def disconnect(self) -> None:
        """Cut it off: its connections break, and no new one comes about until `reconnect`. Its session runs on, and out."""
        self._proxy.refuse()
        broken = self._proxy.cut()
        self._note(f"cut off from ZooKeeper ({broken} connection{'s' * (broken != 1)} broken)")

    def reconnect(self) -> None:
        """Let it reach ZooKeeper again."""
        self._proxy.allow()
        self._note("can reach ZooKeeper again")

    def suspend(self) -> None:
        """Let nothing of it reach ZooKeeper, nor the other way round, while its connections stay open: until `resume`.

        So it is when a network drops packets, and, for everybody else, when a process stands still for long.
        """
        self._proxy.hold()
        self._note("suspended: nothing gets through")

    def resume(self) -> None:
        """Deliver what was held back, in order, and all that follows."""
        self._proxy.release()
        self._note("resumed")

    def pause_at_write(
        self, path: str | None = None, *, op: str | None = None, moment: Moment = "before", nth: int = 1
    ) -> Pause:
        """Let it stand still at a write that it has still to make; returns at once.

        Args:
            path: only a write to this znode or below it counts; None: any.
            op: only a `create`, a `set` or a `delete` counts; None: any.
            moment: `before`: nothing of it has reached ZooKeeper; `after`: applied (or refused), the answer not yet seen.
            nth: the first such write from now on, or a later one.
        """
        where = f"{self.name} {moment} its {op or 'write'}{f' of {path}' if path else ''}"
        pause = Pause(where, moment, lambda write: _is_wanted(write, path, op), nth, self._diary)
        self._pauses.append(pause)
        self._proxy.break_at(pause.breakpoint)
        return pause

    def close(self) -> None:
        """Release it everywhere, and take its proxy away: its connections break."""
        for pause in self._pauses:
            pause.release()
        self._proxy.release()
        self._proxy.stop()

    def _note(self, what: str) -> None:
        self._diary.note(self.name, what)


def _is_wanted(write: ProxiedWrite, path: str | None, op: str | None) -> bool:
    if write.op == "check" or op not in (None, write.op):
        return False
    return path is None or write.path == path or write.path.startswith(path.rstrip("/") + "/")
