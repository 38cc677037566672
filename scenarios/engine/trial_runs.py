"""Runs of a scenario in virtual time that say something about the scenario itself, for its author.

One run shows the steps that wait for nothing and expectations that are judged too early. Another leaves the faults out: what
holds all the same does not show what the faults do.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.expectations.conditions import evaluate
from kcsim.scenarios.engine.expectations.evaluation_context import EvaluationContext
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, Verdict
from kcsim.scenarios.engine.runner import BeforeStep, cluster_spec, run_scenario
from kcsim.scenarios.engine.steps.registry import spec_of
from kcsim.scenarios.engine.steps.step_spec import StepKind
from kcsim.scenarios.language.conditions_model import WaitFor
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.steps import StartStep, WaitStep, ZkCreateStep, ZkDeleteStep, ZkRecreateStep, ZkSetStep
from kcsim.scenarios.language.topic_steps import CreateTopicStep
from kcsim.scenarios.language.value_types import ALL
from kcsim.scenarios.language.yaml_reader import FileProblem
from kcsim.text import comma_separated

BY_HAND = (ZkCreateStep, ZkRecreateStep, ZkSetStep, ZkDeleteStep)
SEED = 1


# --- warnings --------------------------------------------------------------------------------------------------------------


def warnings(loaded: LoadedScenario) -> list[FileProblem]:
    """Return what looks like a mistake in a valid scenario, in the order of its lines. Runs it in virtual time."""
    found = [*_never_created(loaded), *_never_started(loaded), *_seen_in_a_run(loaded)]
    return sorted(found, key=lambda warning: warning.line or 0)


def _never_created(loaded: LoadedScenario) -> Iterator[FileProblem]:
    scenario = loaded.scenario
    created = {topic for step in scenario.timetable if isinstance(step, CreateTopicStep) for topic in step.create_topic}
    by_hand = any(isinstance(step, BY_HAND) for step in scenario.timetable)
    missing = [topic for topic in scenario.cluster.topics if topic not in created]
    if missing and ALL not in created and not by_hand:
        yield FileProblem(loaded.file, None, f"{comma_separated(missing)}: declared, but no step creates it: create-topic")


def _never_started(loaded: LoadedScenario) -> Iterator[FileProblem]:
    scenario = loaded.scenario
    started = {name for step in scenario.timetable if isinstance(step, StartStep) for name in step.start}
    missing = [broker.name for broker in cluster_spec(scenario).brokers if broker.name not in started]
    if missing and ALL not in started and scenario.afterwards is None:
        yield FileProblem(loaded.file, None, f"{comma_separated(missing)}: no step starts it: start")


def _seen_in_a_run(loaded: LoadedScenario) -> Iterator[FileProblem]:
    scenario, aliases = loaded.scenario, dict[str, str]()
    needless: list[int] = []
    ends: list[int] = []

    def looking_at(cluster: Cluster) -> BeforeStep:
        context = EvaluationContext(cluster.log.events, cluster.state, cluster.broker_names, aliases)

        async def before_step(place: int) -> None:
            if place == len(scenario.timetable):
                ends.append(cluster.runtime.now_ms())
            elif (wait := _immediate_wait(scenario.timetable[place])) is not None and evaluate(wait, context).holds:
                needless.append(place)

        return before_step

    verdict, log = _run(loaded, (), looking_at, aliases)
    for place in needless:
        yield FileProblem(loaded.file, loaded.step_lines[place], "wait: is true already when the step begins")
    if verdict.failure is not None:
        why = f"{verdict.failure.step}: in virtual time the run ends here: {verdict.failure.reason}"
        yield FileProblem(loaded.file, verdict.failure.line, why)
        return
    faults = [event.t_ms for event in log.events if event.kind is EventKind.FAULT]
    last, judged_at_once = len(scenario.timetable) - 1, [one for one in scenario.expect if one.within is one.at is None]
    if faults and faults[-1] == ends[-1] and judged_at_once and scenario.afterwards is None:
        verb = scenario.timetable[last].verb()
        why = f"{verb}: the expectations are judged at the moment of this fault: wait for what follows, or write `within`"
        yield FileProblem(loaded.file, loaded.step_lines[last], why)


def _immediate_wait(step: ScenarioStep) -> WaitFor | None:
    """Return the condition of a wait that begins when the step before it is done."""
    is_immediate = step.at is None and step.after is None and step.when is None
    return step.wait if isinstance(step, WaitStep) and is_immediate else None


# --- without the faults ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WithoutFaults:
    """A run without the faults of a scenario.

    Attributes:
        left_out: the steps that were not executed, each with its line.
        held, not_held: claims of the expectations that held all the same, and of the others.
    """

    left_out: tuple[tuple[int, ScenarioStep], ...]
    held: tuple[str, ...]
    not_held: tuple[str, ...]

    def __str__(self) -> str:
        if not self.left_out:
            return "no step can be left out: the scenario has neither faults nor actions"
        steps = comma_separated(f"{step.verb()} in line {line}" for line, step in self.left_out)
        total = len(self.held) + len(self.not_held)
        if not self.not_held:
            return f"without {steps}: all {total} expectations hold, so none of them depends on a fault"
        claims = "; ".join(self.held)
        rest = f"; these hold all the same: {claims}" if self.held else ""
        return f"without {steps}: {len(self.not_held)} of {total} expectations do not hold{rest}"


def run_without_faults(loaded: LoadedScenario) -> WithoutFaults:
    """Run a scenario in virtual time without its faults and without znodes written by hand.

    Of a scenario without any, all actions are left out: those of operators are what it is about.
    """
    timetable = loaded.scenario.timetable
    faults = [place for place, step in enumerate(timetable) if _is_fault(step)]
    places = faults or [place for place, step in enumerate(timetable) if spec_of(step).kind is StepKind.ACTION]
    verdict, _ = _run(loaded, places)
    expected = [result for result in verdict.results if result.invariant is None]
    return WithoutFaults(
        tuple((loaded.step_lines[place], timetable[place]) for place in places),
        tuple(result.claim for result in expected if result.outcome is ExpectationOutcome.HELD),
        tuple(result.claim for result in expected if result.outcome is not ExpectationOutcome.HELD),
    )


def _is_fault(step: ScenarioStep) -> bool:
    return spec_of(step).kind is StepKind.FAULT or isinstance(step, BY_HAND)


def _run(
    loaded: LoadedScenario,
    left_out: Collection[int],
    looking_at: Callable[[Cluster], BeforeStep] | None = None,
    aliases: dict[str, str] | None = None,
) -> tuple[Verdict, EventLog]:
    verdicts: list[Verdict] = []

    async def script(cluster: Cluster) -> None:
        before_step = None if looking_at is None else looking_at(cluster)
        verdicts.append(await run_scenario(loaded, cluster, before_step, aliases, left_out))

    scenario = loaded.scenario
    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED, members=scenario.zookeeper.members)
    log = run_in_environment(choice, cluster_spec(scenario), RunInfo(scenario.name, SEED, choice.kind.value), script)
    return verdicts[0], log
