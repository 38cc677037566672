"""Narrates a run in plain words: which events are worth a line, and the sentence of each.

Pure: an observer of the event log that knows nothing else. A reader who knows Kafka should recognise every line, and a
reader who does not should be able to follow.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import SCENARIO
from kcsim.scenarios.views.narration.client_sentences import CLIENT_SENTENCES
from kcsim.scenarios.views.narration.consumer_sentences import CONSUMER_SENTENCES
from kcsim.scenarios.views.narration.event_description import (
    action_text,
    is_armed,
    is_seen_in_effect,
    point_reached,
    short_session,
    third_person,
)
from kcsim.scenarios.views.narration.network_sentences import NETWORK_SENTENCES
from kcsim.scenarios.views.narration.segment_sentences import SEGMENT_SENTENCES
from kcsim.scenarios.views.narration.topic_sentences import TOPIC_SENTENCES, about
from kcsim.scenarios.views.narration.workload_sentences import WORKLOAD_SENTENCES
from kcsim.znodes import paths

MANY_BROKERS = 10
"""In a cluster with more brokers than this, brokers that only come too late for an election are not narrated one by one."""

REFUSED_REMEMBERED = 10_000
"""How many writes with a refused operation are remembered: an unknown number of further replies may follow."""

FINAL_REFUSALS = ("SESSIONEXPIRED", "SESSIONMOVED", "SESSIONCLOSED")
SERVER = "member-"

_SENTENCES: Mapping[EventKind, Callable[[Event], str]] = MappingProxyType(
    {
        **TOPIC_SENTENCES,
        **NETWORK_SENTENCES,
        **CLIENT_SENTENCES,
        **CONSUMER_SENTENCES,
        **SEGMENT_SENTENCES,
        **WORKLOAD_SENTENCES,
    }
)
"""Kind of event -> its sentence, where that depends on the event alone."""


class Narrator:
    """Narrates one run. Pass every event to `narrate`, in order.

    Args:
        brokers: number of brokers in the cluster.
    """

    def __init__(self, brokers: int = 0) -> None:
        self._has_many_brokers = brokers > MANY_BROKERS
        self._owners: dict[str, str] = {}  # session id -> broker-N
        self._sessions: dict[str, tuple[str, str]] = {}  # broker-N -> its session id and state, as it knows them
        self._writes: dict[int, Event] = {}  # seq of a ZkWrite -> the event, until its reply
        self._refused: OrderedDict[int, Event] = OrderedDict()  # the same for writes that were refused recently
        self._acts: dict[int, Event] = {}  # faults and admin acts: seq -> event
        self._epoch_zk_version: int | None = None
        self._epochs: dict[str, int] = {}  # broker-N -> the first epoch under which it registered
        self._unanswered: dict[int, Event] = {}  # seq of a lost reply -> the write that it belongs to
        self._is_over = False

    def narrate(self, event: Event) -> str | None:
        """Process an event. Return its sentence, without the time and the node, or None if it is not worth a line."""
        if self._is_over:
            return None  # the clean-up after the run's end is not narrated
        if event.kind in _SENTENCES:
            return _SENTENCES[event.kind](event)
        describer = _DESCRIBERS.get(event.kind)
        return describer(self, event) if describer else None

    # --- the run and its faults

    def _run_started(self, event: Event) -> str:
        seed = "" if event.seed is None else f", seed {event.seed}"
        return f"the run of {event.scenario} begins{seed}" + (f", {event.detail}" if event.detail else "")

    def _protection_off(self, event: Event) -> str:
        return f"goes without {event.rule}. {event.detail}"

    def _run_ended(self, event: Event) -> str:
        self._is_over = True
        return "the run is over"

    def _run_stalled(self, event: Event) -> str:
        return f"this process was not scheduled for {event.duration_ms} ms ({event.detail})"

    def _fault(self, event: Event) -> str | None:
        self._acts[event.seq] = event
        if (event.target or "").startswith(SERVER):
            return f"{third_person(event.fault)} {event.target}, a server of ZooKeeper"
        return action_text(event) if is_armed(event) or not is_seen_in_effect(event) else None

    def _admin_act(self, event: Event) -> str | None:
        self._acts[event.seq] = event
        return (
            None
            if is_seen_in_effect(event)
            else action_text(event) + (" by hand" if event.path and not event.detail else "")
        )

    def _step_skipped(self, event: Event) -> str:
        return f"passes over {event.op}: {event.detail}"

    def _process_state(self, event: Event) -> str | None:
        act = self._acts.get(event.cause) if event.cause is not None else None
        match event.state:
            case "paused":
                return f"freezes {point_reached(event) or 'where it stands'}: it sends no heartbeats"
            case "running" if act is not None and act.op == "resume":
                return "resumes where it was frozen"
            case "dead":
                where = f" {point}" if (point := point_reached(event)) else ""
                return f"is killed{where}: its session is not closed and will expire"
            case "stopped":
                return "has stopped"
            case _:
                return None

    # --- sessions

    def _session_state(self, event: Event) -> str | None:
        session, state = event.session_id or "", event.state or ""
        before = self._sessions.get(event.node)
        self._owners[session] = event.node
        self._sessions[event.node] = (session, state)
        match state:
            case "suspended":
                return "loses its connection to ZooKeeper; its session may or may not live on"
            case "expired":
                return f"learns that its session {short_session(session)} has expired"
            case "connected" if before == (session, "suspended"):
                return f"is connected to ZooKeeper again, its session {short_session(session)} intact"
            # Each Kafka tool that an operator runs opens a session of its own, which is not worth a line.
            case "connected" if before is not None and before[0] != session and event.node != SCENARIO:
                return f"opens a new session, {short_session(session)}"
            case _:
                return None

    def _session_closed(self, event: Event) -> str | None:
        session = event.session_id or ""
        owner = self._owners.get(session)
        if owner is None and event.error is None and event.detail is not None:
            return f"session {short_session(session)} has ended ({event.detail}); its ephemeral znodes went with it"
        if event.error is None or owner is None:
            return None
        return f"expires {owner}'s session {short_session(session)}; its ephemeral znodes go with it"

    # --- znodes and writes

    def _znode_set(self, event: Event) -> str | None:
        if event.path == paths.CONTROLLER_EPOCH:
            self._epoch_zk_version = event.zk_version
        return None

    def _znode_deleted(self, event: Event) -> str | None:
        if event.path == paths.CONTROLLER:
            return "/controller is gone: no broker is the controller"
        if (event.path or "").startswith(f"{paths.BROKER_IDS}/"):
            return f"{event.path} is gone: broker {(event.path or '').rsplit('/', 1)[1]} is no longer registered"
        return None

    def _write_begun(self, event: Event) -> None:
        self._writes[event.seq] = event

    def _write_applied(self, event: Event) -> None:
        self._writes.pop(event.cause if event.cause is not None else -1, None)

    def _write_refused(self, event: Event) -> str | None:
        cause = event.cause if event.cause is not None else -1
        given_up = self._unanswered.pop(cause, None)
        begun = given_up or self._begun(cause) or event
        write = f"its write ({begun.op} {begun.path})"
        if given_up is not None:
            return f"{write} is refused for good, its session has expired{self._fence(begun)}"
        if event.error in FINAL_REFUSALS:
            return f"{write} is refused, its session is gone: nothing was changed{self._fence(begun)}"
        if event.error == "CONNECTIONLOSS":
            self._unanswered[event.seq] = begun
            return f"{write} gets no answer, the connection is gone: it will be sent again on the next one"
        if begun.controller_epoch_zk_version is None or event.error != "BADVERSION" or event.path != paths.CONTROLLER_EPOCH:
            return None
        return f"{write} is refused: nothing was changed{self._fence(begun)}"

    def _begun(self, seq: int) -> Event | None:
        """Return the write to which a refused operation belongs."""
        begun = self._writes.pop(seq, None) or self._refused.get(seq)
        if begun is not None:
            self._refused[seq] = begun
            if len(self._refused) > REFUSED_REMEMBERED:
                self._refused.popitem(last=False)
        return begun

    def _fence(self, begun: Event) -> str:
        """Return the state of a refused write's fence, in brackets; empty for a write without one."""
        fence, now = begun.controller_epoch_zk_version, self._epoch_zk_version
        if fence is None:
            return ""
        if now in (None, fence):
            return f" (its fence: /controller_epoch at version {fence})"
        return f" (its fence was /controller_epoch at version {fence}, which is at version {now} by now)"

    def _bad_znode(self, event: Event) -> str:
        return f"cannot read {event.path}: {event.detail}"

    def _quarantined(self, event: Event) -> str:
        return f"puts {event.path} into quarantine: {event.detail}"

    def _released(self, event: Event) -> str:
        return f"takes {event.path} out of quarantine: {event.detail}"

    # --- brokers and their controller module

    def _start_failed(self, event: Event) -> str:
        return f"does not start: {event.detail}"

    def _registered(self, event: Event) -> str:
        again = event.node in self._epochs
        first = self._epochs.setdefault(event.node, event.broker_epoch or 0)
        if again:
            return f"registers anew, with broker epoch {event.broker_epoch} (at first {first})"
        return f"registers, with broker epoch {event.broker_epoch}"

    def _won(self, event: Event) -> str:
        return f"wins the election: controller epoch {event.controller_epoch} (it created /controller first)"

    def _lost(self, event: Event) -> str | None:
        holder = f"broker-{event.controller_id}" if event.controller_id not in (None, -1) else None
        if holder == event.node:
            return "finds itself named in /controller already"
        if self._has_many_brokers:
            return None
        if holder is None:
            return "loses the election; the winner is not known yet"
        return f"loses the election: {holder} is the controller"

    def _failover(self, event: Event) -> str | None:
        return f"is ready as controller: {event.detail}" if event.controller_id is not None else None

    def _moved(self, event: Event) -> str:
        return f"finds that the controller has moved: {event.detail}"

    def _resigned(self, event: Event) -> str:
        return f"resigns as controller of epoch {event.controller_epoch}"

    def _preempted(self, event: Event) -> str:
        return f"drops {event.event} without having begun it: {event.rule}"

    def _failed(self, event: Event) -> str:
        return f"gives up: {event.detail}"

    def _changed(self, event: Event) -> str | None:
        lists = {
            "started": event.started,
            "stopped": event.stopped,
            "bounced": event.bounced,
            "new topics": event.new_topics,
            "gone": event.deleted_topics,
        }
        known = {what: which for what, which in lists.items() if which is not None}
        changed = "; ".join(f"{what} {list(which)}" for what, which in known.items() if which)
        if event.step is not None or (known and not changed):
            return None
        return f"sees a change, as controller: {changed or event.detail or about(event, 'changed')}"


