"""Finds in the history of a cluster what departed from normal: the findings, in order, and the likely first fault.

Normal is: brokers register, a controller is elected where there is none, topics are created, leaders are elected. What
follows from a finding (elections, ISRs without a lost broker, another controller after its holder is gone) is not another
one. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kcsim.eventlog.cluster_state import BELOW_BROKER_IDS, ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.state_changes import PartitionChanged
from kcsim.scenarios.incidents.broker_signs import SignKind, short_place
from kcsim.scenarios.incidents.findings import FaultCandidate, FaultEvidence, FaultKind, IncidentFinding
from kcsim.scenarios.incidents.incident_logs import IncidentLogs
from kcsim.scenarios.incidents.lost_brokers import Registration, finding_of
from kcsim.scenarios.views.narration.run_incidents import BROKER_PREFIX
from kcsim.vocabulary import NO_LEADER, BrokerId, TopicPartition
from kcsim.znodes import paths

REQUESTS = (
    paths.REASSIGN_PARTITIONS,
    paths.PREFERRED_REPLICA_ELECTION,
    "/admin/delete_topics",
    "/config",
    paths.BROKER_TOPICS,
)
"""Where the clients of administrators write: requests, settings, and new topics and partitions."""
OF_KAFKA = ("/controller", "/brokers", "/admin", "/config", "/isr_change_notification", "/log_dir_event_notification")
STATE = "/state"
TOGETHER_MS = 1_000
SUBJECT_ZOOKEEPER = "ZooKeeper"
AROUND_BEFORE_MS, AROUND_AFTER_MS = 1_000, 5_000
"""Clocks and logs of brokers differ by as much."""
RESIGNS_WITHIN_MS = 500
"""How long before a deletion is noticed in the logs the former controller may log that it resigned."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings in order of time, and a text for a whole that is more than its parts.

    Attributes:
        findings: the earliest first.
        overall: what several findings are together, such as a rolling restart; None: nothing of that kind.
    """

    findings: tuple[IncidentFinding, ...]
    overall: str | None = None

    @property
    def first(self) -> IncidentFinding | None:
        """The likely first fault: the earliest finding that is not an ordinary operation, else the earliest one."""
        return next((one for one in self.findings if not one.is_ordinary), None) or next(iter(self.findings), None)


def diagnose(logs: IncidentLogs) -> Diagnosis:
    """Return what happened."""
    seen = _History(logs)
    for event in logs.events:
        seen.take(event)
    losses = _merged([finding_of(lost, logs) for lost in seen.ended()])
    found = [*losses, *seen.controllers_deleted(losses), *seen.behind(losses), *seen.requests, *seen.by_hand()]
    findings = tuple(sorted(found, key=lambda one: (one.began_ms, one.subject)))
    return Diagnosis(findings, _overall(findings, logs))


def _merged(losses: Sequence[IncidentFinding]) -> list[IncidentFinding]:
    """Return the findings with those of one absence of ZooKeeper made into one."""
    away = [one for one in losses if one.fault is FaultKind.ZOOKEEPER_AWAY]
    found = [one for one in losses if one not in away]
    while away:
        first = min(away, key=lambda one: one.began_ms)
        together = [one for one in away if one.began_ms <= first.seen_ms]
        away = [one for one in away if one not in together]
        names = ", ".join(one.subject for one in together)
        found.append(
            replace(
                first,
                subject=SUBJECT_ZOOKEEPER,
                seen=f"lost the sessions of {names}",
                seen_ms=min(one.seen_ms for one in together),
                ended_ms=max(one.seen_ms for one in together),
                brokers=tuple(broker for one in together for broker in one.brokers),
                was_controller=any(one.was_controller for one in together),
            )
        )
    return found


def _overall(findings: Sequence[IncidentFinding], logs: IncidentLogs) -> str | None:
    stopped = [one for one in findings if one.fault is FaultKind.STOPPED]
    if not findings:
        return "nothing departed from normal in these logs"
    if len(stopped) < len(findings):
        return None
    returned = [one for one in stopped if one.ended_ms is not None]
    if (
        len(stopped) > 1
        and len(returned) == len(stopped)
        and all(before.ended_ms is not None and before.ended_ms <= after.began_ms for before, after in pairwise(stopped))
    ):
        return "nothing was wrong: a rolling restart, one broker after another"
    if len(stopped) == 1:
        back = "and started again" if returned else "and did not come back in these logs"
        return f"nothing failed: {stopped[0].subject} was shut down in order {back}"
    return None


@dataclass(frozen=True, slots=True)
class _Ended:
    event: Event
    registered_ms: int
    is_expired: bool
    by_hand: bool
    was_controller: bool
    drained: int
    session_ms: int | None
    back_ms: int | None = None


@dataclass
class _History:
    """Collects, from the events, the ends of registrations and everything else that may be a finding."""

    logs: IncidentLogs
    state: ClusterState = field(default_factory=ClusterState)
    requests: list[IncidentFinding] = field(default_factory=list)
    _registered_ms: dict[int, int] = field(default_factory=dict)
    _sessions_ms: dict[str, int] = field(default_factory=dict)
    _ended: list[tuple[int, _Ended]] = field(default_factory=list)
    _deleted: list[tuple[Event, int, int | None]] = field(default_factory=list)  # holder, the next controller's time
    _shrunk: list[tuple[Event, TopicPartition, int, int | None]] = field(default_factory=list)
    _hand: list[Event] = field(default_factory=list)
    _isr_before: dict[TopicPartition, set[BrokerId]] = field(default_factory=dict)  # before the last change
    _removed: dict[str, int] = field(default_factory=dict)  # topic -> when the first replica of a running broker was removed
    _by_seq: Mapping[int, Event] = field(default_factory=dict)
    _moved: list[tuple[int, int]] = field(default_factory=list)  # when, and away from which broker, a leader was moved

    def __post_init__(self) -> None:
        self._by_seq = {event.seq: event for event in self.logs.events}

    def take(self, event: Event) -> None:
        path = event.path or ""
        cause = self._by_seq.get(-1 if event.cause is None else event.cause)
        match event.kind:
            case EventKind.SESSION_CREATED if event.session_id is not None:
                self._sessions_ms[event.session_id] = event.t_ms
            case EventKind.BROKER_REGISTERED if event.broker_id is not None:
                self._register(event.broker_id, event.t_ms)
            case EventKind.ZNODE_DELETED if path.startswith(BELOW_BROKER_IDS):
                self._end(int(path.removeprefix(BELOW_BROKER_IDS)), event, cause)
            case EventKind.ZNODE_DELETED if path == paths.CONTROLLER:
                if cause is None or cause.kind is not EventKind.SESSION_CLOSED:
                    self._deleted.append((event, self.state.controller_id or 0, None))
            case EventKind.ELECTION_WON if self._deleted and self._deleted[-1][2] is None:
                self._deleted[-1] = (*self._deleted[-1][:2], event.t_ms)
            case EventKind.LEADER_ELECTION if event.topic is not None and event.partition is not None:
                before = self.state.of_topics.leader(TopicPartition(event.topic, event.partition))
                if before is not None and before in self.state.registered and event.leader != before:
                    self._moved.append((event.t_ms, before))
            case EventKind.ISR_SHRUNK | EventKind.ISR_EXPANDED if event.topic is not None and event.partition is not None:
                self._change_isr(event, TopicPartition(event.topic, event.partition))
            case EventKind.PARTITION_REASSIGNMENT if event.step == "started":
                self._request(event, FaultKind.REASSIGNED, f"{event.topic}-{event.partition}", _reassigned(event))
            case EventKind.TOPIC_DELETION if event.step == "completed":
                since_ms = self._removed.pop(event.topic or "", event.t_ms)
                self._request(event, FaultKind.TOPIC_DELETED, event.topic or "", "was deleted", since_ms)
            case EventKind.REPLICA_REMOVED_FROM_ISR if (
                event.broker_id in self.state.registered and event.leader == NO_LEADER
            ):
                self._removed.setdefault(event.topic or "", event.t_ms)
            case EventKind.ADMIN_ACT if self._is_by_hand(event):
                self._hand.append(event)
            case _:
                pass
        self.state.apply(event)
        for change in self.state.changes:
            if isinstance(change, PartitionChanged) and change.before is not None:
                self._isr_before[change.partition] = set(change.before.leader_and_isr.isr)

    # --- collecting

    def _register(self, broker: int, t_ms: int) -> None:
        self._registered_ms[broker] = t_ms
        for at, (ended, what) in enumerate(self._ended):
            if ended == broker and what.back_ms is None:
                self._ended[at] = (ended, replace(what, back_ms=t_ms))

    def _end(self, broker: int, event: Event, cause: Event | None) -> None:
        is_closed = cause is not None and cause.kind is EventKind.SESSION_CLOSED
        since_ms = self._registered_ms.get(broker, 0)
        drained = sum(moved == broker and since_ms <= t_ms <= event.t_ms for t_ms, moved in self._moved)
        is_expired = is_closed and cause is not None and cause.error is not None
        was_controller = self.state.controller_id == broker or self._lost_role_with(broker, cause)
        session_ms = self._session_began_ms(broker, since_ms, cause.session_id if cause is not None else None)
        ended = _Ended(event, since_ms, is_expired, not is_closed, was_controller, drained, session_ms)
        self._ended.append((broker, ended))

    def _session_began_ms(self, broker: int, registered_ms: int, session_id: str | None) -> int | None:
        """Return when a broker's session was created: as ZooKeeper's log has it, else as the broker logged it."""
        if session_id is not None:
            return self._sessions_ms.get(session_id)
        logged = [s.t_ms for s in self.logs.signs if s.broker == broker and s.kind is SignKind.SESSION]
        # A session that expired is replaced a moment before or after the broker registers again.
        return max((t_ms for t_ms in logged if t_ms <= registered_ms + AROUND_BEFORE_MS), default=None)

    def _lost_role_with(self, broker: int, cause: Event | None) -> bool:
        """Return whether the same end of a session has just removed /controller, before the registration."""
        return cause is not None and any(
            event.cause == cause.seq and event.path == paths.CONTROLLER for event in self.logs.events
        )

    def _change_isr(self, event: Event, tp: TopicPartition) -> None:
        before, now = self._isr_before.get(tp, set()), set(event.isr or ())
        if event.kind is EventKind.ISR_SHRUNK and event.node.startswith(BROKER_PREFIX):
            self._shrunk += [(event, tp, broker, None) for broker in sorted(before - now)]
        if event.kind is EventKind.ISR_SHRUNK:
            return
        for at, (shrunk, of, broker, until_ms) in enumerate(self._shrunk):
            if of == tp and until_ms is None and broker in now:
                self._shrunk[at] = (shrunk, of, broker, event.t_ms)

    def _request(self, event: Event, kind: FaultKind, subject: str, seen: str, since_ms: int | None = None) -> None:
        evidence = FaultEvidence("the controller carried it out as it was asked to", True, f"event #{event.seq}")
        candidate = FaultCandidate(kind, (evidence,))
        began_ms = event.t_ms if since_ms is None else since_ms
        self.requests.append(
            IncidentFinding(subject, seen, began_ms, "the controller's first write", event.t_ms, None, (candidate,))
        )

    @staticmethod
    def _is_by_hand(event: Event) -> bool:
        """Return whether a client wrote a znode by hand; /controller and registrations are findings of their own."""
        path = event.path or ""
        is_apart = path == paths.CONTROLLER or path.startswith(BELOW_BROKER_IDS)
        return path.startswith(OF_KAFKA) and not is_apart and not is_ordinary_act(event)

    # --- findings

    def ended(self) -> Iterator[Registration]:
        for broker, what in self._ended:
            together = sum(
                other != broker and of.is_expired and abs(of.event.t_ms - what.event.t_ms) <= TOGETHER_MS
                for other, of in self._ended
            )
            yield Registration(
                broker,
                what.registered_ms,
                what.event.t_ms,
                what.is_expired,
                what.by_hand,
                what.back_ms,
                what.was_controller,
                what.drained,
                what.session_ms,
                together,
            )

    def controllers_deleted(self, losses: Sequence[IncidentFinding]) -> Iterator[IncidentFinding]:
        for event, holder, next_ms in self._deleted:
            if any(holder in loss.brokers and loss.was_controller and loss.seen_ms == event.t_ms for loss in losses):
                continue
            act = self._by_seq.get(-1 if event.cause is None else event.cause)
            if act is not None and act.kind is EventKind.ADMIN_ACT:
                shown = FaultEvidence("a session that is no broker's deleted it", True, f"event #{event.seq}")
            else:
                shown = FaultEvidence(f"broker-{holder} stayed registered, so its session had not ended", True)
            resigned = [
                sign
                for sign in self.logs.signs
                if sign.broker == holder and sign.kind is SignKind.RESIGNED and sign.t_ms >= event.t_ms - RESIGNS_WITHIN_MS
            ]
            speaks_for = [
                shown,
                *(FaultEvidence(f"broker-{holder} resigned", False, short_place(s.place)) for s in resigned[:1]),
            ]
            began_text = (
                "the transaction" if self.logs.has_transactions else "no log has the deletion; the next election follows"
            )
            began_ms = resigned[0].t_ms if resigned and not self.logs.has_transactions else event.t_ms
            yield IncidentFinding(
                paths.CONTROLLER,
                f"was deleted; broker-{holder}, which held it, stayed registered",
                min(began_ms, event.t_ms),
                began_text,
                event.t_ms,
                next_ms,
                (FaultCandidate(FaultKind.CONTROLLER_DELETED, speaks_for),),
                (),
                True,
            )

    def behind(self, losses: Sequence[IncidentFinding]) -> Iterator[IncidentFinding]:
        """Yield followers that leaders removed from ISRs although they were registered: one finding for each time."""
        by_broker: dict[tuple[int, int], list[tuple[Event, TopicPartition, int | None]]] = {}
        for event, tp, broker, until_ms in self._shrunk:
            if not any(broker in loss.brokers and _covers(loss, event.t_ms) for loss in losses):
                by_broker.setdefault((event.t_ms // 10_000, broker), []).append((event, tp, until_ms))
        for (_, broker), found in sorted(by_broker.items()):
            yield self._behind(broker, found)

    def _behind(self, broker: int, found: Sequence[tuple[Event, TopicPartition, int | None]]) -> IncidentFinding:
        first = found[0][0]
        ends = [until_ms for _, _, until_ms in found]
        lag_ms = int(self.logs.settings.get("replica.lag.time.max.ms", 30_000))
        own = self.logs.lines.get(broker, ())
        began_ms = max(0, *(t_ms for t_ms in own if t_ms <= first.t_ms), first.t_ms - lag_ms)
        until_ms = max((end for end in ends if end is not None), default=first.t_ms)
        meanwhile = [t_ms for t_ms in own if began_ms < t_ms < until_ms]
        kept = FaultEvidence("it kept its session: it was not silent for as long as the session time-out")
        silent = FaultEvidence("its log has no line from then until it caught up") if own and not meanwhile else None
        ran = FaultEvidence("it logged meanwhile", False) if meanwhile else None
        frozen = FaultCandidate(FaultKind.FROZEN, [kept, *([silent] if silent else [])], [ran] if ran else [])
        slow = FaultCandidate(FaultKind.BEHIND, [kept, *([ran] if ran else [])])
        partitions = ", ".join(str(tp) for _, tp, _ in found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
        ended_ms = until_ms if all(end is not None for end in ends) else None
        return IncidentFinding(
            f"broker-{broker}",
            f"was removed from the ISR of {partitions} by the leaders, although it was registered",
            began_ms,
            "its last line before, or replica.lag.time.max.ms before",
            first.t_ms,
            ended_ms,
            (frozen, slow),
            (broker,),
        )

    def by_hand(self) -> Iterator[IncidentFinding]:
        for event in self._hand:
            path = event.path or ""
            evidence = FaultEvidence("a session that is no broker's wrote it", True, f"event #{event.seq}")
            seen = {"create": "was created", "delete": "was deleted"}.get(event.op or "", "was overwritten")
            candidate = FaultCandidate(FaultKind.WRITTEN, (evidence,))
            yield IncidentFinding(path, seen, event.t_ms, "the transaction", event.t_ms, event.t_ms, (candidate,))


def is_ordinary_act(event: Event) -> bool:
    """Return whether the event is the write of an administrator's client: a request, settings, new topics or partitions."""
    path = event.path or ""
    is_deletion = event.op == "delete" and path.startswith(paths.BROKER_TOPICS)
    return event.kind is EventKind.ADMIN_ACT and path.startswith(REQUESTS) and not path.endswith(STATE) and not is_deletion


def _covers(loss: IncidentFinding, t_ms: int) -> bool:
    """Return whether a change of an ISR then follows from the loss of the broker."""
    until_ms = max(loss.seen_ms, loss.ended_ms or 0)
    return loss.began_ms - AROUND_BEFORE_MS <= t_ms <= until_ms + AROUND_AFTER_MS


def _reassigned(event: Event) -> str:
    return f"was reassigned to {list(event.target_replicas or ())}"
