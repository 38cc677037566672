"""Watches: those that a server keeps for its connections, and those that a client remembers to arm again.

A watch fires once. Of one change, a connection hears at most one event per path, whichever and however many watches it set
there. Watches belong to the connection at the server; over a lost connection they live on only in the client's memory.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Watches"; the order of events observed on 3.9.5.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NewType

from kcsim.zk.errors import NoNodeError
from kcsim.zk.memory.paths import parent_of
from kcsim.zk.memory.tree import ChangeKind, ZnodeChange
from kcsim.zk.operations import (
    ChildrenRead,
    DataRead,
    Exists,
    Found,
    GetChildren,
    GetData,
    ReplyOrError,
    Request,
    WatchEvent,
    WatchKind,
)

ConnectionId = NewType("ConnectionId", int)


class WatchTable(Enum):
    """Where a server keeps a watch: those of getData and of exists are the same to it."""

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
        self._armed: dict[tuple[WatchTable, str], dict[ConnectionId, None]] = {}
        self._of: dict[ConnectionId, dict[tuple[WatchTable, str], None]] = {}

    def arm(self, table: WatchTable, path: str, connection: ConnectionId) -> None:
        self._armed.setdefault((table, path), {})[connection] = None
        self._of.setdefault(connection, {})[table, path] = None

    def fire(self, changes: Iterable[ZnodeChange]) -> Iterator[tuple[ConnectionId, WatchEvent]]:
        """Use up the watches that these changes trigger; yields who hears what, in order."""
        if not self._armed:
            return
        for change in changes:
            watching = self._take(WatchTable.DATA, change.path)
            if change.kind is ChangeKind.DELETED:
                watching |= self._take(WatchTable.CHILD, change.path)
            if watching:
                event = WatchEvent(_DATA_EVENTS[change.kind], change.path, change.zxid)
                yield from ((connection, event) for connection in watching)
            if change.kind is not ChangeKind.CHANGED:
                parent = parent_of(change.path)
                if watching := self._take(WatchTable.CHILD, parent):
                    event = WatchEvent(WatchKind.NODE_CHILDREN_CHANGED, parent, change.zxid)
                    yield from ((connection, event) for connection in watching)

    def _take(self, table: WatchTable, path: str) -> dict[ConnectionId, None]:
        watching = self._armed.pop((table, path), None)
        if watching is None:
            return {}
        for connection in watching:
            del self._of[connection][table, path]
        return watching

    def forget(self, connection: ConnectionId) -> None:
        """The connection is gone, and its watches with it."""
        for key in self._of.pop(connection, ()):
            watching = self._armed[key]
            del watching[connection]
            if not watching:
                del self._armed[key]

    def __len__(self) -> int:
        return sum(map(len, self._armed.values()))


class ClientWatches:
    """The watches that a client takes to be armed, kept in the three lists that a reconnecting client sends."""

    def __init__(self) -> None:
        self.data: dict[str, None] = {}
        self.exist: dict[str, None] = {}
        self.child: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self.data or self.exist or self.child)

    def note(self, request: Request, reply: ReplyOrError) -> None:
        """Remember the watch that a request, as it was answered, has armed."""
        match request, reply:
            case (GetData(path, watch=True), DataRead()) | (Exists(path, watch=True), Found()):
                self.data[path] = None
            case Exists(path, watch=True), NoNodeError():
                self.exist[path] = None
            case GetChildren(path, watch=True), ChildrenRead():
                self.child[path] = None

    def take(self, event: WatchEvent) -> bool:
        """Forget the watches that an event has used up. False if there were none: nobody asked for it."""
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
