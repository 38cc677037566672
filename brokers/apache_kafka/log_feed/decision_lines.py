"""Turn the controller's lines in a running broker's state-change.log into events: requests, responses and failures.

A request becomes one event, however many lines it takes: up to 2.5 there is one line per partition and no other; from 2.6 on
a summary line follows. Leader and ISR writes come from ZooKeeper's transaction log, not from here.

Source: docs/kafka/logging.md 3, whose numbers (C1, C2, …) the patterns carry.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kcsim.brokers.apache_kafka.log_feed.log_lines import (
    STOP_STATE,
    ControllerTerm,
    Found,
    ParsedEvent,
    PatternTable,
    exception_of,
    says,
)
from kcsim.brokers.apache_kafka.log_import.log_value_parsers import ids_in, names_in, partition_in, partitions_in, state_in
from kcsim.brokers.apache_kafka.log_import.state_change_log import LAI_ASSIGNMENT
from kcsim.controller.request_descriptions import MAX_PARTITIONS_LISTED, refusal_fields
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.text import summarize
from kcsim.vocabulary import TopicPartition

LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA = "LeaderAndIsr", "UpdateMetadata", "StopReplica"
APIS = {"LEADER_AND_ISR": LEADER_AND_ISR, "UPDATE_METADATA": UPDATE_METADATA, "STOP_REPLICA": STOP_REPLICA}
OURS = {"StateChangeFailedException": "StateChangeFailedError"}
"""Errors that have another name in our controller than in Kafka's."""

