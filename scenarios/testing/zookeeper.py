"""What the ZooKeeper fixtures hand out: a root of the test's own, clients and processes that can be faulted, servers."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from kcsim.scenarios.testing.artefacts import TIMELINE, ZOOKEEPER_LOG, Artefacts, unused
from kcsim.scenarios.testing.background import WITHIN_S, Background, in_words, wait_until
from kcsim.scenarios.testing.diary import Diary
from kcsim.scenarios.testing.member import Member
from kcsim.scenarios.testing.process import ADDRESS, ADDRESS_VARIABLE, Command, MemberProcess
from kcsim.scenarios.testing.servers import Servers
from kcsim.scenarios.testing.story import ZooKeeperLog, story
from kcsim.scenarios.testing.znodes import CONNECT_WITHIN_MS, SESSION_TIMEOUT_MS, Znodes
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import ChildrenRead, GetChildren
from kcsim.zk.servers.external import ExternalZooKeeper, parse_connect_string, require_chroot
from kcsim.zk.servers.guarded import Guarded
from kcsim.zk.servers.ports import ZooKeeperServers
from kcsim.zk.vocabulary import SessionId

T = TypeVar("T")

TEST = "test"
"""In a story, the session in which the test itself reads and writes."""


class ZooKeeperForTest:
    """A ZooKeeper for one test.

    Attributes:
        connect_string: host:port/chroot, for any client; the chroot exists, is empty, and is this test's own.
        chroot: the same path as the servers have it.
        server: the servers, as everything in kcsim sees them, with asynchronous verbs.
        servers: what can be done to them, in plain calls. They are shared by the tests of the run: what is done to them is
            done to all, and undone when the test is over.
        znodes: reads and writes of the test's own, and waiting for znodes.
    """

    def __init__(self, server: ZooKeeperServers, chroot: str, background: Background, artefacts: Artefacts) -> None:
        self.server = server
        self.chroot = chroot
        self.connect_string = f"{_without_chroot(server)}{chroot}"
        self._diary = Diary()
        self._background = background
        self._artefacts = artefacts
        self.servers = Servers(server, background, self._diary)
        self.znodes = Znodes(self.connect_string, background)
        self._members: dict[str, Member] = {}
        self._processes: dict[str, MemberProcess] = {}
        self._guarded: Guarded | None = None
        self._log_began: Mapping[str, int] = {name: _size(server.log_path(name)) for name in server.member_names}

    # --- clients

    def member(self, name: str) -> Member:
        """A client of the test's choosing, which can be faulted; the same one whenever the name is the same."""
        if name not in self._members:
            self._members[name] = Member(name, self.connect_string, self._diary)
        return self._members[name]

    def client_address(self, name: str) -> str:
        """A connect string for that client: all that it says to ZooKeeper goes by `member(name)`."""
        return self.member(name).connect_string

    def start_process(
        self,
        name: str,
        argv: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> MemberProcess:
        """Start a program that is a client of ZooKeeper; it ends with the test.

        Args:
            name: of the client: `member(name)` can be faulted as well.
            argv: `{zookeeper}` in it stands for the connect string, which is in the variable KCSIM_ZOOKEEPER, too.
            environment: on top of the test's own.
        """
        address = self.client_address(name)
        if self._guarded is None:
            self._guarded = Guarded(what="process")
        command = Command(
            [str(part).replace(ADDRESS, address) for part in argv], {ADDRESS_VARIABLE: address, **(environment or {})}, cwd
        )
        process = self._processes[name] = MemberProcess(name, command, self._guarded, self._diary)
        process.start()
        return process

    def process(self, name: str) -> MemberProcess:
        """A process that was started under this name. Raises: KeyError with those that were."""
        if name not in self._processes:
            raise KeyError(f"no process was started as {name!r}; there are {sorted(self._processes)}")
        return self._processes[name]

    # --- waiting

    def wait_until(self, holds: Callable[[], T | None], within_s: float = WITHIN_S, what: str = "") -> T:
        """Wait for something in the test's own process, and return what it then was. For znodes see `znodes`.

        Args:
            holds: looked at every 10 ms; false, None or empty as long as it does not hold.

        Raises: TimedOutError with what it was last.
        """
        return wait_until(holds, what or in_words(holds), within_s)

    # --- the story of the test

    def note(self, what: str, who: str = TEST) -> None:
        """Write a line into the timeline of the test."""
        self._diary.note(who, what)

    def write_story(self, directory: Path) -> None:
        """Write the timeline, ZooKeeper's log, the servers' own logs, and the output of processes. Raises: OSError, …"""
        whose = dict.fromkeys(self.znodes.session_ids, TEST)
        whose |= {s.session_id: name for name, member in self._members.items() for s in member.sessions}
        log = self._log(list(whose))
        seen = () if log is None else log.entries(self.chroot, whose)
        unused(directory, TIMELINE).write_text(story(self._diary, seen), encoding="utf-8")
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
        """The transaction log of the server that has seen most."""
        directories = [self.server.transaction_log_dir(name) for name in self.server.member_names]
        logs = [ZooKeeperLog(d, self.chroot, sessions) for d in directories if d is not None and d.is_dir()]
        return max(logs, key=len, default=None)

    # --- its end

    def close(self) -> None:
        """End processes, proxies and the test's own session, and let the servers serve again."""
        with ExitStack() as ends:
            ends.callback(self.servers.heal)
            ends.callback(self.znodes.close)
            for member in self._members.values():
                ends.callback(member.close)
            if self._guarded is not None:
                ends.callback(self._guarded.close)


@contextmanager
def zookeeper_for_test(server: ZooKeeperServers, background: Background, artefacts: Artefacts) -> Iterator[ZooKeeperForTest]:
    """Give a test a root of its own on servers that run; on those that are not ours it is removed in the end.

    Raises: what the servers raise; TimedOutError when they do not answer.
    """
    below = server.chroot if isinstance(server, ExternalZooKeeper) else ""
    if below:
        background.call(_require_chroot(server, below))
    chroot = f"/kcsim-{uuid4().hex}"
    above = Znodes(f"{_without_chroot(server)}{below}", background)
    try:
        above.create(chroot)
        zookeeper = ZooKeeperForTest(server, f"{below}{chroot}", background, artefacts)
        artefacts.offer(zookeeper.write_story)
        try:
            yield zookeeper
        finally:
            zookeeper.close()
            if isinstance(server, ExternalZooKeeper):
                above.delete_all(chroot)
    finally:
        above.close()


async def _require_chroot(server: ZooKeeperServers, chroot: str) -> None:
    """A chroot that somebody has named is not made for them: it may be mistyped. Raises: NoChrootError."""
    zookeeper = LiveZooKeeper(_without_chroot(server))
    session = await zookeeper.open_session(SESSION_TIMEOUT_MS, lambda _: None, CONNECT_WITHIN_MS)

    async def children(path: str) -> Sequence[str] | None:
        (reply,) = await session.call([GetChildren(path)])
        return reply.children if isinstance(reply, ChildrenRead) else None

    try:
        await require_chroot(chroot, children)
    finally:
        await session.close()


def _without_chroot(server: ZooKeeperServers) -> str:
    return ",".join(map(str, parse_connect_string(server.connect_string).addresses))


def _size(path: Path | None) -> int:
    return path.stat().st_size if path is not None and path.exists() else 0
