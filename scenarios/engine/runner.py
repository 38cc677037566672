"""Run a scenario: execute its timetable on a cluster, then judge its expectations.

A step that cannot be executed, or a wait that times out, leaves the run undecided: what should have followed never happened.
Besides the expectations there are the invariants, which hold of every run: violated invariants are part of the verdict.
"""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec, max_session_timeout_ms
from kcsim.brokers.cluster.quiescence import QUIET_PERIOD_MS, QuiescenceDetector
from kcsim.brokers.cluster.scenario_cluster import ObservedCluster, ScenarioCluster
from kcsim.brokers.cluster.stalls import stall_text
from kcsim.brokers.invariants import InvariantChecker, named
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ, SCENARIO
from kcsim.runtime.ports import Promise, Task
from kcsim.scenarios.engine.expectations.conditions import evaluate
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, ExpectationResult, StepFailure, Verdict
from kcsim.scenarios.engine.expectations.violations import BY_ZNODES, violation_results
from kcsim.scenarios.engine.recovery import Recovery
from kcsim.scenarios.engine.step_runner import FAILURES, StepRunner
from kcsim.scenarios.language.conditions_model import Condition, Expectation
from kcsim.scenarios.language.network_steps import (
    BreakConnectionsStep,
    LossyLinkStep,
    NetworkPartitionStep,
    SlowLinkStep,
)
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.topic_types import ALL_PARTITIONS
from kcsim.scenarios.language.value_types import ALL
from kcsim.text import comma_separated
from kcsim.vocabulary import TopicPartition

BeforeStep = Callable[[int], Awaitable[None]]
NETWORK_STEPS = NetworkPartitionStep | BreakConnectionsStep | SlowLinkStep | LossyLinkStep
"""The steps for which proxies stand between brokers in processes of their own."""
ALL_COME_BACK = "Once every fault is undone, all brokers and servers run again."


def cluster_spec(scenario: Scenario, without: Iterable[str] = ()) -> ClusterSpec:
    """Return the specification of the cluster that a scenario asks for.

    Args:
        without: names of protections to switch off in addition. Raises: ValueError for an unknown name.
    """
    brokers = tuple(BrokerSpec(broker.id, broker.rack, broker.settings) for broker in scenario.cluster.members())
    protections = scenario.protections.without(without)
    tick_time_ms, longest_ms = scenario.zookeeper.tick_time, _max_session_timeout_ms(scenario)
    cluster = scenario.cluster
    has_network = any(isinstance(step, NETWORK_STEPS) for step in scenario.timetable)
    return ClusterSpec(
        brokers,
        cluster.settings,
        tick_time_ms,
        protections,
        longest_ms,
        release=cluster.release,
        is_hardened=cluster.hardening,
        listener_proxies=has_network,
    )


def _max_session_timeout_ms(scenario: Scenario) -> int | None:
    """Return a maxSessionTimeout of ZooKeeper that grants what the brokers' settings request.

    None if the settings request nothing, or if the scenario sets tick-time.
    """
    if "tick_time" in scenario.zookeeper.model_fields_set:
        return None
    return max_session_timeout_ms(scenario.cluster.settings, scenario.zookeeper.tick_time)


async def run_scenario(
    loaded: LoadedScenario,
    cluster: ScenarioCluster,
    before_step: BeforeStep | None = None,
    aliases: dict[str, str] | None = None,
    left_out: Collection[int] = (),
) -> Verdict:
    """Run the timetable on a cluster whose brokers have not been started, judge the expectations and log the results.

    Args:
        before_step: awaited before each step with its index, and after the last step with the number of steps.
        aliases: receives the names that steps give: name -> node.
        left_out: indices of steps that are not executed; then all others are skipped where they cannot be executed.

    Returns: a verdict also when a step failed: it names the step, and leaves the expectations undecided.
    """
    return await _ScenarioRun(loaded, cluster, before_step, {} if aliases is None else aliases, left_out).run()


