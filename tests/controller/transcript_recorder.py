"""Recorder of controllers' actions, as lines for readers who know Kafka: terse, and the same in every run.

A line is a write to ZooKeeper, a request to brokers, or an error; it stands under the controller event that it belongs to.
No seqs, times, zxids or broker epochs. All writes are fenced by the version of /controller_epoch where the line does not say
`unfenced`. A flush of requests begins with a dash; brokers that get the same share a line.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kcsim.controller.channels.request_descriptions import name_of_request
from kcsim.controller.requests import (
    LeaderAndIsrRequest,
    StateChangeRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import NO_LEADER, BrokerId, LeaderAndIsr
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.write_events import first_failing
from kcsim.zk.operations import Check, Create, Delete, Multi, MultiDone, ReplyOrError, Request, SetData, WriteOp
from kcsim.znodes import paths
from tests.controller.znode_text import changed, data_text


class Sent(NamedTuple):
    """A request in transit from a controller to a broker; `cause` as in the event log."""

    sender: BrokerId
    recipient: BrokerId
    request: StateChangeRequest
    cause: int


WORDS_OF_PARSER = re.compile(r" \(.*\)(?=: )")
RANKS = (LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest)
"""The order of the requests within a flush."""
EVENT_LINES: Mapping[EventKind, Callable[[Event], str | None]] = {
    EventKind.BROKER_CHANGE: lambda e: e.detail,
    EventKind.BAD_ZNODE: lambda e: f"bad znode {e.path}: {WORDS_OF_PARSER.sub('', e.detail or '')}",
    EventKind.ZNODE_QUARANTINED: lambda e: f"quarantined {e.path}: {WORDS_OF_PARSER.sub('', e.rule or '')}",
    EventKind.ZNODE_RELEASED: lambda e: f"released {e.path}: {e.detail}",
    EventKind.CONTROLLER_EVENT_FAILED: lambda e: f"failed with {e.error}: {e.detail}",
    EventKind.CONTROLLER_MOVED: lambda e: f"controller moved: {e.detail}",
    EventKind.CONTROLLER_RESIGNED: lambda e: f"resigned from epoch {e.controller_epoch}",
    EventKind.CONTROLLED_SHUTDOWN: lambda e: f"answered {e.error} to broker {e.broker_id}, which still leads {e.count}",
    EventKind.ELECTION_LOST: lambda e: f"not elected: {e.rule}",
    EventKind.ELECTION_WON: lambda e: f"elected: controller epoch {e.controller_epoch}",
    EventKind.LEADER_REBALANCE: lambda e: f"broker {e.broker_id} should lead more: {e.detail}",
    EventKind.LOG_DIR_FAILED: lambda e: e.detail,
}
"""The event kinds of the event log that become lines, with their texts; the others follow below."""


@dataclass
class TranscriptRecorder:
    """Record of what the controllers of a harness did.

    Attributes:
        znodes: the data last written to each znode by any session of the harness.
        elections: how many were won.
    """

    znodes: dict[str, bytes | None] = field(default_factory=dict)
    elections: int = 0
    _acting: set[BrokerId] = field(default_factory=set)
    _lines: dict[BrokerId, list[str]] = field(default_factory=dict)
    _flush: "list[Sent]" = field(default_factory=list)
    _events: dict[BrokerId, str] = field(default_factory=dict)
    _headings: dict[BrokerId, str] = field(default_factory=dict)

    def acts(self, broker: BrokerId) -> None:
        """Record this broker's controller from now on."""
        self._acting.add(broker)

    def acts_no_more(self, broker: BrokerId) -> None:
        self._acting.discard(broker)

    def take(self) -> list[str]:
        """Return all lines since the last time, broker by broker: simultaneous actions of two brokers have no order."""
        self._end_flush()
        lines = [self._whose(broker, line) for broker in sorted(self._lines) for line in self._lines[broker]]
        self._lines.clear()
        self._headings.clear()
        return lines

    def _whose(self, broker: BrokerId, line: str) -> str:
        """Return the line; a heading is preceded by its broker if several controllers act."""
        is_heading = not line.startswith("  ")
        return f"broker {broker}: {line}" if is_heading and len(self._acting) > 1 else line

    def _add(self, broker: BrokerId, *lines: str) -> None:
        if broker not in self._acting:
            return
        added = self._lines.setdefault(broker, [])
        heading = self._events.get(broker, "")
        if heading != self._headings.get(broker):
            self._headings[broker] = heading
            added.append(heading)
        added.extend(f"  {line}" for line in lines)

    # --- the event log

    def observe(self, event: Event) -> None:
        """Record an event of the log."""
        broker = BrokerId(int(event.node.removeprefix("broker-"))) if event.node.startswith("broker-") else None
        if broker is None:
            return
        if event.kind is EventKind.CONTROLLER_EVENT_BEGUN:
            self._end_flush()
            self._events[broker] = event.event or ""
            self._headings.pop(broker, None)
        line = _event_line(event)
        if line is None:
            return
        self._end_flush()
        if event.kind is EventKind.ELECTION_WON:
            self.elections += 1
        self._add(broker, line)

    # --- ZooKeeper

    def keep(self, writes: Iterable[WriteOp]) -> None:
        """Keep the written data, without recording the writes."""
        for write in writes:
            if isinstance(write, Delete):
                self.znodes.pop(write.path, None)
            elif isinstance(write, Create | SetData):
                self.znodes[write.path] = write.data

    def wrote(self, broker: BrokerId, requests: Sequence[Request], replies: Sequence[ReplyOrError]) -> None:
        """Record the writes of a controller, and those that were refused."""
        for request, reply in zip(requests, replies, strict=True):
            lines = list(self._written(request, reply))
            if lines:
                self._end_flush()
                self._add(broker, *lines)
            if not isinstance(_error_in(reply), ZooKeeperError):
                self.keep(writes_of(request))

    def _written(self, request: Request, reply: ReplyOrError) -> Iterator[str]:
        ops = list(writes_of(request))
        fence = "" if _is_fenced(request) else "unfenced "
        error = _error_in(reply)
        if not isinstance(error, ZooKeeperError):
            yield from (fence + self._described(op) for op in ops)
        elif isinstance(request, Multi) and isinstance(reply, MultiDone):
            failing = request.ops[first_failing(reply)]
            yield f"refused {error.name}: {_op(failing)} {failing.path}" + _and_more(len(ops) - (failing in ops))
        else:
            yield from (f"refused {error.name}: {_op(op)} {op.path}" for op in ops)

    def _described(self, op: WriteOp) -> str:
        match op:
            case Create(path, data):
                return f"create {path}{data_text(path, data)}"
            case SetData(path, data):
                return f"set {path}{changed(path, self.znodes.get(path), data)}"
            case _:
                return f"{_op(op)} {op.path}"

    # --- requests

    def sent(self, sent: Sent) -> None:
        """Record a request that a controller has handed to its sender."""
        if self._flush and self._begins_a_flush(sent):
            self._end_flush()
        self._flush.append(sent)

    def _begins_a_flush(self, sent: Sent) -> bool:
        """Return whether a request begins a new flush: by sender or cause, by the order of kinds, or by repeated content."""
        last = self._flush[-1]
        is_other = (sent.sender, sent.cause) != (last.sender, last.cause)
        is_earlier_kind = RANKS.index(type(sent.request)) < RANKS.index(type(last.request))
        same_kind = [earlier for earlier in self._flush if type(earlier.request) is type(sent.request)]
        is_again = any(earlier.recipient == sent.recipient for earlier in same_kind)
        # All metadata requests of one flush share one mapping.
        is_other_metadata = isinstance(sent.request, UpdateMetadataRequest) and any(
            earlier.request.partitions is not sent.request.partitions for earlier in same_kind
        )
        return is_other or is_earlier_kind or is_again or is_other_metadata

    def _end_flush(self) -> None:
        flush, self._flush = self._flush, []
        recipients: dict[tuple[str, str], list[BrokerId]] = {}
        for sent in flush:
            recipients.setdefault((name_of_request(sent.request), _asked(sent.request)), []).append(sent.recipient)
        lines = [f"{name} to {ids(brokers)}: {asked}" for (name, asked), brokers in recipients.items()]
        if lines:
            self._add(flush[0].sender, f"- {lines[0]}", *(f"  {line}" for line in lines[1:]))


