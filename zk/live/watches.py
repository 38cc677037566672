"""Which watches a session has armed, kept by its client so that they outlive the connection.

The server forgets a connection's watches with the connection. The client says at reconnecting which ones it still has
(SetWatches) and what it has seen so far; the server fires at once those that have missed something and arms the others.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Watches"; behaves as the ZooKeeper class of the Java client.
"""

from collections.abc import Iterator

from kcsim.zk.live.wire import Event, encode_set_watches
from kcsim.zk.operations import Exists, GetChildren, GetData, Request, WatchKind

_MAX_BYTES = 128 * 1024
"""Of paths in one SetWatches: far below the server's jute.maxbuffer of 1 MB. As the Java client has it."""


class WatchTable:
    """Paths with a watch, chroot included. Used by one thread."""

    def __init__(self) -> None:
        # Insertion-ordered, so that what is armed again is armed in the order of old.
        self._data: dict[str, None] = {}
        self._exist: dict[str, None] = {}
        self._child: dict[str, None] = {}

    def arm(self, request: Request, path: str, found: bool) -> None:
        """A request was answered, by the znode's stat or (not found) by NoNodeError: note the watch it has set, if any."""
        match request:
            case Exists(watch=True):
                (self._data if found else self._exist)[path] = None
            case GetData(watch=True) if found:
                self._data[path] = None
            case GetChildren(watch=True) if found:
                self._child[path] = None
            case _:
                pass

    def fire(self, event: Event) -> bool:
        """Take out the watches that an event uses up. False if there were none, and nobody wants to hear of it.

        After a reconnection the server tells of one deletion once for a data and once more for a child watch.
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
        """Yield the bodies of the SetWatches requests that arm everything again; none when there is nothing to arm."""
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
