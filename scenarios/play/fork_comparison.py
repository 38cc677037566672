"""Two futures of a played cluster: the story of each, and where they differ, as kcsim diff finds it."""

from collections.abc import Sequence
from typing import Any

from kcsim.eventlog.events import Event
from kcsim.scenarios.play.page_messages import fork_in_page
from kcsim.scenarios.play.played_cluster import Fork
from kcsim.scenarios.play.run_processes import events_of
from kcsim.scenarios.views.narration.run_facts import FactCollector
from kcsim.scenarios.views.narration.story import story_from
from kcsim.scenarios.views.terminal.difference_text import difference_json, needed
from kcsim.scenarios.views.terminal.run_differences import run_differences, without_equal_narrations
from kcsim.scenarios.views.terminal.run_digest import RunDigest
from kcsim.scenarios.views.trace.event_importance import EventRanker, RankedEvent


def compared(left: Fork, right: Fork) -> dict[str, Any]:
    """Return two futures and their differences, for a page.

    Both are compared up to the moment to which both have come: else the durations and counts would say more about how long
    each was watched.
    """
    until_ms = min(left.now_ms, right.now_ms)
    sides = [[event for event in events_of(list(fork.run.parts)) if event.t_ms <= until_ms] for fork in (left, right)]
    found = _differences(sides[0], sides[1])
    return {
        "until_ms": until_ms,
        "left": {**fork_in_page(left), "story": _story(sides[0])},
        "right": {**fork_in_page(right), "story": _story(sides[1])},
        **found,
        "outcome": [*found["outcome"], *_records(left, right)],
    }


def _records(left: Fork, right: Fork) -> list[dict[str, str]]:
    """Return how the fates of the records differ, if they were counted. They are those of the present moments."""
    one, other = left.run.records, right.run.records
    if one is None or other is None:
        return []
    when = "" if left.now_ms == right.now_ms else ", each at its present moment"
    rows = (
        ("records acknowledged", one.acknowledged, other.acknowledged),
        ("acknowledged records lost", one.lost, other.lost),
        ("records given up by their producers", one.given_up, other.given_up),
    )
    return [{"what": f"{what}{when}", "left": str(a), "right": str(b)} for what, a, b in rows if a != b]


def _differences(left: Sequence[Event], right: Sequence[Event]) -> dict[str, Any]:
    """Return the differences of two runs, as kcsim diff prints them as JSON."""
    one, other = RunDigest.of(left), RunDigest.of(right)
    ranked = _ranked(left), _ranked(right)
    found = without_equal_narrations(run_differences(one, other), (one, other), ranked)
    wanted = needed(found, one, is_left=True), needed(found, other, is_left=False)
    chosen = [{seq: side[seq] for seq in seqs} for side, seqs in zip(ranked, wanted, strict=True)]
    return difference_json((one, other), (chosen[0], chosen[1]), found)


def _ranked(events: Sequence[Event]) -> dict[int, RankedEvent]:
    ranker = EventRanker()
    return {event.seq: ranker.rank(event) for event in events}


def _story(events: Sequence[Event]) -> list[str]:
    facts = FactCollector()
    for event in events:
        facts.see(event)
    return list(story_from(facts.facts()).sentences)
