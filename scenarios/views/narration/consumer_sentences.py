"""The sentences for events of consumer groups, of their coordinators and of consumers.

Pure, an event at a time. The node stands before the sentence, as in every line of a run. Fetches and commits have none.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.eventlog.events import Event, EventKind

MEMBER_ID = re.compile(r"\b([A-Za-z0-9._-]+?)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def _short(text: str | None) -> str:
    """Return the text without the random part of member ids."""
    return MEMBER_ID.sub(r"\1", text or "")


def _partitions(event: Event) -> str:
    return ", ".join(event.partitions or ()) or "nothing"


def _joined(event: Event) -> str:
    return f"takes {_short(event.member)} into group {event.group}"


def _removed(event: Event) -> str:
    return f"takes {_short(event.member)} out of group {event.group}: it {event.rule}"


def _rebalance(event: Event) -> str:
    return f"begins a rebalance of group {event.group}: {_short(event.rule)}"


def _generation(event: Event) -> str:
    if not event.count:
        return f"closes generation {event.generation} of group {event.group}: no member is left"
    members = "1 member" if event.count == 1 else f"{event.count} members"
    who = f"{members}, {_short(event.member)} assigns by {event.rule}"
    return f"begins generation {event.generation} of group {event.group}: {who}"


def _assignment(event: Event) -> str:
    return f"assigns, as leader of group {event.group}, by {event.rule}: {_short(event.detail)}"


def _stable(event: Event) -> str:
    return f"hands out the assignment of generation {event.generation} of group {event.group}"


def _offsets_deleted(event: Event) -> str:
    if event.state == "Dead":
        return f"deletes group {event.group}, which an administrator asked for"
    return f"deletes offsets of group {event.group}, which an administrator asked for: {event.detail}"


def _coordination(event: Event) -> str:
    does = "takes over" if event.state == "loaded" else "gives up"
    return f"{does} the groups of {event.topic}-{event.partition}: {event.detail}"


def _assigned(event: Event) -> str:
    return f"consumes {_partitions(event)} from now on"


def _revoked(event: Event) -> str:
    return f"gives up {_partitions(event)}"


def _lost(event: Event) -> str:
    return f"finds that it has lost {_partitions(event)}"


CONSUMER_SENTENCES: Mapping[EventKind, Callable[[Event], str]] = MappingProxyType(
    {
        EventKind.GROUP_MEMBER_JOINED: _joined,
        EventKind.GROUP_MEMBER_REMOVED: _removed,
        EventKind.GROUP_REBALANCE: _rebalance,
        EventKind.GROUP_GENERATION: _generation,
        EventKind.GROUP_ASSIGNMENT: _assignment,
        EventKind.GROUP_STABLE: _stable,
        EventKind.GROUP_COORDINATION: _coordination,
        EventKind.OFFSETS_DELETED: _offsets_deleted,
        EventKind.PARTITIONS_ASSIGNED: _assigned,
        EventKind.PARTITIONS_REVOKED: _revoked,
        EventKind.PARTITIONS_LOST: _lost,
    }
)
"""Kind of event -> its sentence."""
