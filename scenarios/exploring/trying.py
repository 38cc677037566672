"""Tries one seed: draws its scenario, plays it, and sorts what was wrong with it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from kcsim.scenarios.exploring.coverage import Reached
from kcsim.scenarios.exploring.generator import Tree, generate
from kcsim.scenarios.exploring.known_faults import KnownFault, sort_out
from kcsim.scenarios.exploring.playing import MOST_EVENTS, Found, Played, play
from kcsim.scenarios.exploring.profile import Profile
from kcsim.scenarios.exploring.scenario_tree import loaded
from kcsim.scenarios.exploring.shrink import Shrunk, shrink
from kcsim.scenarios.language.scenario_file import ScenarioFileError

EVENTS_TO_SPARE = 2_000


@dataclass(frozen=True)
class Tried:
    """What came of one run, small enough to be handed from process to process.

    Attributes:
        seed: of the run; of a scenario that was drawn, it was drawn from it too.
        tree: the scenario; None unless something unknown is wrong.
        unknown: what is wrong and is no known fault.
        known: names of the known faults that it shows, sorted.
        scenario_digest, trace_digest: SHA-256 of the scenario, as JSON, and of the event log.
        events: how many.
        ended_ms: when the run ended, in its own time.
    """

    seed: int
    tree: Tree | None
    unknown: tuple[Found, ...]
    known: tuple[str, ...]
    exit_status: int | None
    scenario_digest: str
    trace_digest: str
    events: int
    ended_ms: int
    reached: frozenset[Reached]


def try_seed(profile: Profile, seed: int, faults: Sequence[KnownFault] | None = None) -> Tried:
    """Draw the scenario of a seed, and run it with that seed. `faults` as for sort_out."""
    return try_tree(generate(profile, seed), seed, faults)


def try_tree(tree: Tree, seed: int, faults: Sequence[KnownFault] | None = None) -> Tried:
    """Run a scenario. Raises: ScenarioFileError when it makes no sense."""
    digest = hashlib.sha256(json.dumps(tree).encode()).hexdigest()
    return sum_up(play(loaded(tree), seed), seed, digest, tree, faults)


def sum_up(
    played: Played, seed: int, scenario_digest: str, tree: Tree | None, faults: Sequence[KnownFault] | None = None
) -> Tried:
    """Say what came of a run that was played. `tree` is None of a scenario that was not drawn."""
    found = sort_out(played.found, played.events, faults)
    return Tried(
        seed=seed,
        tree=tree if found.unknown else None,
        unknown=found.unknown,
        known=tuple(sorted(found.known)),
        exit_status=played.exit_status,
        scenario_digest=scenario_digest,
        trace_digest=played.digest,
        events=len(played.events),
        ended_ms=played.events[-1].t_ms,
        reached=played.reached,
    )


def shrink_tried(tree: Tree, seed: int, wanted: Found, most_runs: int, faults: Sequence[KnownFault] | None = None) -> Shrunk:
    """Make a scenario small in which the same goes wrong, run with the same seed, and is no known fault."""

    # What broke it early is to break it early again: a run that would not end need not be seen to its end.
    most_events = MOST_EVENTS if wanted.seq is None else min(MOST_EVENTS, 2 * wanted.seq + EVENTS_TO_SPARE)

    def still_fails(candidate: Tree) -> bool:
        try:
            played = play(loaded(candidate), seed, most_events)
        except ScenarioFileError:
            return False
        if wanted.key not in {found.key for found in played.found}:
            return False
        return wanted.key in {found.key for found in sort_out(played.found, played.events, faults).unknown}

    return shrink(tree, still_fails, most_runs)
