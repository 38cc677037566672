"""Find the cause of an event from a broker's log: the nearest earlier event that can have led to it.

A log line names no cause. But a broker's actions follow from what it has observed, and that is in the event log: a znode
change, a request sent to the broker, a fault or an administrator's action. If there is none, the cause is the broker's
start.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType

from kcsim.brokers.apache_kafka.log_feed.log_events import LogEvent
from kcsim.brokers.apache_kafka.log_lines.state_change_log import LEADER_AND_ISR, STOP_REPLICA
from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.vocabulary import TopicPartition
from kcsim.zk.operations import SessionState
from kcsim.znodes import paths

EXTERNAL_ACTIONS = frozenset({EventKind.FAULT, EventKind.ADMIN_ACT})
DECIDED = (
    EventKind.ELECTION_WON,
    EventKind.BROKER_CHANGE,
    EventKind.TOPIC_CHANGE,
    EventKind.TOPIC_DELETION,
    EventKind.LEADER_REBALANCE,
    EventKind.LEADER_ELECTION,
    EventKind.LEADER_EPOCH_BUMPED,
    EventKind.REPLICA_REMOVED_FROM_ISR,
    EventKind.PARTITION_REASSIGNMENT,
    EventKind.LOG_DIR_FAILED,
)
"""Events of a controller from which its requests and failures follow."""

A_SERVER = "a server of ZooKeeper"

NEW_CONNECTIONS = (EventKind.ELECTION_WON, EventKind.BROKER_CHANGE)

Request = tuple[str, int | None, str | None]
"""Sender, id of the receiver, and the request's name."""

Keys = Callable[[LogEvent], tuple[Hashable, ...]]


class LogCauses:
    """Remembers, for each key, the seq of the last event with that key."""

    def __init__(self, began: int) -> None:
        self._began = began
        self._last: dict[Hashable, int] = {}
        self._unanswered: defaultdict[Request, deque[int]] = defaultdict(deque)

    def notice(self, event: Event) -> None:
        """Record an event of the event log. Call it with every event, in order."""
        for key in _known_by(event):
            self._last[key] = event.seq
        if event.kind is EventKind.REQUEST_SENT:
            self._unanswered[event.node, event.broker_id, event.event].append(event.seq)
        elif event.kind in NEW_CONNECTIONS:
            self._forget_lost(event)

    def _forget_lost(self, event: Event) -> None:
        """Forget unanswered requests on closed connections: those of an earlier term, or to a broker that has restarted."""
        lives_on = set(event.brokers or ()).difference(event.bounced or ())
        for node, broker, name in list(self._unanswered):
            if node == event.node and (event.kind is EventKind.ELECTION_WON or broker not in lives_on):
                del self._unanswered[node, broker, name]

    def of(self, event: LogEvent) -> int:
        """Return the seq of the event's cause. The cause of a response is the oldest unanswered request."""
        if event.kind is EventKind.RESPONSE_RECEIVED:
            unanswered = self._unanswered[event.node, event.fields["broker_id"], event.fields["event"]]
            if unanswered:
                return unanswered.popleft()
        keys = CAUSES[event.kind](event)
        found = [self._last[key] for key in keys if key in self._last]
        return max(found) if found else self._last.get((EventKind.PROCESS_STATE, event.node), self._began)


def _known_by(event: Event) -> Iterator[Hashable]:
    yield event.kind, event.node
    if event.kind in ZNODE_CHANGES and event.path is not None:
        yield event.path
        yield "below", paths.parent(event.path)
    elif event.kind in EXTERNAL_ACTIONS and event.target is not None:
        for name in event.target.split(", "):
            yield "done to", name if name.startswith("broker-") else A_SERVER
    elif event.session_id is not None:
        yield event.kind, event.session_id
    if event.topic is not None:
        yield event.kind, event.node, event.topic, event.partition
    if event.broker_id is not None:
        yield event.kind, f"to broker-{event.broker_id}", event.event


# --- what each kind may follow from ---------------------------------------------------------------------------------------


def _deletion(event: LogEvent) -> tuple[Hashable, ...]:
    topic = event.fields["topic"]
    return paths.delete_topic(topic), (EventKind.TOPIC_DELETION, event.node, topic, None)


