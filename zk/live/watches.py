"""The watches that a session has armed, kept by its client so that they outlive the connection.

The server forgets a connection's watches with the connection. On reconnecting, the client sends the watches that it still
has and the last zxid that it has seen (SetWatches); the server fires the watches that missed a change at once, and arms the
others.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Watches"; behaves as the ZooKeeper class of the Java client.
"""

from collections.abc import Iterator

from kcsim.zk.live.wire import WireWatchEvent, encode_set_watches
from kcsim.zk.operations import Exists, GetChildren, GetData, Request, WatchKind

_MAX_BYTES = 128 * 1024
"""Limit for the paths in one SetWatches, far below the server's jute.maxbuffer of 1 MB. The Java client has the same."""


class WatchTable:
    """The paths with a watch, including the chroot. Used by one thread."""

    def __init__(self) -> None:
        # Insertion-ordered, so that watches are armed again in their original order.
        self._data: dict[str, None] = {}
        self._exist: dict[str, None] = {}
        self._child: dict[str, None] = {}

    def arm(self, request: Request, path: str, found: bool) -> None:
        """Record the watch that an answered request has armed, if any.

        Args:
            found: whether the reply was the znode's Stat (True) or NoNodeError (False).
        """
        match request:
            case Exists(watch=True):
                (self._data if found else self._exist)[path] = None
            case GetData(watch=True) if found:
                self._data[path] = None
            case GetChildren(watch=True) if found:
                self._child[path] = None
            case _:
                pass

    def fire(self, event: WireWatchEvent) -> bool:
        """Remove the watches that an event has fired. False if there were none: the event must not be delivered then.

        After a reconnection the server sends two events for one deletion, one for a data watch and one for a child watch.
        """
        match WatchKind(event.kind):
            case WatchKind.NODE_CREATED | WatchKind.NODE_DATA_CHANGED:
                tables = [self._data, self._exist]
            case WatchKind.NODE_CHILDREN_CHANGED:
                tables = [self._child]
            case WatchKind.NODE_DELETED:
                tables = [self._data, self._exist, self._child]
        armed = [table for table in tables if event.path in table]
        for table in armed:
            del table[event.path]
        return bool(armed)

    def set_watches(self, relative_zxid: int) -> Iterator[bytes]:
        """Yield the bodies of the SetWatches requests that arm all watches again; none when there are no watches."""
        batch: tuple[list[str], list[str], list[str]] = ([], [], [])
        size = 0
        for place, table in enumerate((self._data, self._exist, self._child)):
            for path in table:
                if size >= _MAX_BYTES:
                    yield encode_set_watches(relative_zxid, *batch)
                    batch, size = ([], [], []), 0
                batch[place].append(path)
                size += 4 + len(path.encode())
        if size:
            yield encode_set_watches(relative_zxid, *batch)
