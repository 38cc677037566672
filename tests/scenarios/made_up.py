"""Made-up events, for tests of what only reads the event log."""

from collections.abc import Sequence
from typing import Unpack

from kcsim.scenarios.judging.seen import Seen
from kcsim.scenarios.state import ClusterState
from kcsim.zk.events import Event, EventFields, EventKind


class Story:
    """A log that grows event by event, each 100 ms after the one before."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.state = ClusterState()

    def tell(self, node: str, kind: EventKind, cause: int | None = None, **fields: Unpack[EventFields]) -> int:
        event = Event(seq=len(self.events), t_ms=100 * len(self.events), node=node, kind=kind, cause=cause, **fields)
        self.events.append(event)
        self.state.apply(event)
        return event.seq

    def znode(self, path: str, data: str | None = None, *, zxid: int = 1, ephemeral: bool = False) -> int:
        fields = EventFields(path=path, zxid=zxid, zk_version=0, ephemeral=ephemeral)
        if data is not None:
            fields["data"] = data
        return self.tell("zookeeper", EventKind.ZNODE_CREATED, **fields)

    def changed(self, path: str, data: str, *, zxid: int, zk_version: int) -> int:
        return self.tell("zookeeper", EventKind.ZNODE_CHANGED, path=path, data=data, zxid=zxid, zk_version=zk_version)

    def gone(self, path: str, cause: int | None = None) -> int:
        return self.tell("zookeeper", EventKind.ZNODE_DELETED, cause, path=path, zxid=9)

    def seen(self, brokers: Sequence[str] = ("broker-1", "broker-2"), **aliases: str) -> Seen:
        return Seen(self.events, self.state, tuple(brokers), aliases)
