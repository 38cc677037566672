"""Turn the broker's lines in a running broker's state-change.log into events: its reactions to the controller's requests.

Source: docs/kafka/logging.md 4, whose numbers (B1, B2, …) the patterns carry.
"""

import re
from collections.abc import Iterator

from kcsim.brokers.apache_kafka.log_feed.log_lines import STOP_STATE, Found, ParsedEvent, PatternTable, says
from kcsim.brokers.apache_kafka.log_import.log_value_parsers import ids_in, partition_in, state_in
from kcsim.brokers.apache_kafka.log_import.state_change_log import LAI_ASSIGNMENT
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.vocabulary import TopicPartition

DELETED, KEPT = "deleted", "no longer fetched; its log stays"


class ReplicaLines:
    """Reads a broker's lines about its replicas.

    A stop waits for a line that refuses it, for any line outside StopReplica handling, or for `settle`.
    """

    def __init__(self) -> None:
        self._requested: dict[TopicPartition, EventFields] = {}  # the replica's state by the last LeaderAndIsr request
        self._stopping: dict[TopicPartition, EventFields] = {}

    @property
    def is_gathering(self) -> bool:
        return bool(self._stopping)

    def read(self, text: str, exception: str) -> list[ParsedEvent]:
        """Return the events that a message describes."""
        return LINES.read(self, text, exception)

    def end_before(self, text: str) -> list[ParsedEvent]:
        """Return the events of the collected lines if this message does not belong to them. Call it before `read`."""
        return [] if text.startswith(("Received StopReplica request ", "Ignoring StopReplica request ")) else self.settle()

    def settle(self) -> list[ParsedEvent]:
        """Return the collected stops. Kafka logs no successful stop: a stop succeeded if no later line refuses it."""
        stopping, self._stopping = self._stopping, {}
        return [
            ParsedEvent(EventKind.REPLICA_STOPPED, EventFields(topic=tp.topic, partition=tp.partition, **fields))
            for tp, fields in stopping.items()
        ]

    # --- LeaderAndIsr

    def requested(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # B2
        text = found["state"]
        state, replicas = state_in(text), LAI_ASSIGNMENT.search(text)
        tp = partition_in(found["tp"]) if found["tp"] else _named(text)
        fields = EventFields(
            topic=tp.topic,
            partition=tp.partition,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            controller_epoch=int(found["epoch"]),
            isr=list(state.isr),
            replicas=list(ids_in(replicas[1])) if replicas else [],
        )
        if state.zk_version is not None:
            fields["zk_version"] = state.zk_version
        self._requested[tp] = fields
        yield from ()

    def leads(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # B6; B8 up to 2.5
        yield from self._became(EventKind.BECAME_LEADER, found)

    def follows(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # B7; B8 up to 2.5
        yield from self._became(EventKind.BECAME_FOLLOWER, found)

    def _became(self, kind: EventKind, found: Found) -> Iterator[ParsedEvent]:
        requested = self._requested.pop(partition_in(found["tp"]), None)
        if requested is not None:
            yield ParsedEvent(kind, requested)

    def stays(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # B10, B12, B20, B21
        """Discard the request for a partition that ignores or skips it: its completion line (B8) then has no meaning."""
        self._requested.pop(partition_in(found["tp"]), None)
        yield from ()

    # --- StopReplica

    def stop_replica_requested(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # B22
        state = STOP_STATE.search(found["state"])
        if state is not None:
            fields = _stop_fields(state["delete"] == "true")
            self._stopping[partition_in(found["tp"])] = {**fields, "leader_epoch": int(state["epoch"])}
        yield from ()

    def does_not_stop(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # B14, B23
        self._stopping.pop(partition_in(found["tp"]), None)
        yield from ()

    def stops_none(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # B24
        self._stopping.clear()
        yield from ()

    def stops(self, found: Found, _: str) -> Iterator[ParsedEvent]:  # B13 up to 2.5
        tp = partition_in(found["tp"])
        fields = EventFields(topic=tp.topic, partition=tp.partition, **_stop_fields(found["delete"] == "true"))
        yield ParsedEvent(EventKind.REPLICA_STOPPED, fields)


def _stop_fields(is_deleted: bool) -> EventFields:
    return EventFields(deleted=is_deleted, detail=DELETED if is_deleted else KEPT)


NAMED = re.compile(r"topicName='([^']*)', partitionIndex=(\d+)")


def _named(text: str) -> TopicPartition:
    found = NAMED.search(text)
    if found is None:
        raise ValueError(f"{text!r} names no partition")
    return TopicPartition(found[1], int(found[2]))


R = ReplicaLines
TP = r"(?P<tp>\S+)"

LINES: PatternTable[ReplicaLines] = PatternTable(
    says(
        "Received LeaderAndIsr request ",
        rf"(?P<state>.*?) correlation id \d+ from controller \d+ epoch (?P<epoch>\d+)(?: for partition {TP})?",
        R.requested,
    ),
    says("Leader ", rf"{TP} (?:with topic id \S+ )?starts at leader epoch .*", R.leads),
    says("Follower ", rf"{TP} (?:with topic id \S+ )?starts at leader epoch .*", R.follows),
    says("Completed LeaderAndIsr request ", rf".* for the become-leader transition for partition {TP}", R.leads),
    says(
        "Completed LeaderAndIsr request ",
        rf".* for the become-follower transition for partition {TP} with leader -?\d+",
        R.follows,
    ),
    says("Ignoring LeaderAndIsr request ", rf".* for partition {TP} (?:since its associated|as) .*", R.stays),
    says("Received LeaderAndIsrRequest ", rf".* for partition {TP} .*but cannot become follower .*", R.stays),
    says("Skipped the ", rf"become-\w+ state change with correlation id .* for partition {TP} .*", R.stays),
    says("Received StopReplica request ", rf"(?P<state>.*?) correlation id .* for partition {TP}", R.stop_replica_requested),
    says("Ignoring StopReplica request ", rf".* for partition {TP} (?:since its associated|as) .*", R.does_not_stop),
    says("Ignoring StopReplica request ", r".* since its controller epoch .*", R.stops_none),
    says("Handling stop replica ", rf"\(delete=(?P<delete>\w+)\) for partition {TP}", R.stops),
)
