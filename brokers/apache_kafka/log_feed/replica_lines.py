"""Turn the broker's lines in a running broker's state-change.log into events: its reactions to the controller's requests.

Source: docs/kafka/logging.md 4, whose numbers (B1, B2, …) stand beside the messages.
"""

from collections.abc import Iterator
from typing import assert_never, get_args

from kcsim.brokers.apache_kafka.log_feed.parsed_event import ParsedEvent
from kcsim.brokers.apache_kafka.log_lines.activity_messages import (
    LeaderAndIsrIgnored,
    LeaderUnknown,
    ReplicaRoleTaken,
    ReplicaStops,
    StopReplicaIgnored,
    StopReplicaReceived,
)
from kcsim.brokers.apache_kafka.log_lines.messages import (
    LeaderAndIsrReceived,
    NoMessage,
)
from kcsim.brokers.apache_kafka.log_lines.patterns import PatternTable, Speaker
from kcsim.brokers.apache_kafka.log_lines.state_change_log import BY_BROKER
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.vocabulary import TopicPartition

ReplicaMessage = (
    LeaderAndIsrReceived
    | ReplicaRoleTaken
    | LeaderAndIsrIgnored
    | LeaderUnknown
    | StopReplicaReceived
    | StopReplicaIgnored
    | ReplicaStops
)
TABLE: PatternTable[ReplicaMessage] = PatternTable(BY_BROKER, get_args(ReplicaMessage))

DELETED, KEPT = "deleted", "no longer fetched; its log stays"


class ReplicaLines:
    """Reads a broker's lines about its replicas.

    A stop waits for a line that refuses it, for any line outside StopReplica handling, or for `settle`.
    """

    def __init__(self) -> None:
        self._requested: dict[TopicPartition, EventFields] = {}  # the replica's state by the last LeaderAndIsr request
        self._led: dict[TopicPartition, EventFields] = {}  # the state in which the broker leads
        self._stopping: dict[TopicPartition, EventFields] = {}

    @property
    def is_gathering(self) -> bool:
        return bool(self._stopping)

    def read(self, text: str, speaker: Speaker) -> list[ParsedEvent]:
        """Return the events that a message describes."""
        message = TABLE.read(text, speaker)
        return [] if isinstance(message, NoMessage) else list(self._events(message))

    def end_before(self, text: str) -> list[ParsedEvent]:
        """Return the events of the collected lines if this message does not belong to them. Call it before `read`."""
        return [] if text.startswith(("Received StopReplica request ", "Ignoring StopReplica request ")) else self.settle()

    def settle(self) -> list[ParsedEvent]:
        """Return the collected stops. Kafka logs no successful stop: a stop succeeded if no later line refuses it."""
        stopping, self._stopping = self._stopping, {}
        for tp in stopping:
            self._led.pop(tp, None)
        return [_stopped(tp, fields) for tp, fields in stopping.items()]

    def _events(self, message: ReplicaMessage) -> Iterator[ParsedEvent]:
        match message:
            case LeaderAndIsrReceived():  # B2
                self._requested[message.tp] = _requested(message)
            case ReplicaRoleTaken(tp, is_leader):  # B6, B7; B8 up to 2.5
                yield from self._became(EventKind.BECAME_LEADER if is_leader else EventKind.BECAME_FOLLOWER, tp)
            case LeaderAndIsrIgnored(tp):  # B10, B18 to B21: the completion line (B8) of this partition means nothing
                self._requested.pop(tp, None)
            case LeaderUnknown(tp):  # B12: nor does it here
                yield from self._stayed(tp)
            case StopReplicaReceived(tp, epoch, deletes):  # B22
                self._stopping[tp] = {**_stop_fields(deletes), "leader_epoch": epoch}
            case StopReplicaIgnored(tp) if tp is not None:  # B14, B23
                self._stopping.pop(tp, None)
            case StopReplicaIgnored():  # B24
                self._stopping.clear()
            case ReplicaStops(tp, deletes):  # B13 up to 2.5
                yield _stopped(tp, _stop_fields(deletes))
            case _:
                assert_never(message)

    def _became(self, kind: EventKind, tp: TopicPartition) -> Iterator[ParsedEvent]:
        asked = self._requested.pop(tp, None)
        if asked is None:
            return
        self._led.pop(tp, None)
        if kind is EventKind.BECAME_LEADER:
            self._led[tp] = asked
        yield ParsedEvent(kind, asked)

    def _stayed(self, tp: TopicPartition) -> Iterator[ParsedEvent]:
        asked, led = self._requested.pop(tp, None), self._led.get(tp)
        if asked is not None and led is not None:
            kept = EventFields(
                topic=led["topic"],
                partition=led["partition"],
                leader=led["leader"],
                leader_epoch=led["leader_epoch"],
                controller_epoch=asked["controller_epoch"],
                isr=led["isr"],
            )
            yield ParsedEvent(EventKind.STAYED_LEADER, kept)


def _requested(message: LeaderAndIsrReceived) -> EventFields:
    """Return the replica's state that a LeaderAndIsr request asks for."""
    state = message.state
    fields = EventFields(
        topic=message.tp.topic,
        partition=message.tp.partition,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        controller_epoch=message.controller_epoch,
        isr=list(state.isr),
        replicas=list(message.assignment.replicas) if message.assignment is not None else [],
    )
    if state.zk_version is not None:
        fields["zk_version"] = state.zk_version
    return fields


def _stop_fields(is_deleted: bool) -> EventFields:
    return EventFields(deleted=is_deleted, detail=DELETED if is_deleted else KEPT)


def _stopped(tp: TopicPartition, fields: EventFields) -> ParsedEvent:
    return ParsedEvent(EventKind.REPLICA_STOPPED, EventFields(topic=tp.topic, partition=tp.partition, **fields))
