"""The texts for people, `detail` and `inputs`, decide nothing: a run without them is judged, folded and shown as before.

Each scenario is run once. Everything that is computed from its event log is then computed again from the same events
without their texts.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
import pytest

from kcsim.brokers.invariants import INVARIANTS
from kcsim.brokers.invariants.invariant_checker import InvariantChecker
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.folding.folding_runs import fold_events
from kcsim.scenarios.analysis.folding.folds import fold_for
from kcsim.scenarios.analysis.folding.mismatch import Mismatch
from kcsim.scenarios.analysis.folding.replay_fact import FACT_COLUMNS
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.engine.expectations.conditions import evaluate
from kcsim.scenarios.engine.expectations.evaluation_context import EvaluationContext
from kcsim.scenarios.explore.coverage import CoveragePoint, reached_by
from kcsim.scenarios.explore.known_bugs import known_bugs
from kcsim.scenarios.language.event_pattern import COLUMNS
from kcsim.scenarios.language.event_values import TEXTS_FOR_PEOPLE
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.lessons.lesson_pages import LessonPage, lesson_pages
from kcsim.scenarios.lessons.lesson_run import LessonRun, run_lesson
from kcsim.scenarios.views.narration.story import story_of
from kcsim.scenarios.views.terminal.run_digest import RunDigest
from kcsim.scenarios.views.trace.entity_feed import ENTITY_TYPES, EntityFeed
from kcsim.scenarios.views.trace.event_importance import EventRanker
from tests.scenarios.lessons.lesson_fixtures import played
from tests.scenarios.lessons.lesson_names import NAMES
from tests.scenarios.scenario_library import of_library
from tests.tiers import tiered


@cache
def run_of(name: str) -> LessonRun:
    """Run a scenario of the library: the run of a lesson is a run, with the names that its timetable gives."""
    return run_lesson(of_library(name))


def without_texts(events: Iterable[Event]) -> list[Event]:
    return [msgspec.structs.replace(event, detail=None, inputs=None) for event in events]


def both(name: str) -> tuple[Sequence[Event], Sequence[Event]]:
    """Return the events of a run, and the same events without their texts."""
    events = run_of(name).events
    blank = without_texts(events)
    assert any(event.detail is not None for event in events)
    return events, blank


SCENARIOS = tiered(library_names(), fast=8)


# --- what is computed from the events ------------------------------------------------------------------------------------


def states(events: Iterable[Event]) -> Iterator[tuple[object, ...]]:
    """Yield the state of the cluster after each event; of the events that it refers to, their seq."""
    state = ClusterState()
    for event in events:
        state.apply(event)
        metrics = state.of_metrics
        yield (
            (state.znodes, state.processes, state.sessions, state.registered, state.longest_stall_ms),
            (state.of_topics, state.of_consumers, metrics.now),
            {name: (value, at.seq) for name, (value, at) in metrics.highest.items()},
            {name: at.seq for name, at in metrics.changed.items()},
        )


def violations(events: Iterable[Event]) -> list[tuple[str, int | None]]:
    """Return the violated invariants, as far as the events alone show them."""
    checker = InvariantChecker(INVARIANTS)
    for event in events:
        checker.observe(event)
    checker.at_end(quiescent=True, recovered=True)
    return [(found.invariant.name, found.seq) for found in checker.violations]


def judged(name: str, events: Sequence[Event]) -> list[tuple[bool, str, list[int]]]:
    """Return the results of all expectations, and of the signatures of all known bugs, at the end of the run."""
    state = ClusterState()
    for event in events:
        state.apply(event)
    run = run_of(name)
    context = EvaluationContext(events, state, run.brokers, run.aliases)
    conditions = [*of_library(name).scenario.expect, *(each for bug in known_bugs() for each in bug.signatures)]
    results = [evaluate(condition, context) for condition in conditions]
    return [(one.holds, one.observed, [event.seq for event in one.evidence]) for one in results]


def replayed(events: Sequence[Event], what_if: WhatIf | None) -> tuple[list[Transition], list[Mismatch]]:
    folded = fold_events("batch", "run", events, fold_for(what_if))
    return folded.transitions, folded.mismatches


def changes(events: Iterable[Event]) -> list[object]:
    """Return the changes of every entity that the page and the tables show, event by event."""
    feed = EntityFeed()
    found: list[object] = []
    for event in events:
        feed.apply(event)
        found.append(list(feed.take(ENTITY_TYPES)))
    return found


def ranks(events: Iterable[Event]) -> list[tuple[bool, int]]:
    """Return for each event whether it is narrated, and how important it is."""
    ranker = EventRanker()
    ranked = [ranker.rank(event) for event in events]
    return [(one.sentence is not None, one.rank) for one in ranked]


def digest(events: Iterable[Event]) -> tuple[object, ...]:
    found = RunDigest.of(events)
    return found.settings, found.threads, found.verdicts


def reached(name: str, events: Sequence[Event]) -> frozenset[CoveragePoint]:
    return frozenset(reached_by(of_library(name).scenario, events))


def questions(pages: Iterable[LessonPage]) -> list[Any]:
    """Return what the pages of a lesson ask and answer; of the events that they show, their seq."""
    asked = [(page.at.seq, [event.seq for event in page.shown], page.text, page.question) for page in pages]
    return [
        (at, shown, text, question and (question.text, question.choices, question.right.text, question.because))
        for at, shown, text, question in asked
    ]


# --- the tests -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_state_of_the_cluster_is_folded_from_columns(name: str) -> None:
    events, blank = both(name)
    assert all(with_texts == without for with_texts, without in zip(states(events), states(blank), strict=True))


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_is_judged_by_columns(name: str) -> None:
    """By its invariants, by its expectations, and by the signatures of known bugs."""
    events, blank = both(name)
    assert violations(blank) == violations(events)
    assert judged(name, blank) == judged(name, events)
    assert reached(name, blank) == reached(name, events)


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("what_if", [None, WhatIf()], ids=["recorded", "derived"])
def test_a_history_is_replayed_from_columns(name: str, what_if: WhatIf | None) -> None:
    events, blank = both(name)
    assert replayed(blank, what_if) == replayed(events, what_if)


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_shown_is_chosen_by_columns(name: str) -> None:
    """Which events are worth a line, what changes on the page, what differs between two runs, and the story."""
    events, blank = both(name)
    assert ranks(blank) == ranks(events)
    assert changes(blank) == changes(events)
    assert digest(blank) == digest(events)
    assert story_of(blank) == story_of(events)


@pytest.mark.parametrize("name", tiered(NAMES, fast=4))
def test_the_questions_of_a_lesson_are_answered_by_columns(name: str) -> None:
    lesson = played(name)
    run = lesson.run
    blank = LessonRun.of(without_texts(run.events), run.aliases, run.brokers)
    assert questions(lesson_pages(lesson.lesson, blank)) == questions(lesson.scenes)


def test_neither_a_pattern_nor_a_replay_has_the_texts() -> None:
    assert {"detail", "inputs"} == TEXTS_FOR_PEOPLE
    assert not TEXTS_FOR_PEOPLE & {*COLUMNS, *FACT_COLUMNS}


def test_the_expectations_of_a_run_are_about_events_that_the_blanked_run_has_too() -> None:
    """A guard of the tests above: a run without its facts is judged otherwise."""
    events, _ = both("bounced-broker")
    without_facts = [msgspec.structs.replace(event, bounced=None) for event in events]
    assert any(event.kind is EventKind.BROKER_CHANGE and event.bounced for event in events)
    assert judged("bounced-broker", without_facts) != judged("bounced-broker", events)