def _error_in(reply: ReplyOrError) -> object:
    """Return the error that a reply is or contains; any other value if there is none."""
    return reply.error if isinstance(reply, MultiDone) else reply


def writes_of(request: Request) -> Iterator[WriteOp]:
    """Return the writes of a request, without the check that fences them."""
    if isinstance(request, Multi):
        yield from (op for op in request.ops if not isinstance(op, Check))
    elif isinstance(request, Create | Delete | SetData):
        yield request


def ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers)) or "-"


def _is_fenced(request: Request) -> bool:
    return isinstance(request, Multi) and isinstance(request.ops[0], Check) and request.ops[0].path == paths.CONTROLLER_EPOCH


def _op(op: WriteOp) -> str:
    return {Create: "create", Delete: "delete", SetData: "set", Check: "check"}[type(op)]


def _and_more(others: int) -> str:
    return f", and so nothing of {others} more" if others else ""


def _event_line(event: Event) -> str | None:
    """Return an event as a line; None for an event that is not recorded."""
    match event.kind:
        case EventKind.STATE_CHANGE_FAILED:
            return _failed(event)
        case EventKind.LEADER_ELECTION if event.leader is None or event.rule == "Unclean":
            leader = NO_LEADER if event.leader is None else event.leader
            return f"elect {event.topic}-{event.partition}: leader {leader} by {event.rule}: {event.inputs}"
        case EventKind.CONTROLLER_FAILOVER if (event.step or "").startswith("Ready"):
            return f"ready: {event.detail}"
        case EventKind.PARTITION_REASSIGNMENT if event.step != "started":
            error = f" with {event.error}" if event.error else ""
            return f"reassignment of {event.topic}-{event.partition}, now {ids(event.replicas or ())}: {event.step}{error}"
        case EventKind.TOPIC_DELETION:
            why = (event.detail or "").partition(": ")[2] if event.step in ("ineligible", "refused") else ""
            return f"deletion of {event.topic}: {event.step}" + (f", {why}" if why else "")
        case _ if event.kind in EVENT_LINES:
            return EVENT_LINES[event.kind](event)
    return None


