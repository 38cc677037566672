"""Run one scenario in virtual time and return the result: its failures, what it reached, and a digest of its trace.

The run is byte for byte the one of `kcsim run FILE --zookeeper simulated --seed N` for the same scenario. No failure leaves
this module as an exception: an exception of the simulator is a failure of the run, too.
"""

import hashlib
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.invariants import InvariantChecker, named
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.explore.coverage import CoveragePoint, reached_by
from kcsim.scenarios.explore.ctrl_c import ctrl_c_deferred
from kcsim.scenarios.explore.garbage_collection import garbage_collected_seldom
from kcsim.scenarios.language.scenario_file import LoadedScenario

SIMULATED = "simulated"
CRASHED = "crashed"
"""Used in place of an invariant's name when the simulator itself has failed."""
ENDLESS = "endless"
"""Used in place of an invariant's name when a run was ended because it exceeded a limit."""
UNDECIDED = "undecided"
"""Used in place of an invariant's name when a step could not be executed."""
EXPECTATION = "expectation"
"""Used in place of an invariant's name when an expectation of the scenario was violated."""
MOST_EVENTS = 30_000
LONGEST_RUN_MS = 60 * 60 * 1_000


@dataclass(frozen=True, slots=True)
class RunFailure:
    """One failure of a run.

    Attributes:
        invariant: the name of the violated invariant, or CRASHED, ENDLESS, UNDECIDED, EXPECTATION.
        sentence: what is the case instead; of a crash, the last line of the traceback.
        seq: of the event that violated it, if there is one.
        traceback: of a crash.
    """

    invariant: str
    sentence: str
    seq: int | None = None
    traceback: str | None = None

    @property
    def key(self) -> str:
        """What makes two failures equal: the invariant; of a crash, the type of the error as well."""
        return f"{self.invariant}: {self.sentence.partition(':')[0]}" if self.invariant == CRASHED else self.invariant


@dataclass(frozen=True)
class SimulationResult:
    """The result of one run.

    Attributes:
        failures: in the order in which they happened; only the first of each invariant.
        exit_status: that of `kcsim run`; None after a crash, and for a run that was ended.
        digest: SHA-256 of the event log as --trace writes it in JSON lines.
        events: all events up to the end of the run.
        step_seqs: for each step that was begun, the number of events before it.
        reached: what of the system the run has reached.
    """

    failures: tuple[RunFailure, ...]
    exit_status: int | None
    digest: str
    events: Sequence[Event]
    reached: frozenset[CoveragePoint]
    step_seqs: tuple[int, ...] = ()


class RunTooLongError(Exception):
    """The run has too many events, or takes too long in virtual time."""


class EventDigest:
    """SHA-256 of the events of a run, as lines of JSON, without the versions and the source in the first one."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._encoder = msgspec.json.Encoder()

    def add(self, *events: Event) -> None:
        """Add the next events."""
        if events and events[0].kind is EventKind.RUN_STARTED:
            events = (msgspec.structs.replace(events[0], data=None), *events[1:])
        self._hash.update(self._encoder.encode_lines(events))

    def __str__(self) -> str:
        return self._hash.hexdigest()


def simulate(loaded: LoadedScenario, seed: int, most_events: int = MOST_EVENTS) -> SimulationResult:
    """Run a scenario on the model of ZooKeeper, in virtual time. Raises: KeyboardInterrupt, at the end of the run."""
    events, verdicts, step_seqs = list[Event](), list[Verdict](), list[int]()  # the events up to a crash, too
    members = loaded.scenario.zookeeper.members
    info = RunInfo(loaded.scenario.name, seed, SIMULATED if members == 1 else f"{SIMULATED}, {members} members")

    async def script(cluster: ScenarioCluster) -> None:
        _bound(cluster, most_events)
        verdicts.append(await run_scenario(loaded, cluster, before_step))

    async def before_step(place: int) -> None:
        step_seqs.append(len(events))

    choice = replace(ZooKeeperChoice.parse(SIMULATED), members=members)
    crash = None
    try:
        with ctrl_c_deferred(), garbage_collected_seldom():
            run_in_environment(choice, cluster_spec(loaded.scenario), info, script, events.append)
    except RunTooLongError as error:
        crash = RunFailure(ENDLESS, str(error), events[-1].seq)
    except Exception as error:  # any exception is a failure to report
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        crash = RunFailure(CRASHED, text, events[-1].seq, traceback.format_exc())
    digest = EventDigest()
    digest.add(*events)
    verdict = verdicts[0] if verdicts else None
    failures = _failures(verdict) if verdict is not None else _failures_so_far(loaded, events)
    return SimulationResult(
        failures=(*failures, crash) if crash is not None else tuple(failures),
        exit_status=verdict.exit_status if verdict is not None and crash is None else None,
        digest=str(digest),
        events=events,
        reached=reached_by(loaded.scenario, events),
        step_seqs=tuple(step_seqs),
    )


def _failures(verdict: Verdict) -> list[RunFailure]:
    found: dict[str, RunFailure] = {}
    for one in verdict.results:
        if one.outcome is ExpectationOutcome.VIOLATED:
            name = one.invariant or EXPECTATION
            sentence = one.observed if one.invariant else f"{one.claim}: {one.observed}"
            found.setdefault(name, RunFailure(name, sentence, one.evidence[-1].seq if one.evidence else None))
    if verdict.failure is not None:
        found[UNDECIDED] = RunFailure(UNDECIDED, str(verdict.failure))
    return list(found.values())


def _failures_so_far(loaded: LoadedScenario, events: Sequence[Event]) -> list[RunFailure]:
    """Return the violations before a run was ended, as far as its events show them: such a run has no verdict."""
    watch = InvariantChecker(named(loaded.scenario.invariants.names()))
    for event in events:
        watch.observe(event)
    found: dict[str, RunFailure] = {}
    for violation in watch.violations:
        name = violation.invariant.name
        found.setdefault(name, RunFailure(name, violation.sentence, violation.seq))
    return list(found.values())


def _bound(cluster: ScenarioCluster, most_events: int) -> None:
    """End the run when it gets too long, in events or in virtual time."""
    is_over = cluster.runtime.promise()

    def count(event: Event) -> None:
        if event.seq >= most_events and not is_over.is_settled:
            is_over.resolve(None)

    async def watch() -> None:
        try:
            await is_over.wait(LONGEST_RUN_MS)
        except TimedOutError:
            raise RunTooLongError(f"it has not ended after {LONGEST_RUN_MS // 1_000} s of its own time") from None
        raise RunTooLongError(f"it has not ended after {most_events} events")

    cluster.log.subscribe(count)
    cluster.runtime.spawn("bound of the run", watch())
