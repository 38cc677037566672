"""The sentences for records: what producers experience, what is truncated, and what became of all records.

Pure, an event at a time. The node stands before the sentence, as in every line of a run.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.topic_sentences import about


def _records(event: Event) -> str:
    return "1 record" if event.count == 1 else f"{event.count} records"


def _stopped(event: Event) -> str:
    return f"is done: {event.detail}"


def _acknowledged(event: Event) -> str:
    of = "" if event.leader is None else f"from broker-{event.leader} "
    return f"gets {of}the acknowledgement of {_records(event)} of {about(event, None)}"


def _refused(event: Event) -> str:
    attempts = f"({_records(event)}, attempts added up)"
    return f"fails to write to {about(event, None)} at broker-{event.leader} {attempts}: {event.error}"


def _given_up(event: Event) -> str:
    there = "" if event.outcome == "not applied" else "; whether they are there, it cannot know"
    return f"gives up {_records(event)} of {about(event, None)}, after {event.error}{there}"


def _truncated(event: Event) -> str:
    those = f": {event.detail}" if event.detail else ""
    leader = f"its leader, broker-{event.leader}"
    why = (
        f"behind its high watermark, without asking {leader}"
        if event.rule == "high watermark"
        else f"that {leader}, does not have"
    )
    return f"truncates {_records(event)} of {about(event, None)} {why}{those}"


def _lost(event: Event) -> str:
    last, epoch = (event.end_offset or 0) - 1, event.leader_epoch
    which = f"offsets {event.offset} to {last} of leader epoch {epoch}"
    return f"misses {_records(event)} of {about(event, None)} that were acknowledged: {which}, {event.detail}"


def _duplicated(event: Event) -> str:
    return f"finds {_records(event)} of {about(event, None)} once more, from offset {event.offset} on, {event.detail}"


def _ledger(event: Event) -> str:
    return f"counts the records of {about(event, None)}: {event.detail}"


WORKLOAD_SENTENCES: Mapping[EventKind, Callable[[Event], str]] = MappingProxyType(
    {
        EventKind.WORKLOAD_STOPPED: _stopped,
        EventKind.RECORDS_ACKNOWLEDGED: _acknowledged,
        EventKind.RECORDS_REFUSED: _refused,
        EventKind.RECORDS_GIVEN_UP: _given_up,
        EventKind.RECORDS_TRUNCATED: _truncated,
        EventKind.RECORDS_LOST: _lost,
        EventKind.RECORDS_DUPLICATED: _duplicated,
        EventKind.LEDGER: _ledger,
    }
)
"""Kind of event -> its sentence. The start of a producer has none here: the action that starts it is narrated."""
