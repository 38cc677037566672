"""Seven analyses computed from their definitions: one pass over the events of one run, in dicts and lists.

It is written from the text of `kcsim spark analyse --describe` and from docs/reference/event-log.md. It shares no code with
the analyses, and works differently: they join tables of intervals; here the cluster is kept as of the event at hand, and is
looked at after the last event of each millisecond.

What the definitions leave to the reader is decided here as follows.

- What a partition is assigned is what the znode of its topic says; one that cannot be read changes nothing.
- A registration that cannot be read is one all the same, without a rack.
- A run ends with RunEnded, else with its last event. No other event follows it in the histories that are compared.
- The causes of a loss are followed until there is a fault or an admin act, however many events they lead over.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.dataset

Row = dict[str, Any]
Partition = tuple[str, int]
Replica = tuple[str, int, int]
HOUR_MS = 3_600_000
FLAPS = 3
"""How many times within an hour a replica must leave its ISR to be flapping."""
COLUMNS = (
    *("seq", "t_ms", "node", "kind", "cause", "path", "data", "zxid", "session_id", "op", "broker_id", "controller_id"),
    *("controller_epoch", "topic", "partition", "leader", "state", "fault", "error"),
)


def events_of_dataset(dataset: Path) -> Iterator[Row]:
    """Yield the events of a dataset with one run in order, each with the columns that it has."""
    table = pyarrow.dataset.dataset(dataset / "events", format="parquet").to_table(columns=list(COLUMNS)).sort_by("seq")
    for batch in table.to_batches(max_chunksize=50_000):
        for event in batch.to_pylist():
            yield {name: value for name, value in event.items() if value is not None}


def events_of_trace(trace: Path) -> Iterator[Row]:
    with trace.open() as lines:
        for line in lines:
            yield json.loads(line)


@dataclass
class PartitionState:
    """What the state znode of a partition says."""

    leader: int
    isr: frozenset[int]


NO_STATE = PartitionState(-1, frozenset())
"""The state of a partition for which a leader was sought in vain before it had a state."""


@dataclass
class Topic:
    """What the znodes of a topic say."""

    assignment: dict[int, list[int]] = field(default_factory=dict)
    adding: dict[int, list[int]] = field(default_factory=dict)


@dataclass
class Interval:
    """A time in which something held; it has no end while it holds."""

    from_ms: int
    to_ms: int | None = None
    notes: Row = field(default_factory=dict)


@dataclass
class Loss:
    """A broker that was live and is not: when, by which event, and when it was live again."""

    broker: int
    lost_ms: int
    event_seq: int
    back_ms: int | None = None


class Oracle:
    """The cluster as of the last event, and what the analyses count of it."""

    def __init__(self, min_insync_replicas: int) -> None:
        self.min_insync_replicas = min_insync_replicas
        self.now_ms = 0
        self.end_ms: int | None = None
        self.happened: dict[int, Row] = {}
        self.closed_sessions: dict[str, Row] = {}
        # Brokers.
        self.registered: set[int] = set()
        self.racks: dict[int, str | None] = {}
        self.processes: dict[int, str] = {}
        self.live: set[int] = set()
        self.losses: list[Loss] = []
        self.open_loss: dict[int, Loss] = {}
        # Topics and partitions.
        self.topics: dict[str, Topic] = {}
        self.min_isr: dict[str, int] = {}
        self.deletions: set[str] = set()
        self.states: dict[Partition, PartitionState] = {}
        self.last_leader: dict[Partition, int] = {}
        self.named: set[int] = set()
        self.left_ms: dict[Replica, list[int]] = defaultdict(list)
        self.changed: set[Partition] = set()
        # As of the end of the millisecond before.
        self.settled_live: set[int] = set()
        # Intervals, the open one last.
        self.unavailable: dict[Partition, list[Interval]] = defaultdict(list)
        self.under_min_isr: dict[Partition, list[Interval]] = defaultdict(list)
        self.out_of_sync: dict[Replica, list[Interval]] = defaultdict(list)
        self.windows_of: dict[int | None, list[tuple[Partition, Interval]]] = defaultdict(list)
        self.out_of_sync_on: dict[int, list[tuple[Replica, Interval]]] = defaultdict(list)
        self.replicas_of: dict[Partition, set[int]] = defaultdict(set)
        # The controller.
        self.terms: list[Row] = []
        self.no_controller_since_ms = 0
        self.has_controller = False
        self.epoch_written: tuple[int, int] | None = None

    # The events.

    def run(self, events: Iterable[Row]) -> "Oracle":
        for event in events:
            if event["t_ms"] > self.now_ms:
                self.settle()
                self.now_ms = event["t_ms"]
            if event["kind"] == "RunEnded":
                break
            self.apply(event)
        self.end_ms = self.now_ms
        self.settle()
        for replica, interval in self.lasting(self.out_of_sync):
            self.out_of_sync_on[replica[2]].append((replica, interval))
        for partition, window in self.lasting(self.unavailable):
            self.windows_of[window.notes["broker"]].append((partition, window))
        return self

    def apply(self, event: Row) -> None:
        seq, kind = event["seq"], event["kind"]
        names = ("seq", "t_ms", "kind", "cause", "fault", "op", "error", "path", "zxid", "session_id")
        self.happened[seq] = {name: event[name] for name in names if name in event}
        match kind:
            case "ZnodeCreated" | "ZnodeChanged" | "ZnodeDeleted":
                self.apply_znode(event, event["path"].split("/")[1:])
            case "SessionClosed":
                self.closed_sessions[event["session_id"]] = event
            case "ProcessState" if event["node"].startswith("broker-"):
                self.processes[int(event["node"].removeprefix("broker-"))] = event["state"]
                self.look_at_brokers(seq)
            case "LeaderElection" if "leader" not in event:
                partition = (event["topic"], event["partition"])
                if partition not in self.states:
                    self.states[partition] = NO_STATE
                    self.changed.add(partition)
            case "ElectionWon":
                self.report_epoch(event)

    def apply_znode(self, event: Row, path: Sequence[str]) -> None:
        deleted = event["kind"] == "ZnodeDeleted"
        match path:
            case ["controller"]:
                self.apply_controller(event, deleted)
            case ["controller_epoch"] if not deleted:
                self.apply_controller_epoch(event)
            case ["brokers", "ids", broker]:
                self.apply_registration(event, int(broker), deleted)
            case ["brokers", "topics", topic]:
                self.apply_topic(event, topic, deleted)
            case ["brokers", "topics", topic, "partitions", partition, "state"]:
                self.apply_state(event, (topic, int(partition)), deleted)
            case ["config", "topics", topic]:
                self.min_isr.pop(topic, None)
                setting = None if deleted else parsed(event).get("config", {}).get("min.insync.replicas")
                if setting is not None:
                    self.min_isr[topic] = int(setting)
                self.changed.update(p for p in self.states if p[0] == topic)
            case ["admin", "delete_topics", topic]:
                (self.deletions.discard if deleted else self.deletions.add)(topic)
                self.changed.update(p for p in self.states if p[0] == topic)

    # Brokers.

    def apply_registration(self, event: Row, broker: int, deleted: bool) -> None:
        if deleted:
            self.registered.discard(broker)
        else:
            self.registered.add(broker)
            self.racks.setdefault(broker, None)
            self.racks[broker] = parsed(event).get("rack", self.racks[broker])
        self.look_at_brokers(event["seq"])

    def look_at_brokers(self, seq: int) -> None:
        live = {broker for broker in self.registered if self.processes.get(broker, "running") == "running"}
        for broker in self.live - live:
            self.open_loss[broker] = Loss(broker, self.now_ms, seq)
            self.losses.append(self.open_loss[broker])
        for broker in live - self.live:
            if broker in self.open_loss:
                self.open_loss.pop(broker).back_ms = self.now_ms
        self.live = live

    # Partitions.

    def apply_topic(self, event: Row, name: str, deleted: bool) -> None:
        if deleted:
            self.topics.pop(name, None)
            for partition in [p for p, state in self.states.items() if p[0] == name and state is NO_STATE]:
                del self.states[partition]
        elif is_readable(data := parsed(event)):
            assignment = {int(p): replicas for p, replicas in data["partitions"].items()}
            adding = {int(p): replicas for p, replicas in data.get("adding_replicas", {}).items()}
            self.topics[name] = Topic(assignment, adding)
            self.named.update(broker for replicas in assignment.values() for broker in replicas)
        self.changed.update(p for p in {*self.states, *self.unavailable} if p[0] == name)

    def assigned(self, partition: Partition) -> list[int]:
        topic = self.topics.get(partition[0])
        return topic.assignment.get(partition[1], []) if topic else []

    def adding(self, partition: Partition) -> list[int]:
        topic = self.topics.get(partition[0])
        return topic.adding.get(partition[1], []) if topic else []

    def apply_state(self, event: Row, partition: Partition, deleted: bool) -> None:
        self.changed.add(partition)
        before = self.states.get(partition)
        if deleted:
            self.states.pop(partition, None)
            self.last_leader.pop(partition, None)
            return
        data = parsed(event)
        is_readable = {"leader", "leader_epoch", "isr"} <= data.keys()
        state = PartitionState(data["leader"], frozenset(data["isr"])) if is_readable else PartitionState(-1, frozenset())
        self.states[partition] = state
        if state.leader != -1:
            self.last_leader[partition] = state.leader
        if before is not None and partition[0] not in self.deletions:
            self.compare(partition, before, state, event["t_ms"])

    def compare(self, partition: Partition, before: PartitionState, after: PartitionState, t_ms: int) -> None:
        for broker in before.isr - after.isr:
            self.left_ms[*partition, broker].append(t_ms)

    # What holds at the end of a millisecond.

    def settle(self) -> None:
        lost, back = self.settled_live - self.live, self.live - self.settled_live
        if lost or back:
            self.changed.update(p for p, state in self.states.items() if state.leader in lost or state.leader in back)
        for partition in self.changed:
            self.settle_partition(partition)
        self.changed.clear()
        self.settled_live = self.live

    def settle_partition(self, partition: Partition) -> None:
        state = None if partition[0] in self.deletions else self.states.get(partition)
        leader = state.leader if state is not None and state.leader in self.live else None
        if window := self.mark(self.unavailable[partition], state is not None and leader is None):
            lost = self.last_leader.get(partition)
            window.notes.setdefault("broker", lost)
            window.notes["leader_after"] = leader
        limit = self.min_isr.get(partition[0], self.min_insync_replicas)
        in_sync = len(state.isr) if state is not None else 0
        under = self.mark(self.under_min_isr[partition], state is not None and in_sync < limit)
        if under and under.to_ms is None:
            under.notes["min_isr"] = max(limit, under.notes.get("min_isr", limit))
            under.notes["least_in_sync"] = min(in_sync, under.notes.get("least_in_sync", in_sync))
        replicas = set() if state is None else {*self.assigned(partition)} - {*self.adding(partition)} - state.isr
        for broker in replicas | self.replicas_of[partition]:
            interval = self.mark(self.out_of_sync[*partition, broker], broker in replicas)
            assert interval is not None
            interval.notes["returned"] = state is not None and broker in state.isr and broker in self.assigned(partition)
        self.replicas_of[partition] = replicas

    def mark(self, intervals: list[Interval], holds: bool) -> Interval | None:
        """Begin or end an interval as of now; return the one that holds now or has just ended."""
        is_open = bool(intervals) and intervals[-1].to_ms is None
        if holds and not is_open:
            intervals.append(Interval(self.now_ms))
        elif is_open and not holds:
            intervals[-1].to_ms = self.now_ms
        elif not is_open:
            return None
        return intervals[-1]

    # The controller.

    def apply_controller(self, event: Row, deleted: bool) -> None:
        broker = None if deleted else parsed(event).get("brokerid")
        if self.has_controller:
            if not deleted and broker == self.terms[-1]["broker"]:
                return
            self.end_term(self.reason_of(event) if deleted else "overwritten", is_open=False)
        self.has_controller = not deleted
        if deleted:
            self.no_controller_since_ms = self.now_ms
            return
        gap_ms = 0 if event["kind"] == "ZnodeChanged" else self.now_ms - self.no_controller_since_ms
        if self.terms:
            self.terms[-1]["gap_after_ms"] = gap_ms
        epoch = self.epoch_written[1] if self.epoch_written and self.epoch_written[0] == event["zxid"] else None
        self.terms.append(
            {
                "broker": broker,
                "controller_epoch": epoch,
                "from_ms": self.now_ms,
                "gap_before_ms": gap_ms,
                "zxid": event["zxid"],
            }
        )

    def apply_controller_epoch(self, event: Row) -> None:
        try:
            epoch = int(event.get("data", ""))
        except ValueError:
            return
        self.epoch_written = (event["zxid"], epoch)
        if self.has_controller and self.terms[-1]["zxid"] == event["zxid"]:
            self.terms[-1]["controller_epoch"] = epoch

    def report_epoch(self, event: Row) -> None:
        if self.has_controller:
            term = self.terms[-1]
            if term["controller_epoch"] is None and event["node"] == f"broker-{term['broker']}":
                term["controller_epoch"] = event["controller_epoch"]

    def end_term(self, ended_by: str | None, is_open: bool) -> None:
        self.terms[-1] |= {"to_ms": self.now_ms, "ended_by": ended_by, "open": is_open, "gap_after_ms": 0}

    def reason_of(self, deletion: Row) -> str:
        closed = self.closed_sessions.get(deletion.get("session_id", ""))
        if closed is None or closed["zxid"] != deletion["zxid"]:
            return "deleted"
        return "session expired" if closed.get("error") == "SESSIONEXPIRED" else "session closed"

    # The rows of the analyses.

    @property
    def last_ms(self) -> int:
        assert self.end_ms is not None, "the events have not been read"
        return self.end_ms

    def times(self, interval: Interval) -> Row:
        to_ms = self.last_ms if interval.to_ms is None else interval.to_ms
        return {
            "from_ms": interval.from_ms,
            "to_ms": to_ms,
            "duration_ms": to_ms - interval.from_ms,
            "open": interval.to_ms is None,
        }

    def lasting(self, intervals: Mapping[Any, list[Interval]]) -> Iterator[tuple[Any, Interval]]:
        for key, some in intervals.items():
            for interval in some:
                if interval.from_ms < (self.last_ms if interval.to_ms is None else interval.to_ms):
                    yield key, interval

    def rows_of_unavailability(self) -> list[Row]:
        return [
            {
                "topic": topic,
                "partition": partition,
                **self.times(window),
                "began_with": "no leader" if window.notes["broker"] is None else "leader lost",
                "broker": window.notes["broker"],
                "leader_after": window.notes["leader_after"],
            }
            for (topic, partition), window in self.lasting(self.unavailable)
        ]

    def rows_of_under_min_isr(self) -> list[Row]:
        return [
            {"topic": topic, "partition": partition, **self.times(window), **window.notes}
            for (topic, partition), window in self.lasting(self.under_min_isr)
        ]

    def rows_of_controllers(self) -> list[Row]:
        if self.has_controller:
            self.end_term(None, is_open=True)
        elif self.terms:
            self.terms[-1]["gap_after_ms"] = self.last_ms - self.no_controller_since_ms
        return [
            {name: value for name, value in term.items() if name != "zxid"} | {"served_ms": term["to_ms"] - term["from_ms"]}
            for term in self.terms
        ]

    def fault_of(self, loss: Loss) -> Row:
        """Return the nearest fault or admin act among the causes of a loss, else the event of the loss itself."""
        event = self.happened.get(loss.event_seq)
        while event is not None and event["kind"] not in ("Fault", "AdminAct"):
            event = self.happened.get(event.get("cause", -1))
        return event or self.happened[loss.event_seq]

    def name_of(self, fault: Row) -> str:
        if fault["kind"] in ("Fault", "AdminAct"):
            return str(fault.get("fault") or fault.get("op"))
        reason = self.reason_of(fault) if fault["kind"] == "ZnodeDeleted" else "unknown"
        return "unknown" if reason == "deleted" else reason

    def rows_of_recoveries(self) -> list[Row]:
        by_fault: dict[int, list[Loss]] = defaultdict(list)
        for loss in self.losses:
            by_fault[self.fault_of(loss)["seq"]].append(loss)
        return [self.recovery(self.happened[seq], losses) for seq, losses in by_fault.items()]

    def recovery(self, fault: Row, losses: Sequence[Loss]) -> Row:
        led_again: dict[Partition, list[int | None]] = defaultdict(list)
        for loss in losses:
            for partition, window in self.windows_of[loss.broker]:
                if loss.lost_ms <= window.from_ms and (loss.back_ms is None or window.from_ms < loss.back_ms):
                    led_again[partition].append(window.to_ms)
        back: dict[Replica, list[int | None]] = defaultdict(list)
        for loss in losses:
            for replica, interval in self.out_of_sync_on[loss.broker]:
                until_ms = self.last_ms if loss.back_ms is None else loss.back_ms
                to_ms = self.last_ms if interval.to_ms is None else interval.to_ms
                if interval.from_ms < until_ms and loss.lost_ms < to_ms:
                    back[replica].append(interval.to_ms)
        return {
            "fault_seq": fault["seq"],
            "fault_ms": fault["t_ms"],
            "fault": self.name_of(fault),
            "brokers": sorted({loss.broker for loss in losses}),
            "partitions_taken": len(led_again),
            "still_without_leader": sum(None in ends for ends in led_again.values()),
            "to_leader_ms": latest(led_again, fault["t_ms"]),
            "replicas_out_of_sync": len(back),
            "still_out_of_sync": sum(None in ends for ends in back.values()),
            "to_full_isr_ms": latest(back, fault["t_ms"]),
        }

    def rows_of_loss_of_racks(self) -> list[Row]:
        racks: dict[str, set[int]] = defaultdict(set)
        for broker in self.live:
            if (rack := self.racks.get(broker)) is not None:
                racks[rack].add(broker)
        rows = [self.loss_of(first, second, racks[first], racks[second]) for first, second in combinations(sorted(racks), 2)]
        return [row for row in rows if row["shared"]]

    def loss_of(self, first: str, second: str, on_first: set[int], on_second: set[int]) -> Row:
        lost = on_first | on_second
        counts = dict.fromkeys(
            (
                *("offline", "offline_if_unclean", "under_min_isr", "leaders_moved", "partitions"),
                "shared",
                "offline_together",
            ),
            0,
        )
        topics = set()
        for partition, state in self.states.items():
            if partition[0] in self.deletions:
                continue
            live = {*self.assigned(partition)} & self.live
            in_sync = live & state.isr
            limit = self.min_isr.get(partition[0], self.min_insync_replicas)
            offline = bool(in_sync) and not in_sync - lost
            counts["offline"] += offline
            counts["offline_if_unclean"] += bool(live) and not live - lost
            counts["under_min_isr"] += not offline and len(in_sync - lost) < limit <= len(in_sync)
            counts["leaders_moved"] += state.leader in lost
            counts["partitions"] += bool(live & lost)
            counts["shared"] += bool(live & on_first) and bool(live & on_second)
            if offline and in_sync - on_first and in_sync - on_second:
                counts["offline_together"] += 1
                topics.add(partition[0])
        return {"racks": [first, second], **counts, "topics_together": len(topics)}

    def rows_of_affected_brokers(self) -> list[Row]:
        return [self.affected(broker) for broker in sorted(self.named | set(self.racks))]

    def affected(self, broker: int) -> Row:
        losses = [loss for loss in self.losses if loss.broker == broker]
        windows = [window for _, window in self.windows_of[broker]]
        out = [interval for _, interval in self.out_of_sync_on[broker]]
        return {
            "broker": broker,
            "rack": self.racks.get(broker),
            "losses": len(losses),
            "away_ms": sum((self.last_ms if loss.back_ms is None else loss.back_ms) - loss.lost_ms for loss in losses),
            "partitions_lost": len(windows),
            "unavailable_ms": sum(self.times(window)["duration_ms"] for window in windows),
            "left_isr": sum(len(left_ms) for replica, left_ms in self.left_ms.items() if replica[2] == broker),
            "out_of_sync_ms": sum(self.times(interval)["duration_ms"] for interval in out),
            "away_at_end": broker in self.open_loss,
        }

    def rows_of_flapping_replicas(self) -> list[Row]:
        out: dict[Replica, list[Row]] = defaultdict(list)
        for replica, interval in self.lasting(self.out_of_sync):
            out[replica].append(self.times(interval) | interval.notes)
        return [self.flapping(replica, left_ms, out[replica]) for replica, left_ms in self.left_ms.items()]

    def flapping(self, replica: Replica, left_ms: Sequence[int], out: Sequence[Row]) -> Row:
        times = [interval["duration_ms"] for interval in out]
        most = max(sum(0 <= other - one < HOUR_MS for other in left_ms) for one in left_ms)
        topic, partition, broker = replica
        return {
            "topic": topic,
            "partition": partition,
            "broker": broker,
            "left_isr": len(left_ms),
            "returned": sum(interval["returned"] for interval in out),
            "most_in_an_hour": most,
            "flapping": most >= FLAPS,
            "out_ms": sum(times),
            "median_ms": float(median(times)) if times else None,
            "longest_ms": max(times, default=None),
            "open": any(interval["open"] for interval in out),
        }


def parsed(event: Row) -> Row:
    """Return the JSON object that is the data of a znode; an empty one if it is none."""
    try:
        data = json.loads(event.get("data", ""))
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def is_readable(topic: Row) -> bool:
    return "partitions" in topic and all(isinstance(replicas, list) for replicas in topic["partitions"].values())


def latest(ends: Mapping[Any, list[int | None]], since_ms: int) -> int | None:
    """Return how long after a time the last of all these ends was; None if there is none, or one has not come."""
    known = [end for some in ends.values() for end in some if end is not None]
    return max(known) - since_ms if known and not any(None in some for some in ends.values()) else None


def tables_of(events: Iterable[Row], min_insync_replicas: int) -> dict[str, list[Row]]:
    """Return, by the name of the analysis, the rows of one run, without the columns batch and run."""
    oracle = Oracle(min_insync_replicas).run(events)
    return {
        "unavailability": oracle.rows_of_unavailability(),
        "under-min-isr": oracle.rows_of_under_min_isr(),
        "controllers": oracle.rows_of_controllers(),
        "recoveries": oracle.rows_of_recoveries(),
        "loss-of-racks": oracle.rows_of_loss_of_racks(),
        "affected-brokers": oracle.rows_of_affected_brokers(),
        "flapping-replicas": oracle.rows_of_flapping_replicas(),
    }
