"""Turn the controller's lines in a running broker's state-change.log into events: requests, responses and failures.

A request becomes one event, however many lines it takes: up to 2.5 there is one line per partition and no other; from 2.6 on
a summary line follows. Leader and ISR writes come from ZooKeeper's transaction log, not from here.

Source: docs/kafka/logging.md 3.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never, get_args

from kcsim.brokers.apache_kafka.log_feed.controller_term import ControllerTerm
from kcsim.brokers.apache_kafka.log_feed.parsed_event import ParsedEvent, exception_of
from kcsim.brokers.apache_kafka.log_lines.activity_messages import (
    ReplicaChanged,
    ReplicaChangeFailed,
    ReplicasOffline,
    RequestSummary,
    ResponseLogged,
    StopReplicaSent,
    UpdateMetadataSent,
)
from kcsim.brokers.apache_kafka.log_lines.messages import (
    LeaderAndIsrSent,
    NoMessage,
    StateChangeFailed,
)
from kcsim.brokers.apache_kafka.log_lines.patterns import PatternTable, Speaker
from kcsim.brokers.apache_kafka.log_lines.state_change_log import (
    BY_CONTROLLER,
    LEADER_AND_ISR,
    STOP_REPLICA,
    UPDATE_METADATA,
)
from kcsim.controller.channels.request_descriptions import MAX_PARTITIONS_LISTED, refusal_fields
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.step_names import TopicDeletionStep
from kcsim.text import summarize
from kcsim.vocabulary import TopicPartition

DecisionMessage = (
    LeaderAndIsrSent
    | UpdateMetadataSent
    | StopReplicaSent
    | RequestSummary
    | ResponseLogged
    | ReplicaChanged
    | StateChangeFailed
    | ReplicaChangeFailed
    | ReplicasOffline
)
TABLE: PatternTable[DecisionMessage] = PatternTable(BY_CONTROLLER, get_args(DecisionMessage))

OURS = {"StateChangeFailedException": "StateChangeFailedError"}
"""Errors that have another name in our controller than in Kafka's."""


@dataclass
class RequestLines:
    """Lines about the partitions of one request; `words` has one entry per partition."""

    api: str
    brokers: tuple[int, ...]
    words: list[str] = field(default_factory=list)


