"""Extracts the writes from a run's event log: the writer, its role, the content, and the brokers whose sessions ended."""

import json
import re
from collections.abc import Iterator, Sequence

from kcsim.eventlog.events import Event, EventKind
from kcsim.zk.capture.write_comparison.write_attribution import is_fenced, session_owners
from kcsim.zk.capture.write_comparison.writes import (
    ADMIN,
    CONTROLLER,
    PLACES,
    WITH_DATA,
    StepWrites,
    Writes,
    ZnodeWrite,
    is_below,
)
from kcsim.znodes import paths

UNFENCED_PLACES = (paths.CONTROLLER, paths.CONTROLLER_EPOCH, paths.FEATURE)
"""What a controller writes in its role without a check of its epoch."""

_OPS = {
    EventKind.ZNODE_CREATED: "create",
    EventKind.ZNODE_CHANGED: "set",
    EventKind.ZNODE_DELETED: "delete",
}
_SEQUENTIAL = re.compile(
    f"^({re.escape(paths.ISR_CHANGE_PREFIX)}|{re.escape(paths.LOG_DIR_EVENT_PREFIX)})[0-9]{{10}}$",
)


class WriteLog:
    """All writes of a run, from its event log.

    The session determines the writer: a broker, or else an administrator.

    Args:
        events: the whole event log; an event's index is its seq.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._owners = session_owners(events)
        self._applied = list(self._all_writes())
        self._named = [(event.seq, named) for event in events if (named := _named(event)) is not None]

    def step(self, begin: int, end: int) -> StepWrites:
        """Return the writes of one step, whose events have the seqs from `begin` up to but not including `end`."""
        return StepWrites(self._controller_at(end), self._between(begin, end), self._sessions_closed(begin, end))

    def _controller_at(self, end: int) -> int | None:
        return next((broker for seq, broker in reversed(self._named) if seq < end), None)

    def _between(self, begin: int, end: int) -> Writes:
        return tuple(write for seq, write in self._applied if begin <= seq < end)

    def _sessions_closed(self, begin: int, end: int) -> tuple[str, ...]:
        closed = (e.session_id or "" for e in self._events[begin:end] if e.kind is EventKind.SESSION_CLOSED)
        return tuple(sorted({self._owners[session] for session in closed if session in self._owners}))

    def _all_writes(self) -> Iterator[tuple[int, ZnodeWrite]]:
        holder: int | None = None
        registered: tuple[int | None, str] | None = None  # zxid and path of the last registration's creation
        for event in self._events:
            if event.kind not in _OPS or event.path is None or not is_below(event.path, PLACES):
                continue
            if self._went_with_session(event):
                continue
            if event.path == paths.CONTROLLER and event.kind is EventKind.ZNODE_CREATED:
                holder = _named(event)
            if registered == (event.zxid, event.path):
                continue  # the second operation of the multi that registers the broker
            write = self._write(event, holder)
            if write.op == "register":
                registered = (event.zxid, event.path)
            yield event.seq, write

    def _write(self, event: Event, holder: int | None) -> ZnodeWrite:
        assert event.path is not None
        writer = self._owners.get(event.session_id or "", ADMIN)
        fenced = is_fenced(event, self._events)
        is_registration = event.path == f"{paths.BROKER_IDS}/{writer.removeprefix('broker-')}"
        op = _OPS[event.kind]
        if is_registration and op == "create":
            op = "register"
        in_role = writer == f"broker-{holder}" and (fenced or event.path in UNFENCED_PLACES)
        return ZnodeWrite(
            by=CONTROLLER if in_role else writer,
            op=op,
            path=_SEQUENTIAL.sub(r"\1N", event.path),
            data=event.data if op in WITH_DATA else None,
            fenced=fenced,
        )

    def _cause(self, event: Event) -> Event | None:
        return None if event.cause is None else self._events[event.cause]

    def _went_with_session(self, event: Event) -> bool:
        cause = self._cause(event)
        return cause is not None and cause.kind is EventKind.SESSION_CLOSED


def _named(event: Event) -> int | None:
    """Return the broker that /controller names after this event; None for another znode, or if no broker can be read."""
    if event.path != paths.CONTROLLER or event.data is None:
        return None
    try:
        return int(json.loads(event.data)["brokerid"])
    except (ValueError, KeyError, TypeError):
        return None
