"""A proxy between ZooKeeper and one client process, for faults on a client that knows nothing of them.

The process is given the proxy's connect string in place of ZooKeeper's. Every frame goes by as it is; what the proxy
understands of it (sessions, writes) tells it when a breakpoint is reached, and lets it end a session. So a real Kafka
broker, or anybody's client, suffers the faults that SessionFaults and the simulated processes offer for our own.

It runs on the event loop that starts it; ProxyThread brings one of its own.
"""

import asyncio
from contextlib import suppress
from typing import Self

from kcsim.zk.live.takeover import end_session
from kcsim.zk.proxy.breakpoints import Breakpoint, Breakpoints
from kcsim.zk.proxy.connection import ProxiedConnection, Surroundings
from kcsim.zk.proxy.door import Door
from kcsim.zk.proxy.errors import NoSessionError, ProxyError, ProxyNotRunningError
from kcsim.zk.proxy.peer import Peer
from kcsim.zk.proxy.sessions import ProxiedSession, SessionTable
from kcsim.zk.servers.external import parse_connect_string
from kcsim.zk.servers.free_ports import free_ports
from kcsim.zk.vocabulary import SessionId

HOST = "127.0.0.1"
_LISTEN_ATTEMPTS = 5
_CONNECT_BOUND_S = 1.0  # a member that hangs must not use up the client's time for the others
_EXPIRY_BOUND_S = 10.0


class ZooKeeperProxy:
    """One proxy, on a port of its own of 127.0.0.1, that it keeps from start to stop.

    Args:
        connect_string: ZooKeeper's, "host:port,host:port/chroot". Each new connection of the client goes to the next member
            that takes it.

    Raises: BadConnectStringError.
    """

    def __init__(self, connect_string: str) -> None:
        self._where = parse_connect_string(connect_string)
        self._next_member = 0
        self._door = Door()
        self._breakpoints = Breakpoints()
        self._sessions = SessionTable()
        self._is_refusing = False
        self._expiring: dict[SessionId, asyncio.Event] = {}
        self._listener: asyncio.Server | None = None
        self._connections: dict[Peer, ProxiedConnection | None] = {}  # None until there is a server for the client
        self._tasks: set[asyncio.Task[None]] = set()
        self._defects: list[BaseException] = []

    # --- from start to stop

    async def start(self) -> None:
        """Listen. Raises: ProxyError when there is no port to be had."""
        if self._listener is not None:
            raise ProxyError(f"this proxy runs already, at {self.connect_string}")
        for _ in range(_LISTEN_ATTEMPTS):
            with suppress(OSError):  # somebody was quicker
                self._listener = await asyncio.start_server(self._accept, HOST, free_ports(1)[0])
                return
        raise ProxyError(f"no free port on {HOST} after {_LISTEN_ATTEMPTS} attempts")

    async def stop(self) -> None:
        """Break off every connection and listen no more. Idempotent. Raises: what a breakpoint raised, if one did."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._door.open()
        if self._defects:
            raise self._defects.pop(0)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        """Raises: ProxyNotRunningError."""
        if self._listener is None:
            raise ProxyNotRunningError
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def connect_string(self) -> str:
        """For the client: the proxy's address, ZooKeeper's chroot. Raises: ProxyNotRunningError."""
        return f"{HOST}:{self.port}{self._where.chroot}"

    @property
    def sessions(self) -> list[ProxiedSession]:
        """Those that it has seen established, in the order in which that happened last."""
        return self._sessions.all()

    # --- faults

    async def cut(self) -> int:
        """Break the client's connections without a word; it may come back at once.

        On return they are closed, and what was not let through yet never will be. The client notices when it next looks.

        Returns: how many there were. None is no error here: a client of which we know nothing may be in between two.
        """
        connections = {client: c for client, c in self._connections.items() if not client.is_closing}
        for client, connection in connections.items():
            client.break_off()
            if connection is not None:
                connection.cut()
        for client, connection in connections.items():
            await (client.closed() if connection is None else connection.closed())
        return len(connections)

    def refuse(self) -> None:
        """From now on new connections are closed at once (open ones stay), until `allow`."""
        self._is_refusing = True

    def allow(self) -> None:
        self._is_refusing = False

    def hold(self) -> None:
        """Let nothing through in either direction, the end of a connection included, and close nothing, until `release`.

        New connections are taken, and nothing comes of them. A cut still cuts.
        """
        self._door.shut()

    def release(self) -> None:
        """Deliver what was held, in order, and all that follows."""
        self._door.open()

    def break_at(self, breakpoint_: Breakpoint) -> None:
        """Set a breakpoint for requests that the client has still to send; see Breakpoint."""
        self._breakpoints.add(breakpoint_)

    async def expire(self, session_id: SessionId | None = None) -> None:
        """Make the server end a session, as if its time had run out, although its client lives.

        On return it has ended, and its ephemeral znodes are gone. The client loses its connection and, when it comes back,
        is told.

        Args:
            session_id: None: the one that was last opened or taken up, of those that have not ended.

        Raises: NoSessionError; TimedOutError when the server has not confirmed it within a bound.
        """
        session = self._sessions.current(session_id)
        if session is None:
            raise NoSessionError(session_id, len(self._sessions.all()))
        hosts = [(address.host, address.port) for address in self._where.addresses]
        confirmed = self._expiring.setdefault(session.session_id, asyncio.Event())
        try:
            # First, or the client would hear of the end of its own ephemerals from a server that still talks to it.
            for connection in [c for c in self._connections.values() if c and c.session_id == session.session_id]:
                connection.cut_from_server()
            await end_session(hosts, session.session_id, session.password, session.timeout_ms, _EXPIRY_BOUND_S)
            self._sessions.end(session.session_id)
        finally:
            self._expiring.pop(session.session_id, None)
            confirmed.set()

    # --- connections

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Peer(reader, writer)
        if self._is_refusing or self._listener is None:
            client.break_off()
            return
        task = asyncio.ensure_future(self._serve(client))
        self._tasks.add(task)
        task.add_done_callback(self._on_served)

    async def _serve(self, client: Peer) -> None:
        self._connections[client] = None
        try:
            server = await self._reach_server()
            if server is not None and client.is_closing:
                server.break_off()
            elif server is not None:
                around = Surroundings(self._where.chroot, self._door, self._breakpoints, self._sessions, self._admit)
                connection = self._connections[client] = ProxiedConnection(client, server, around)
                await connection.run()
        finally:
            client.break_off()
            del self._connections[client]

    async def _reach_server(self) -> Peer | None:
        """Connect to the next member that takes it; None when none does."""
        addresses = self._where.addresses
        for _ in addresses:
            address = addresses[self._next_member % len(addresses)]
            self._next_member += 1
            opening = asyncio.open_connection(address.host, address.port)
            try:
                return Peer(*await asyncio.wait_for(opening, _CONNECT_BOUND_S))
            except OSError:  # a time-out is one, too
                continue
        return None

    async def _admit(self, session_id: SessionId) -> None:
        """Keep a client from taking up a session that is being expired: it would fight for it."""
        while (confirmed := self._expiring.get(session_id)) is not None:
            await confirmed.wait()

    def _on_served(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (defect := task.exception()) is not None:
            self._defects.append(defect)
