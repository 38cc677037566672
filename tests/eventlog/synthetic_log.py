"""Synthetic events, for tests of code that only reads the event log."""

from typing import Unpack

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventFields, EventKind


class SyntheticLog:
    """A log that grows event by event, each 100 ms after the previous one."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.state = ClusterState()

    def append(self, node: str, kind: EventKind, cause: int | None = None, **fields: Unpack[EventFields]) -> int:
        event = Event(seq=len(self.events), t_ms=100 * len(self.events), node=node, kind=kind, cause=cause, **fields)
        self.events.append(event)
        self.state.apply(event)
        return event.seq

    def znode(self, path: str, data: str | None = None, *, zxid: int = 1, ephemeral: bool = False) -> int:
        fields = EventFields(path=path, zxid=zxid, zk_version=0, ephemeral=ephemeral)
        if data is not None:
            fields["data"] = data
        return self.append("zookeeper", EventKind.ZNODE_CREATED, **fields)

    def changed(self, path: str, data: str, *, zxid: int, zk_version: int) -> int:
        return self.append("zookeeper", EventKind.ZNODE_CHANGED, path=path, data=data, zxid=zxid, zk_version=zk_version)

    def gone(self, path: str, cause: int | None = None) -> int:
        return self.append("zookeeper", EventKind.ZNODE_DELETED, cause, path=path, zxid=9)