class _ScenarioRun:
    """One run of one scenario; `aliases` grows with the names that steps give."""

    def __init__(
        self,
        loaded: LoadedScenario,
        cluster: ScenarioCluster,
        before_step: BeforeStep | None,
        aliases: dict[str, str],
        left_out: Collection[int],
    ) -> None:
        self._loaded = loaded
        self._cluster = cluster
        self._before_step = before_step
        self._aliases = aliases
        self._context = EvaluationContext(cluster.log.events, cluster.state, cluster.broker_names, self._aliases)
        self._steps = StepRunner(
            cluster,
            loaded.scenario,
            self._context,
            self._aliases,
            lambda condition: self._wait(condition, condition.within),
            left_out,
        )
        self._failures: list[StepFailure] = []
        self._background: list[tuple[Task, Promise[None]]] = []  # steps that wait for `when`, and timed expectations
        self._moments: dict[int, ConditionResult] = {}  # index of a timed expectation -> its result at its time
        self._quiescence = QuiescenceDetector(cluster.state)
        self._invariants = _checked_invariants(loaded.scenario, cluster)
        self._watch = InvariantChecker(named(self._invariants), cluster.simulated, cluster.state)
        self._began_ms = cluster.runtime.now_ms()

    async def run(self) -> Verdict:
        scenario, log = self._loaded.scenario, self._cluster.log
        for event in log.events:
            self._quiescence.apply(event)
        log.subscribe(self._quiescence.apply)
        log.subscribe(self._watch.observe)
        failure = await self._do_timetable()
        undone = await self._recover() if failure is None else []
        self._steps.workload.take_ledger()
        self._check_final_invariants(failure)
        results = [await self._result_of(place, expectation, failure) for place, expectation in enumerate(scenario.expect)]
        results = [self._unless_stalled(one) for one in [*results, *undone]]
        results += violation_results(self._watch.violations, log.events)
        for one in results:
            fields = EventFields(outcome=one.outcome.value, rule=one.claim, detail=one.observed)
            cause = one.evidence[-1].seq if one.evidence else RUN_STARTED_SEQ
            log.append(SCENARIO, EventKind.EXPECTATION, cause, fields)
        return Verdict(scenario.name, tuple(results), failure, self._invariants)

    # --- the timetable

    async def _do_timetable(self) -> StepFailure | None:
        timetable = self._loaded.scenario.timetable
        self._began_ms = self._now_ms()
        self._schedule_timed_expectations()
        for place, step in enumerate(timetable):
            if self._before_step is not None:
                await self._before_step(place)
            await self._sleep_until(self._began_ms + step.at if step.at is not None else self._now_ms() + (step.after or 0))
            if step.when is None:
                await self._do(place, step)
            else:
                self._run_in_background(f"{step.verb()} when", self._do(place, step))
            if self._failures:
                break
        else:
            for _, done in self._background:
                await done.wait()
        for task, _ in self._background:
            task.kill()
        if self._before_step is not None:
            await self._before_step(len(timetable))
        if not self._failures:
            self._report_untriggered_faults()
        return self._failures[0] if self._failures else None

    async def _do(self, place: int, step: ScenarioStep) -> None:
        """Execute one step as many times as it says; record a failure."""
        try:
            if step.when is not None and not await self._has_come_true(step):
                return
            first_ms = self._now_ms()
            for time in range(step.times):
                await self._sleep_until(first_ms + time * (step.every or 0))
                await self._steps.do(place, step)
        except FAILURES as error:
            self._fail(place, str(error))

    async def _has_come_true(self, step: ScenarioStep) -> bool:
        assert step.when is not None
        try:
            await self._wait(step.when, step.when.within)
        except TimedOutError as error:
            why = f"what it waits for has not come true: {error}"
            if not self._steps.may_skip(step):
                raise TimedOutError(why) from None
            self._steps.skip(step, why)
            return False
        return True

    def _fail(self, place: int, reason: str) -> None:
        step = self._loaded.scenario.timetable[place].verb()
        self._failures.append(StepFailure(self._loaded.file, self._loaded.step_lines[place], step, reason))

    def _report_untriggered_faults(self) -> None:
        """Report armed faults that never triggered: an error, unless the step has if-possible."""
        for place, unseen in self._steps.untriggered_faults():
            step = self._loaded.scenario.timetable[place]
            why = f"had no effect: {unseen} before the timetable was done"
            if step.if_possible:
                self._steps.skip(step, why)
            else:
                self._fail(place, why)

    # --- time

    def _now_ms(self) -> int:
        return self._cluster.runtime.now_ms()

    async def _sleep_until(self, due_ms: int) -> None:
        if (left_ms := due_ms - self._now_ms()) > 0:
            await self._cluster.runtime.sleep_ms(left_ms)

    def _run_in_background(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run work beside the timetable, which is not done until this work is done, too."""
        done: Promise[None] = self._cluster.runtime.promise()

        async def do() -> None:
            await work
            done.resolve(None)

        self._background.append((self._cluster.runtime.spawn(name, do()), done))

    def _schedule_timed_expectations(self) -> None:
        for place, expectation in enumerate(self._loaded.scenario.expect):
            if expectation.at is not None and self._why_unobservable(expectation) is None:
                self._run_in_background(
                    "expectation", self._evaluate_at(place, expectation, self._began_ms + expectation.at)
                )

    async def _evaluate_at(self, place: int, expectation: Expectation, due_ms: int) -> None:
        await self._sleep_until(due_ms)
        self._moments[place] = await self._evaluate_within(expectation)

    # --- afterwards

    async def _recover(self) -> list[ExpectationResult]:
        """Undo the faults if the scenario says so. Return a violated result if that was not possible."""
        afterwards = self._loaded.scenario.afterwards
        if afterwards is None:
            return []
        why = await self._recovery().run(afterwards.within)
        return [] if why is None else [ExpectationResult(ALL_COME_BACK, ExpectationOutcome.VIOLATED, why)]

    def _recovery(self) -> Recovery:
        return Recovery(self._cluster, self._quiescence, self._steps.workload)

    def _check_final_invariants(self, failure: StepFailure | None) -> None:
        """Check the invariants of a quiescent cluster if the run has become quiescent."""
        if failure is not None:
            return
        is_whole = self._loaded.scenario.afterwards is not None
        is_quiet = self._quiescence.quiet_ms(self._now_ms()) >= QUIET_PERIOD_MS and not self._has_pending_work()
        self._watch.at_end(quiescent=is_quiet, recovered=is_whole)

    def _has_pending_work(self) -> bool:
        faults = self._cluster.network_faults
        return self._quiescence.has_pending_waits() or (faults is not None and not faults.is_well())

    # --- conditions

    async def _wait(self, condition: Condition, within_ms: int) -> None:
        def not_yet() -> str | None:
            finding = self._evaluate(condition)
            return None if finding.holds else finding.observed + self._what_is_missing()

        await self._cluster.wait_until(not_yet, within_ms)

    def _what_is_missing(self) -> str:
        """Return a hint at a step that a first scenario may lack: no broker was started, or no topic was created."""
        state = self._cluster.state
        if not state.processes:
            return "; no broker has been started"
        if self._loaded.scenario.cluster.topics and not state.of_topics.topics:
            declared = comma_separated(self._loaded.scenario.cluster.topics)
            return f"; {declared}: declared, but no step has created it"
        return ""

    def _why_unobservable(self, condition: Condition) -> str | None:
        """Return why a condition cannot be evaluated on this cluster, in words; None if it can."""
        if self._cluster.is_seen_from_outside:
            from kcsim.scenarios.engine.real_brokers import why_unobservable

            return why_unobservable(condition)
        if self._cluster.simulated is None:
            from kcsim.scenarios.engine.process_brokers import why_unobservable_on_processes

            return why_unobservable_on_processes(condition)
        return None

    def _evaluate(self, condition: Condition) -> ConditionResult:
        return evaluate(condition, self._context)

    async def _evaluate_within(self, expectation: Expectation) -> ConditionResult:
        """Return the result once the expectation holds, or when its time is up."""
        if expectation.within:
            with suppress(TimedOutError):  # the evaluation below then decides
                await self._wait(expectation, expectation.within)
        return self._evaluate(expectation)

    async def _result_of(self, place: int, expectation: Expectation, failure: StepFailure | None) -> ExpectationResult:
        claim = expectation.claim or claim_of(expectation)
        if (why := self._why_unobservable(expectation)) is not None:
            return ExpectationResult(claim, ExpectationOutcome.NOT_OBSERVABLE, why)
        if failure is not None:
            finding = self._evaluate(expectation)
            return ExpectationResult(claim, ExpectationOutcome.UNDECIDED, finding.observed, finding.evidence)
        finding = self._moments[place] if expectation.at is not None else await self._evaluate_within(expectation)
        return ExpectationResult(
            claim,
            ExpectationOutcome.HELD if finding.holds else ExpectationOutcome.VIOLATED,
            finding.observed,
            finding.evidence,
        )

    def _unless_stalled(self, result: ExpectationResult) -> ExpectationResult:
        """Leave a violated expectation undecided if the machine may have caused it. Invariants hold however slow it is."""
        stalled = stall_text(self._cluster.state)
        if stalled is None or result.outcome is not ExpectationOutcome.VIOLATED:
            return result
        return replace(result, outcome=ExpectationOutcome.UNDECIDED, observed=f"{result.observed}; {stalled}")


def _checked_invariants(scenario: Scenario, cluster: ObservedCluster) -> tuple[str, ...]:
    """Return the invariants that the run is checked against: on real brokers, not all can be observed."""
    names = scenario.invariants.names()
    return tuple(name for name in names if name in BY_ZNODES) if cluster.is_seen_from_outside else names


def claim_of(expectation: Expectation) -> str:
    """Return an expectation in the words of its file, for one without a claim of its own."""
    return ", ".join(f"{part.replace('_', '-')}: {_in_words(value)}" for part, value in expectation.parts())


def _in_words(value: object) -> str:
    if isinstance(value, BaseModel):
        return ", ".join(f"{name} {item}" for name, item in value.model_dump(exclude_defaults=True).items())
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{partition} {_in_words(item)}" for partition, item in value.items())
    if value == ALL_PARTITIONS:
        return ALL
    if isinstance(value, tuple | list):
        return comma_separated(value)
    return str(value)
