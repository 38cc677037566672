"""A proxy between ZooKeeper and one client process, which injects faults into an unmodified client.

The process gets the proxy's connect string in place of ZooKeeper's. Every frame is forwarded unchanged. The proxy decodes
sessions and writes, so that it can detect breakpoints and end a session. So a real Kafka broker, or any other client, can
get the faults that SessionFaults and the simulated processes provide for the simulator's own clients.

The proxy runs on the event loop that starts it; ProxyThread has its own event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self

from kcsim.vocabulary import SessionId
from kcsim.zk.live.session_expiry import end_session
from kcsim.zk.proxy.breakpoints import Breakpoint, Breakpoints
from kcsim.zk.proxy.connection import ProxiedConnection, ProxyContext
from kcsim.zk.proxy.errors import NoSessionError, ProxyError, ProxyNotRunningError
from kcsim.zk.proxy.pause_gate import PauseGate
from kcsim.zk.proxy.peer import Peer
from kcsim.zk.proxy.recent_writes import RecentWrites
from kcsim.zk.proxy.sessions import ProxiedSession, SessionTable
from kcsim.zk.security import Tls
from kcsim.zk.servers.external import parse_connect_string
from kcsim.zk.servers.free_ports import free_ports

HOST = "127.0.0.1"
_LISTEN_ATTEMPTS = 5
_CONNECT_BOUND_S = 1.0  # a member that hangs must not use up the client's time-out for the others
_EXPIRY_BOUND_S = 10.0


class ZooKeeperProxy:
    """One proxy, on its own port of 127.0.0.1, which it keeps from start to stop.

    Args:
        connect_string: ZooKeeper's, "host:port,host:port/chroot". Each new connection of the client goes to the next member
            that accepts it.
        recent_writes: where the client's writes are recorded, if anywhere.
        tls: encrypts the connections to ZooKeeper; those of the client to the proxy are plain.

    Raises: BadConnectStringError, SecurityError.
    """

    def __init__(self, connect_string: str, recent_writes: RecentWrites | None = None, tls: Tls | None = None) -> None:
        self._recent_writes = recent_writes
        self._where = parse_connect_string(connect_string)
        self._tls = None if tls is None else tls.context()
        self._next_member = 0
        self._gate = PauseGate()
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
        """Start to listen. Raises: ProxyError when no port is free."""
        if self._listener is not None:
            raise ProxyError(f"this proxy runs already, at {self.connect_string}")
        for _ in range(_LISTEN_ATTEMPTS):
            with suppress(OSError):  # another process took the port first
                self._listener = await asyncio.start_server(self._accept, HOST, free_ports(1)[0])
                return
        raise ProxyError(f"no free port on {HOST} after {_LISTEN_ATTEMPTS} attempts")

    async def stop(self) -> None:
        """Break all connections and stop listening. Idempotent. Raises: the error that a breakpoint raised, if any."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._gate.open()
        if self._defects:
            raise self._defects.pop(0)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        """The port on which the proxy listens. Raises: ProxyNotRunningError."""
        if self._listener is None:
            raise ProxyNotRunningError
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    @property
    def connect_string(self) -> str:
        """The client's connect string: the proxy's address with ZooKeeper's chroot. Raises: ProxyNotRunningError."""
        return f"{HOST}:{self.port}{self._where.chroot}"

    @property
    def sessions(self) -> list[ProxiedSession]:
        """The sessions that were established through the proxy, in the order of their last connection."""
        return self._sessions.all()

    # --- faults

    async def cut(self) -> int:
        """Break the client's connections without closing its sessions; the client may reconnect at once.

        On return the connections are closed, and bytes not forwarded yet are lost. The client notices at its next read.

        Returns: the number of connections. 0 is no error: the client may be between two connections.
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
        """Close new connections at once until `allow`; open connections stay open."""
        self._is_refusing = True

    def allow(self) -> None:
        self._is_refusing = False

    def hold(self) -> None:
        """Hold back all bytes in both directions, and the ends of connections, until `release`; close no connection.

        New connections are accepted, and their bytes are held back too. `cut` still takes effect.
        """
        self._gate.close()

    def release(self) -> None:
        """Forward the bytes that were held back, in order, and all later ones."""
        self._gate.open()

    def break_at(self, breakpoint_: Breakpoint) -> None:
        """Set a breakpoint for requests that the client has not sent yet; see Breakpoint."""
        self._breakpoints.add(breakpoint_)

    def before_closing(self, act: Callable[[], Awaitable[None]]) -> None:
        """Await an act each time when the client asks ZooKeeper to end its session; the request is forwarded after it."""
        self._breakpoints.before_closing.append(act)

    async def expire(self, session_id: SessionId | None = None) -> None:
        """Make the server end a session, as if its time-out had passed, although its client runs.

        On return the session has ended, and its ephemeral znodes are deleted. The client loses its connection, and learns of
        the expiry when it reconnects.

        Args:
            session_id: None means the session with the last connection among those that have not ended.

        Raises: NoSessionError; TimedOutError when the server has not confirmed the end within a bound.
        """
        session = self._sessions.current(session_id)
        if session is None:
            raise NoSessionError(session_id, len(self._sessions.all()))
        hosts = [(address.host, address.port) for address in self._where.addresses]
        confirmed = self._expiring.setdefault(session.session_id, asyncio.Event())
        try:
            # Cut first: otherwise the client would get the deletion of its own ephemerals from a server that is still
            # connected to it.
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
                context = ProxyContext(
                    self._where.chroot, self._gate, self._breakpoints, self._sessions, self._admit, self._recent_writes
                )
                connection = self._connections[client] = ProxiedConnection(client, server, context)
                await connection.run()
        finally:
            client.break_off()
            del self._connections[client]

    async def _reach_server(self) -> Peer | None:
        """Connect to the next member that accepts a connection; None when no member does."""
        addresses = self._where.addresses
        for _ in addresses:
            address = addresses[self._next_member % len(addresses)]
            self._next_member += 1
            try:
                async with asyncio.timeout(_CONNECT_BOUND_S):  # wait_for loses a cancellation before Python 3.12
                    return Peer(*await asyncio.open_connection(address.host, address.port, ssl=self._tls))
            except OSError:  # a time-out is one, too
                continue
        return None

    async def _admit(self, session_id: SessionId) -> None:
        """Keep a client from reconnecting to a session that is being expired, which would take the session back."""
        while (confirmed := self._expiring.get(session_id)) is not None:
            await confirmed.wait()

    def _on_served(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (defect := task.exception()) is not None:
            self._defects.append(defect)
