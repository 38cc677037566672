"""Turn a broker's controller.log into events: failovers, lost elections, broker and topic changes, deletions, shutdowns.

Won elections, leaders and ISRs come from ZooKeeper's transaction log instead. Source: docs/kafka/logging.md 5.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never, get_args

from kcsim.brokers.apache_kafka.log_feed.controller_term import ControllerTerm
from kcsim.brokers.apache_kafka.log_feed.parsed_event import ParsedEvent, exception_of
from kcsim.brokers.apache_kafka.log_lines.activity_messages import (
    BrokersFailed,
    BrokersStarted,
    BrokerUnreachable,
    ControllerExists,
    ControllerReady,
    ControllerTermBegun,
    DeletionHalted,
    DeletionRefused,
    DeletionStarted,
    ElectedControllerResigned,
    ElectionLost,
    EventFailed,
    FailoverStep,
    ImbalanceMeasured,
    LeadersListed,
    PartitionsFound,
    Resigning,
    StateChangesFailed,
    TakeoverFailed,
)
from kcsim.brokers.apache_kafka.log_lines.controller_log import FAILOVER_STEPS, PATTERNS, speaker_and_text
from kcsim.brokers.apache_kafka.log_lines.messages import (
    BrokersAlive,
    BrokersChanged,
    BrokerShutsDown,
    ControllerMoved,
    ElectionTriggered,
    NoMessage,
    PartitionsAdded,
    TopicDeleted,
    TopicsChanged,
)
from kcsim.brokers.apache_kafka.log_lines.patterns import PatternTable
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.step_names import ControllerFailoverStep, TopicDeletionStep
from kcsim.text import summarize
from kcsim.vocabulary import TopicPartition
from kcsim.znodes import paths

RoleMessage = (
    ControllerTermBegun
    | ElectionLost
    | ControllerExists
    | ElectedControllerResigned
    | FailoverStep
    | ControllerReady
    | PartitionsFound
    | Resigning
    | ControllerMoved
    | EventFailed
    | TakeoverFailed
    | StateChangesFailed
)
BrokerMessage = (
    BrokersAlive | BrokersChanged | BrokersStarted | BrokersFailed | BrokerShutsDown | LeadersListed | BrokerUnreachable
)
TopicMessage = (
    TopicsChanged
    | PartitionsAdded
    | DeletionStarted
    | DeletionHalted
    | DeletionRefused
    | TopicDeleted
    | ImbalanceMeasured
    | ElectionTriggered
)
TABLE: PatternTable[RoleMessage | BrokerMessage | TopicMessage] = PatternTable(
    PATTERNS, get_args(RoleMessage | BrokerMessage | TopicMessage)
)

NO_CONTROLLER = -1
REFUSED = "/controller or /controller_epoch changed first: the multi was refused"
FENCED = "Controller epoch zkVersion check fails."
READY = ControllerFailoverStep.READY.value
OURS = {
    "Deleting log dir event notifications": ControllerFailoverStep.DELETING_NOTIFICATIONS.value,
    "Initializing replica state": ControllerFailoverStep.STARTING_REPLICA_STATE_MACHINE.value,
    "Initializing partition state": ControllerFailoverStep.STARTING_PARTITION_STATE_MACHINE.value,
    "Partitions undergoing preferred replica election: ": ControllerFailoverStep.STARTING_PREFERRED_ELECTION.value,
}
STEPS = {words: OURS.get(words, words) for words in FAILOVER_STEPS}
"""Kafka's wording -> the step's name in our own controller. Kafka does not log two of the steps in which our controller
resumes work in a failover."""

NAMED_BY_ALL = (
    "PartitionModifications",
    "BrokerModifications",
    "PartitionReassignmentIsrChange",
    "TopicUncleanLeaderElectionEnable",
)
NAMED_BY_FIRST = ("TopicDeletionStopReplicaResponseReceived", "ControlledShutdown")
NAMED_BY_LAST = ("LeaderAndIsrResponseReceived", "UpdateMetadataResponseReceived")
"""Controller events whose name includes their subject: a topic, a partition or a broker. Kafka prints all fields of an
event, including whole responses and the addresses of functions."""

NO_CONTROLLER = -1


class ControllerLines:
    """Reads one broker's controller.log."""

    def __init__(self, broker_id: int, term: ControllerTerm) -> None:
        self.broker_id = broker_id
        self.term = term

    def read(self, printed: str, exception: str) -> list[ParsedEvent]:
        """Return the events that a message describes."""
        found = speaker_and_text(printed, exception)
        if found is None:
            return []
        speaker, text = found
        message = TABLE.read(text, speaker)
        if isinstance(message, NoMessage):
            return []
        if isinstance(message, RoleMessage):
            return list(self._of_role(message, text))
        return list(self._of_brokers(message, text) if isinstance(message, BrokerMessage) else self._of_topics(message))

    # --- the role

    def _of_role(self, message: RoleMessage, text: str) -> Iterator[ParsedEvent]:
        match message:
            case ControllerTermBegun(epoch):
                self.term.begin(epoch)
            case ElectionLost(holder, error):
                yield _election_lost(holder, REFUSED, exception_of(error)[1] or text)
            case ControllerExists(holder):
                detail = f"Broker {holder} has been elected as the controller already"
                yield _election_lost(holder, "/controller exists: stop", detail)
            case ElectedControllerResigned():
                yield _election_lost(NO_CONTROLLER, REFUSED, text)
            case FailoverStep(step):
                yield ParsedEvent(EventKind.CONTROLLER_FAILOVER, self._of_term(EventFields(step=STEPS[step])))
            case ControllerReady(epoch):
                yield self._ready(epoch)
            case PartitionsFound(count):
                self.term.partitions = count
            case Resigning():
                yield from self._resign()
            case ControllerMoved(_, event, error):
                yield from self._moved(event, exception_of(error)[1], text)
            case EventFailed(printed, exception):
                event, (error, why) = _name_of_event(printed), exception_of(exception)
                fields = EventFields(event=event, error=error, detail=f"Error processing event {event}: {why}")
                yield ParsedEvent(EventKind.CONTROLLER_EVENT_FAILED, fields)
            case TakeoverFailed(exception):
                error, why = exception_of(exception)
                detail = f"Error while electing or becoming controller on broker {self.broker_id}: {why}"
                yield ParsedEvent(EventKind.CONTROLLER_EVENT_FAILED, EventFields(error=error, detail=detail))
            case StateChangesFailed(what, after, exception):
                # One event for all state changes of one call: Kafka does not log which partitions or replicas failed.
                error, why = exception_of(exception)
                fields = EventFields(state=after, error=error, detail=f"moving {what} to {after} failed: {why}")
                yield ParsedEvent(EventKind.STATE_CHANGE_FAILED, fields)
            case _:
                assert_never(message)

    def _ready(self, epoch: int) -> ParsedEvent:
        fields = EventFields(
            step=READY,
            controller_id=self.broker_id,
            controller_epoch=epoch,
            brokers=sorted(self.term.alive),
            count=self.term.partitions,
            detail=f"{len(self.term.alive)} live brokers, {self.term.partitions} partitions",
        )
        return ParsedEvent(EventKind.CONTROLLER_FAILOVER, fields)

    def _resign(self) -> Iterator[ParsedEvent]:
        """Report the start of the resignation. Kafka logs its end later, while other threads go on.

        Brokers that were not the controller also log this line, when their session has expired and when they stop.
        """
        if self.term.epoch is not None:
            fields = EventFields(controller_id=self.broker_id, controller_epoch=self.term.epoch)
            yield ParsedEvent(EventKind.CONTROLLER_RESIGNED, fields)
        self.term.epoch = None

    def _moved(self, event: str | None, why: str, text: str) -> Iterator[ParsedEvent]:
        """Report a refused write, most often by the check of /controller_epoch's version, which is part of each write.

        The line of the state machine that made the write has no event; the line of the event that it processed follows.
        """
        if event is None:
            return
        if why.startswith(FENCED):
            fence = EventFields(path=paths.CONTROLLER_EPOCH, error="BADVERSION", outcome="not applied", detail=why)
            yield ParsedEvent(EventKind.ZK_WRITE_REFUSED, fence)
        yield ParsedEvent(EventKind.CONTROLLER_MOVED, EventFields(event=_name_of_event(event), detail=why or text))

    def _of_term(self, fields: EventFields) -> EventFields:
        if self.term.epoch is not None:
            fields["controller_epoch"] = self.term.epoch
        return fields

    # --- brokers

    def _of_brokers(self, message: BrokerMessage, text: str) -> Iterator[ParsedEvent]:
        match message:
            case BrokersAlive(_, brokers):
                self.term.alive = set(brokers)
            case BrokersChanged():
                yield _brokers_changed(message)
            case BrokersStarted(brokers):
                self.term.alive.update(brokers)
            case BrokersFailed(brokers):
                self.term.alive.difference_update(brokers)
            case BrokerShutsDown(_, broker):
                self.term.shutting_down = broker
            case LeadersListed(leaders):
                yield from self._shutdown_answered(leaders)
            case BrokerUnreachable(broker):
                fields = EventFields(broker_id=broker, error="NETWORK_EXCEPTION", detail=text)
                yield ParsedEvent(EventKind.REQUEST_FAILED, fields)
            case _:
                assert_never(message)

    def _shutdown_answered(self, leaders: Sequence[tuple[TopicPartition, int]]) -> Iterator[ParsedEvent]:
        """Report the answer to a controlled shutdown: the broker may still lead partitions that other replicas could lead.

        The controller lists all leaders when it is about to answer.
        """
        broker, self.term.shutting_down = self.term.shutting_down, None
        if broker is None:
            return
        remaining = [tp for tp, leader in leaders if leader == broker and self.term.replica_counts.get(tp, 2) > 1]
        detail = f"still leads {summarize(remaining)}" if remaining else "leads nothing that others could lead"
        fields = EventFields(
            step="answered", broker_id=broker, error="NONE", count=len(remaining), detail=f"broker {broker} {detail}"
        )
        yield ParsedEvent(EventKind.CONTROLLED_SHUTDOWN, fields)

    # --- topics and the balance of leaders

    def _of_topics(self, message: TopicMessage) -> Iterator[ParsedEvent]:
        match message:
            case TopicsChanged(_, assignments, deleted_topics, new_topics):
                new, gone = sorted(new_topics), sorted(deleted_topics)
                detail = f"new topics {new}, gone {gone}"
                fields = EventFields(count=len(assignments), new_topics=new, deleted_topics=gone, detail=detail)
                yield ParsedEvent(EventKind.TOPIC_CHANGE, fields)
            case PartitionsAdded(_, assignments):
                topic = next(iter(assignments)).topic if assignments else ""
                fields = EventFields(topic=topic, count=len(assignments), detail=f"{len(assignments)} partitions added")
                yield ParsedEvent(EventKind.TOPIC_CHANGE, fields)
            case DeletionStarted(topic):
                self.term.deleting.add(topic)
                yield _deletion(topic, TopicDeletionStep.STARTED, "all its replicas that are online are to go")
            case DeletionHalted(topics, reason):
                yield from (_deletion(topic, TopicDeletionStep.INELIGIBLE, f"it has {reason}") for topic in topics)
            case DeletionRefused(topics, reason):
                yield from (_deletion(topic, TopicDeletionStep.REFUSED, reason) for topic in topics)
            case TopicDeleted(_, topic):
                self.term.deleting.discard(topic)
                yield _deletion(topic, TopicDeletionStep.COMPLETED, "its name is free again")
            case ImbalanceMeasured(broker):
                self.term.imbalanced = broker
            case ElectionTriggered():
                yield from self._rebalance(message)
            case _:
                assert_never(message)

    def _rebalance(self, message: ElectionTriggered) -> Iterator[ParsedEvent]:
        """Report a rebalance for the broker of the last logged imbalance ratio: the controller checks brokers one by one.

        Elections that an administrator has requested are no rebalance.
        """
        if self.term.imbalanced is None or (message.kind, message.trigger) != ("PREFERRED", "AutoTriggered"):
            return
        tps = message.partitions
        detail = f"elect the preferred leader of {summarize(tps)}" if tps else "none of them can be led by it"
        yield ParsedEvent(
            EventKind.LEADER_REBALANCE, EventFields(broker_id=self.term.imbalanced, count=len(tps), detail=detail)
        )


