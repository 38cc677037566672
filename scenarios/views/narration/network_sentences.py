"""The sentences for what senders experience on a network with faults.

Pure, an event at a time. The node stands before the sentence, as in every line of a run.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.eventlog.events import Event, EventKind


def is_network_detail(event: Event) -> bool:
    """Return whether an event is shown only if every detail is wanted: a message that was lost by chance and sent again."""
    return event.kind is EventKind.NETWORK_RESUMED or (event.kind is EventKind.NETWORK_STALLED and event.rule == "lost")


def _stalled(event: Event) -> str:
    if event.rule == "lost":
        return f"sends to {event.target} a message that is lost, and sends it again: {event.event}"
    return f"sends to {event.target} a message that does not arrive: {event.event}"


def _resumed(event: Event) -> str:
    return f"reaches {event.target} at last, {event.duration_ms} ms late"


def _broken(event: Event) -> str:
    return f"loses a connection to {event.target}: {event.detail}"


NETWORK_SENTENCES: Mapping[EventKind, Callable[[Event], str]] = MappingProxyType(
    {
        EventKind.NETWORK_STALLED: _stalled,
        EventKind.NETWORK_RESUMED: _resumed,
        EventKind.NETWORK_CONNECTION_BROKEN: _broken,
    }
)
"""Kind of event -> its sentence."""
