"""Turn a broker's controller.log into events: failovers, lost elections, broker and topic changes, deletions, shutdowns.

Won elections, leaders and ISRs come from ZooKeeper's transaction log instead. Source: docs/kafka/logging.md 5.
"""

import re
from collections.abc import Iterator

from kcsim.brokers.apache_kafka.log_feed.log_lines import (
    ControllerTerm,
    Found,
    ParsedEvent,
    PatternTable,
    exception_of,
    says,
)
from kcsim.brokers.apache_kafka.log_import.controller_log import PREFIX
from kcsim.brokers.apache_kafka.log_import.log_value_parsers import assignments_in, ids_in, names_in, partitions_in
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.text import summarize
from kcsim.vocabulary import TopicPartition
from kcsim.znodes import paths

REFUSED = "/controller or /controller_epoch changed first: the multi was refused"
FENCED = "Controller epoch zkVersion check fails."
READY = "Ready to serve as the new controller"
STEPS = {
    "Registering handlers": "Registering handlers",
    "Deleting log dir event notifications": "Deleting log dir event and isr change notifications",
    "Initializing controller context": "Initializing controller context",
    "Fetching topic deletions in progress": "Fetching topic deletions in progress",
    "Sending update metadata request": "Sending update metadata request",
    "Initializing replica state": "Starting replica state machine",
    "Initializing partition state": "Starting partition state machine",
    "Partitions undergoing preferred replica election: ": "Starting preferred replica leader election",
    "Starting the controller scheduler": "Starting the controller scheduler",
}
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
LEADING = re.compile(r"([^\s,]+-\d+) -> \(Leader:(-?\d+),")
IN_STATE = re.compile(r" -> \w+Partition\b")