def _state(event: LogEvent) -> tuple[Hashable, ...]:
    return (paths.topic_partition_state(TopicPartition(event.fields["topic"], event.fields["partition"])),)


def _topics(event: LogEvent) -> tuple[Hashable, ...]:
    topic = event.fields.get("topic")
    return (("below", paths.BROKER_TOPICS),) if topic is None else (paths.topic(topic),)


def _session(event: LogEvent) -> tuple[Hashable, ...]:
    """Return the keys for a session: it expires because the server ended it; other losses follow from a fault or action."""
    session_id = event.fields["session_id"]
    match SessionState(event.fields["state"]):
        case SessionState.CONNECTED:
            return (EventKind.SESSION_CREATED, session_id), ("done to", event.node), ("done to", A_SERVER)
        case SessionState.EXPIRED:
            return ((EventKind.SESSION_CLOSED, session_id),)
        case _:
            return ("done to", event.node), ("done to", A_SERVER)


def _resignation(event: LogEvent) -> tuple[Hashable, ...]:
    return ((EventKind.SESSION_STATE, event.node), paths.CONTROLLER, paths.CONTROLLER_EPOCH, ("done to", event.node))


def _shutdown(event: LogEvent) -> tuple[Hashable, ...]:
    return (("done to", f"broker-{event.fields['broker_id']}"),)


def _log_dir(event: LogEvent) -> tuple[Hashable, ...]:
    """Return the keys for a failed log directory. The controller learns of it from a notification or an error response."""
    broker = f"broker-{event.fields['broker_id']}"
    if event.node == broker:
        return (("done to", broker),)
    return ("below", paths.LOG_DIR_EVENT_NOTIFICATION), (EventKind.RESPONSE_RECEIVED, f"to {broker}", LEADER_AND_ISR)


CAUSES: Mapping[EventKind, Keys] = MappingProxyType(
    {
        EventKind.SESSION_STATE: _session,
        EventKind.ELECTION_LOST: lambda _: (paths.CONTROLLER,),
        EventKind.CONTROLLER_FAILOVER: lambda event: ((EventKind.ELECTION_WON, event.node),),
        EventKind.CONTROLLER_RESIGNED: _resignation,
        EventKind.ZK_WRITE_REFUSED: lambda _: (paths.CONTROLLER_EPOCH,),
        EventKind.CONTROLLER_MOVED: lambda _: (paths.CONTROLLER_EPOCH,),
        EventKind.CONTROLLER_EVENT_FAILED: lambda event: tuple((kind, event.node) for kind in DECIDED),
        EventKind.BROKER_CHANGE: lambda _: (("below", paths.BROKER_IDS),),
        EventKind.TOPIC_CHANGE: _topics,
        EventKind.TOPIC_DELETION: _deletion,
        EventKind.LEADER_REBALANCE: lambda event: ((EventKind.CONTROLLER_FAILOVER, event.node),),
        EventKind.CONTROLLED_SHUTDOWN: _shutdown,
        EventKind.STATE_CHANGE_FAILED: lambda event: tuple((kind, event.node) for kind in DECIDED),
        EventKind.REQUEST_SENT: lambda event: tuple((kind, event.node) for kind in DECIDED),
        EventKind.REQUEST_FAILED: lambda event: (
            (EventKind.BROKER_CHANGE, event.node),
            (EventKind.ELECTION_WON, event.node),
        ),
        EventKind.RESPONSE_RECEIVED: lambda event: ((EventKind.ELECTION_WON, event.node),),
        EventKind.BECAME_LEADER: _state,
        EventKind.BECAME_FOLLOWER: _state,
        EventKind.STAYED_LEADER: _state,
        EventKind.REPLICA_STOPPED: lambda event: (
            (EventKind.REQUEST_SENT, f"to {event.node}", STOP_REPLICA),
            *_state(event),
        ),
        EventKind.LOG_DIR_FAILED: _log_dir,
        EventKind.RECORDS_TRUNCATED: lambda event: (
            (EventKind.BECAME_FOLLOWER, event.node, event.fields["topic"], event.fields["partition"]),
        ),
    }
)
"""Kind of event -> the keys of its possible causes; the latest event with one of these keys is the cause."""
