"""The value of the ZooKeeper fixtures: a root of the test's own, servers, and clients and processes that can be faulted."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from kcsim.scenarios.testing.action_history import ActionHistory
from kcsim.scenarios.testing.artefacts import TIMELINE, ZOOKEEPER_LOG, Artefacts, unused
from kcsim.scenarios.testing.background import WITHIN_S, Background, condition_text, wait_until
from kcsim.scenarios.testing.failure_timeline import RefusedWrites, ZooKeeperLog, failure_timeline
from kcsim.scenarios.testing.member import Member
from kcsim.scenarios.testing.process import ADDRESS, ADDRESS_VARIABLE, Command, MemberProcess
from kcsim.scenarios.testing.servers import ServersForTest
from kcsim.scenarios.testing.znodes import CONNECT_WITHIN_MS, SESSION_TIMEOUT_MS, Znodes
from kcsim.vocabulary import SessionId
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.servers.external import ExternalZooKeeper, parse_connect_string, require_chroot
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from kcsim.zk.servers.ports import ZooKeeperServers

T = TypeVar("T")

TEST = "test"
"""The name, in a timeline, of the session in which the test itself reads and writes."""


class ZooKeeperForTest:
    """A ZooKeeper for one test.

    Attributes:
        connect_string: host:port/chroot, for any client; the chroot exists, is empty, and is this test's own.
        chroot: the same path, as the servers have it.
        server: the servers as the rest of kcsim sees them, with asynchronous methods.
        servers: the same servers with plain calls for actions on them. The tests of a run share the servers: an action
            affects
            all of them, and is undone when the test is over.
        znodes: reads and writes of the test's own, and waits for znodes.
    """

    def __init__(self, server: ZooKeeperServers, chroot: str, background: Background, artefacts: Artefacts) -> None:
        self.server = server
        self.chroot = chroot
        self.connect_string = f"{_without_chroot(server)}{chroot}"
        self._history = ActionHistory()
        self._background = background
        self._artefacts = artefacts
        self.servers = ServersForTest(server, background, self._history)
        self.znodes = Znodes(self.connect_string, background, server.security)
        self._members: dict[str, Member] = {}
        self._processes: dict[str, MemberProcess] = {}
        self._guarded: GuardedProcesses | None = None
        self._refused_writes: list[Callable[[], RefusedWrites]] = []
        self._log_began: Mapping[str, int] = {name: _size(server.log_path(name)) for name in server.member_names}

    # --- clients

    def member(self, name: str) -> Member:
        """Return the client of this name, which can be faulted. The same name always gives the same client."""
        if name not in self._members:
            self._members[name] = Member(name, self.connect_string, self._history, self.server.security.tls)
        return self._members[name]

    def client_address(self, name: str) -> str:
        """Return a connect string for the client of this name: its traffic passes through the proxy of `member(name)`."""
        return self.member(name).connect_string

    def start_process(
        self,
        name: str,
        argv: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> MemberProcess:
        """Start a program that is a client of ZooKeeper. It ends with the test.

        Args:
            name: the client's name: `member(name)` can be faulted as well.
            argv: `{zookeeper}` in it stands for the connect string, which is also in the variable KCSIM_ZOOKEEPER.
            environment: added to the test's own.
        """
        address = self.client_address(name)
        if self._guarded is None:
            self._guarded = GuardedProcesses(what="process")
        command = Command(
            [str(part).replace(ADDRESS, address) for part in argv], {ADDRESS_VARIABLE: address, **(environment or {})}, cwd
        )
        process = self._processes[name] = MemberProcess(name, command, self._guarded, self._history)
        process.start()
        return process

    def process(self, name: str) -> MemberProcess:
        """Return the process that was started under this name. Raises: KeyError with the existing names."""
        if name not in self._processes:
            raise KeyError(f"no process was started as {name!r}; there are {sorted(self._processes)}")
        return self._processes[name]

    # --- waiting

    def wait_until(self, holds: Callable[[], T | None], within_s: float = WITHIN_S, what: str = "") -> T:
        """Wait until a condition in the test's own process holds, and return its value. For znodes see `znodes`.

        Args:
            holds: evaluated every 10 ms; returns false, None or an empty value as long as the condition does not hold.

        Raises: TimedOutError with the last value.
        """
        return wait_until(holds, what or condition_text(holds), within_s)

    # --- the timeline of the test

    def note(self, what: str, who: str = TEST) -> None:
        """Write a line into the timeline of the test."""
        self._history.note(who, what)

    def report_refused_writes(self, source: Callable[[], RefusedWrites]) -> None:
        """Take the refused requests of some sessions from their client: ZooKeeper's log does not have their paths."""
        self._refused_writes.append(source)

    def write_artefacts(self, directory: Path) -> None:
        """Write the timeline, ZooKeeper's log, the servers' own logs, and the output of processes. Raises: OSError, …"""
        whose = dict.fromkeys(self.znodes.session_ids, TEST)
        whose |= {s.session_id: name for name, member in self._members.items() for s in member.sessions}
        log = self._log(list(whose))
        requests = {s.session_id: member.recent_writes for member in self._members.values() for s in member.sessions}
        refused = [source() for source in self._refused_writes]
        reported = {session_id for of in refused for session_id in of.sessions}
        seen = () if log is None else log.entries(self.chroot, whose, requests, reported)
        entries = [*seen, *(entry for of in refused for entry in of.entries)]
        unused(directory, TIMELINE).write_text(failure_timeline(self._history, entries), encoding="utf-8")
        if log is not None:
            text = "".join(f"{line}\n" for line in log.lines())
            unused(directory, ZOOKEEPER_LOG).write_text(text, encoding="utf-8")
        for name in self.server.member_names:
            if (path := self.server.log_path(name)) is not None and path.exists():
                with path.open("rb") as file:
                    file.seek(self._log_began.get(name, 0))
                    unused(directory, f"{name}.log").write_bytes(file.read())
            if self._artefacts.keeps_data and (written := self.server.transaction_log_dir(name)) is not None:
                shutil.copytree(written, unused(directory, f"{name}-data") / written.name)
        for name, process in self._processes.items():
            unused(directory, f"process-{name}.log").write_text(process.output)

    def _log(self, sessions: Sequence[SessionId]) -> ZooKeeperLog | None:
        """Return the transaction log of the server that has seen most."""
        directories = [self.server.transaction_log_dir(name) for name in self.server.member_names]
        logs = [ZooKeeperLog(d, self.chroot, sessions) for d in directories if d is not None and d.is_dir()]
        return max(logs, key=len, default=None)

    # --- end of the test

    def close(self) -> None:
        """End processes, proxies and the test's own session, and make all servers serve again."""
        with ExitStack() as ends:
            ends.callback(self.servers.heal)
            ends.callback(self.znodes.close)
            for member in self._members.values():
                ends.callback(member.close)
            if self._guarded is not None:
                ends.callback(self._guarded.close)


