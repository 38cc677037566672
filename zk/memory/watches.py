"""Watches: those that a server keeps for its connections, and those that a client keeps to arm them again.

A watch fires once, unless it is persistent. For one change, a connection receives at most one event per path, whichever and
however many watches it set there. At the server, watches belong to the connection; after a connection loss only the client
still has them.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Watches"; the order of events observed on 3.9.5.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NewType

from kcsim.zk.errors import NoNodeError
from kcsim.zk.memory.paths import ROOT, parent_of
from kcsim.zk.memory.tree import ChangeKind, ZnodeChange
from kcsim.zk.operations import (
    ChildrenRead,
    DataRead,
    Exists,
    GetChildren,
    GetData,
    NodeFound,
    ReplyOrError,
    Request,
    WatchEvent,
    WatchKind,
)

ConnectionId = NewType("ConnectionId", int)


class ServerWatchTable(StrEnum):
    """The server's tables of watches: watches of getData and of exists are in the same table."""

    DATA = "data"
    CHILD = "child"


_DATA_EVENTS = {
    ChangeKind.CREATED: WatchKind.NODE_CREATED,
    ChangeKind.CHANGED: WatchKind.NODE_DATA_CHANGED,
    ChangeKind.DELETED: WatchKind.NODE_DELETED,
}


class ServerWatches:
    """The watches armed at a server."""

    def __init__(self) -> None:
        self._armed: dict[tuple[ServerWatchTable, str], dict[ConnectionId, None]] = {}
        self._of: dict[ConnectionId, dict[tuple[ServerWatchTable, str], None]] = {}
        self._persistent: dict[str, dict[ConnectionId, bool]] = {}  # the value: whether it is recursive

    def arm(self, table: ServerWatchTable, path: str, connection: ConnectionId) -> None:
        self._armed.setdefault((table, path), {})[connection] = None
        self._of.setdefault(connection, {})[table, path] = None

    def fire(self, changes: Iterable[ZnodeChange]) -> Iterator[tuple[ConnectionId, WatchEvent]]:
        """Remove the watches that these changes fire; yield the connections and their events, in order."""
        if not self._armed and not self._persistent:
            return
        for change in changes:
            watching = self._take(ServerWatchTable.DATA, change.path)
            if change.kind is ChangeKind.DELETED:
                watching |= self._take(ServerWatchTable.CHILD, change.path)
            if self._persistent:
                watching |= self._watching_on(change.path)
            if watching:
                event = WatchEvent(_DATA_EVENTS[change.kind], change.path, change.zxid)
                yield from ((connection, event) for connection in watching)
            if change.kind is not ChangeKind.CHANGED:
                parent = parent_of(change.path)
                watching = self._take(ServerWatchTable.CHILD, parent)
                watching |= {c: None for c, is_recursive in self._persistent.get(parent, {}).items() if not is_recursive}
                if watching:
                    event = WatchEvent(WatchKind.NODE_CHILDREN_CHANGED, parent, change.zxid)
                    yield from ((connection, event) for connection in watching)

    def _watching_on(self, path: str) -> dict[ConnectionId, None]:
        """Return the connections with a persistent watch on a path, or a recursive one on it or above it."""
        watching = dict.fromkeys(self._persistent.get(path, ()))
        while path != ROOT:
            path = parent_of(path)
            watching |= {c: None for c, is_recursive in self._persistent.get(path, {}).items() if is_recursive}
        return watching

    def arm_persistent(self, path: str, is_recursive: bool, connection: ConnectionId) -> None:
        """Arm a watch that stays after it has fired; a recursive one fires for all znodes below, and not for child lists."""
        self._persistent.setdefault(path, {})[connection] = is_recursive

    def has(self, connection: ConnectionId, path: str, tables: Iterable[ServerWatchTable], persistent: bool) -> bool:
        """Return whether a connection has a watch on a path in one of the tables or, if `persistent`, a persistent one."""
        if any(connection in self._armed.get((table, path), ()) for table in tables):
            return True
        return persistent and connection in self._persistent.get(path, ())

    def disarm(self, connection: ConnectionId, path: str, tables: Iterable[ServerWatchTable], persistent: bool) -> None:
        """Remove these watches of a connection, as far as it has them."""
        for table in tables:
            watching = self._armed.get((table, path), {})
            if connection in watching:
                del watching[connection], self._of[connection][table, path]
                if not watching:
                    del self._armed[table, path]
        if persistent:
            self._drop_persistent(path, connection)

    def drop(self, path: str) -> int:
        """Remove all one-time watches on a path, without an event; return how many."""
        return sum(len(self._take(table, path)) for table in ServerWatchTable)

    def _drop_persistent(self, path: str, connection: ConnectionId) -> None:
        watching = self._persistent.get(path, {})
        watching.pop(connection, None)
        if not watching:
            self._persistent.pop(path, None)

    def _take(self, table: ServerWatchTable, path: str) -> dict[ConnectionId, None]:
        watching = self._armed.pop((table, path), None)
        if watching is None:
            return {}
        for connection in watching:
            del self._of[connection][table, path]
        return watching

    def forget(self, connection: ConnectionId) -> None:
        """Remove the watches of a connection that has ended."""
        for path in [path for path, watching in self._persistent.items() if connection in watching]:
            self._drop_persistent(path, connection)
        for key in self._of.pop(connection, ()):
            watching = self._armed[key]
            del watching[connection]
            if not watching:
                del self._armed[key]

    def taken_from(self, connections: Iterable[ConnectionId]) -> "ServerWatches":
        """Remove the watches of these connections, and return them as a table of their own."""
        taken = ServerWatches()
        for connection in connections:
            for table, path in self._of.get(connection, ()):
                taken.arm(table, path, connection)
            for path, watching in self._persistent.items():
                if connection in watching:
                    taken.arm_persistent(path, watching[connection], connection)
            self.forget(connection)
        return taken

    def add(self, others: "ServerWatches") -> None:
        """Arm the watches of another table here, too."""
        for (table, path), watching in others._armed.items():
            for connection in watching:
                self.arm(table, path, connection)
        for path, persistent in others._persistent.items():
            for connection, is_recursive in persistent.items():
                self.arm_persistent(path, is_recursive, connection)

    def __len__(self) -> int:
        return sum(map(len, self._armed.values())) + sum(map(len, self._persistent.values()))