def _failed(event: Event) -> str:
    # The detail of a refused transition contains the latest moves with their times, which are not the same in every run.
    why = f"{event.inputs}; {event.rule}" if event.rule else f"{event.error}: {event.detail}"
    what = "" if event.topic is None else f" {event.topic}-{event.partition}"
    where = "" if event.broker_id is None else f" on {event.broker_id}"
    return f"not moved{what}{where} to {event.state}: {why}"


def _asked(request: StateChangeRequest) -> str:
    match request:
        case LeaderAndIsrRequest():
            parts = [
                f"{tp} {_leadership(p.state.leader_and_isr)} v{p.state.leader_and_isr.zk_version}"
                f" ce{p.state.controller_epoch} of {ids(p.assignment.replicas)}"
                + (f" adding {ids(p.assignment.adding_replicas)}" if p.assignment.adding_replicas else "")
                + (f" removing {ids(p.assignment.removing_replicas)}" if p.assignment.removing_replicas else "")
                + (" new" if p.is_new else "")
                for tp, p in request.partitions.items()
            ]
        case UpdateMetadataRequest():
            parts = [
                f"{tp} {_leadership(known.state.leader_and_isr)} of {ids(known.replicas)}"
                + (f" offline {ids(known.offline_replicas)}" if known.offline_replicas else "")
                for tp, known in request.partitions.items()
            ]
            parts = [*(parts or ["no partitions"]), f"brokers {ids([b.broker_id for b in request.live_brokers])}"]
        case StopReplicaRequest():
            parts = [
                f"{tp} epoch {stop.leader_epoch}" + (" delete" if stop.delete_partition else "")
                for tp, stop in request.partitions.items()
            ]
    return "; ".join(parts)


def _leadership(state: LeaderAndIsr) -> str:
    leader = NO_LEADER if state.leader is None else state.leader
    return f"leader {leader} epoch {state.leader_epoch} isr {ids(state.isr)}"
