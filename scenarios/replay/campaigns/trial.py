"""Runs one seed and says all that a campaign keeps of it. What goes wrong is told in the answer. Pure: no Spark in here."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from kcsim.scenarios.exploring.coverage import Reached
from kcsim.scenarios.exploring.generator import Tree, generate
from kcsim.scenarios.exploring.known_faults import KnownFault
from kcsim.scenarios.exploring.playing import CRASHED, ENDLESS, UNDECIDED, Found, Played, play
from kcsim.scenarios.exploring.profile import Profile
from kcsim.scenarios.exploring.scenario_tree import loaded
from kcsim.scenarios.exploring.trying import Tried, sum_up
from kcsim.scenarios.language.scenario_file import LoadedScenario, load_text
from kcsim.scenarios.replay.campaigns.alarm import TooLongError, at_most
from kcsim.scenarios.replay.campaigns.outages import Outage, Unserved, served_in, unserved
from kcsim.scenarios.replay.campaigns.vocabulary import DEFAULT_LIMIT_SECONDS, Traces, TrialOutcome, View
from kcsim.zk.events import Event, EventKind


class Records(msgspec.Struct, frozen=True):
    """What became of the records of all producers of a run, in the words of RecordCounts; of a run without any, 0."""

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
        error: what has failed where nothing is known of the run; everything but seed, run and outcome is empty then.
        exit_status: what `kcsim run` ends with; None after a crash, and of a run that was ended.
        scenario_digest, trace_digest: SHA-256, as of `kcsim explore`.
        violations: what is wrong and is no known fault.
        known: names of the known faults that it shows.
        tree: the scenario, as JSON, where something unknown is wrong with one that was drawn.
        reached: (kind, name) of everything that the run has come through, sorted.
        partitions: how many were ever served.
        clients, zookeeper: the outages as each of the views has them.
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
    violations: tuple[Found, ...] = ()
    known: tuple[str, ...] = ()
    tree: str | None = None
    reached: tuple[tuple[str, str], ...] = ()
    partitions: int = 0
    outages: tuple[Outage, ...] = ()
    clients: Unserved = Unserved()
    zookeeper: Unserved = Unserved()
    records: Records = Records()
    trace: Sequence[Event] | None = None


class Subject(Protocol):
    """What is run with every seed."""

    @property
    def name(self) -> str: ...

    def scenario(self, seed: int) -> "Chosen": ...


@dataclass(frozen=True)
class Chosen:
    """The scenario of one seed. `tree` is None unless it was drawn."""

    loaded: LoadedScenario
    digest: str
    tree: Tree | None = None


@dataclass(frozen=True)
class Drawn:
    """Scenarios drawn from their seeds, as `kcsim explore` does."""

    profile: Profile

    @property
    def name(self) -> str:
        return f"explore-{self.profile.name}"

    def scenario(self, seed: int) -> Chosen:
        tree = generate(self.profile, seed)
        return Chosen(loaded(tree), _digest(json.dumps(tree)), tree)


@dataclass(frozen=True)
class Written:
    """One scenario, run with every seed.

    Attributes:
        text: of its file, which is read anew wherever it is run.
        file: what problems call it.
    """

    name: str
    text: str = field(repr=False)
    file: str

    def scenario(self, seed: int) -> Chosen:
        return Chosen(load_text(self.text, self.file), _digest(self.text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def run_name(name: str, seed: int) -> str:
    """What the event log of a seed is called."""
    return f"{name}-{seed}"


def try_out(
    subject: Subject,
    seed: int,
    faults: Sequence[KnownFault] | None = None,
    traces: Traces = Traces.NONE,
    limit_seconds: float | None = DEFAULT_LIMIT_SECONDS,
) -> Trial:
    """Run a seed. Nothing that goes wrong with it leaves this as an exception.

    Args:
        faults: as for sort_out.
        limit_seconds: by the wall clock; what takes longer is given up.
    """
    run = run_name(subject.name, seed)
    try:
        with at_most(limit_seconds):
            return _trial(subject, seed, run, faults, traces)
    except (Exception, TooLongError) as error:  # one seed is not to end the others
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Trial(seed, run, TrialOutcome.LOST, error=told)


def _trial(subject: Subject, seed: int, run: str, faults: Sequence[KnownFault] | None, traces: Traces) -> Trial:
    chosen = subject.scenario(seed)
    played = play(chosen.loaded, seed)
    tried = sum_up(played, seed, chosen.digest, chosen.tree, faults)
    served = served_in(played.events)
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
        clients=unserved(served.outages, View.CLIENTS),
        zookeeper=unserved(served.outages, View.ZOOKEEPER),
        records=_records(played.events),
        trace=played.events if is_kept else None,
    )


def _outcome(played: Played) -> TrialOutcome:
    names = {found.invariant for found in played.found}
    for name, outcome in (
        (CRASHED, TrialOutcome.CRASHED),
        (ENDLESS, TrialOutcome.ENDLESS),
        (UNDECIDED, TrialOutcome.UNDECIDED),
    ):
        if name in names:
            return outcome
    return TrialOutcome.VIOLATED if names else TrialOutcome.HELD


def _records(events: Sequence[Event]) -> Records:
    """Add the ledger's counts up: of each partition its last."""
    ledger = {(event.topic, event.partition): event.data for event in events if event.kind is EventKind.LEDGER}
    counts = [msgspec.json.decode(data or "{}", type=Records) for data in ledger.values()]
    return Records(*(sum(getattr(count, name) for count in counts) for name in Records.__struct_fields__))


def tried_of(trial: Trial) -> Tried:
    """What `kcsim explore` sums up of a run. Only of a trial that is not lost."""
    assert trial.scenario_digest is not None, f"seed {trial.seed} is lost"
    assert trial.trace_digest is not None
    return Tried(
        seed=trial.seed,
        tree=json.loads(trial.tree) if trial.tree is not None else None,
        unknown=trial.violations,
        known=trial.known,
        exit_status=trial.exit_status,
        scenario_digest=trial.scenario_digest,
        trace_digest=trial.trace_digest,
        events=trial.events,
        ended_ms=trial.ended_ms,
        reached=frozenset(Reached(kind, name) for kind, name in trial.reached),
    )
