"""Attributes the writes in an event log: which broker a session belongs to, and which writes were fenced.

The event log of a simulated run has both: brokers log their sessions, and a write follows from the request that made it. An
event log made from ZooKeeper's transactions alone has neither. There a session belongs to the broker that registered in it,
and a write has the version of /controller_epoch with which it was checked.
"""

from collections.abc import Iterable, Sequence

from kcsim.eventlog.events import Event, EventKind
from kcsim.znodes import paths


def session_owners(events: Iterable[Event]) -> dict[str, str]:
    """Return session id -> broker-N. If brokers logged their sessions, registrations are ignored."""
    reported: dict[str, str] = {}
    registered: dict[str, str] = {}
    for event in events:
        if event.session_id is None:
            continue
        if event.kind is EventKind.SESSION_STATE and event.node.startswith("broker-"):
            reported[event.session_id] = event.node
        elif event.kind is EventKind.ZNODE_CREATED and (broker := _registered(event)) is not None:
            registered.setdefault(event.session_id, broker)
    return reported or registered


def is_fenced(event: Event, events: Sequence[Event]) -> bool:
    """Return whether a write was in one multi with a check of /controller_epoch.

    Args:
        events: the whole event log; an event's index is its seq.
    """
    if event.controller_epoch_zk_version is not None:
        return True
    cause = None if event.cause is None else events[event.cause]
    return cause is not None and cause.kind is EventKind.ZK_WRITE and cause.controller_epoch_zk_version is not None


def _registered(created: Event) -> str | None:
    """Return broker-N if a broker created this znode as its registration: without data, which the same multi then sets."""
    number = (created.path or "").removeprefix(f"{paths.BROKER_IDS}/")
    is_registration = number.isdecimal() and created.ephemeral and created.data is None
    return f"broker-{number}" if is_registration else None