def _election_lost(holder: int, rule: str, detail: str) -> ParsedEvent:
    return ParsedEvent(EventKind.ELECTION_LOST, EventFields(controller_id=holder, rule=rule, detail=detail))


def _brokers_changed(message: BrokersChanged) -> ParsedEvent:
    started, stopped, bounced = list(message.added), list(message.deleted), list(message.bounced)
    fields = EventFields(
        brokers=list(message.alive),
        started=started,
        stopped=stopped,
        bounced=bounced,
        detail=f"started {started}, stopped {stopped}, bounced {bounced}",
    )
    return ParsedEvent(EventKind.BROKER_CHANGE, fields)


def _name_of_event(printed: str) -> str:
    """Return the event's name as our own controller prints it, such as PartitionModifications(orders) or BrokerChange."""
    name, _, content = printed.removesuffix(")").partition("(")
    if not content or name in NAMED_BY_ALL:
        return printed
    if name in NAMED_BY_FIRST:
        return f"{name}({content.partition(',')[0]})"
    return f"{name}({content.rpartition(',')[2]})" if name in NAMED_BY_LAST else name


def _deletion(topic: str, step: TopicDeletionStep, why: str) -> ParsedEvent:
    fields = EventFields(topic=topic, step=step.value, detail=f"deletion of topic {topic} {step}: {why}")
    return ParsedEvent(EventKind.TOPIC_DELETION, fields)