_WATCHING = (GetData, Exists, GetChildren)


class ClientWatches:
    """The watches that a client believes to be armed, in the three lists that a reconnecting client sends."""

    def __init__(self) -> None:
        self.data: dict[str, None] = {}
        self.exist: dict[str, None] = {}
        self.child: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self.data or self.exist or self.child)

    def note(self, request: Request, reply: ReplyOrError) -> None:
        """Record the watch that a request has armed, according to its reply."""
        if not isinstance(request, _WATCHING) or not request.watch:
            return
        match request, reply:
            case (GetData(path, watch=True), DataRead()) | (Exists(path, watch=True), NodeFound()):
                self.data[path] = None
            case Exists(path, watch=True), NoNodeError():
                self.exist[path] = None
            case GetChildren(path, watch=True), ChildrenRead():
                self.child[path] = None

    def take(self, event: WatchEvent) -> bool:
        """Remove the watches that an event has fired. False if there were none: the event must not be delivered then."""
        match event.kind:
            case WatchKind.NODE_CHILDREN_CHANGED:
                tables = [self.child]
            case WatchKind.NODE_DELETED:
                tables = [self.data, self.exist, self.child]
            case WatchKind.NODE_CREATED | WatchKind.NODE_DATA_CHANGED:
                tables = [self.data, self.exist]
        taken = [table for table in tables if event.path in table]
        for table in taken:
            del table[event.path]
        return bool(taken)