class DecisionLines:
    """Reads a broker's lines as controller. Collected lines wait for the line that ends their request, or for `settle`."""

    def __init__(self, term: ControllerTerm) -> None:
        self.term = term
        self._gathered: RequestLines | None = None

    @property
    def is_gathering(self) -> bool:
        return self._gathered is not None

    def read(self, text: str, speaker: Speaker) -> list[ParsedEvent]:
        """Return the events that a message describes."""
        message = TABLE.read(text, speaker)
        return [] if isinstance(message, NoMessage) else list(self._events(message, text))

    def end_before(self, text: str) -> list[ParsedEvent]:
        """Return the event of the collected lines if this message does not belong to them. Call it before `read`.

        Responses are logged by other threads than the controller event thread, so they do not end a request's lines.
        """
        return [] if text.startswith(("Sending ", "Received ")) else self.settle()

    def settle(self) -> list[ParsedEvent]:
        """Return the event of the collected lines. Call it when nothing has been written for a while: they are complete."""
        gathered = self._gathered
        return [] if gathered is None else list(self._sent(gathered.api, gathered.brokers, len(gathered.words)))

    def _events(self, message: DecisionMessage, text: str) -> Iterator[ParsedEvent]:
        match message:
            case LeaderAndIsrSent():
                if message.assignment is not None:
                    self.term.replica_counts[message.tp] = len(message.assignment.replicas)
                yield from self._gather(LEADER_AND_ISR, (message.receiver,), _described(message))
            case UpdateMetadataSent(receivers):
                yield from self._gather(UPDATE_METADATA, tuple(sorted(receivers)), "a partition")
            case StopReplicaSent(receiver, tp, epoch, deletes):
                described = "stop" if epoch is None else f"leader epoch {epoch}{', delete' if deletes else ''}"
                yield from self._gather(STOP_REPLICA, (receiver,), f"{tp}: {described}")
            case RequestSummary(api, receivers, count):
                yield from self._sent(api, tuple(sorted(receivers)), count)
            case ResponseLogged():
                yield from _answered(message)
            case ReplicaChanged(tp, after):
                yield from self._replica_changed(tp.topic, after)
            case StateChangeFailed(tp=tp, after=after, error=error):
                yield _change_failed(EventFields(topic=tp.topic, partition=tp.partition, state=after), error, text)
            case ReplicaChangeFailed(replica, tp, after, error):
                fields = EventFields(topic=tp.topic, partition=tp.partition, state=after, broker_id=replica)
                yield _change_failed(fields, error, text)
            case ReplicasOffline(tps, broker):
                detail = f"replicas of {summarize(tps)} on {broker} are in a failed log directory"
                yield ParsedEvent(EventKind.LOG_DIR_FAILED, EventFields(broker_id=broker, count=len(tps), detail=detail))
            case _:
                assert_never(message)

    def _gather(self, api: str, brokers: tuple[int, ...], described: str) -> Iterator[ParsedEvent]:
        gathered = self._gathered
        if gathered is not None and (gathered.api, gathered.brokers) != (api, brokers):
            yield from self._sent(gathered.api, gathered.brokers, len(gathered.words))
        if self._gathered is None:
            self._gathered = RequestLines(api, brokers)
        self._gathered.words.append(described)

    def _sent(self, api: str, brokers: tuple[int, ...], count: int) -> Iterator[ParsedEvent]:
        words = self._gathered.words if self._gathered is not None else []
        self._gathered = None
        detail = (
            _with_rest(words) if words and api != UPDATE_METADATA else f"{count} partitions" if count else "no partitions"
        )
        if api == UPDATE_METADATA:
            detail = f"{detail}; {len(self.term.alive)} brokers are alive"
        for broker in brokers:
            fields = EventFields(broker_id=broker, event=api, count=count, detail=detail)
            if api == UPDATE_METADATA:
                fields["live_broker_count"] = len(self.term.alive)
            if self.term.epoch is not None:
                fields["controller_epoch"] = self.term.epoch
            yield ParsedEvent(EventKind.REQUEST_SENT, fields)

    def _replica_changed(self, topic: str, after: str) -> Iterator[ParsedEvent]:
        """Report a deletion as completing when a first replica becomes NonExistentReplica: none is left to wait for."""
        if after == "NonExistentReplica" and topic in self.term.deleting:
            self.term.deleting.discard(topic)
            detail = f"deletion of topic {topic} completing: every replica is deleted, so its znodes go"
            yield ParsedEvent(
                EventKind.TOPIC_DELETION, EventFields(topic=topic, step=TopicDeletionStep.COMPLETING.value, detail=detail)
            )


def _described(message: LeaderAndIsrSent) -> str:
    state = message.state
    leader = "no leader" if state.leader < 0 else f"leader {state.leader}"
    is_new = ", new" if message.is_new else ""
    return f"{message.tp}: {leader}, leader epoch {state.leader_epoch}, ISR {list(state.isr)}{is_new}"


def _answered(message: ResponseLogged) -> Iterator[ParsedEvent]:
    """Report a response, unless it has an error code that our own controller does not know."""
    fields = EventFields(broker_id=message.broker, event=message.api)
    try:
        if message.error:
            fields["error"] = ErrorCode(message.error).name
        refusals: list[tuple[TopicPartition, ErrorCode]] = [(tp, ErrorCode(code)) for tp, code in message.refusals]
    except ValueError:
        return
    if refusals:
        fields |= refusal_fields(refusals)
    yield ParsedEvent(EventKind.RESPONSE_RECEIVED, fields)


def _change_failed(fields: EventFields, exception: str, text: str) -> ParsedEvent:
    error, why = exception_of(exception)
    fields["error"], fields["detail"] = OURS.get(error, error), why or text
    return ParsedEvent(EventKind.STATE_CHANGE_FAILED, fields)


def _with_rest(words: list[str]) -> str:
    listed, more = "; ".join(words[:MAX_PARTITIONS_LISTED]), len(words) - MAX_PARTITIONS_LISTED
    return f"{listed}; and {more} more" if more > 0 else listed