@contextmanager
def zookeeper_for_test(server: ZooKeeperServers, background: Background, artefacts: Artefacts) -> Iterator[ZooKeeperForTest]:
    """Give a test a root of its own on running servers. On servers that are not ours the root is removed at the end.

    Raises: what the servers raise; TimedOutError when they do not reply.
    """
    below = server.chroot if isinstance(server, ExternalZooKeeper) else ""
    if below:
        background.call(_require_chroot(server, below))
    chroot = f"/kcsim-{uuid4().hex}"
    above = Znodes(f"{_without_chroot(server)}{below}", background, server.security)
    try:
        above.create(chroot)
        zookeeper = ZooKeeperForTest(server, f"{below}{chroot}", background, artefacts)
        artefacts.offer(zookeeper.write_artefacts)
        try:
            yield zookeeper
        finally:
            zookeeper.close()
            if isinstance(server, ExternalZooKeeper):
                above.delete_all(chroot)
    finally:
        above.close()


async def _require_chroot(server: ZooKeeperServers, chroot: str) -> None:
    """Refuse a chroot that the user named and that does not exist: it may be mistyped, so it is not created.

    Raises: NoChrootError.
    """
    zookeeper = LiveZooKeeper(_without_chroot(server), security=server.security)
    session = await zookeeper.open_session(SESSION_TIMEOUT_MS, lambda _: None, CONNECT_WITHIN_MS)

    try:
        await require_chroot(chroot, session)
    finally:
        await session.close()


def _without_chroot(server: ZooKeeperServers) -> str:
    return ",".join(map(str, parse_connect_string(server.connect_string).addresses))


def _size(path: Path | None) -> int:
    return path.stat().st_size if path is not None and path.exists() else 0
