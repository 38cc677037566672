"""Upgrades events of version 2 of the schema: fills the columns that version 3 added out of the texts of version 2.

Version 2 had no columns for some facts, which stood in `detail` and `inputs` only. This module alone parses these texts; it
knows the wording of version 2, which does not change any more. What version 2 did not describe remains absent: the reason of
a failure whose text does not give it, and the strategy and errors beyond those that the text lists.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import structs

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind
from kcsim.vocabulary import FailureReason

LAST_VERSION_WITHOUT_COLUMNS = 2

TEXT_COLUMNS = ("inputs", "detail")
"""The columns that only the upgrade parses."""
FILLED_COLUMNS = frozenset(
    {
        *("started", "stopped", "bounced", "new_topics", "deleted_topics", "live_broker_count", "deleted"),
        *("adding_replicas", "removing_replicas", "target_replicas", "previous_isr", "live_replicas"),
        *("strategy", "reason", "unclean_leader_election_enable", "refused_partitions", "errors", "count", "event"),
        *("breakpoint", "breakpoint_path", "sources", "targets", "both_ways"),
        *("zookeeper", "broker_software", "schema_version"),
    }
)
"""The columns that the upgrade may fill."""

_IDS = re.compile(r"-?\d+")
_NAMES = re.compile(r"'([^']*)'")
_BROKERS_CHANGED = re.compile(r"started \[([\d, ]*)\], stopped \[([\d, ]*)\], bounced \[([\d, ]*)\]")
_TOPICS_CHANGED = re.compile(r"new topics \[(.*)\], gone \[(.*)\]")
_REASSIGNMENT = re.compile(r"adding (.*), removing (.*)")
_ELECTION = re.compile(r"candidates \[[\d, ]*\], ISR \[([\d, ]*)\], alive \[([\d, ]*)\].*")
_NO_LEADER = re.compile(r"no leader under (\w+)")
_UNCLEAN = re.compile(r"unclean\.leader\.election\.enable=(true|false)")
_LIVE_BROKERS = re.compile(r"(?:.*; )?(\d+) brokers are alive")
_REFUSAL = re.compile(r"(\S+-\d+): ([A-Z_]+)")
_AND_MORE = re.compile(r"and \d+ more")
_ARMED_WRITE = re.compile(r"(before|after) a write(?: to (.+))?")
_SIDE = r"(all|[a-z]+-[^\s,]+(?:, [a-z]+-[^\s,]+)*)"
_LINKS = re.compile(rf"(?:between {_SIDE} and {_SIDE}|from {_SIDE} to {_SIDE})(?:, (.*))?")
_DELIVERED = re.compile(r"once (\S+) has been delivered")
_LINKS_CONCERNED = re.compile(r".*: (\d+) links?, \d+ open connections? on them")
_RUN = re.compile(r"on ZooKeeper: (.*?)(?:; brokers: (.*))?")
_BAD_STATE = re.compile(r".*/brokers/topics/[^/\s]+/partitions/\d+/state: .*")

_ARMED = "armed: "
_LINK_FAULTS = frozenset({"partition", "slow-link", "lossy-link", "break-connections"})
_REASONS = {
    "is assigned to no broker, so it has no preferred leader": FailureReason.NO_REPLICAS,
    "has no state whose leader epoch could be raised": FailureReason.NO_STATE,
    "it was never online": FailureReason.NEVER_ONLINE,
    "the batch of requests to brokers still holds": FailureReason.UNSENT_REQUESTS,
}


def upgraded(event: Event) -> Event:
    """Return an event of version 2 in the present version; columns that the event has already are kept."""
    reader = _READERS.get(event.kind)
    if reader is None:
        return event
    found = {name: value for name, value in reader(event).items() if getattr(event, name) is None}
    if event.schema_version is not None and event.schema_version < EVENT_SCHEMA_VERSION:
        found["schema_version"] = EVENT_SCHEMA_VERSION
    return structs.replace(event, **found) if found else event


def _ids(text: str) -> list[int]:
    return [int(number) for number in _IDS.findall(text)]


def _run_started(event: Event) -> EventFields:
    found = _RUN.fullmatch(event.detail or "")
    if found is None:
        return {}
    fields = EventFields(zookeeper=found[1])
    if found[2] is not None:
        fields["broker_software"] = found[2]
    return fields


def _broker_change(event: Event) -> EventFields:
    found = _BROKERS_CHANGED.search(event.detail or "")
    if found is None:
        return {}
    return EventFields(started=_ids(found[1]), stopped=_ids(found[2]), bounced=_ids(found[3]))


def _topic_change(event: Event) -> EventFields:
    found = _TOPICS_CHANGED.search(event.detail or "")
    if found is None:
        return {}
    return EventFields(new_topics=_NAMES.findall(found[1]), deleted_topics=_NAMES.findall(found[2]))


def _reassignment(event: Event) -> EventFields:
    found = _REASSIGNMENT.search(event.inputs or "")
    if found is None:
        return _failure(event)
    adding, removing = _ids(found[1]), _ids(found[2])
    target = [replica for replica in event.replicas or () if replica not in removing]
    fields = EventFields(adding_replicas=adding, removing_replicas=removing, target_replicas=target)
    return {**fields, **_failure(event)}


def _election(event: Event) -> EventFields:
    found = _ELECTION.fullmatch(event.inputs or "")
    return {} if found is None else EventFields(previous_isr=_ids(found[1]), live_replicas=_ids(found[2]))


def _failover(event: Event) -> EventFields:
    found = _UNCLEAN.fullmatch(event.inputs or "")
    return {} if found is None else EventFields(unclean_leader_election_enable=found[1] == "true")


def _request_sent(event: Event) -> EventFields:
    found = _LIVE_BROKERS.fullmatch(event.detail or "") if event.event == "UpdateMetadata" else None
    return {} if found is None else EventFields(live_broker_count=int(found[1]))


def _refusals(event: Event) -> EventFields:
    items = [item for item in (event.detail or "").split("; ") if not _AND_MORE.fullmatch(item)]
    found = [_REFUSAL.fullmatch(item) for item in items]
    refused = [(item[1], item[2]) for item in found if item is not None]
    if len(refused) != len(items):
        return {}
    fields = EventFields(refused_partitions=[name for name, _ in refused])
    if event.kind is EventKind.RESPONSE_RECEIVED:
        fields["errors"] = [error for _, error in refused]
    return fields


def _replica_stopped(event: Event) -> EventFields:
    return {} if event.partition is None or event.detail is None else EventFields(deleted=event.detail == "deleted")


def _armed_write(text: str) -> EventFields:
    found = _ARMED_WRITE.fullmatch(text)
    if found is None:
        return {}
    fields = EventFields(breakpoint=found[1])
    if found[2] is not None:
        fields["breakpoint_path"] = found[2]
    return fields


def _process_state(event: Event) -> EventFields:
    return _armed_write(event.detail or "")


def _fault(event: Event) -> EventFields:
    text = event.detail or ""
    is_armed, text = text.startswith(_ARMED), text.removeprefix(_ARMED)
    if event.target is not None:
        return _armed_write(text) if is_armed else {}
    found = _LINKS.fullmatch(text) if event.fault in _LINK_FAULTS else None
    if found is None:
        return {}
    between, rest = found[1] is not None, found[5]
    sources, targets = (found[1], found[2]) if between else (found[3], found[4])
    fields = EventFields(both_ways=between)
    if sources != "all":
        fields["sources"] = sources.split(", ")
    if targets != "all":
        fields["targets"] = targets.split(", ")
    if is_armed and (delivered := _DELIVERED.fullmatch(rest or "")):
        fields["breakpoint"], fields["event"] = "delivered", delivered[1]
    return fields


def _fault_confirmed(event: Event) -> EventFields:
    is_on_links = event.fault in _LINK_FAULTS and event.target is None
    found = _LINKS_CONCERNED.fullmatch(event.detail or "") if is_on_links else None
    return {} if found is None else EventFields(count=int(found[1]))


# --- reasons -------------------------------------------------------------------------------------------------------------


def _reason(reason: FailureReason | None) -> EventFields:
    return {} if reason is None else EventFields(reason=reason.value)


def _failure(event: Event) -> EventFields:
    text = event.detail or ""
    if event.error == "BadZnodeError":
        return _reason(FailureReason.BAD_PARTITION_STATE if _BAD_STATE.fullmatch(text) else None)
    if event.error == "IllegalStateError":
        return _reason(next((reason for words, reason in _REASONS.items() if words in text), None))
    return {}


def _state_change_failed(event: Event) -> EventFields:
    found = _NO_LEADER.fullmatch(event.detail or "")
    return _failure(event) if found is None else EventFields(strategy=found[1])


def _election_lost(event: Event) -> EventFields:
    return _reason(FailureReason.NEVER_TOOK_OVER if (event.detail or "").endswith(", and never took over") else None)


def _topic_deletion(event: Event) -> EventFields:
    texts = {"ineligible": "it is being reassigned", "completed": "is still held for being reassigned"}
    wanted = texts.get(event.step or "")
    is_reassigned = wanted is not None and (event.detail or "").endswith(wanted)
    return _reason(FailureReason.BEING_REASSIGNED if is_reassigned else None)


def _isr_change_failed(event: Event) -> EventFields:
    is_no_replica = "is not available on broker" in (event.detail or "")
    return _reason(FailureReason.NOT_A_REPLICA if is_no_replica else None)


def _bad_znode(event: Event) -> EventFields:
    text = event.detail or ""
    if text.startswith("Expected JSON object"):
        return _reason(FailureReason.NO_JSON_OBJECT)
    return _reason(FailureReason.NO_JSON_ARRAY if text.startswith("Expected JSON array") else None)


_READERS: Mapping[EventKind, Callable[[Event], EventFields]] = MappingProxyType(
    {
        EventKind.RUN_STARTED: _run_started,
        EventKind.BROKER_CHANGE: _broker_change,
        EventKind.TOPIC_CHANGE: _topic_change,
        EventKind.PARTITION_REASSIGNMENT: _reassignment,
        EventKind.LEADER_ELECTION: _election,
        EventKind.CONTROLLER_FAILOVER: _failover,
        EventKind.REQUEST_SENT: _request_sent,
        EventKind.REQUEST_REFUSED: _refusals,
        EventKind.RESPONSE_RECEIVED: _refusals,
        EventKind.REPLICA_STOPPED: _replica_stopped,
        EventKind.PROCESS_STATE: _process_state,
        EventKind.FAULT: _fault,
        EventKind.FAULT_CONFIRMED: _fault_confirmed,
        EventKind.CONTROLLER_EVENT_FAILED: _failure,
        EventKind.STATE_CHANGE_FAILED: _state_change_failed,
        EventKind.ELECTION_LOST: _election_lost,
        EventKind.TOPIC_DELETION: _topic_deletion,
        EventKind.ISR_CHANGE_FAILED: _isr_change_failed,
        EventKind.BAD_ZNODE: _bad_znode,
    }
)

UPGRADED_KINDS = frozenset(_READERS)
"""The kinds of event that version 3 added columns to."""
