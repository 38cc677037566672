"""Computes the answer of a lesson's question from the run, never from what an author wrote."""

from collections.abc import Mapping
from typing import assert_never

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.language.event_pattern import ID_COLUMNS, NODE_COLUMNS, EventPattern
from kcsim.scenarios.lessons import answers
from kcsim.scenarios.lessons.answers import AnswerKind, LessonAnswer
from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.lessons.lookup import look_up
from kcsim.scenarios.lessons.lookup_terms import LookupTerm
from kcsim.scenarios.lessons.queries import (
    CountQuery,
    EventSpan,
    FirstQuery,
    HappenedQuery,
    OrderQuery,
    Query,
    RiseQuery,
    SecondsQuery,
    ValueQuery,
    WriteQuery,
)
from kcsim.text import comma_separated

REPLICA_LISTS = frozenset({"isr", "replicas", "brokers"})
APPLIED, REFUSED, UNANSWERED = "applied", "refused", "unanswered"


class NoAnswerError(Exception):
    """The run does not answer a question. The message says what the run lacks."""


def answer(run: LessonRun, query: Query, asked: int, first: int, once: int) -> LessonAnswer:
    """Return the run's answer to a query. Raises: NoAnswerError.

    Args:
        asked: the event at which the question is asked.
        first: the first event that counts.
        once: the event as of which the question is answered; this event counts as well.
    """
    match query:
        case LookupTerm():
            return look_up(run, query, once)
        case RiseQuery(rise=phrase):
            return _rise(run, phrase, asked, once)
        case CountQuery(count=pattern):
            found = list(run.matching(pattern, first, once))
            return answers.number(len(found), found[-1] if found else None)
        case HappenedQuery(happened=pattern):
            event = next(run.matching(pattern, first, once), None)
            return answers.yes_or_no(event is not None, event)
        case ValueQuery(value=column, of=pattern):
            return value_of(column, _needed(run, pattern, first, once))
        case FirstQuery(first=labelled):
            return _first(run, labelled, first, once)
        case OrderQuery(order=labelled):
            return _order(run, labelled, first, once)
        case WriteQuery(write=pattern):
            return _write(run, _needed(run, pattern, first, once), once)
        case SecondsQuery(seconds=span):
            return _seconds(run, span, first, once)
        case _:
            assert_never(query)


def _needed(run: LessonRun, pattern: EventPattern, first: int, once: int) -> Event:
    found = next(run.matching(pattern, first, once), None)
    if found is None:
        raise NoAnswerError(f"there is no {pattern} from #{first} to #{once}")
    return found


def value_of(column: str, event: Event) -> LessonAnswer:
    """Return an event's value in a column. Raises: NoAnswerError, if the event has none there."""
    value = getattr(event, column)
    if value is None:
        raise NoAnswerError(f"#{event.seq}, {event.kind.value}, has nothing in its column {column.replace('_', '-')}")
    if column in ID_COLUMNS:
        return answers.broker(int(value), event)
    if column in NODE_COLUMNS and str(value).startswith("broker-"):
        return LessonAnswer(AnswerKind.BROKER, str(value), event)
    if column in REPLICA_LISTS:
        return answers.replicas(value, event)
    if isinstance(value, bool):
        return answers.yes_or_no(value, event)
    if isinstance(value, int):
        return answers.number(value, event)
    return answers.word(value if isinstance(value, str) else comma_separated(value), event)


def _rise(run: LessonRun, term: LookupTerm, asked: int, once: int) -> LessonAnswer:
    before, after = look_up(run, term, asked), look_up(run, term, once)
    try:
        return answers.number(int(after.text) - int(before.text), after.evidence)
    except ValueError:
        raise NoAnswerError(f"{term} was {before.text} and is {after.text}: that is no rise of a number") from None


def _first(run: LessonRun, labelled: Mapping[str, EventPattern], first: int, once: int) -> LessonAnswer:
    found = _found(run, labelled, first, once)
    if not found:
        raise NoAnswerError(f"none of these happens from #{first} to #{once}: {comma_separated(labelled)}")
    label = min(found, key=lambda label: found[label].seq)
    return answers.word(label, found[label])


def _order(run: LessonRun, labelled: Mapping[str, EventPattern], first: int, once: int) -> LessonAnswer:
    found = _found(run, labelled, first, once)
    if len(found) < len(labelled):
        missing = [label for label in labelled if label not in found]
        raise NoAnswerError(f"it has no order: from #{first} to #{once} there is no {comma_separated(missing)}")
    ordered = sorted(found, key=lambda label: found[label].seq)
    return LessonAnswer(AnswerKind.ORDER, answers.in_order(ordered), found[ordered[-1]])


def _found(run: LessonRun, labelled: Mapping[str, EventPattern], first: int, once: int) -> dict[str, Event]:
    firsts = {label: next(run.matching(pattern, first, once), None) for label, pattern in labelled.items()}
    return {label: event for label, event in firsts.items() if event is not None}


def _write(run: LessonRun, begun: Event, once: int) -> LessonAnswer:
    if begun.kind is not EventKind.ZK_WRITE:
        raise NoAnswerError(f"#{begun.seq} is no ZkWrite but {begun.kind.value}")
    outcomes = {EventKind.ZK_WRITE_APPLIED: APPLIED, EventKind.ZK_WRITE_REFUSED: REFUSED}
    for event in run.events[begun.seq : once + 1]:
        # A lost connection is not an outcome: the client retries on the next connection, as a consequence of that event.
        if event.kind in outcomes and event.cause == begun.seq and event.error != "CONNECTIONLOSS":
            return answers.word(outcomes[event.kind], event)
        if event.kind is EventKind.ZK_WRITE_REFUSED and event.cause == begun.seq:
            return _after_loss(run, event, once)
    return answers.word(UNANSWERED, begun)


def _after_loss(run: LessonRun, lost: Event, once: int) -> LessonAnswer:
    outcomes = {EventKind.ZK_WRITE_APPLIED: APPLIED, EventKind.ZK_WRITE_REFUSED: REFUSED}
    following = (event for event in run.events[lost.seq : once + 1] if event.cause == lost.seq and event.kind in outcomes)
    settled = next(following, None)
    return answers.word(outcomes[settled.kind], settled) if settled else answers.word(UNANSWERED, lost)


def _seconds(run: LessonRun, span: EventSpan, first: int, once: int) -> LessonAnswer:
    began = _needed(run, span.from_, first, once)
    ended = _needed(run, span.to, began.seq, once)
    return answers.seconds(ended.t_ms - began.t_ms, ended)
