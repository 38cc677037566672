"""The sentences for events of partitions: elections, ISR changes, reassignments, deletions, and the requests about them.

Pure, an event at a time. The node stands before the sentence, as in every line of a run.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import NO_LEADER, TopicPartition

DETAILS = frozenset(
    {
        EventKind.PARTITION_STATE_CHANGE,
        EventKind.REPLICA_STATE_CHANGE,
        EventKind.RESPONSE_RECEIVED,
        EventKind.BECAME_FOLLOWER,
        EventKind.METRICS,
    }
)
"""Kinds that have sentences, but are shown only if every detail is wanted."""
METADATA = "UpdateMetadata"
"""The request that goes to every broker after almost every change: a detail as well."""


def is_detail(event: Event) -> bool:
    """Return whether an event is shown only if every detail is wanted.

    Responses are details: a refusal is an event, too.
    """
    return (
        event.kind in DETAILS
        or (event.kind is EventKind.REQUEST_SENT and event.event == METADATA)
        or (event.kind is EventKind.REQUEST_REFUSED and _is_nothing_new(event))
    )


def _is_nothing_new(event: Event) -> bool:
    """Return whether a refusal is routine.

    After each failover, brokers receive leader epochs that they know already, and reply as if the controller were stale. A
    request that is stale as a whole names the controller's epoch.
    """
    return event.error == "STALE_CONTROLLER_EPOCH" and event.controller_epoch is None


def _what(event: Event) -> str:
    """Return the partition that an event is about, else the topic, else an empty text."""
    if event.topic is None:
        return ""
    return event.topic if event.partition is None else str(TopicPartition(event.topic, event.partition))


def about(event: Event, detail: str | None) -> str:
    """Return the detail of an event after the partition that the event is about, unless the detail names that partition."""
    what = _what(event)
    if not detail:
        return what
    return detail if not what or what in detail else f"{what}: {detail}"


def _ids(ids: object) -> str:
    return str(list(ids)) if isinstance(ids, list | tuple) else "unknown"


def _leader(event: Event) -> str:
    return "nobody" if event.leader in (None, NO_LEADER) else f"broker-{event.leader}"


# --- decisions of the controller -------------------------------------------------------------------------------------------


def _elected(event: Event) -> str:
    came_to = "" if event.leader is None else f"; leader epoch {event.leader_epoch}, ISR {_ids(event.isr)}"
    return f"elects for {_what(event)}: {event.detail or event.rule}{came_to}"


def _moved(event: Event) -> str:
    return f"moves {event.detail or f'{event.count} to {event.state}'}"


def _not_moved(event: Event) -> str:
    return f"cannot change the state: {about(event, event.detail)}"


def _removed_from_isr(event: Event) -> str:
    now = f"leader {_leader(event)}, leader epoch {event.leader_epoch}, ISR {_ids(event.isr)}"
    return f"takes broker-{event.broker_id} out of the ISR of {_what(event)}: {now} ({event.rule})"


def _bumped(event: Event) -> str:
    return f"raises the leader epoch of {_what(event)} to {event.leader_epoch}{_behind(event.detail or event.rule)}"


def _reassigned(event: Event) -> str:
    return event.detail or f"reassignment of {_what(event)}: {event.step}"


def _topic_deleted(event: Event) -> str:
    return event.detail or f"deletion of topic {event.topic}: {event.step}"


def _controlled_shutdown(event: Event) -> str:
    text = ": ".join(part for part in (event.step, event.detail) if part)
    return f"controlled shutdown of broker-{event.broker_id}: {text}"


def _rebalanced(event: Event) -> str:
    return f"checks whether broker-{event.broker_id} leads its share: {event.rule} ({event.inputs}): {event.detail}"


def _metrics(event: Event) -> str:
    return f"metrics: {event.data or event.detail}"


# --- requests --------------------------------------------------------------------------------------------------------------


def _sent(event: Event) -> str:
    """Return the sentence for a sent request. The recipient stands first, because readers look for it."""
    return f"sends broker-{event.broker_id} {event.event}{_behind(event.detail)}"


def _received(event: Event) -> str:
    return f"receives {event.event} from broker-{event.broker_id}"


def _request_failed(event: Event) -> str:
    if event.event is None:  # Kafka's log does not name the request where the connection fails
        return f"does not reach broker-{event.broker_id} ({event.error}): {event.detail}"
    return f"gets no {event.event} through to broker-{event.broker_id} ({event.error}): {event.detail}"


def _abandoned(event: Event) -> str:
    what = event.event or ("1 request" if event.count == 1 else f"{event.count} requests")
    return f"gives up {what} to broker-{event.broker_id}: {event.rule or event.detail}"


def _answered(event: Event) -> str:
    error = f"{event.error} " if event.error else ""
    return f"gets an answer from broker-{event.broker_id} to {event.event}: {error}{event.detail or ''}".rstrip(": ")


def _refused(event: Event) -> str:
    if _is_nothing_new(event):
        return f"ignores the part of {event.event} with leader epochs that it already has: {event.detail}"
    if event.error == ErrorCode.UNSUPPORTED_VERSION.name:
        return f"cannot serve {event.event} of broker-{event.broker_id}: {event.detail}"
    if event.event == "Fetch":
        return f"is refused by broker-{event.broker_id} as a follower ({event.error}){_behind(event.detail)}"
    return f"refuses {event.event or 'a request'} ({event.error}){_behind(event.detail)}"


def _behind(detail: str | None) -> str:
    return f": {detail}" if detail else ""


# --- effects of the requests on brokers ------------------------------------------------------------------------------------


def _became_leader(event: Event) -> str:
    if event.topic is None:
        return event.detail or f"leads {event.count} partitions"
    return f"leads {_what(event)} from leader epoch {event.leader_epoch} on, ISR {_ids(event.isr)}"


def _became_follower(event: Event) -> str:
    if event.topic is None:
        return event.detail or f"follows in {event.count} partitions"
    return f"follows {_leader(event)} in {_what(event)}, leader epoch {event.leader_epoch}"


def _stayed_leader(event: Event) -> str:
    if event.topic is None:
        return event.detail or f"goes on leading {event.count} partitions"
    return f"goes on leading {_what(event)} in leader epoch {event.leader_epoch}{_behind(event.detail)}"


def _stopped(event: Event) -> str:
    if event.topic is None:
        return f"stops {event.detail or f'{event.count} replicas'}"
    return f"stops its replica of {_what(event)}{_behind(event.detail)}"


def _isr_expanded(event: Event) -> str:
    return f"takes broker-{event.broker_id}, which has caught up, back into the ISR of {_what(event)}: {_isr(event)}"


def _isr_shrunk(event: Event) -> str:
    return f"removes lagging followers from the ISR of {_what(event)}: {_isr(event)}"


def _isr(event: Event) -> str:
    return f"ISR {_ids(event.isr)}{_behind(event.detail)}"


def _isr_change_failed(event: Event) -> str:
    return f"cannot change the ISR of {_what(event)} ({event.error}){_behind(event.detail)}"


def _log_dir_failed(event: Event) -> str:
    return f"loses a log directory{_behind(event.detail)}"


TOPIC_SENTENCES: Mapping[EventKind, Callable[[Event], str]] = MappingProxyType(
    {
        EventKind.LEADER_ELECTION: _elected,
        EventKind.PARTITION_STATE_CHANGE: _moved,
        EventKind.REPLICA_STATE_CHANGE: _moved,
        EventKind.STATE_CHANGE_FAILED: _not_moved,
        EventKind.REPLICA_REMOVED_FROM_ISR: _removed_from_isr,
        EventKind.LEADER_EPOCH_BUMPED: _bumped,
        EventKind.PARTITION_REASSIGNMENT: _reassigned,
        EventKind.TOPIC_DELETION: _topic_deleted,
        EventKind.CONTROLLED_SHUTDOWN: _controlled_shutdown,
        EventKind.LEADER_REBALANCE: _rebalanced,
        EventKind.METRICS: _metrics,
        EventKind.REQUEST_SENT: _sent,
        EventKind.REQUEST_RECEIVED: _received,
        EventKind.REQUEST_FAILED: _request_failed,
        EventKind.REQUEST_ABANDONED: _abandoned,
        EventKind.RESPONSE_RECEIVED: _answered,
        EventKind.REQUEST_REFUSED: _refused,
        EventKind.BECAME_LEADER: _became_leader,
        EventKind.BECAME_FOLLOWER: _became_follower,
        EventKind.STAYED_LEADER: _stayed_leader,
        EventKind.REPLICA_STOPPED: _stopped,
        EventKind.ISR_EXPANDED: _isr_expanded,
        EventKind.ISR_SHRUNK: _isr_shrunk,
        EventKind.ISR_CHANGE_FAILED: _isr_change_failed,
        EventKind.LOG_DIR_FAILED: _log_dir_failed,
    }
)
"""Kind of event -> its sentence."""
