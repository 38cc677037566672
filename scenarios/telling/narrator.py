"""Tells a run in plain words: which events are worth a line, and what it says.

Pure: an observer of the event log that knows nothing else. Who knows Kafka should recognise every line, and who does not
should be able to follow.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.scenarios.deeds import SCENARIO
from kcsim.scenarios.telling.consumer_sentences import CONSUMER_SENTENCES
from kcsim.scenarios.telling.network_sentences import NETWORK_SENTENCES, network_deed
from kcsim.scenarios.telling.segment_sentences import SEGMENT_SENTENCES
from kcsim.scenarios.telling.topic_sentences import SENTENCES, about
from kcsim.scenarios.telling.workload_sentences import WORKLOAD_SENTENCES
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind

CROWD = 10
"""In a cluster with more brokers than this, those that merely come too late for an election are not told one by one."""

REFUSED_REMEMBERED = 10_000
"""Writes whose first operation was refused: more answers may follow, and nobody knows how many."""

FINAL_REFUSALS = ("SESSIONEXPIRED", "SESSIONMOVED", "SESSIONCLOSED")
ARMED = "armed: "
IN_ORDER = ("stop", "resume")
"""Admin acts that are told by what the broker then does."""
ASKED = MappingProxyType(
    {
        "add-partitions": "adds partitions to",
        "alter-partition-reassignments": "asks the controller to reassign",
        "delete-topic": "asks for the deletion of",
        "elect-leaders": "asks the controller to elect leaders",
        "elect-preferred": "asks for the preferred leaders",
        "fail-log-dir": "breaks a log directory of",
        "produce": "has records written by",
        "resume-consumers": "wakes",
        "start-consumers": "starts",
        "start-workload": "starts",
        "stop-consumers": "stops",
        "stop-workload": "stops",
        "list-partition-reassignments": "asks the controller what is being reassigned",
        "reassign": "asks for reassignment",
        "set-config": "changes settings",
    }
)
"""Verbs that say more than their name does."""


class Narrator:
    """Feed it every event of one run, in order.

    Args:
        brokers: how many brokers there are.
    """

    def __init__(self, brokers: int = 0) -> None:
        self._is_crowd = brokers > CROWD
        self._owners: dict[str, str] = {}  # session id -> broker-N
        self._sessions: dict[str, tuple[str, str]] = {}  # broker-N -> its session id and state, as it knows them
        self._writes: dict[int, Event] = {}  # seq of a ZkWrite -> it, until it is answered
        self._refused: OrderedDict[int, Event] = OrderedDict()  # the same of those that were refused lately
        self._acts: dict[int, Event] = {}  # faults and admin acts: seq -> event
        self._epoch_zk_version: int | None = None
        self._epochs: dict[str, int] = {}  # broker-N -> the first epoch under which it registered
        self._unanswered: dict[int, Event] = {}  # seq of a lost answer -> the write it was about
        self._is_over = False

    def tell(self, event: Event) -> str | None:
        """Take an event in; return what to say of it, without the time and the node, or None if it is not worth a line."""
        if self._is_over:
            return None  # what is cleaned up afterwards is no part of the story
        if event.kind in SENTENCES:
            return SENTENCES[event.kind](event)
        if event.kind in NETWORK_SENTENCES:
            return NETWORK_SENTENCES[event.kind](event)
        if event.kind in CONSUMER_SENTENCES:
            return CONSUMER_SENTENCES[event.kind](event)
        if event.kind in SEGMENT_SENTENCES:
            return SEGMENT_SENTENCES[event.kind](event)
        if event.kind in WORKLOAD_SENTENCES:
            return WORKLOAD_SENTENCES[event.kind](event)
        teller = _TELLERS.get(event.kind)
        return teller(self, event) if teller else None

    # --- the run and its faults

    def _run_started(self, event: Event) -> str:
        seed = "" if event.seed is None else f", seed {event.seed}"
        return f"the run of {event.scenario} begins{seed}" + (f", {event.detail}" if event.detail else "")

    def _protection_off(self, event: Event) -> str:
        return f"goes without {event.rule}. {event.detail}"

    def _run_ended(self, event: Event) -> str:
        self._is_over = True
        return "the run is over"

    def _fault(self, event: Event) -> str | None:
        self._acts[event.seq] = event
        match event.fault:
            case "pause" | "kill" if event.detail and event.detail.startswith(ARMED):
                happens = "freezes" if event.fault == "pause" else "is killed"
                return f"sees to it that {event.target} {happens} {_write_at(event.detail.removeprefix(ARMED))}"
            case "stall":
                return f"keeps {event.target}'s application busy: it {event.detail}"
            case "expire":
                return f"has ZooKeeper expire {event.target}'s session, although {event.target} lives"
            case "disconnect":
                return f"cuts {event.target} off from ZooKeeper"
            case _ if (event.target or "").startswith("member-"):
                return f"{_third_person(event.fault)} {event.target}, a server of ZooKeeper"
            case _:
                return network_deed(event)  # of others their effect is told

    def _admin_act(self, event: Event) -> str | None:
        self._acts[event.seq] = event
        if event.op in IN_ORDER:
            return None
        return deed_of(event) + (" by hand" if event.path else "")

    def _step_skipped(self, event: Event) -> str:
        return f"passes over {event.op}: {event.detail}"

    def _process_state(self, event: Event) -> str | None:
        act = self._acts.get(event.cause) if event.cause is not None else None
        match event.state:
            case "paused":
                return f"freezes {_write_at(event.detail or 'where it stands')}: no heartbeat leaves it any more"
            case "running" if act is not None and act.op == "resume":
                return "wakes up and goes on as if nothing had happened"
            case "dead":
                where = f" {_write_at(event.detail)}" if event.detail else ""
                return f"is killed{where}: no goodbye, its session is left to expire"
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
                return f"learns that its session {_short(session)} has expired"
            case "connected" if before == (session, "suspended"):
                return f"is connected to ZooKeeper again, its session {_short(session)} intact"
            # Each of Kafka's tools that an operator runs opens a session of its own, which is not worth a line.
            case "connected" if before is not None and before[0] != session and event.node != SCENARIO:
                return f"opens a new session, {_short(session)}"
            case _:
                return None

    def _session_closed(self, event: Event) -> str | None:
        session = event.session_id or ""
        owner = self._owners.get(session)
        if event.error is None or owner is None:
            return None
        return f"expires {owner}'s session {_short(session)}; its ephemeral znodes go with it"

    # --- znodes and writes

    def _znode_set(self, event: Event) -> str | None:
        if event.path == paths.CONTROLLER_EPOCH:
            self._epoch_zk_version = event.zk_version
        return None

    def _znode_deleted(self, event: Event) -> str | None:
        if event.path == paths.CONTROLLER:
            return "/controller is gone: nobody is the controller"
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
            return f"{write} gets no answer, the connection is gone: it will ask again on the next one"
        if begun.controller_epoch_zk_version is None or event.error != "BADVERSION" or event.path != paths.CONTROLLER_EPOCH:
            return None
        return f"{write} is refused: nothing was changed{self._fence(begun)}"

    def _begun(self, seq: int) -> Event | None:
        """The write that was refused just now, in one of its operations."""
        begun = self._writes.pop(seq, None) or self._refused.get(seq)
        if begun is not None:
            self._refused[seq] = begun
            if len(self._refused) > REFUSED_REMEMBERED:
                self._refused.popitem(last=False)
        return begun

    def _fence(self, begun: Event) -> str:
        """What became of the fence of a refused write, in brackets; empty for a write without one."""
        fence, now = begun.controller_epoch_zk_version, self._epoch_zk_version
        if fence is None:
            return ""
        if now in (None, fence):
            return f" (its fence: /controller_epoch at version {fence})"
        return f" (its fence was /controller_epoch at version {fence}, which is at version {now} by now)"

    def _bad_znode(self, event: Event) -> str:
        return f"cannot read {event.path}: {event.detail}"

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
        if self._is_crowd:
            return None
        if holder is None:
            return "loses the election; who won is not to be seen yet"
        return f"comes too late for the election: {holder} is the controller"

    def _failover(self, event: Event) -> str | None:
        return f"is ready as controller: {event.detail}" if event.controller_id is not None else None

    def _moved(self, event: Event) -> str:
        return f"finds that the controller role has moved on: {event.detail}"

    def _resigned(self, event: Event) -> str:
        return f"resigns as controller of epoch {event.controller_epoch}"

    def _preempted(self, event: Event) -> str:
        return f"drops {event.event} without having begun it: {event.rule}"

    def _failed(self, event: Event) -> str:
        return f"gives up: {event.detail}"

    def _changed(self, event: Event) -> str | None:
        # `started [4], stopped [], bounced []`: only what there is; other sentences as they are.
        told = event.detail or ""
        lists = re.findall(r"([\w ]+) \[([^\]]*)\]", told)
        if lists:
            told = "; ".join(f"{what.strip()} [{which}]" for what, which in lists if which)
        return f"takes note, as controller: {told}" if told else None


def describe(event: Event) -> str:
    """Any event in one line, for those that a narrator has no words for; says who, unless it is about a znode or a fault."""
    told = what_happened(event)
    return told if event.kind in _SAY_WHO else f"{event.node} {told}"


_SAY_WHO = frozenset({EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED, EventKind.FAULT_CONFIRMED})


def what_happened(event: Event) -> str:
    """Any event in one line, without the node."""
    match event.kind:
        case EventKind.ZNODE_CREATED:
            return f"{event.path} was created"
        case EventKind.ZNODE_CHANGED:
            return f"{event.path} was set to {event.data}"
        case EventKind.ZNODE_DELETED:
            return f"{event.path} was deleted"
        case EventKind.FAULT_CONFIRMED:
            return f"confirmed: {event.detail}"
        case EventKind.FAULT | EventKind.ADMIN_ACT:
            return deed_of(event)
        case EventKind.WATCH_FIRED:
            return f"hears from its watch on {event.path}: {event.event}"
        case EventKind.CONTROLLER_EVENT_QUEUED:
            return f"queues the event {event.event}"
        case EventKind.CONTROLLER_EVENT_BEGUN:
            return f"processes {event.event}"
        case EventKind.CONTROLLER_EVENT_DONE:
            return f"is done with {event.event}"
        case EventKind.ELECTION_STARTED:
            return "stands for election"
        case EventKind.CONTROLLER_FAILOVER:
            return f"takes over: {event.step}"
        case EventKind.ZK_WRITE:
            return f"begins a write: {event.op} {event.path}"
        case EventKind.ZK_WRITE_APPLIED:
            return f"its write was applied: {event.op} {event.path}"
        case EventKind.ZK_WRITE_REFUSED:
            return f"its write was refused: {event.op} {event.path}: {event.error}"
        case EventKind.EXPECTATION:
            return f"judges: {event.rule}: {event.outcome}, {event.detail}"
        case _:
            told = (event.step, event.event, event.state, event.op, event.path, event.error, event.detail)
            return " ".join([event.kind.value, *(word for word in told if word is not None)])


def deed_of(event: Event) -> str:
    """What somebody outside does, from a Fault or an AdminAct: creates topic orders: 12 partitions, replication factor 3."""
    verb = event.fault or event.op or ""
    if (to_the_network := network_deed(event)) is not None:
        return to_the_network
    if verb == "reconnect":
        return f"lets {event.target} reach ZooKeeper again"
    done = ASKED.get(verb) or _third_person(verb)
    told = about(event, event.detail)
    whom = event.target or event.path
    if whom is None:
        return f"{done}: {told}" if event.detail and told == event.detail else f"{done} {told}".rstrip()
    return f"{done} {whom}" + (f": {event.detail}" if event.detail else "")


def _write_at(where: str) -> str:
    """Where a fault strikes: `before a write to /x` in more words; anything else (`between two steps`) as it is."""
    match = re.fullmatch(r"(before|after) a write(?: to (.+))?", where)
    if match is None:
        return where
    when, path = match.groups()
    what = f"a write to {path}" if path else "a write"
    return f"in the middle of {what} ({'begun, not yet sent' if when == 'before' else 'applied, the answer not yet seen'})"


def _third_person(verb: str | None) -> str:
    """As a sentence has it: kills, creates topic."""
    first, *more = (verb or "").split("-")
    return " ".join([f"{first}s", *more])


def _short(session_id: str) -> str:
    """A session id without leading zeros: 0x1002c1b3fa0000."""
    return f"0x{session_id.removeprefix('0x').lstrip('0') or '0'}"


_TELLERS: Mapping[EventKind, Callable[[Narrator, Event], str | None]] = MappingProxyType(
    {
        EventKind.RUN_STARTED: Narrator._run_started,
        EventKind.PROTECTION_OFF: Narrator._protection_off,
        EventKind.RUN_ENDED: Narrator._run_ended,
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
"""Kind of event -> who tells it; the others are not worth a line."""
