"""state-change.log of a running broker, its lines as broker, as events: what it makes of the controller's requests.

Source: reference logging.md 4, whose numbers (B1, B2, …) the patterns carry.
"""

import re
from collections.abc import Iterator

from kcsim.scenarios.imported.kafka_logs.renderings import ids_in, partition_in, state_in
from kcsim.scenarios.imported.kafka_logs.state_change_log import LAI_ASSIGNMENT
from kcsim.scenarios.on_kafka.log_lines import STOP_STATE, Fact, Found, Lines, says
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.vocabulary import TopicPartition

DELETED, KEPT = "deleted", "no longer fetched; its log stays"


class ReplicaLines:
    """Reads what one broker writes of its replicas. Stops wait for the line that refuses them, another, or `settle`."""

    def __init__(self) -> None:
        self._asked: dict[TopicPartition, EventFields] = {}  # what it is to be, by the last LeaderAndIsr request
        self._stopping: dict[TopicPartition, EventFields] = {}

    @property
    def is_gathering(self) -> bool:
        return bool(self._stopping)

    def read(self, text: str, exception: str) -> list[Fact]:
        """What a message says."""
        return LINES.read(self, text, exception)

    def end_before(self, text: str) -> list[Fact]:
        """What the lines before a message tell together, if it is not one of them. Call it before `read`."""
        return [] if text.startswith(("Received StopReplica request ", "Ignoring StopReplica request ")) else self.settle()

    def settle(self) -> list[Fact]:
        """Nothing says that replicas are stopped: they are, unless a line after those of what is asked says they are not."""
        stopping, self._stopping = self._stopping, {}
        return [
            Fact(EventKind.REPLICA_STOPPED, EventFields(topic=tp.topic, partition=tp.partition, **fields))
            for tp, fields in stopping.items()
        ]

    # --- LeaderAndIsr

    def asked(self, found: Found, _: str) -> Iterator[Fact]:  # B2
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
        self._asked[tp] = fields
        yield from ()

    def leads(self, found: Found, _: str) -> Iterator[Fact]:  # B6; B8 up to 2.5
        yield from self._became(EventKind.BECAME_LEADER, found)

    def follows(self, found: Found, _: str) -> Iterator[Fact]:  # B7; B8 up to 2.5
        yield from self._became(EventKind.BECAME_FOLLOWER, found)

    def _became(self, kind: EventKind, found: Found) -> Iterator[Fact]:
        asked = self._asked.pop(partition_in(found["tp"]), None)
        if asked is not None:
            yield Fact(kind, asked)

    def stays(self, found: Found, _: str) -> Iterator[Fact]:  # B10, B12, B20, B21
        """The request is not followed in this partition; that it is done with (B8) means nothing then."""
        self._asked.pop(partition_in(found["tp"]), None)
        yield from ()

    # --- StopReplica

    def asked_to_stop(self, found: Found, _: str) -> Iterator[Fact]:  # B22
        state = STOP_STATE.search(found["state"])
        if state is not None:
            fields = EventFields(leader_epoch=int(state["epoch"]), detail=DELETED if state["delete"] == "true" else KEPT)
            self._stopping[partition_in(found["tp"])] = fields
        yield from ()

    def does_not_stop(self, found: Found, _: str) -> Iterator[Fact]:  # B14, B23
        self._stopping.pop(partition_in(found["tp"]), None)
        yield from ()

    def stops_none(self, found: Found, _: str) -> Iterator[Fact]:  # B24
        self._stopping.clear()
        yield from ()

    def stops(self, found: Found, _: str) -> Iterator[Fact]:  # B13 up to 2.5
        tp = partition_in(found["tp"])
        detail = DELETED if found["delete"] == "true" else KEPT
        yield Fact(EventKind.REPLICA_STOPPED, EventFields(topic=tp.topic, partition=tp.partition, detail=detail))


NAMED = re.compile(r"topicName='([^']*)', partitionIndex=(\d+)")


def _named(text: str) -> TopicPartition:
    found = NAMED.search(text)
    if found is None:
        raise ValueError(f"{text!r} names no partition")
    return TopicPartition(found[1], int(found[2]))


R = ReplicaLines
TP = r"(?P<tp>\S+)"

LINES: Lines[ReplicaLines] = Lines(
    says(
        "Received LeaderAndIsr request ",
        rf"(?P<state>.*?) correlation id \d+ from controller \d+ epoch (?P<epoch>\d+)(?: for partition {TP})?",
        R.asked,
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
    says("Received StopReplica request ", rf"(?P<state>.*?) correlation id .* for partition {TP}", R.asked_to_stop),
    says("Ignoring StopReplica request ", rf".* for partition {TP} (?:since its associated|as) .*", R.does_not_stop),
    says("Ignoring StopReplica request ", r".* since its controller epoch .*", R.stops_none),
    says("Handling stop replica ", rf"\(delete=(?P<delete>\w+)\) for partition {TP}", R.stops),
)
