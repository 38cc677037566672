"""state-change.log of a running broker, its lines as controller, as events: what it sends, is answered, and fails to do.

A request is told as one event, whatever number of lines it takes: up to 2.5 a line for each partition and no other, from 2.6
on a line that sums up. Leaders and ISRs that were written are told by ZooKeeper's transaction log, not here.

Source: reference logging.md 3, whose numbers (C1, C2, …) the patterns carry.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kcsim.controller.request_words import TOLD_AT_MOST, said_of_refusals
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.imported.kafka_logs.renderings import ids_in, names_in, partition_in, partitions_in, state_in
from kcsim.scenarios.imported.kafka_logs.state_change_log import LAI_ASSIGNMENT
from kcsim.scenarios.on_kafka.log_lines import STOP_STATE, Fact, Found, Lines, Term, exception_of, says
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.vocabulary import TopicPartition
from kcsim.zk.wording import named

LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA = "LeaderAndIsr", "UpdateMetadata", "StopReplica"
APIS = {"LEADER_AND_ISR": LEADER_AND_ISR, "UPDATE_METADATA": UPDATE_METADATA, "STOP_REPLICA": STOP_REPLICA}
OURS = {"StateChangeFailedException": "StateChangeFailedError"}
"""Errors that our controller has under another name than Kafka's."""

PARTITION_ERROR = re.compile(r"topicName='([^']+)', partitionIndex=(\d+), errorCode=(-?\d+)")
RESPONSE_ERROR = re.compile(r"errorCode=(-?\d+)")


@dataclass
class Gathered:
    """Lines about the partitions of one request; `words` has one entry for each."""

    api: str
    brokers: tuple[int, ...]
    words: list[str] = field(default_factory=list)