_DESCRIBERS: Mapping[EventKind, Callable[[Narrator, Event], str | None]] = MappingProxyType(
    {
        EventKind.RUN_STARTED: Narrator._run_started,
        EventKind.PROTECTION_OFF: Narrator._protection_off,
        EventKind.RUN_ENDED: Narrator._run_ended,
        EventKind.RUN_STALLED: Narrator._run_stalled,
        EventKind.FAULT: Narrator._fault,
        EventKind.ADMIN_ACT: Narrator._admin_act,
        EventKind.STEP_SKIPPED: Narrator._step_skipped,
        EventKind.PROCESS_STATE: Narrator._process_state,
        EventKind.SESSION_STATE: Narrator._session_state,
        EventKind.SESSION_CLOSED: Narrator._session_closed,
        EventKind.ZNODE_CREATED: Narrator._znode_set,
        EventKind.ZNODE_CHANGED: Narrator._znode_set,
        EventKind.ZNODE_DELETED: Narrator._znode_deleted,
        EventKind.ZK_WRITE: Narrator._write_begun,
        EventKind.ZK_WRITE_APPLIED: Narrator._write_applied,
        EventKind.ZK_WRITE_REFUSED: Narrator._write_refused,
        EventKind.BAD_ZNODE: Narrator._bad_znode,
        EventKind.ZNODE_QUARANTINED: Narrator._quarantined,
        EventKind.ZNODE_RELEASED: Narrator._released,
        EventKind.BROKER_START_FAILED: Narrator._start_failed,
        EventKind.BROKER_REGISTERED: Narrator._registered,
        EventKind.ELECTION_WON: Narrator._won,
        EventKind.ELECTION_LOST: Narrator._lost,
        EventKind.CONTROLLER_FAILOVER: Narrator._failover,
        EventKind.CONTROLLER_MOVED: Narrator._moved,
        EventKind.CONTROLLER_RESIGNED: Narrator._resigned,
        EventKind.CONTROLLER_EVENT_PREEMPTED: Narrator._preempted,
        EventKind.CONTROLLER_EVENT_FAILED: Narrator._failed,
        EventKind.BROKER_CHANGE: Narrator._changed,
        EventKind.TOPIC_CHANGE: Narrator._changed,
    }
)
"""Kind of event -> the method that narrates it; events of other kinds are not worth a line."""
