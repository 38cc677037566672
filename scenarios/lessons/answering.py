"""Answers a question by what the run says, and never by what an author wrote."""

from collections.abc import Mapping
from typing import assert_never

from kcsim.scenarios.language.event_pattern import IDS, NAMED, EventPattern
from kcsim.scenarios.language.words import listed
from kcsim.scenarios.lessons import answers
from kcsim.scenarios.lessons.answers import Answer, AnswerKind
from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.lessons.looking_up import look_up
from kcsim.scenarios.lessons.phrases import Phrase
from kcsim.scenarios.lessons.queries import Count, First, Happened, Order, Query, Rise, Seconds, Span, Value, Write
from kcsim.zk.events import Event, EventKind

REPLICA_LISTS = frozenset({"isr", "replicas", "brokers"})
APPLIED, REFUSED, UNANSWERED = "applied", "refused", "unanswered"


class NoAnswerError(Exception):
    """The run does not answer a question: says what it lacks."""


def answer(run: LessonRun, query: Query, asked: int, first: int, once: int) -> Answer:
    """Ask a run. Raises: NoAnswerError.

    Args:
        asked: the event at which the question is asked.
        first: the event from which on events count.
        once: the event as of which it is answered; it counts as well.
    """
    match query:
        case Phrase():
            return look_up(run, query, once)
        case Rise(rise=phrase):
            return _rise(run, phrase, asked, once)
        case Count(count=pattern):
            found = list(run.matching(pattern, first, once))
            return answers.number(len(found), found[-1] if found else None)
        case Happened(happened=pattern):
            event = next(run.matching(pattern, first, once), None)
            return answers.yes_or_no(event is not None, event)
        case Value(value=column, of=pattern):
            return value_of(column, _needed(run, pattern, first, once))
        case First(first=labelled):
            return _first(run, labelled, first, once)
        case Order(order=labelled):
            return _order(run, labelled, first, once)
        case Write(write=pattern):
            return _write(run, _needed(run, pattern, first, once), once)
        case Seconds(seconds=span):
            return _seconds(run, span, first, once)
        case _:
            assert_never(query)


def _needed(run: LessonRun, pattern: EventPattern, first: int, once: int) -> Event:
    found = next(run.matching(pattern, first, once), None)
    if found is None:
        raise NoAnswerError(f"there is no {pattern} from #{first} to #{once}")
    return found


def value_of(column: str, event: Event) -> Answer:
    """What an event has in a column. Raises: NoAnswerError, if it has nothing there."""
    value = getattr(event, column)
    if value is None:
        raise NoAnswerError(f"#{event.seq}, {event.kind.value}, has nothing in its column {column.replace('_', '-')}")
    if column in IDS:
        return answers.broker(int(value), event)
    if column in NAMED and str(value).startswith("broker-"):
        return Answer(AnswerKind.BROKER, str(value), event)
    if column in REPLICA_LISTS:
        return answers.replicas(value, event)
    if isinstance(value, bool):
        return answers.yes_or_no(value, event)
    if isinstance(value, int):
        return answers.number(value, event)
    return answers.word(value if isinstance(value, str) else listed(value), event)


def _rise(run: LessonRun, phrase: Phrase, asked: int, once: int) -> Answer:
    before, after = look_up(run, phrase, asked), look_up(run, phrase, once)
    try:
        return answers.number(int(after.text) - int(before.text), after.evidence)
    except ValueError:
        raise NoAnswerError(f"{phrase} was {before.text} and is {after.text}: that is no rise of a number") from None


def _first(run: LessonRun, labelled: Mapping[str, EventPattern], first: int, once: int) -> Answer:
    found = _found(run, labelled, first, once)
    if not found:
        raise NoAnswerError(f"none of these happens from #{first} to #{once}: {listed(labelled)}")
    label = min(found, key=lambda label: found[label].seq)
    return answers.word(label, found[label])


def _order(run: LessonRun, labelled: Mapping[str, EventPattern], first: int, once: int) -> Answer:
    found = _found(run, labelled, first, once)
    if len(found) < len(labelled):
        missing = [label for label in labelled if label not in found]
        raise NoAnswerError(f"it has no order: from #{first} to #{once} there is no {listed(missing)}")
    ordered = sorted(found, key=lambda label: found[label].seq)
    return Answer(AnswerKind.ORDER, answers.in_order(ordered), found[ordered[-1]])


def _found(run: LessonRun, labelled: Mapping[str, EventPattern], first: int, once: int) -> dict[str, Event]:
    firsts = {label: next(run.matching(pattern, first, once), None) for label, pattern in labelled.items()}
    return {label: event for label, event in firsts.items() if event is not None}


def _write(run: LessonRun, begun: Event, once: int) -> Answer:
    if begun.kind is not EventKind.ZK_WRITE:
        raise NoAnswerError(f"#{begun.seq} is no ZkWrite but {begun.kind.value}")
    outcomes = {EventKind.ZK_WRITE_APPLIED: APPLIED, EventKind.ZK_WRITE_REFUSED: REFUSED}
    for event in run.events[begun.seq : once + 1]:
        # A lost connection is no answer: the client asks again on the next one, as a consequence of that event.
        if event.kind in outcomes and event.cause == begun.seq and event.error != "CONNECTIONLOSS":
            return answers.word(outcomes[event.kind], event)
        if event.kind is EventKind.ZK_WRITE_REFUSED and event.cause == begun.seq:
            return _after_loss(run, event, once)
    return answers.word(UNANSWERED, begun)


def _after_loss(run: LessonRun, lost: Event, once: int) -> Answer:
    outcomes = {EventKind.ZK_WRITE_APPLIED: APPLIED, EventKind.ZK_WRITE_REFUSED: REFUSED}
    following = (event for event in run.events[lost.seq : once + 1] if event.cause == lost.seq and event.kind in outcomes)
    settled = next(following, None)
    return answers.word(outcomes[settled.kind], settled) if settled else answers.word(UNANSWERED, lost)


def _seconds(run: LessonRun, span: Span, first: int, once: int) -> Answer:
    began = _needed(run, span.from_, first, once)
    ended = _needed(run, span.to, began.seq, once)
    return answers.seconds(ended.t_ms - began.t_ms, ended)
