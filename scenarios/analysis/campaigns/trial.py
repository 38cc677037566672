"""Running one seed, and what a campaign keeps of the run. Failures are part of the result. Pure: no Spark in here."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.campaigns.alarm import TooLongError, at_most
from kcsim.scenarios.analysis.campaigns.campaign_options import DEFAULT_LIMIT_SECONDS, OutageView, Traces, TrialOutcome
from kcsim.scenarios.analysis.campaigns.outages import Outage, OutageTotals, outage_totals, outages_in
from kcsim.scenarios.explore.coverage import CoveragePoint
from kcsim.scenarios.explore.generator import Tree, generate
from kcsim.scenarios.explore.known_bugs import KnownBug
from kcsim.scenarios.explore.profile import Profile
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import CRASHED, ENDLESS, UNDECIDED, RunFailure, SimulationResult, simulate
from kcsim.scenarios.explore.trial import TrialResult, summarize_trial
from kcsim.scenarios.language.scenario_file import LoadedScenario, load_text


class Records(msgspec.Struct, frozen=True):
    """The records of all producers of a run, counted as in RecordCounts; 0 for a run without producers."""

    sent: int = 0
    acknowledged: int = 0
    given_up: int = 0
    lost: int = 0
    lost_everywhere: int = 0
    duplicated: int = 0


class Trial(msgspec.Struct, frozen=True):
    """One seed of a campaign.

    Attributes:
        run: the name of its event log.
        error: the failure because of which nothing is known of the run; everything but seed, run and outcome is empty then.
        exit_status: the exit status of `kcsim run`; None after a crash, and for a run that was stopped.
        scenario_digest, trace_digest: SHA-256, as in `kcsim explore`.
        violations: the failures that are no known bugs.
        known: names of the known bugs that the run shows.
        tree: the scenario, as JSON, if it was drawn and has a violation that is no known bug.
        reached: (kind, name) of every coverage point that the run reached, sorted.
        partitions: how many were ever served.
        clients, zookeeper: the outages in each of the views, summed up.
        trace: its events; None if they are not kept.
    """

    seed: int
    run: str
    outcome: TrialOutcome
    error: str | None = None
    exit_status: int | None = None
    scenario_digest: str | None = None
    trace_digest: str | None = None
    events: int = 0
    ended_ms: int = 0
    violations: tuple[RunFailure, ...] = ()
    known: tuple[str, ...] = ()
    tree: str | None = None
    reached: tuple[tuple[str, str], ...] = ()
    partitions: int = 0
    outages: tuple[Outage, ...] = ()
    clients: OutageTotals = OutageTotals()
    zookeeper: OutageTotals = OutageTotals()
    records: Records = Records()
    trace: Sequence[Event] | None = None


class CampaignSubject(Protocol):
    """What a campaign runs with every seed."""

    @property
    def name(self) -> str: ...

    def scenario(self, seed: int) -> "CampaignScenario": ...


@dataclass(frozen=True)
class CampaignScenario:
    """The scenario of one seed. `tree` is None unless the scenario was drawn."""

    loaded: LoadedScenario
    digest: str
    tree: Tree | None = None


@dataclass(frozen=True)
class DrawnScenarios:
    """Scenarios drawn from their seeds, as `kcsim explore` does."""

    profile: Profile

    @property
    def name(self) -> str:
        return f"explore-{self.profile.name}"

    def scenario(self, seed: int) -> CampaignScenario:
        tree = generate(self.profile, seed)
        return CampaignScenario(loaded(tree), _digest(json.dumps(tree)), tree)


@dataclass(frozen=True)
class WrittenScenario:
    """One scenario, run with every seed.

    Attributes:
        text: the content of its file, parsed anew for every seed.
        file: the name of the file in error messages.
    """

    name: str
    text: str = field(repr=False)
    file: str

    def scenario(self, seed: int) -> CampaignScenario:
        return CampaignScenario(load_text(self.text, self.file), _digest(self.text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def run_name(name: str, seed: int) -> str:
    """Return the name of a seed's event log."""
    return f"{name}-{seed}"


def run_trial(
    subject: CampaignSubject,
    seed: int,
    bugs: Sequence[KnownBug] | None = None,
    traces: Traces = Traces.NONE,
    limit_seconds: float | None = DEFAULT_LIMIT_SECONDS,
) -> Trial:
    """Run a seed. No failure leaves this function as an exception.

    Args:
        bugs: the known bugs to recognise, as classify_failures takes them.
        limit_seconds: the wall-clock limit; a run that takes longer is given up.
    """
    run = run_name(subject.name, seed)
    try:
        with at_most(limit_seconds):
            return _trial(subject, seed, run, bugs, traces)
    except (Exception, TooLongError) as error:  # one seed must not end the others
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Trial(seed, run, TrialOutcome.LOST, error=reason)


def _trial(subject: CampaignSubject, seed: int, run: str, bugs: Sequence[KnownBug] | None, traces: Traces) -> Trial:
    chosen = subject.scenario(seed)
    played = simulate(chosen.loaded, seed)
    tried = summarize_trial(played, seed, chosen.digest, chosen.tree, bugs)
    served = outages_in(played.events)
    is_kept = traces is Traces.ALL or (traces is Traces.FAILING and bool(tried.unknown))
    return Trial(
        seed=seed,
        run=run,
        outcome=_outcome(played),
        exit_status=tried.exit_status,
        scenario_digest=tried.scenario_digest,
        trace_digest=tried.trace_digest,
        events=tried.events,
        ended_ms=tried.ended_ms,
        violations=tried.unknown,
        known=tried.known,
        tree=json.dumps(tried.tree) if tried.tree is not None else None,
        reached=tuple(sorted(tried.reached)),
        partitions=served.partitions,
        outages=served.outages,
        clients=outage_totals(served.outages, OutageView.CLIENTS),
        zookeeper=outage_totals(served.outages, OutageView.ZOOKEEPER),
        records=_records(played.events),
        trace=played.events if is_kept else None,
    )


def _outcome(played: SimulationResult) -> TrialOutcome:
    names = {found.invariant for found in played.failures}
    for name, outcome in (
        (CRASHED, TrialOutcome.CRASHED),
        (ENDLESS, TrialOutcome.ENDLESS),
        (UNDECIDED, TrialOutcome.UNDECIDED),
    ):
        if name in names:
            return outcome
    return TrialOutcome.VIOLATED if names else TrialOutcome.HELD


def _records(events: Sequence[Event]) -> Records:
    """Sum up the ledger's counts: the last count of each partition."""
    ledger = {(event.topic, event.partition): event.data for event in events if event.kind is EventKind.LEDGER}
    counts = [msgspec.json.decode(data or "{}", type=Records) for data in ledger.values()]
    return Records(*(sum(getattr(count, name) for count in counts) for name in Records.__struct_fields__))


def trial_result_of(trial: Trial) -> TrialResult:
    """Return what `kcsim explore` sums up of a run. The trial must not be lost."""
    assert trial.scenario_digest is not None, f"seed {trial.seed} is lost"
    assert trial.trace_digest is not None
    return TrialResult(
        seed=trial.seed,
        tree=json.loads(trial.tree) if trial.tree is not None else None,
        unknown=trial.violations,
        known=trial.known,
        exit_status=trial.exit_status,
        scenario_digest=trial.scenario_digest,
        trace_digest=trial.trace_digest,
        events=trial.events,
        ended_ms=trial.ended_ms,
        reached=frozenset(CoveragePoint(kind, name) for kind, name in trial.reached),
    )
