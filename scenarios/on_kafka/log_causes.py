"""What an event that a broker's log tells follows from: the nearest earlier event that can have led to it.

A log line names no cause. But what a broker does follows from what it has seen, which is in the event log: a znode that
changed, a request that was sent to it, a fault or an act of an administrator. Nothing of the kind: then from its start.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType

from kcsim.scenarios.on_kafka.decision_lines import LEADER_AND_ISR, STOP_REPLICA
from kcsim.scenarios.on_kafka.log_events import LogEvent
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.operations import SessionState
from kcsim.zk.vocabulary import TopicPartition

ZNODE_CHANGES = frozenset({EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED})
DEEDS = frozenset({EventKind.FAULT, EventKind.ADMIN_ACT})
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
"""What a controller does, of which requests and failures are the consequence."""

A_SERVER = "a server of ZooKeeper"

NEW_CONNECTIONS = (EventKind.ELECTION_WON, EventKind.BROKER_CHANGE)

Request = tuple[str, int | None, str | None]
"""Sender, id of the receiver, and what it is."""

Keys = Callable[[LogEvent], tuple[Hashable, ...]]


class LogCauses:
    """Remembers where in the event log things have happened last."""

    def __init__(self, began: int) -> None:
        self._began = began
        self._last: dict[Hashable, int] = {}
        self._unanswered: defaultdict[Request, deque[int]] = defaultdict(deque)

    def notice(self, event: Event) -> None:
        """Take note of an event of the log; each, in order."""
        for key in _known_by(event):
            self._last[key] = event.seq
        if event.kind is EventKind.REQUEST_SENT:
            self._unanswered[event.node, event.broker_id, event.event].append(event.seq)
        elif event.kind in NEW_CONNECTIONS:
            self._forget_lost(event)

    def _forget_lost(self, event: Event) -> None:
        """What was sent on a connection that is gone is never answered: of another term, or to a broker's former life."""
        lives_on = set(event.brokers or ()) - {
            int(one) for one in re.findall(r"\d+", (event.detail or "").rpartition("bounced")[2])
        }
        for node, broker, name in list(self._unanswered):
            if node == event.node and (event.kind is EventKind.ELECTION_WON or broker not in lives_on):
                del self._unanswered[node, broker, name]

    def of(self, told: LogEvent) -> int:
        """seq of what this event follows from. An answer is that to the request before all others that are unanswered."""
        if told.kind is EventKind.RESPONSE_RECEIVED:
            unanswered = self._unanswered[told.node, told.fields["broker_id"], told.fields["event"]]
            if unanswered:
                return unanswered.popleft()
        keys = CAUSES[told.kind](told)
        found = [self._last[key] for key in keys if key in self._last]
        return max(found) if found else self._last.get((EventKind.PROCESS_STATE, told.node), self._began)


def _known_by(event: Event) -> Iterator[Hashable]:
    yield event.kind, event.node
    if event.kind in ZNODE_CHANGES and event.path is not None:
        yield event.path
        yield "below", paths.parent(event.path)
    elif event.kind in DEEDS and event.target is not None:
        for name in event.target.split(", "):
            yield "done to", name if name.startswith("broker-") else A_SERVER
    elif event.session_id is not None:
        yield event.kind, event.session_id
    if event.topic is not None:
        yield event.kind, event.node, event.topic, event.partition
    if event.broker_id is not None:
        yield event.kind, f"to broker-{event.broker_id}", event.event


# --- what each kind may follow from ---------------------------------------------------------------------------------------


def _deletion(told: LogEvent) -> tuple[Hashable, ...]:
    topic = told.fields["topic"]
    return paths.delete_topic(topic), (EventKind.TOPIC_DELETION, told.node, topic, None)


def _state(told: LogEvent) -> tuple[Hashable, ...]:
    return (paths.topic_partition_state(TopicPartition(told.fields["topic"], told.fields["partition"])),)