class ControllerLines:
    """Reads one broker's controller.log."""

    def __init__(self, broker_id: int, term: ControllerTerm) -> None:
        self.broker_id = broker_id
        self.term = term

    def read(self, message: str, exception: str) -> list[ParsedEvent]:
        """Return the events that a message describes."""
        prefix = PREFIX.match(message)
        if prefix is None:
            return []
        # After the prefix, some messages start with the broker's id; it is removed, because the lookup goes by first word.
        return LINES.read(self, message[prefix.end() :].removeprefix(f"{self.broker_id} "), exception)

    # --- the role

    def won(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self.term.begin(int(found["epoch"]))
        yield from ()

    def lost(self, found: Found, exception: str) -> Iterator[ParsedEvent]:
        holder = int(found["holder"])
        detail = exception_of(exception)[1] or found.string
        yield ParsedEvent(EventKind.ELECTION_LOST, EventFields(controller_id=holder, rule=REFUSED, detail=detail))

    def resigned_meanwhile(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        yield ParsedEvent(
            EventKind.ELECTION_LOST, EventFields(controller_id=NO_CONTROLLER, rule=REFUSED, detail=found.string)
        )

    def held_already(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        holder = int(found["holder"])
        detail = f"Broker {holder} has been elected as the controller already"
        yield ParsedEvent(
            EventKind.ELECTION_LOST, EventFields(controller_id=holder, rule="/controller exists: stop", detail=detail)
        )

    def step(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        prefix = next(words for words in STEPS if found.string.startswith(words))
        yield ParsedEvent(EventKind.CONTROLLER_FAILOVER, self._of_term(EventFields(step=STEPS[prefix])))

    def ready(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        fields = EventFields(
            step=READY,
            controller_id=self.broker_id,
            controller_epoch=int(found["epoch"]),
            brokers=sorted(self.term.alive),
            count=self.term.partitions,
            detail=f"{len(self.term.alive)} live brokers, {self.term.partitions} partitions",
        )
        yield ParsedEvent(EventKind.CONTROLLER_FAILOVER, fields)

    def found_brokers(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self.term.alive = {int(name) for name in names_in(found["brokers"])}
        yield from ()

    def found_partitions(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self.term.partitions = len(IN_STATE.findall(found["states"]))
        yield from ()

    def resigns(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        """Report the start of the resignation. Kafka logs its end later, while other threads go on.

        Brokers that were not the controller also log this line, when their session has expired and when they stop.
        """
        if self.term.epoch is not None:
            fields = EventFields(controller_id=self.broker_id, controller_epoch=self.term.epoch)
            yield ParsedEvent(EventKind.CONTROLLER_RESIGNED, fields)
        self.term.epoch = None

    def moved(self, found: Found, exception: str) -> Iterator[ParsedEvent]:
        """Report a refused write, most often by the check of /controller_epoch's version, which is part of each write."""
        why = exception_of(exception)[1]
        if why.startswith(FENCED):
            fence = EventFields(path=paths.CONTROLLER_EPOCH, error="BADVERSION", outcome="not applied", detail=why)
            yield ParsedEvent(EventKind.ZK_WRITE_REFUSED, fence)
        fields = EventFields(event=_name_of_event(found["event"]), detail=why or found.string)
        yield ParsedEvent(EventKind.CONTROLLER_MOVED, fields)

    def failed(self, found: Found, exception: str) -> Iterator[ParsedEvent]:
        event, (error, why) = _name_of_event(found["event"]), exception_of(exception)
        fields = EventFields(event=event, error=error, detail=f"Error processing event {event}: {why}")
        yield ParsedEvent(EventKind.CONTROLLER_EVENT_FAILED, fields)

    def failed_to_take_over(self, found: Found, exception: str) -> Iterator[ParsedEvent]:
        error, why = exception_of(exception)
        detail = f"Error while electing or becoming controller on broker {self.broker_id}: {why}"
        yield ParsedEvent(EventKind.CONTROLLER_EVENT_FAILED, EventFields(error=error, detail=detail))

    def moves_failed(self, found: Found, exception: str) -> Iterator[ParsedEvent]:
        """Report one event for all state changes of one call: Kafka does not log which partitions or replicas failed."""
        error, why = exception_of(exception)
        detail = f"moving {found['what']} to {found['state']} failed: {why}"
        yield ParsedEvent(EventKind.STATE_CHANGE_FAILED, EventFields(state=found["state"], error=error, detail=detail))

    # --- brokers

    def brokers_changed(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        started, stopped, bounced = (list(ids_in(found[group] or "")) for group in ("added", "deleted", "bounced"))
        fields = EventFields(
            brokers=list(ids_in(found["alive"])),
            started=started,
            stopped=stopped,
            bounced=bounced,
            detail=f"started {started}, stopped {stopped}, bounced {bounced}",
        )
        yield ParsedEvent(EventKind.BROKER_CHANGE, fields)

    def started(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self.term.alive.update(ids_in(found["brokers"]))
        yield from ()

    def stopped(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self.term.alive.difference_update(ids_in(found["brokers"]))
        yield from ()

    def shuts_down(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self.term.shutting_down = int(found["broker"])
        yield from ()

    def let_go(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        """Report the answer to a controlled shutdown: the broker may still lead partitions that other replicas could lead.

        The controller lists all leaders when it is about to answer.
        """
        broker, self.term.shutting_down = self.term.shutting_down, None
        if broker is None:
            return
        remaining = [
            name for name, leader in LEADING.findall(found["leaders"]) if int(leader) == broker and self._has_others(name)
        ]
        detail = f"still leads {summarize(remaining)}" if remaining else "leads nothing that others could lead"
        fields = EventFields(
            step="answered", broker_id=broker, error="NONE", count=len(remaining), detail=f"broker {broker} {detail}"
        )
        yield ParsedEvent(EventKind.CONTROLLED_SHUTDOWN, fields)

    def _has_others(self, name: str) -> bool:
        topic, _, partition = name.rpartition("-")
        return self.term.replica_counts.get(TopicPartition(topic, int(partition)), 2) > 1

    def unreachable(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        fields = EventFields(broker_id=int(found["broker"]), error="NETWORK_EXCEPTION", detail=found.string)
        yield ParsedEvent(EventKind.REQUEST_FAILED, fields)

    # --- topics

    def topics_changed(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        new, gone = sorted(names_in(found["new"])), sorted(names_in(found["gone"]))
        count = len(assignments_in(found["assignments"]))
        fields = EventFields(count=count, new_topics=new, deleted_topics=gone, detail=f"new topics {new}, gone {gone}")
        yield ParsedEvent(EventKind.TOPIC_CHANGE, fields)

    def partitions_added(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        added = assignments_in(found["assignments"])
        topic = next(iter(added)).topic if added else ""
        fields = EventFields(topic=topic, count=len(added), detail=f"{len(added)} partitions added")
        yield ParsedEvent(EventKind.TOPIC_CHANGE, fields)

    def deletion_started(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self.term.deleting.add(found["topic"])
        yield _deletion(found["topic"], "started", "all its replicas that are online are to go")

    def deletion_halted(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        for topic in names_in(found["topics"]):
            yield _deletion(topic, "ineligible", f"it has {found['why']}")

    def deletion_refused(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        for topic in names_in(found["topics"]):
            yield _deletion(topic, "refused", found["why"])

    def deletion_completed(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self.term.deleting.discard(found["topic"])
        yield _deletion(found["topic"], "completed", "its name is free again")

    # --- the balance of leaders

    def imbalance_found(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self.term.imbalanced = int(found["broker"])
        yield from ()

    def rebalances(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        """Report a rebalance for the broker of the last logged imbalance ratio: the controller checks brokers one by one."""
        if self.term.imbalanced is None:
            return
        tps = partitions_in(found["tps"])
        detail = f"elect the preferred leader of {summarize(tps)}" if tps else "none of them can be led by it"
        yield ParsedEvent(
            EventKind.LEADER_REBALANCE, EventFields(broker_id=self.term.imbalanced, count=len(tps), detail=detail)
        )

    def _of_term(self, fields: EventFields) -> EventFields:
        if self.term.epoch is not None:
            fields["controller_epoch"] = self.term.epoch
        return fields


def _name_of_event(printed: str) -> str:
    """Return the event's name as our own controller prints it, such as PartitionModifications(orders) or BrokerChange."""
    name, _, content = printed.removesuffix(")").partition("(")
    if not content or name in NAMED_BY_ALL:
        return printed
    if name in NAMED_BY_FIRST:
        return f"{name}({content.partition(',')[0]})"
    return f"{name}({content.rpartition(',')[2]})" if name in NAMED_BY_LAST else name


def _deletion(topic: str, step: str, why: str) -> ParsedEvent:
    fields = EventFields(topic=topic, step=step, detail=f"deletion of topic {topic} {step}: {why}")
    return ParsedEvent(EventKind.TOPIC_DELETION, fields)


C = ControllerLines
LINES: PatternTable[ControllerLines] = PatternTable(
    # election won; the two ways in which an election is lost
    says("successfully elected as the controller. ", r"Epoch incremented to (?P<epoch>\d+) and .*", C.won),
    says("Broker ", r"(?P<holder>\d+) was elected as controller instead of broker \d+", C.lost),
    says(
        "Broker ", r"(?P<holder>\d+) has been elected as the controller, so stopping the election process\.", C.held_already
    ),
    says("A controller has been elected but just resigned", ".*", C.resigned_meanwhile),
    # failover
    *(says(words, ".*" if words.endswith(" ") else "", C.step) for words in STEPS),
    says(f"{READY} with epoch ", r"(?P<epoch>\d+)", C.ready),
    says("Currently active brokers in the cluster: ", r"(?P<brokers>\w+\([\d, ]*\))", C.found_brokers),
    says("Started partition state machine with initial state -> ", r"(?P<states>.*)", C.found_partitions),
    # resign, moved, failures
    says("Resigning", "", C.resigns),
    says("Controller moved to another broker when processing ", r"(?P<event>.+?)\.?", C.moved),
    says("Error processing event ", r"(?P<event>.+)", C.failed),
    says("Error while electing or becoming controller on broker ", ".*", C.failed_to_take_over),
    says("Error while moving some ", r"(?P<what>replicas|partitions) to (?P<state>\w+) state", C.moves_failed),
    # broker change, shutting down, channels
    says(
        "Newly added brokers: ",
        r"(?P<added>[\d,]*), deleted brokers: (?P<deleted>[\d,]*)(?:, bounced brokers: (?P<bounced>[\d,]*))?"
        r", all live brokers: (?P<alive>[\d,]*)",
        C.brokers_changed,
    ),
    says("New broker startup callback for ", r"(?P<brokers>[\d,]+)", C.started),
    says("Broker failure callback for ", r"(?P<brokers>[\d,]+)", C.stopped),
    says("Shutting down broker ", r"(?P<broker>\d+)", C.shuts_down),
    says("All leaders = ", r"(?P<leaders>.*)", C.let_go),
    says("Controller ", r"\d+'s connection to broker .*\(id: (?P<broker>\d+) .*\) was unsuccessful", C.unreachable),
    says("Controller ", r"\d+ epoch \d+ fails to send request .*\(id: (?P<broker>\d+) .*\)\. Reconnecting.*", C.unreachable),
    # topics
    says(
        "New topics: ",
        r"\[(?P<new>\w+\(.*?\))\], deleted topics: \[(?P<gone>\w+\(.*?\))\], new partition replica assignment "
        r"\[(?P<assignments>.*)\]",
        C.topics_changed,
    ),
    says("New partitions to be added ", r"(?P<assignments>\w+\(.*\))", C.partitions_added),
    # deletion
    says("Deletion of topic ", r"(?P<topic>\S+) \(re\)started", C.deletion_started),
    says("Deletion of topic ", r"(?P<topic>\S+) successfully completed", C.deletion_completed),
    says("Halted deletion of topics ", r"(?P<topics>\S+) due to (?P<why>.*)", C.deletion_halted),
    says("Ignoring request to delete ", r"(?P<why>non-existing topics) (?P<topics>\S+)", C.deletion_refused),
    says("Removing ", r"(?P<topics>\w+\(.*\)) since (?P<why>delete topic is disabled)", C.deletion_refused),
    # auto balance
    says("Leader imbalance ratio for broker ", r"(?P<broker>\d+) is .*", C.imbalance_found),
    says(
        "Starting replica leader election (PREFERRED) for partitions ",
        r"(?P<tps>\S*) triggered by AutoTriggered",
        C.rebalances,
    ),
)
