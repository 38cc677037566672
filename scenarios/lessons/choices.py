"""The choices of a question: the right answer among others that the run makes plausible.

They are the brokers, the replicas, the epochs and the values of the run itself, and so they change with the run.
"""

from collections.abc import Iterable, Sequence
from itertools import islice, permutations
from zlib import crc32

from kcsim.scenarios.language.value_types import parse_partition
from kcsim.scenarios.lessons import answers
from kcsim.scenarios.lessons.answering import NoAnswerError, value_of
from kcsim.scenarios.lessons.answers import NO, NO_HOLDER, YES, AnswerKind, LessonAnswer
from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.lessons.lookup_terms import SUBJECT_OF, LookupTerm, TermSubject
from kcsim.scenarios.lessons.queries import CountQuery, FirstQuery, OrderQuery, Query, RiseQuery, ValueQuery, WriteQuery

MAX_CHOICES = 5
"""Maximum number of choices."""
NUMBERS_SHOWN = 4
SMALL = ("0", "1", "2", "3")
LADDER_S = (0, 1, 2, 4, 6, 10, 18, 30, 60, 120, 300)
WORDS = {
    "session": ("connected", "suspended", "expired"),
    "process": ("running", "paused", "stopped", "dead"),
    "group-state": ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"),
}
OUTCOMES = ("applied", "refused")


def choices(
    run: LessonRun, query: Query, right: LessonAnswer, asked: int, given: Sequence[str] | None, seed: str
) -> tuple[str, ...]:
    """Return the choices, in an order that does not depend on which one is right.

    Args:
        asked: the event at which the question is asked: the choices are made from what is known then, not from later events.
        given: the choices of the lesson's author, which replace those of the run.
        seed: any text; the position of the right one of several numbers depends on it alone.
    """
    if given is not None:
        return tuple(dict.fromkeys([*given, *([] if right.text in given else [right.text])]))
    match query:
        case FirstQuery(first=labelled):
            return tuple(labelled)
        case OrderQuery(order=labelled):
            return _orders(list(labelled), right.text, seed)
        case WriteQuery():
            return _with(right.text, OUTCOMES)
        case ValueQuery(value=column, of=pattern) if right.kind is AnswerKind.WORD:
            alike = (event for event in run.events if event.kind in pattern.kinds and getattr(event, column) is not None)
            return _sorted_with(right.text, dict.fromkeys(value_of(column, event).text for event in alike))
        case LookupTerm(word=word) if word in WORDS:
            return _with(right.text, WORDS[word])
        case _:
            return _of_kind(run, query, right, asked, seed)


def _of_kind(run: LessonRun, query: Query, right: LessonAnswer, asked: int, seed: str) -> tuple[str, ...]:
    match right.kind:
        case AnswerKind.YES_NO:
            return YES, NO
        case AnswerKind.NUMBER:
            is_a_count = isinstance(query, RiseQuery | CountQuery) and right.text in SMALL
            return SMALL if is_a_count else _numbers(right.text, seed)
        case AnswerKind.SECONDS:
            return _durations(right.text, seed)
        case AnswerKind.BROKER:
            concerned = _concerned(run, query, asked) or [int(name.removeprefix("broker-")) for name in run.brokers]
            return (*_by_number(right.text, [f"broker-{broker}" for broker in concerned]), NO_HOLDER)
        case AnswerKind.BROKERS | AnswerKind.REPLICAS:
            return _sets(run, query, right, asked)
        case _:
            return _words(run, query, right, asked)


def _concerned(run: LessonRun, query: Query, asked: int) -> list[int]:
    """Return the replicas of the partition that the question is about; empty if it is about none."""
    partition = query.subject if isinstance(query, LookupTerm) and SUBJECT_OF[query.word] is TermSubject.PARTITION else None
    if isinstance(query, ValueQuery) and "topic" in query.of.fields and "partition" in query.of.fields:
        partition = f"{query.of.fields['topic']}-{query.of.fields['partition']}"
    assignment = run.as_of(asked).state.of_topics.assignment(parse_partition(partition)) if partition else None
    return sorted(assignment.replicas) if assignment else []


