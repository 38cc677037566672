"""The words for a network in trouble: what is done to it, and what senders have of it.

Pure, an event at a time. Who did it stands before the sentence, as in every line of a run.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.zk.events import Event, EventKind

ARMED = "armed: "
DEEDS: Mapping[str, str] = MappingProxyType(
    {
        "partition": "cuts the network",
        "slow-link": "slows the network down",
        "lossy-link": "makes the network unreliable",
        "break-connections": "breaks the connections",
        "heal": "heals the network",
    }
)
"""Fault or admin act -> what is done; whose links it is done to comes behind it."""


def network_deed(event: Event) -> str | None:
    """What somebody does to the network, from a Fault or an AdminAct; None if it is done to something else."""
    done = DEEDS.get(event.fault or event.op or "")
    if done is None or event.target is not None:
        return None
    links = event.detail or ""
    if links.startswith(ARMED):
        return f"sees to it that a connection breaks {links.removeprefix(ARMED)}"
    return f"{done} {links}"


def is_network_detail(event: Event) -> bool:
    """Whether an event is left out of a story unless every detail is wanted: what is lost by chance and sent again."""
    return event.kind is EventKind.NETWORK_RESUMED or (event.kind is EventKind.NETWORK_STALLED and event.rule == "lost")


def _stalled(event: Event) -> str:
    if event.rule == "lost":
        return f"sends to {event.target} what is lost on the way, and sends it again: {event.event}"
    return f"sends to {event.target}, where nothing arrives: {event.event}"


def _resumed(event: Event) -> str:
    return f"gets through to {event.target} after all, {event.duration_ms} ms late"


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
