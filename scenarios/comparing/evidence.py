"""What an event log tells of its writes besides the writes themselves: whose a session was, and which writes were fenced.

A run of ours tells both: brokers speak of their sessions, and a write follows from the request that made it. A log that
was made of ZooKeeper's transactions alone has neither. There a session is that of the broker that registered in it, and a
write carries the version of /controller_epoch with which it was checked.
"""

from collections.abc import Iterable, Sequence

from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind


def session_owners(events: Iterable[Event]) -> dict[str, str]:
    """Session id -> broker-N. What brokers told of their sessions outweighs all that looks like a registration."""
    told: dict[str, str] = {}
    registered: dict[str, str] = {}
    for event in events:
        if event.session_id is None:
            continue
        if event.kind is EventKind.SESSION_STATE and event.node.startswith("broker-"):
            told[event.session_id] = event.node
        elif event.kind is EventKind.ZNODE_CREATED and (broker := _registered(event)) is not None:
            registered.setdefault(event.session_id, broker)
    return told or registered


def is_fenced(event: Event, events: Sequence[Event]) -> bool:
    """Whether a write stood in one multi with a check of /controller_epoch.

    Args:
        events: the whole log; an event's place is its seq.
    """
    if event.controller_epoch_zk_version is not None:
        return True
    cause = None if event.cause is None else events[event.cause]
    return cause is not None and cause.kind is EventKind.ZK_WRITE and cause.controller_epoch_zk_version is not None


def _registered(created: Event) -> str | None:
    """broker-N, if a broker made this znode as brokers do: without data, which the same multi then sets."""
    number = (created.path or "").removeprefix(f"{paths.BROKER_IDS}/")
    is_registration = number.isdecimal() and created.ephemeral and created.data is None
    return f"broker-{number}" if is_registration else None