def _by_number(right: str, names: Iterable[str]) -> list[str]:
    known = {*names, *([] if right == NO_HOLDER else [right])}
    nearest = sorted(known, key=lambda name: (name != right, int(name.rpartition("-")[2])))[: MAX_CHOICES - 1]
    return sorted(nearest, key=lambda name: int(name.rpartition("-")[2]))


def _numbers(right: str, seed: str) -> tuple[str, ...]:
    """Return numbers around the right one, whose position among them depends on the seed."""
    if not right.isdecimal():
        return right, "0", "1", "2"
    first = max(0, int(right) - crc32(seed.encode()) % NUMBERS_SHOWN)
    return tuple(str(first + place) for place in range(NUMBERS_SHOWN))


def _durations(right: str, seed: str) -> tuple[str, ...]:
    value = int(right.removesuffix(" s"))
    ladder = sorted({*(step for step in LADDER_S if abs(step - value) > 1 or step in (0, value)), value})
    first = max(0, min(ladder.index(value) - crc32(seed.encode()) % NUMBERS_SHOWN, len(ladder) - NUMBERS_SHOWN))
    return tuple(f"{step} s" for step in ladder[first : first + NUMBERS_SHOWN])


def _orders(labels: list[str], right: str, seed: str) -> tuple[str, ...]:
    others = [order for p in permutations(sorted(labels)) if (order := answers.in_order(p)) != right]
    step = 1 + crc32(seed.encode()) % 3
    drawn = dict.fromkeys([*others[::step], *others])
    return tuple(sorted([right, *islice(drawn, NUMBERS_SHOWN - 1)]))


def _sets(run: LessonRun, query: Query, right: LessonAnswer, asked: int) -> tuple[str, ...]:
    """Return plausible sets for an ISR or a similar value: the present one, without one broker, one broker alone."""
    state = run.as_of(asked).state
    replicas = _concerned(run, query, asked) or sorted(state.registered)
    isr: Sequence[int] = replicas
    if isinstance(query, LookupTerm) and SUBJECT_OF[query.word] is TermSubject.PARTITION:
        isr = sorted(state.of_topics.isr(parse_partition(query.subject))) or replicas
    alive = [broker for broker in replicas if broker in state.registered]
    as_answer = answers.brokers if right.kind is AnswerKind.BROKERS else answers.replicas
    candidates = [
        list(isr),
        alive,
        *([b for b in isr if b != gone] for gone in isr),
        *([b] for b in isr),
        [],
        list(replicas),
        *([b] for b in replicas),
    ]
    plausible = list(dict.fromkeys(as_answer(candidate).text for candidate in candidates))
    kept = [text for text in plausible if text != right.text][: MAX_CHOICES - 1]
    return tuple(sorted([right.text, *kept], key=lambda text: (-len(text), text)))


def _words(run: LessonRun, query: Query, right: LessonAnswer, asked: int) -> tuple[str, ...]:
    """Return values of the same phrase elsewhere in the run, or values of consumers."""
    consumption = run.as_of(asked).state.of_consumers
    match query:
        case LookupTerm(word="owner"):
            return (*_sorted_with(right.text, sorted(consumption.owned), NO_HOLDER), NO_HOLDER)
        case LookupTerm(word="owned"):
            owned = [", ".join(partitions) or "nothing" for partitions in consumption.owned.values()]
            together = [", ".join(sorted({*a, *b})) for a, b in permutations(consumption.owned.values(), 2)]
            return _sorted_with(right.text, dict.fromkeys([*owned, "nothing", *together]))
        case _:
            raise NoAnswerError("the run has no choices for this question; write choices")


def _with(right: str, words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words) if right in words else (*words, right)


def _sorted_with(right: str, words: Iterable[str], *without: str) -> tuple[str, ...]:
    others = [word for word in words if word != right][: MAX_CHOICES - 1]
    return tuple(sorted(word for word in {right, *others} if word not in without))