class DecisionLines:
    """Reads what one broker writes as controller. What is gathered waits for the line that ends it, or for `settle`."""

    def __init__(self, term: Term) -> None:
        self.term = term
        self._gathered: Gathered | None = None

    @property
    def is_gathering(self) -> bool:
        return self._gathered is not None

    def read(self, text: str, exception: str) -> list[Fact]:
        """What a message says."""
        return LINES.read(self, text, exception)

    def end_before(self, text: str) -> list[Fact]:
        """What the lines before a message tell together, if it is not one of them. Call it before `read`.

        Answers are written by other threads than the one that decides, and end nothing.
        """
        return [] if text.startswith(("Sending ", "Received ")) else self.settle()

    def settle(self) -> list[Fact]:
        """Nothing more has been written for a while: what was gathered is all there will be."""
        gathered = self._gathered
        return [] if gathered is None else list(self._sent(gathered.api, gathered.brokers, len(gathered.words)))

    # --- the controller: what it sends

    def sends_state(self, found: Found, _: str) -> Iterator[Fact]:  # C6
        tp, text = partition_in(found["tp"]), found["state"]
        state, replicas = state_in(text), LAI_ASSIGNMENT.search(text)
        if replicas is not None:
            self.term.replica_counts[tp] = len(ids_in(replicas[1]))
        leader = "no leader" if state.leader < 0 else f"leader {state.leader}"
        is_new = ", new" if "isNew=true" in text else ""
        told = f"{tp}: {leader}, leader epoch {state.leader_epoch}, ISR {list(state.isr)}{is_new}"
        yield from self._gather(LEADER_AND_ISR, (int(found["broker"]),), told)

    def sends_metadata(self, found: Found, _: str) -> Iterator[Fact]:  # C8
        brokers = tuple(sorted(int(name) for name in names_in(found["brokers"])))
        yield from self._gather(UPDATE_METADATA, brokers, found["tp"])

    def sends_stop(self, found: Found, _: str) -> Iterator[Fact]:  # C10
        state = STOP_STATE.search(found["state"])
        told = f"leader epoch {state['epoch']}{', delete' if state['delete'] == 'true' else ''}" if state else "stop"
        yield from self._gather(STOP_REPLICA, (int(found["broker"]),), f"{found['tp']}: {told}")

    def has_sent_states(self, found: Found, _: str) -> Iterator[Fact]:  # C7
        count = int(found["leaders"]) + int(found["followers"])
        yield from self._sent(LEADER_AND_ISR, (int(found["broker"]),), count)

    def has_sent_metadata(self, found: Found, _: str) -> Iterator[Fact]:  # C9
        brokers = tuple(sorted(int(name) for name in names_in(found["brokers"])))
        yield from self._sent(UPDATE_METADATA, brokers, int(found["count"]))

    def has_sent_stops(self, found: Found, _: str) -> Iterator[Fact]:  # C11
        yield from self._sent(STOP_REPLICA, (int(found["broker"]),), int(found["count"]))

    def _gather(self, api: str, brokers: tuple[int, ...], told: str) -> Iterator[Fact]:
        gathered = self._gathered
        if gathered is not None and (gathered.api, gathered.brokers) != (api, brokers):
            yield from self._sent(gathered.api, gathered.brokers, len(gathered.words))
        if self._gathered is None:
            self._gathered = Gathered(api, brokers)
        self._gathered.words.append(told)

    def _sent(self, api: str, brokers: tuple[int, ...], count: int) -> Iterator[Fact]:
        words = self._gathered.words if self._gathered is not None else []
        self._gathered = None
        detail = (
            _with_rest(words) if words and api != UPDATE_METADATA else f"{count} partitions" if count else "no partitions"
        )
        if api == UPDATE_METADATA:
            detail = f"{detail}; {len(self.term.alive)} brokers are alive"
        for broker in brokers:
            fields = EventFields(broker_id=broker, event=api, count=count, detail=detail)
            if self.term.epoch is not None:
                fields["controller_epoch"] = self.term.epoch
            yield Fact(EventKind.REQUEST_SENT, fields)

    def answered(self, found: Found, _: str) -> Iterator[Fact]:  # C12
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
            fields["count"], fields["detail"] = len(refusals), said_of_refusals(refusals)
        yield Fact(EventKind.RESPONSE_RECEIVED, fields)

    # --- the controller: what becomes of partitions and replicas

    def replica_changed(self, found: Found, _: str) -> Iterator[Fact]:  # C4
        """The first replica of a topic being deleted that is forgotten: none is left to wait for."""
        topic = partition_in(found["tp"]).topic
        if found["state"] == "NonExistentReplica" and topic in self.term.deleting:
            self.term.deleting.discard(topic)
            detail = f"deletion of topic {topic} completing: every replica is deleted, so its znodes go"
            yield Fact(EventKind.TOPIC_DELETION, EventFields(topic=topic, step="completing", detail=detail))

    def change_failed(self, found: Found, exception: str) -> Iterator[Fact]:  # C14, C15
        tp, (error, why) = partition_in(found["tp"]), exception_of(exception)
        fields = EventFields(topic=tp.topic, partition=tp.partition, state=found["state"], error=OURS.get(error, error))
        if broker := found.groupdict().get("replica"):
            fields["broker_id"] = int(broker)
        fields["detail"] = why or found.string
        yield Fact(EventKind.STATE_CHANGE_FAILED, fields)

    def marks_offline(self, found: Found, _: str) -> Iterator[Fact]:  # C17
        tps, broker = partitions_in(found["tps"]), int(found["broker"])
        detail = f"replicas of {named(tps)} on {broker} are in a failed log directory"
        yield Fact(EventKind.LOG_DIR_FAILED, EventFields(broker_id=broker, count=len(tps), detail=detail))


def _with_rest(words: list[str]) -> str:
    told, more = "; ".join(words[:TOLD_AT_MOST]), len(words) - TOLD_AT_MOST
    return f"{told}; and {more} more" if more > 0 else told


D = DecisionLines
TP = r"(?P<tp>\S+)"
TO = r"to broker (?P<broker>-?\d+)"
BROKERS = r"(?P<brokers>\w+\([\d, ]*\))"

LINES: Lines[DecisionLines] = Lines(
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