def _topics(told: LogEvent) -> tuple[Hashable, ...]:
    topic = told.fields.get("topic")
    return (("below", paths.BROKER_TOPICS),) if topic is None else (paths.topic(topic),)


def _session(told: LogEvent) -> tuple[Hashable, ...]:
    """A session has expired because the server ended it; it is closed, or cut off, for what was done to somebody."""
    session_id = told.fields["session_id"]
    match SessionState(told.fields["state"]):
        case SessionState.CONNECTED:
            return (EventKind.SESSION_CREATED, session_id), ("done to", told.node), ("done to", A_SERVER)
        case SessionState.EXPIRED:
            return ((EventKind.SESSION_CLOSED, session_id),)
        case _:
            return ("done to", told.node), ("done to", A_SERVER)


def _resignation(told: LogEvent) -> tuple[Hashable, ...]:
    return ((EventKind.SESSION_STATE, told.node), paths.CONTROLLER, paths.CONTROLLER_EPOCH, ("done to", told.node))


def _shutdown(told: LogEvent) -> tuple[Hashable, ...]:
    return (("done to", f"broker-{told.fields['broker_id']}"),)


def _log_dir(told: LogEvent) -> tuple[Hashable, ...]:
    """The broker's own loss; the controller hears of it by a notification, or by an answer that refuses a replica."""
    broker = f"broker-{told.fields['broker_id']}"
    if told.node == broker:
        return (("done to", broker),)
    return ("below", paths.LOG_DIR_EVENT_NOTIFICATION), (EventKind.RESPONSE_RECEIVED, f"to {broker}", LEADER_AND_ISR)


CAUSES: Mapping[EventKind, Keys] = MappingProxyType(
    {
        EventKind.SESSION_STATE: _session,
        EventKind.ELECTION_LOST: lambda _: (paths.CONTROLLER,),
        EventKind.CONTROLLER_FAILOVER: lambda told: ((EventKind.ELECTION_WON, told.node),),
        EventKind.CONTROLLER_RESIGNED: _resignation,
        EventKind.ZK_WRITE_REFUSED: lambda _: (paths.CONTROLLER_EPOCH,),
        EventKind.CONTROLLER_MOVED: lambda _: (paths.CONTROLLER_EPOCH,),
        EventKind.CONTROLLER_EVENT_FAILED: lambda told: tuple((kind, told.node) for kind in DECIDED),
        EventKind.BROKER_CHANGE: lambda _: (("below", paths.BROKER_IDS),),
        EventKind.TOPIC_CHANGE: _topics,
        EventKind.TOPIC_DELETION: _deletion,
        EventKind.LEADER_REBALANCE: lambda told: ((EventKind.CONTROLLER_FAILOVER, told.node),),
        EventKind.CONTROLLED_SHUTDOWN: _shutdown,
        EventKind.STATE_CHANGE_FAILED: lambda told: tuple((kind, told.node) for kind in DECIDED),
        EventKind.REQUEST_SENT: lambda told: tuple((kind, told.node) for kind in DECIDED),
        EventKind.REQUEST_FAILED: lambda told: ((EventKind.BROKER_CHANGE, told.node), (EventKind.ELECTION_WON, told.node)),
        EventKind.RESPONSE_RECEIVED: lambda told: ((EventKind.ELECTION_WON, told.node),),
        EventKind.BECAME_LEADER: _state,
        EventKind.BECAME_FOLLOWER: _state,
        EventKind.REPLICA_STOPPED: lambda told: ((EventKind.REQUEST_SENT, f"to {told.node}", STOP_REPLICA), *_state(told)),
        EventKind.LOG_DIR_FAILED: _log_dir,
        EventKind.RECORDS_TRUNCATED: lambda told: (
            (EventKind.BECAME_FOLLOWER, told.node, told.fields["topic"], told.fields["partition"]),
        ),
    }
)
"""Kind of event -> what it may follow from; the latest of these that is in the log is taken."""
