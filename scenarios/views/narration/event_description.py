"""Describes any event in one line, from the event alone: also those that are not worth a line of a narration."""

from types import MappingProxyType

from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.scenarios.language.step_words import WORDS_OF_EVENTS
from kcsim.scenarios.views.narration.story_words import plural
from kcsim.scenarios.views.narration.topic_sentences import about

REQUESTS = MappingProxyType({"list-partition-reassignments": "asks the controller for the reassignments in progress"})
"""`op` of requests that no step makes -> what is done."""


def describe(event: Event) -> str:
    """Describe an event without a narration in one line; with its node, unless it is about a znode or a fault."""
    text = what_happened(event)
    return text if event.kind in _SAY_WHO else f"{event.node} {text}"


_SAY_WHO = ZNODE_CHANGES | {EventKind.FAULT_CONFIRMED}


def what_happened(event: Event) -> str:
    """Describe any event in one line, without the node."""
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
            return action_text(event)
        case EventKind.WATCH_FIRED:
            return f"is notified by its watch on {event.path}: {event.event}"
        case EventKind.SESSION_CREATED:
            return f"opens session {short_session(event.session_id or '')}"
        case EventKind.SESSION_CLOSED:
            return f"{'expires' if event.error else 'ends'} session {short_session(event.session_id or '')}"
        case EventKind.SESSION_STATE:
            return f"sees its session as {event.state}"
        case EventKind.PROCESS_STATE:
            return f"is {event.state} now"
        case EventKind.BROKER_CHANGE | EventKind.TOPIC_CHANGE:
            return f"looks for changes, as controller: {event.detail or 'there is none'}"
        case EventKind.RECORDS_APPENDED:
            of = f" of {event.writer}" if event.writer else ""
            return f"appends {plural(event.count or 0, 'record')}{of} to {about(event, None)}, from offset {event.offset} on"
        case EventKind.WORKLOAD_STARTED:
            return f"begins to write {event.detail}"
        case EventKind.OFFSETS_COMMITTED:
            return f"keeps offsets that group {event.group} commits: {event.detail}"
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
            columns = (event.step, event.event, event.state, event.op, event.path, event.error, event.detail)
            return " ".join([event.kind.value, *(word for word in columns if word is not None)])


def action_text(event: Event) -> str:
    """Describe a Fault or an AdminAct: creates topic orders: 12 partitions, replication factor 3."""
    name = event.fault or event.op or ""
    words = WORDS_OF_EVENTS.get(name)
    if words is not None and words.armed is not None and is_armed(event):
        return words.armed.format(target=event.target, detail=point_reached(event))
    done = REQUESTS.get(name) or (words.phrase if words else third_person(name))
    if "{" in done:
        return done.format(target=event.target, detail=event.detail or "")
    detail = about(event, event.detail)
    target = event.target or event.path
    if target is None:
        return f"{done}: {detail}" if event.detail and detail == event.detail else f"{done} {detail}".rstrip()
    return f"{done} {target}" + (f": {event.detail}" if event.detail else "")


def is_armed(event: Event) -> bool:
    """Return whether a fault waits for its trigger."""
    return event.breakpoint is not None


def is_seen_in_effect(event: Event) -> bool:
    words = WORDS_OF_EVENTS.get(event.fault or event.op or "")
    return words is not None and words.is_seen_in_effect


def point_reached(event: Event) -> str:
    """Return where a fault applies: what triggers it, else the event's own text; empty if there is none."""
    match event.breakpoint:
        case None:
            return event.detail or ""
        case "answered" | "delivered" if event.detail:
            return event.detail.removeprefix("armed: ")
        case "delivered":
            return f"{_links(event)}, once {event.event} has been delivered"
        case moment:
            what = f"a write to {event.breakpoint_path}" if event.breakpoint_path else "a write"
            how = "begun, not yet sent" if moment == "before" else "applied, the answer not yet seen"
            return f"in the middle of {what} ({how})"


def _links(event: Event) -> str:
    sources, targets = (", ".join(side) if side is not None else "all" for side in (event.sources, event.targets))
    return f"between {sources} and {targets}" if event.both_ways else f"from {sources} to {targets}"


def third_person(verb: str | None) -> str:
    """Return a verb in the third person: kills, creates topic."""
    first, *more = (verb or "").split("-")
    return " ".join([f"{first}s", *more])


def short_session(session_id: str) -> str:
    """Return a session id without leading zeros: 0x1002c1b3fa0000."""
    return f"0x{session_id.removeprefix('0x').lstrip('0') or '0'}"
