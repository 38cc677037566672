"""Plays one scenario in virtual time and says what came of it: what went wrong, what was reached, and a digest of its trace.

The run is the one that `kcsim run FILE --zookeeper simulated --seed N` makes of the same scenario, to the byte. Nothing that
goes wrong leaves this module as an exception: one out of the simulator is a finding too.
"""

import hashlib
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from kcsim.scenarios.exploring.coverage import Reached, reached_by
from kcsim.scenarios.invariants import Watch, named
from kcsim.scenarios.judging.verdict import Outcome, Verdict
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.runner import cluster_spec, run_scenario
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.scenario_cluster import ScenarioCluster
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import Event

SIMULATED = "simulated"
CRASHED = "crashed"
"""Stands where the name of an invariant does, when the simulator itself has failed."""
ENDLESS = "endless"
"""The same, when a run was ended because it would not end."""
UNDECIDED = "undecided"
"""The same, when a step could not be done."""
EXPECTATION = "expectation"
"""The same, when it is none of the invariants that was violated."""
MOST_EVENTS = 30_000
LONGEST_RUN_MS = 60 * 60 * 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """Something wrong with a run.

    Attributes:
        invariant: the name of the one that speaks, or CRASHED, ENDLESS, UNDECIDED.
        sentence: what is so instead; of a crash, the last line of the traceback.
        seq: of the event that broke it, where there is one.
        traceback: of a crash.
    """

    invariant: str
    sentence: str
    seq: int | None = None
    traceback: str | None = None

    @property
    def key(self) -> str:
        """What makes two findings alike: the invariant; of a crash, the kind of error as well."""
        return f"{self.invariant}: {self.sentence.partition(':')[0]}" if self.invariant == CRASHED else self.invariant


@dataclass(frozen=True)
class Played:
    """One run.

    Attributes:
        found: in the order in which it went wrong; of each invariant the first only.
        exit_status: what `kcsim run` ends with; None after a crash, and of a run that was ended.
        digest: SHA-256 of the event log as --trace keeps it in JSON lines.
        events: all of them, as far as the run came.
        step_seqs: for each step that was begun, how many events there were before it.
        reached: what of the system the run has come through.
    """

    found: tuple[Found, ...]
    exit_status: int | None
    digest: str
    events: Sequence[Event]
    reached: frozenset[Reached]
    step_seqs: tuple[int, ...] = ()


class RunTooLongError(Exception):
    """A run that has too many events, or takes too long in its own time."""


class _Recorder:
    """Takes each event in as it happens, so that what led to a crash is there after it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._hash = hashlib.sha256()
        self._encoder = msgspec.json.Encoder()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._hash.update(self._encoder.encode(event) + b"\n")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def play(loaded: LoadedScenario, seed: int, most_events: int = MOST_EVENTS) -> Played:
    """Run a scenario on the model of ZooKeeper, in virtual time."""
    recorder, verdicts, step_seqs = _Recorder(), list[Verdict](), list[int]()
    members = loaded.scenario.zookeeper.members
    info = RunInfo(loaded.scenario.name, seed, SIMULATED if members == 1 else f"{SIMULATED}, {members} members")

    async def script(cluster: ScenarioCluster) -> None:
        _bound(cluster, most_events)
        verdicts.append(await run_scenario(loaded, cluster, before_step))

    async def before_step(place: int) -> None:
        step_seqs.append(len(recorder.events))

    choice = replace(ZooKeeperChoice.parse(SIMULATED), members=members)
    crash = None
    try:
        run_in_world(choice, cluster_spec(loaded.scenario), info, script, recorder)
    except RunTooLongError as error:
        crash = Found(ENDLESS, str(error), recorder.events[-1].seq)
    except Exception as error:  # whatever it is, it is what we are looking for
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        crash = Found(CRASHED, told, recorder.events[-1].seq, traceback.format_exc())
    verdict = verdicts[0] if verdicts else None
    found = _findings(verdict) if verdict is not None else _found_so_far(loaded, recorder.events)
    return Played(
        found=(*found, crash) if crash is not None else tuple(found),
        exit_status=verdict.exit_status if verdict is not None and crash is None else None,
        digest=recorder.digest,
        events=recorder.events,
        reached=reached_by(loaded.scenario, recorder.events),
        step_seqs=tuple(step_seqs),
    )


def _findings(verdict: Verdict) -> list[Found]:
    found: dict[str, Found] = {}
    for one in verdict.judged:
        if one.outcome is Outcome.VIOLATED:
            name = one.invariant or EXPECTATION
            sentence = one.seen if one.invariant else f"{one.claim}: {one.seen}"
            found.setdefault(name, Found(name, sentence, one.evidence[-1].seq if one.evidence else None))
    if verdict.failure is not None:
        found[UNDECIDED] = Found(UNDECIDED, str(verdict.failure))
    return list(found.values())


def _found_so_far(loaded: LoadedScenario, events: Sequence[Event]) -> list[Found]:
    """What was broken before a run was ended, as far as its events tell: nobody has come to judge it."""
    watch = Watch(named(loaded.scenario.invariants.names()))
    for event in events:
        watch.see(event)
    found: dict[str, Found] = {}
    for violation in watch.violations:
        name = violation.invariant.name
        found.setdefault(name, Found(name, violation.sentence, violation.seq))
    return list(found.values())


def _bound(cluster: ScenarioCluster, most_events: int) -> None:
    """End the run when it gets too long, in events or in its own time."""
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