PARTITION_ERROR = re.compile(r"topicName='([^']+)', partitionIndex=(\d+), errorCode=(-?\d+)")
RESPONSE_ERROR = re.compile(r"errorCode=(-?\d+)")


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

    def read(self, text: str, exception: str) -> list[ParsedEvent]:
        """Return the events that a message describes."""
        return LINES.read(self, text, exception)

    def end_before(self, text: str) -> list[ParsedEvent]:
        """Return the event of the collected lines if this message does not belong to them. Call it before `read`.

        Responses are logged by other threads than the controller event thread, so they do not end a request's lines.
        """
        return [] if text.startswith(("Sending ", "Received ")) else self.settle()

    def settle(self) -> list[ParsedEvent]:
        """Return the event of the collected lines. Call it when nothing has been written for a while: they are complete."""
        gathered = self._gathered
        return [] if gathered is None else list(self._sent(gathered.api, gathered.brokers, len(gathered.words)))

    # --- the requests that the controller sends

    def sends_state(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # C6
        tp, text = partition_in(found["tp"]), found["state"]
        state, replicas = state_in(text), LAI_ASSIGNMENT.search(text)
        if replicas is not None:
            self.term.replica_counts[tp] = len(ids_in(replicas[1]))
        leader = "no leader" if state.leader < 0 else f"leader {state.leader}"
        is_new = ", new" if "isNew=true" in text else ""
        described = f"{tp}: {leader}, leader epoch {state.leader_epoch}, ISR {list(state.isr)}{is_new}"
        yield from self._gather(LEADER_AND_ISR, (int(found["broker"]),), described)

    def sends_metadata(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # C8
        brokers = tuple(sorted(int(name) for name in names_in(found["brokers"])))
        yield from self._gather(UPDATE_METADATA, brokers, found["tp"])

    def sends_stop(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # C10
        state = STOP_STATE.search(found["state"])
        described = f"leader epoch {state['epoch']}{', delete' if state['delete'] == 'true' else ''}" if state else "stop"
        yield from self._gather(STOP_REPLICA, (int(found["broker"]),), f"{found['tp']}: {described}")

    def has_sent_states(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # C7
        count = int(found["leaders"]) + int(found["followers"])
        yield from self._sent(LEADER_AND_ISR, (int(found["broker"]),), count)

    def has_sent_metadata(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # C9
        brokers = tuple(sorted(int(name) for name in names_in(found["brokers"])))
        yield from self._sent(UPDATE_METADATA, brokers, int(found["count"]))

    def has_sent_stops(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # C11
        yield from self._sent(STOP_REPLICA, (int(found["broker"]),), int(found["count"]))

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

    def answered(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # C12
        body = found["body"]
        fields = EventFields(broker_id=int(found["broker"]), event=APIS[found["api"]])
        if (error := RESPONSE_ERROR.search(body)) is not None and error[1] != "0":
            fields["error"] = ErrorCode(int(error[1])).name
        refusals = [
            (TopicPartition(topic, int(partition)), ErrorCode(int(number)))
            for topic, partition, number in PARTITION_ERROR.findall(body)
            if number != "0"
        ]
        if refusals:
            fields |= refusal_fields(refusals)
        yield ParsedEvent(EventKind.RESPONSE_RECEIVED, fields)

    # --- state changes of partitions and replicas

    def replica_changed(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # C4
        """Report a deletion as completing when a first replica becomes NonExistentReplica: none is left to wait for."""
        topic = partition_in(found["tp"]).topic
        if found["state"] == "NonExistentReplica" and topic in self.term.deleting:
            self.term.deleting.discard(topic)
            detail = f"deletion of topic {topic} completing: every replica is deleted, so its znodes go"
            yield ParsedEvent(EventKind.TOPIC_DELETION, EventFields(topic=topic, step="completing", detail=detail))

    def change_failed(self, found: Found, exception: str) -> Iterator[ParsedEvent]:  # C14, C15
        tp, (error, why) = partition_in(found["tp"]), exception_of(exception)
        fields = EventFields(topic=tp.topic, partition=tp.partition, state=found["state"], error=OURS.get(error, error))
        if broker := found.groupdict().get("replica"):
            fields["broker_id"] = int(broker)
        fields["detail"] = why or found.string
        yield ParsedEvent(EventKind.STATE_CHANGE_FAILED, fields)

    def marks_offline(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # C17
        tps, broker = partitions_in(found["tps"]), int(found["broker"])
        detail = f"replicas of {summarize(tps)} on {broker} are in a failed log directory"
        yield ParsedEvent(EventKind.LOG_DIR_FAILED, EventFields(broker_id=broker, count=len(tps), detail=detail))


def _with_rest(words: list[str]) -> str:
    listed, more = "; ".join(words[:MAX_PARTITIONS_LISTED]), len(words) - MAX_PARTITIONS_LISTED
    return f"{listed}; and {more} more" if more > 0 else listed


D = DecisionLines
TP = r"(?P<tp>\S+)"
TO = r"to broker (?P<broker>-?\d+)"
BROKERS = r"(?P<brokers>\w+\([\d, ]*\))"

LINES: PatternTable[DecisionLines] = PatternTable(
    says("Changed state of replica ", rf"\d+ for partition {TP} from \w+ to (?P<state>\w+)", D.replica_changed),
    says("Sending become-", rf"\w+ LeaderAndIsr request (?P<state>.*) {TO} for partition {TP}", D.sends_state),
    says(
        "Sending LeaderAndIsr request ",
        rf"{TO} with (?P<leaders>\d+) become-leader and (?P<followers>\d+) become-follower partitions",
        D.has_sent_states,
    ),
    says("Sending UpdateMetadata request to brokers ", rf"{BROKERS} for (?P<count>\d+) partitions", D.has_sent_metadata),
    says(
        "Sending UpdateMetadata request ",
        rf"(?!to )\S*PartitionState\(.*\) to brokers {BROKERS} for partition {TP}",
        D.sends_metadata,
    ),
    says("Sending StopReplica request ", rf"(?:\(delete = \w+\) )?for (?P<count>\d+) replicas {TO}", D.has_sent_stops),
    says(
        "Sending StopReplica request ", rf"(?P<state>StopReplicaPartitionState\(.*\)) {TO} for partition {TP}", D.sends_stop
    ),
    says(
        "Received response ",
        r"(?P<body>.*) for request (?P<api>LEADER_AND_ISR|UPDATE_METADATA|STOP_REPLICA) with correlation id \d+ sent to "
        r"broker .*\(id: (?P<broker>\d+) .*\)",
        D.answered,
    ),
    says(
        "Controller ",
        rf"\d+ epoch \d+ failed to change state for partition {TP} from \w+ to (?P<state>\w+)",
        D.change_failed,
    ),
    says(
        "Controller ",
        rf"\d+ epoch \d+ initiated state change of replica (?P<replica>\d+) for partition {TP} from \w+ to (?P<state>\w+)"
        " failed",
        D.change_failed,
    ),
    says("Mark replicas ", r"(?P<tps>\S*) on broker (?P<broker>\d+) as offline", D.marks_offline),
)
