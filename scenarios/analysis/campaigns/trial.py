"""Running one seed, and what a campaign keeps of the run. Failures are part of the result. Pure: no Spark in here."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.outage_view import OutageView
from kcsim.eventlog.outages import Outage, OutageTotals, outage_totals, outages_in
from kcsim.scenarios.analysis.campaigns.alarm import TooLongError, at_most
from kcsim.scenarios.analysis.campaigns.campaign_options import DEFAULT_LIMIT_SECONDS, Traces, TrialOutcome
from kcsim.scenarios.explore.generator import Tree, generate
from kcsim.scenarios.explore.known_bugs import KnownBug
from kcsim.scenarios.explore.profile import Profile
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import CRASHED, ENDLESS, UNDECIDED, SimulationResult, simulate
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


class Trial(TrialResult, frozen=True, kw_only=True):
    """One seed of a campaign: the result of its run, as in `kcsim explore`, and what a campaign measures of it.

    Attributes:
        run: the name of its event log.
        error: the failure because of which nothing is known of the run; everything but seed, run and outcome is empty then.
        partitions: how many were ever served.
        clients, zookeeper: the outages in each of the views, summed up.
        trace: its events; None if they are not kept.
    """

    run: str
    outcome: TrialOutcome
    error: str | None = None
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
        return Trial(seed=seed, run=run, outcome=TrialOutcome.LOST, error=reason)


def _trial(subject: CampaignSubject, seed: int, run: str, bugs: Sequence[KnownBug] | None, traces: Traces) -> Trial:
    chosen = subject.scenario(seed)
    played = simulate(chosen.loaded, seed)
    tried = summarize_trial(played, seed, chosen.digest, chosen.tree, bugs)
    served = outages_in(played.events)
    is_kept = traces is Traces.ALL or (traces is Traces.FAILING and bool(tried.violations))
    return Trial(
        **msgspec.structs.asdict(tried),
        run=run,
        outcome=_outcome(played),
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
