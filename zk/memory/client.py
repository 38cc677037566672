"""The model's public interface: it opens sessions and injects faults into members.

It implements the ZooKeeper port, and the operations of a set of servers (kill, start_member, pause, resume) on its members.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random

from kcsim.errors import TimedOutError
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.runtime.ports import Promise, Runtime
from kcsim.zk.errors import ZooKeeperUnavailableError
from kcsim.zk.memory.journal import Journal, TransactionWriter
from kcsim.zk.memory.members import Members, MemberState
from kcsim.zk.memory.server import MemoryServer
from kcsim.zk.memory.service import MemoryService
from kcsim.zk.memory.session import MemorySession
from kcsim.zk.memory.settings import STANDALONE, ModelSettings
from kcsim.zk.memory.timetable import Timetable
from kcsim.zk.operations import Notice
from kcsim.zk.servers.errors import MemberStateError, NoSuchMemberError


class MemoryZooKeeper:
    """A ZooKeeper in memory, serving from the start.

    Args:
        sink: the event log of the node "zookeeper".
        rng: the source of all randomness: latencies, and the member that a client tries first.
        settings: the servers and their zoo.cfg.
        latency_ms: draws the latency of a message in one direction, at least 1. Default: 1 or 2.
        keep: called with every transaction, as a real server would write it to its log.
    """

    def __init__(
        self,
        runtime: Runtime,
        sink: EventSink,
        rng: Random,
        settings: ModelSettings = STANDALONE,
        latency_ms: Callable[[Random], int] | None = None,
        keep: TransactionWriter | None = None,
    ) -> None:
        draw = latency_ms or _one_or_two_ms
        self._runtime = runtime
        self._rng = rng
        self._members = Members(settings.members)
        self._timetable = Timetable(runtime, "zookeeper")
        server = MemoryServer(
            settings.tick_time_ms,
            settings.min_session_timeout_ms,
            settings.max_session_timeout_ms,
            settings.epoch_ms,
            epoch=1 if self._members.is_ensemble else 0,
        )
        journal = Journal(keep, settings.epoch_ms) if keep is not None else None
        self._service = MemoryService(self._timetable, sink, server, self._members, partial(draw, rng), journal)
        self._sync_limit_ms = settings.sync_limit * settings.tick_time_ms
        self._election_ms = settings.election_ms
        self._sessions: list[MemorySession] = []
        self._numbers = count(1)
        self._pauses: dict[str, int] = {}  # member -> number that changes with each pause and resume

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> MemorySession:
        tried = list(self._members.names)
        self._rng.shuffle(tried)
        session = MemorySession(self._timetable, self._service, tuple(tried), timeout_ms, listener, cause)
        try:
            await session.open(f"zookeeper client {next(self._numbers)}", connect_timeout_ms)
        except TimedOutError:
            session.abandon()
            raise ZooKeeperUnavailableError(
                f"no ZooKeeper session at {', '.join(tried)} within {connect_timeout_ms} ms; last: {session.last_failure}"
            ) from None
        except BaseException:
            session.abandon()
            raise
        self._sessions = [s for s in self._sessions if not s.is_over]
        self._sessions.append(session)
        return session

    # --- members

    @property
    def member_names(self) -> tuple[str, ...]:
        return self._members.names

    async def leader_name(self) -> str | None:
        """Return the present leader (the only member, if there is one); None while there is no running leader."""
        leader = self._members.leader
        return leader if leader and self._members.states[leader] is MemberState.UP else None

    async def kill(self, name: str, cause: int | None = None) -> None:
        """End a member at once. Raises: NoSuchMemberError, MemberStateError if it is dead already."""
        self._must_be("kill", name, MemberState.UP, MemberState.PAUSED)
        self._members.set_state(name, MemberState.DEAD)
        self._stop_serving(dict.fromkeys((name, *self._members.leave(name))), cause)

    async def start_member(self, *names: str, cause: int | None = None) -> None:
        """Start dead members again with their former data. Returns when they serve, or would with a majority.

        Raises: NoSuchMemberError, MemberStateError.
        """
        for name in names:
            self._must_be("start", name, MemberState.DEAD)
        for name in names:
            self._members.set_state(name, MemberState.UP)
        for back in [self._join_later(name) for name in names]:
            await back.wait()

    async def pause(self, name: str, cause: int | None = None) -> None:
        """Pause a member; its connections stay open and silent. Raises: NoSuchMemberError, MemberStateError."""
        self._must_be("pause", name, MemberState.UP)
        self._members.set_state(name, MemberState.PAUSED)
        self._set_fault_cause(name, cause)
        if self._members.is_ensemble:
            pause = self._pauses[name] = self._pauses.get(name, 0) + 1
            self._timetable.at(self._runtime.now_ms() + self._sync_limit_ms, self._give_up, name, pause, cause)

    async def resume(self, name: str, cause: int | None = None) -> None:
        """Resume a paused member; a member that was given up joins again. Raises: NoSuchMemberError, MemberStateError."""
        self._must_be("resume", name, MemberState.PAUSED)
        self._members.set_state(name, MemberState.UP)
        self._pauses[name] = self._pauses.get(name, 0) + 1
        if self._members.serves(name):
            self._service.go_on()
        else:
            self._service.hang_up_all(name)
            await self._join_later(name).wait()

    def _must_be(self, verb: str, name: str, *wanted: MemberState) -> None:
        if name not in self._members.names:
            raise NoSuchMemberError(name, self._members.names)
        state = self._members.states[name]
        if state not in wanted:
            raise MemberStateError(verb, name, state.value)

    def _give_up(self, name: str, pause: int, cause: int | None) -> None:
        """Let the other members give up a member that is still in this pause, after the sync limit."""
        if self._pauses[name] == pause and self._members.states[name] is MemberState.PAUSED:
            self._stop_serving(dict.fromkeys(self._members.leave(name)), cause)

    def _stop_serving(self, names: dict[str, None], cause: int | None) -> None:
        for name in names:
            self._set_fault_cause(name, cause)
            if self._members.states[name] is not MemberState.PAUSED:
                self._service.hang_up_all(name)
        if self._members.leader is None:
            self._timetable.at(self._runtime.now_ms() + self._election_ms, self._elect)

    def _set_fault_cause(self, name: str, cause: int | None) -> None:
        for session in self._sessions:
            if session.member == name:
                session.set_fault_cause(cause)

    def _elect(self) -> None:
        if self._members.elect():
            self._service.begin_epoch()

    def _join_later(self, name: str) -> Promise[None]:
        joined: Promise[None] = self._runtime.promise()
        self._timetable.at(self._runtime.now_ms() + self._election_ms, self._join, name, joined)
        return joined

    def _join(self, name: str, joined: Promise[None]) -> None:
        self._elect()
        self._members.join(name)
        self._service.go_on()
        joined.resolve(None)


def _one_or_two_ms(rng: Random) -> int:
    return 1 + rng.getrandbits(1)
