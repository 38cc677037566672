"""The sentences for what a broker has to do with Kafka clients from outside the run.

Pure, an event at a time. The node stands before the sentence, as in every line of a run.
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.topic_sentences import about


def is_client_detail(event: Event) -> bool:
    """Return whether an event is shown only if every detail is wanted: a sum of requests."""
    return event.kind is EventKind.CLIENT_REQUESTS


def _client(event: Event) -> str:
    return f"client {event.client_id}" if event.client_id else "a client without an id"


def _connected(event: Event) -> str:
    software = json.loads(event.data or "{}")
    named = " ".join(software[part] for part in ("software", "version") if part in software)
    who = f"{_client(event)} ({named})" if named else _client(event)
    if event.count is not None:
        return f"accepts {event.count} more connections, the last of {who} from {event.target}"
    return f"accepts a connection of {who} from {event.target}"


def _disconnected(event: Event) -> str:
    if event.count is not None:
        return (
            f"loses {event.count} more connections to clients, the last to {_client(event)} at {event.target}: {event.rule}"
        )
    return f"loses the connection to {_client(event)} at {event.target}: {event.rule}"


def _closed(event: Event) -> str:
    return f"closes the connection of the client at {event.target}: {event.detail}"


def _error(event: Event) -> str:
    if event.partitions:
        names = ", ".join(event.partitions)
        subject = f" for {event.count} partitions: {names}{', …' if (event.count or 0) > len(event.partitions) else ''}"
        return f"answers {event.event} of {_client(event)} with {event.error}{subject}"
    subject = about(event, None) or (f"group {event.group}" if event.group is not None else "")
    times = "" if event.count in (None, 1) else f", {event.count} times more"
    return f"answers {event.event} of {_client(event)} with {event.error}{subject and f' for {subject}'}{times}"


def _requests(event: Event) -> str:
    sums = json.loads(event.data or "{}")
    counts = ", ".join(f"{sums[name]} {name}" for name in ("errors", "records", "bytes") if sums.get(name))
    latency = f"latency {sums['median_ms']:.1f} ms in the median, {sums['longest_ms']:.1f} ms at most" if sums else ""
    what = f"{event.count} {event.event} requests of {_client(event)} in {(event.duration_ms or 0) / 1000:.1f} s"
    return f"has answered {'; '.join(part for part in (what, counts, latency) if part)}"


CLIENT_SENTENCES: Mapping[EventKind, Callable[[Event], str]] = MappingProxyType(
    {
        EventKind.CLIENT_CONNECTED: _connected,
        EventKind.CLIENT_DISCONNECTED: _disconnected,
        EventKind.CLIENT_CONNECTION_CLOSED: _closed,
        EventKind.CLIENT_ERROR: _error,
        EventKind.CLIENT_REQUESTS: _requests,
    }
)
"""Kind of event -> its sentence."""
