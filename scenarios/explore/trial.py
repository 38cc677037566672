"""Run the trial of one seed: generate its scenario, run it, and classify its failures."""

import hashlib
import json
from collections.abc import Sequence

import msgspec

from kcsim.scenarios.explore.coverage import CoveragePoint
from kcsim.scenarios.explore.generator import Tree, generate
from kcsim.scenarios.explore.known_bugs import KnownBug, classify_failures
from kcsim.scenarios.explore.profile import Profile
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.shrink import ShrinkResult, shrink
from kcsim.scenarios.explore.simulation import MOST_EVENTS, RunFailure, SimulationResult, simulate
from kcsim.scenarios.language.scenario_file import ScenarioFileError

EVENTS_TO_SPARE = 2_000


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run, small enough to be sent from process to process. The defaults are those of a lost run.

    Attributes:
        seed: of the run; a generated scenario was generated from it, too.
        exit_status: the exit status of `kcsim run`; None after a crash, and for a run that was stopped.
        scenario_digest, trace_digest: SHA-256 of the scenario, as JSON, and of the events (EventDigest).
        events: how many.
        ended_ms: when the run ended, in virtual time.
        violations: failures that no known bug explains.
        known: names of the known bugs that the run shows, sorted.
        tree: the scenario, if it was generated and there are violations.
    """

    seed: int
    exit_status: int | None = None
    scenario_digest: str | None = None
    trace_digest: str | None = None
    events: int = 0
    ended_ms: int = 0
    violations: tuple[RunFailure, ...] = ()
    known: tuple[str, ...] = ()
    tree: Tree | None = None
    reached: frozenset[CoveragePoint] = frozenset()


def run_seed(profile: Profile, seed: int, bugs: Sequence[KnownBug] | None = None, is_hardened: bool = False) -> TrialResult:
    """Generate the scenario of a seed, and run it with that seed. `bugs`: as for classify_failures."""
    tree = generate(profile, seed)
    return run_tree(hardened(tree) if is_hardened else tree, seed, bugs)


def hardened(tree: Tree) -> Tree:
    """Return the scenario with hardening switched on."""
    return {**tree, "cluster": {**tree["cluster"], "hardening": "on"}}


def run_tree(tree: Tree, seed: int, bugs: Sequence[KnownBug] | None = None) -> TrialResult:
    """Run a scenario. Raises: ScenarioFileError when it is invalid."""
    digest = hashlib.sha256(json.dumps(tree).encode()).hexdigest()
    return summarize_trial(simulate(loaded(tree), seed), seed, digest, tree, bugs)


def summarize_trial(
    result: SimulationResult, seed: int, scenario_digest: str, tree: Tree | None, bugs: Sequence[KnownBug] | None = None
) -> TrialResult:
    """Return the summary of a run. `tree` is None for a scenario that was not generated."""
    classified = classify_failures(result.failures, result.events, bugs)
    return TrialResult(
        seed=seed,
        exit_status=result.exit_status,
        scenario_digest=scenario_digest,
        trace_digest=result.digest,
        events=len(result.events),
        ended_ms=result.events[-1].t_ms,
        violations=classified.unknown,
        known=tuple(sorted(classified.known)),
        tree=tree if classified.unknown else None,
        reached=result.reached,
    )


def shrink_failure(
    tree: Tree, seed: int, failure: RunFailure, most_runs: int, bugs: Sequence[KnownBug] | None = None
) -> ShrinkResult:
    """Shrink a scenario, run with the same seed, as long as it has the same failure and no known bug explains it."""

    # A failure that happened early has to happen early again: a candidate that would not end is ended soon after.
    most_events = MOST_EVENTS if failure.seq is None else min(MOST_EVENTS, 2 * failure.seq + EVENTS_TO_SPARE)

    def still_fails(candidate: Tree) -> bool:
        try:
            result = simulate(loaded(candidate), seed, most_events)
        except ScenarioFileError:
            return False
        if failure.key not in {found.key for found in result.failures}:
            return False
        return failure.key in {found.key for found in classify_failures(result.failures, result.events, bugs).unknown}

    return shrink(tree, still_fails, most_runs)
