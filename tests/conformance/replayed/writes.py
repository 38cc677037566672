"""Reads a run's event log as a recording does: who wrote what, in which role, and whose sessions ended."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from tests.conformance.replayed.recording import ADMIN, CONTROLLER, WITH_DATA, Write

PLACES = (
    paths.CONTROLLER,
    paths.CONTROLLER_EPOCH,
    "/brokers",
    "/admin",
    paths.ISR_CHANGE_NOTIFICATION,
    paths.LOG_DIR_EVENT_NOTIFICATION,
)
"""Writes to these znodes and below them are recorded."""
FINAL_PLACES = (paths.CONTROLLER, paths.CONTROLLER_EPOCH, paths.BROKER_TOPICS)
"""These znodes and all below them are recorded as they are at the end; of /admin, what is below it."""
ELECTION_PLACES = (paths.CONTROLLER, paths.CONTROLLER_EPOCH)

_OPS = {
    EventKind.ZNODE_CREATED: "create",
    EventKind.ZNODE_CHANGED: "set",
    EventKind.ZNODE_DELETED: "delete",
}
_SEQUENTIAL = re.compile(
    f"^({re.escape(paths.ISR_CHANGE_PREFIX)}|{re.escape(paths.LOG_DIR_EVENT_PREFIX)})[0-9]{{10}}$",
)


def is_below(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of these places, or below one."""
    return any(path == place or path.startswith(place + "/") for place in places)


def is_final(path: str) -> bool:
    """Whether a znode belongs to what is recorded of the end."""
    return is_below(path, FINAL_PLACES) or path.startswith("/admin/")


@dataclass(frozen=True, slots=True)
class _Applied:
    """A write, and the events that are evidence of it."""

    event: Event
    write: Write


class WriteLog:
    """All writes of a run, from its event log.

    Who wrote is told by the session: those of brokers are known from the brokers' own events, every other one is ours.
    Whether a write was fenced is told by the request that it follows from.

    Args:
        events: the whole log; an event's place is its seq.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._owners = session_owners(events)
        self._applied = list(self._all_writes())

    def between(self, begin: int, end: int) -> tuple[Write, ...]:
        """The writes of the events from `begin` up to but without `end`, in zxid order."""
        return tuple(applied.write for applied in self._applied if begin <= applied.event.seq < end)

    def sessions_closed(self, begin: int, end: int) -> tuple[str, ...]:
        """The brokers of which a session ended, sorted."""
        closed = (e for e in self._events[begin:end] if e.kind is EventKind.SESSION_CLOSED)
        return tuple(sorted({self._owners[e.session_id or ""] for e in closed if (e.session_id or "") in self._owners}))

    def _all_writes(self) -> Iterator[_Applied]:
        holder: str | None = None
        registered: tuple[int | None, str] | None = None  # zxid and path of the last registration's creation
        for event in self._events:
            if event.kind not in _OPS or event.path is None or not is_below(event.path, PLACES):
                continue
            if self._went_with_session(event):
                continue
            if event.path == paths.CONTROLLER and event.kind is EventKind.ZNODE_CREATED:
                holder = _holder(event)
            if registered == (event.zxid, event.path):
                continue  # the other half of the multi that registers
            write = self._write(event, holder)
            if write.op == "register":
                registered = (event.zxid, event.path)
            yield _Applied(event, write)

    def _write(self, event: Event, holder: str | None) -> Write:
        assert event.path is not None
        writer = self._owners.get(event.session_id or "", ADMIN)
        is_fenced = self._is_fenced(event)
        is_registration = event.path == f"{paths.BROKER_IDS}/{writer.removeprefix('broker-')}"
        op = _OPS[event.kind]
        if is_registration and op == "create":
            op = "register"
        in_role = writer != ADMIN and writer == holder and (is_fenced or event.path in ELECTION_PLACES)
        return Write(
            by=CONTROLLER if in_role else writer,
            op=op,
            path=_SEQUENTIAL.sub(r"\1N", event.path),
            data=event.data if op in WITH_DATA else None,
            fenced=is_fenced,
        )

    def _cause(self, event: Event) -> Event | None:
        return None if event.cause is None else self._events[event.cause]

    def _went_with_session(self, event: Event) -> bool:
        cause = self._cause(event)
        return cause is not None and cause.kind is EventKind.SESSION_CLOSED

    def _is_fenced(self, event: Event) -> bool:
        cause = self._cause(event)
        return cause is not None and cause.kind is EventKind.ZK_WRITE and cause.controller_epoch_zk_version is not None


def session_owners(events: Iterable[Event]) -> dict[str, str]:
    """Session id -> broker-N, for each session that a broker has told of."""
    return {
        event.session_id: event.node
        for event in events
        if event.kind is EventKind.SESSION_STATE and event.session_id is not None and event.node.startswith("broker-")
    }


def _holder(created: Event) -> str | None:
    """broker-N, as named in a /controller that was created; None if nobody is."""
    try:
        return f"broker-{int(json.loads(created.data or '')['brokerid'])}"
    except (ValueError, KeyError, TypeError):
        return None
