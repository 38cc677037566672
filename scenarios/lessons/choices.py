"""What a question lets its reader choose from: the right answer among others that the run makes plausible.

They are the brokers, the replicas, the epochs and the values that the run itself has; so they change with it.
"""

from collections.abc import Iterable, Sequence
from itertools import islice, permutations
from zlib import crc32

from kcsim.scenarios.language.words import parse_partition
from kcsim.scenarios.lessons import answers
from kcsim.scenarios.lessons.answering import NoAnswerError, value_of
from kcsim.scenarios.lessons.answers import NO, NOBODY, YES, Answer, AnswerKind
from kcsim.scenarios.lessons.lesson_run import LessonRun
from kcsim.scenarios.lessons.phrases import SUBJECT_OF, Phrase, Subject
from kcsim.scenarios.lessons.queries import Count, First, Order, Query, Rise, Value, Write

MOST = 5
"""So many choices at most."""
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
    run: LessonRun, query: Query, right: Answer, asked: int, given: Sequence[str] | None, seed: str
) -> tuple[str, ...]:
    """The choices, in an order that does not depend on which is right.

    Args:
        asked: the event at which the question is asked: they are made from what is known then, and not later.
        given: those of the lesson's author, in place of the run's.
        seed: any text; where the right one of several numbers stands depends on it alone.
    """
    if given is not None:
        return tuple(dict.fromkeys([*given, *([] if right.text in given else [right.text])]))
    match query:
        case First(first=labelled):
            return tuple(labelled)
        case Order(order=labelled):
            return _orders(list(labelled), right.text, seed)
        case Write():
            return _with(right.text, OUTCOMES)
        case Value(value=column, of=pattern) if right.kind is AnswerKind.WORD:
            alike = (event for event in run.events if event.kind in pattern.kinds and getattr(event, column) is not None)
            return _sorted_with(right.text, dict.fromkeys(value_of(column, event).text for event in alike))
        case Phrase(word=word) if word in WORDS:
            return _with(right.text, WORDS[word])
        case _:
            return _of_kind(run, query, right, asked, seed)


def _of_kind(run: LessonRun, query: Query, right: Answer, asked: int, seed: str) -> tuple[str, ...]:
    match right.kind:
        case AnswerKind.YES_NO:
            return YES, NO
        case AnswerKind.NUMBER:
            is_a_count = isinstance(query, Rise | Count) and right.text in SMALL
            return SMALL if is_a_count else _numbers(right.text, seed)
        case AnswerKind.SECONDS:
            return _durations(right.text, seed)
        case AnswerKind.BROKER:
            concerned = _concerned(run, query, asked) or [int(name.removeprefix("broker-")) for name in run.brokers]
            return (*_by_number(right.text, [f"broker-{broker}" for broker in concerned]), NOBODY)
        case AnswerKind.BROKERS | AnswerKind.REPLICAS:
            return _sets(run, query, right, asked)
        case _:
            return _words(run, query, right, asked)


def _concerned(run: LessonRun, query: Query, asked: int) -> list[int]:
    """The replicas of the partition that is asked about."""
    partition = query.subject if isinstance(query, Phrase) and SUBJECT_OF[query.word] is Subject.PARTITION else None
    if isinstance(query, Value) and "topic" in query.of.fields and "partition" in query.of.fields:
        partition = f"{query.of.fields['topic']}-{query.of.fields['partition']}"
    assignment = run.as_of(asked).of_topics.assignment(parse_partition(partition)) if partition else None
    return sorted(assignment.replicas) if assignment else []


def _by_number(right: str, names: Iterable[str]) -> list[str]:
    known = {*names, *([] if right == NOBODY else [right])}
    nearest = sorted(known, key=lambda name: (name != right, int(name.rpartition("-")[2])))[: MOST - 1]
    return sorted(nearest, key=lambda name: int(name.rpartition("-")[2]))


def _numbers(right: str, seed: str) -> tuple[str, ...]:
    """Neighbours of the right one; where it stands among them is drawn from the seed."""
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


def _sets(run: LessonRun, query: Query, right: Answer, asked: int) -> tuple[str, ...]:
    """What the ISR, or the like, might be: as it was, without this one, this one alone."""
    state = run.as_of(asked)
    replicas = _concerned(run, query, asked) or sorted(state.registered)
    isr: Sequence[int] = replicas
    if isinstance(query, Phrase) and SUBJECT_OF[query.word] is Subject.PARTITION:
        isr = sorted(state.of_topics.isr(parse_partition(query.subject))) or replicas
    alive = [broker for broker in replicas if broker in state.registered]
    tell = answers.brokers if right.kind is AnswerKind.BROKERS else answers.replicas
    candidates = [
        list(isr),
        alive,
        *([b for b in isr if b != gone] for gone in isr),
        *([b] for b in isr),
        [],
        list(replicas),
        *([b] for b in replicas),
    ]
    plausible = list(dict.fromkeys(tell(candidate).text for candidate in candidates))
    kept = [text for text in plausible if text != right.text][: MOST - 1]
    return tuple(sorted([right.text, *kept], key=lambda text: (-len(text), text)))


def _words(run: LessonRun, query: Query, right: Answer, asked: int) -> tuple[str, ...]:
    """Values that the same phrase has elsewhere in the run, or that consumers have."""
    consumption = run.as_of(asked).of_consumers
    match query:
        case Phrase(word="owner"):
            return (*_sorted_with(right.text, sorted(consumption.owned), NOBODY), NOBODY)
        case Phrase(word="owned"):
            owned = [", ".join(partitions) or "nothing" for partitions in consumption.owned.values()]
            together = [", ".join(sorted({*a, *b})) for a, b in permutations(consumption.owned.values(), 2)]
            return _sorted_with(right.text, dict.fromkeys([*owned, "nothing", *together]))
        case _:
            raise NoAnswerError("the run offers nothing to choose from here; give choices")


def _with(right: str, words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words) if right in words else (*words, right)


def _sorted_with(right: str, words: Iterable[str], *without: str) -> tuple[str, ...]:
    others = [word for word in words if word != right][: MOST - 1]
    return tuple(sorted(word for word in {right, *others} if word not in without))
