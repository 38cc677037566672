"""Rehearses a plan: each step undisturbed and under failures, and the steps in other orders; and judges it.

The steps are run one by one, each in the state in which the steps before it leave the cluster. A failure therefore meets one
step; what it costs the steps after it is time only, because none is begun before the one before is complete.
"""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kcsim.scenarios.planning.batches import Batch
from kcsim.scenarios.rehearsal.drawn_failures import StepWithFailure, draw_failures
from kcsim.scenarios.rehearsal.plan_failure import FailureKind, PlanFailure
from kcsim.scenarios.rehearsal.plan_files import PlanStep
from kcsim.scenarios.rehearsal.rehearsed_step import (
    Placed,
    RehearsalSettings,
    RehearsedStep,
    rehearsed_step,
    with_partitions_of,
    with_placed,
)
from kcsim.scenarios.rehearsal.step_execution import execute_step
from kcsim.scenarios.rehearsal.step_orders import StepOrder, draw_orders, exposed_in, safest_first
from kcsim.scenarios.rehearsal.step_outcome import StepOutcome
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.vocabulary import TopicPartition


class StepRun(NamedTuple):
    """A run that is asked for. Attributes: failure: None: undisturbed."""

    step: RehearsedStep
    failure: PlanFailure | None = None


RunAll = Callable[[Sequence[StepRun]], Sequence[StepOutcome]]
"""Does each of these runs, with `do_run`, and returns their outcomes in order."""


class RehearsalLimits(NamedTuple):
    """How much is tried.

    Attributes:
        failures: runs for each kind of failure.
        partitions: of one step in a run with a failure.
        orders: orders of the steps.
    """

    failures: int = 40
    partitions: int = 10
    orders: int = 720


class StepTrials(NamedTuple):
    """The runs of one step.

    Attributes:
        batch: what it copies.
        undisturbed: with all partitions.
        sampled: how many partitions the runs with failures have.
        baseline: undisturbed, with these partitions.
        failing: with one failure each.
    """

    batch: Batch
    undisturbed: StepOutcome
    sampled: int
    baseline: StepOutcome
    failing: tuple[StepOutcome, ...]


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    """A rehearsal.

    Attributes:
        names: of the steps.
        steps: as far as the plan completes undisturbed, with the step that does not complete.
        left_out: kind of failure -> how many failures were not drawn.
        orders: the orders of the steps, the safest first.
        are_all_orders: whether there are no others.
    """

    names: tuple[str, ...]
    steps: tuple[StepTrials, ...]
    left_out: dict[FailureKind, int]
    orders: tuple[StepOrder, ...]
    are_all_orders: bool

    @property
    def runs(self) -> int:
        """How many runs were made, undisturbed ones included."""
        samples = sum(step.baseline is not step.undisturbed for step in self.steps)
        return len(self.steps) + samples + sum(len(step.failing) for step in self.steps)

    def reasons(self) -> Iterator[str]:
        """Yield why the plan is not safe: what harms first comes first."""
        for name, step in zip(self.names, self.steps, strict=False):
            for harm in step.undisturbed.harms:
                yield f"{name}: {harm}"
            if step.undisturbed.stuck is not None:
                yield step.undisturbed.stuck
            yield from (f"{name}: {reason}" for reason in harm_of_run(step.undisturbed, step.undisturbed))
        for step in self.steps:
            for run in step.failing:
                what = "" if run.failure is None else run.failure.what
                yield from (f"{what}: {reason}" for reason in harm_of_run(run, step.baseline))


def harm_of_run(run: StepOutcome, baseline: StepOutcome) -> Iterator[str]:
    """Yield what a run has done that the same failure would not have done without the plan."""
    for name in run.losses if run.failure is not None else run.unclean:
        if name in run.unclean:
            yield f"{name}: a replica outside the ISR was elected: records are lost"
        else:
            yield f"{name} is offline" if name in run.offline else f"{name} is below min.insync.replicas"
    is_expected = run.failure is None or run.failure.kind is FailureKind.THROTTLE
    if run.stuck is not None and not is_expected:
        yield run.stuck
    for violation in run.violations:
        yield f"an invariant does not hold: {violation}"
    if run.stuck is None and baseline.stuck is None:
        for name, placed in run.final.items():
            expected = baseline.final[name]
            # A replica that was behind may have caught up, because its broker has restarted.
            if placed.replicas != expected.replicas or not set(expected.isr).issubset(placed.isr):
                yield f"{name} ends on {list(placed.replicas)} with ISR {list(placed.isr)}"


def rehearse_plan(
    snapshot: ControlPlaneSnapshot,
    steps: Sequence[PlanStep],
    settings: RehearsalSettings,
    limits: RehearsalLimits,
    run_all: RunAll,
) -> RehearsalResult:
    """Rehearse a plan. Raises: ClusterError, TimedOutError."""
    rehearsed, undisturbed = run_undisturbed(snapshot, steps, settings, run_all)
    names = tuple(step.name for step in steps)
    if any(outcome.stuck is not None for outcome in undisturbed):
        alone = tuple(
            StepTrials(step.batch(), outcome, 0, outcome, ()) for step, outcome in zip(rehearsed, undisturbed, strict=True)
        )
        return RehearsalResult(names, alone, {}, (), True)
    sampled = [_sampled(*pair, limits.partitions) for pair in zip(rehearsed, undisturbed, strict=True)]
    smaller = [place for place, step in enumerate(sampled) if step is not rehearsed[place]]
    baselines = list(undisturbed)
    for place, outcome in zip(smaller, run_all([StepRun(sampled[place]) for place in smaller]), strict=True):
        baselines[place] = outcome
    drawn = draw_failures(sampled, baselines, limits.failures, settings.seed)
    outcomes = run_all([StepRun(sampled[place], failure) for place, failure in drawn.failures])
    orders = draw_orders(undisturbed, limits.orders, settings.seed)
    duration_ms = sum(outcome.duration_ms for outcome in undisturbed)
    ranked = safest_first([exposed_in(order, undisturbed) for order in orders.orders], duration_ms)
    trials = tuple(
        StepTrials(
            rehearsed[place].batch(),
            outcome,
            len(sampled[place].step.partitions),
            baselines[place],
            _of_step(place, drawn.failures, outcomes),
        )
        for place, outcome in enumerate(undisturbed)
    )
    return RehearsalResult(names, trials, drawn.left_out, tuple(ranked), orders.are_all)


def _of_step(place: int, failures: Sequence[StepWithFailure], outcomes: Sequence[StepOutcome]) -> tuple[StepOutcome, ...]:
    return tuple(outcome for failure, outcome in zip(failures, outcomes, strict=True) if failure.place == place)


def run_undisturbed(
    snapshot: ControlPlaneSnapshot, steps: Sequence[PlanStep], settings: RehearsalSettings, run_all: RunAll
) -> tuple[list[RehearsedStep], list[StepOutcome]]:
    """Run the steps up to one that does not complete. Steps that share no partition are run at the same time.

    Returns: the steps, each with its part of the cluster as the steps before it leave it, and their outcomes.
    """
    snapshot = with_partitions_of(snapshot, {tp for step in steps for tp in step.partitions})
    done: dict[int, tuple[RehearsedStep, StepOutcome]] = {}
    placed: dict[TopicPartition, Placed] = {}
    end = len(steps)
    while left := [place for place in range(end) if place not in done]:
        ready = [place for place in left if not _shares_any(steps[place], [steps[other] for other in left if other < place])]
        now = with_placed(snapshot, placed)
        rehearsed = [rehearsed_step(now, steps[place], settings) for place in ready]
        for place, step, outcome in zip(ready, rehearsed, run_all(list(map(StepRun, rehearsed))), strict=True):
            done[place] = step, outcome
            placed |= {tp: outcome.final[str(tp)] for tp in steps[place].partitions}
            if outcome.stuck is not None:
                end = min(end, place + 1)
    return [done[place][0] for place in range(end)], [done[place][1] for place in range(end)]


def _shares_any(step: PlanStep, others: Collection[PlanStep]) -> bool:
    partitions = set(step.partitions)
    return any(not partitions.isdisjoint(other.partitions) for other in others)


def _sampled(step: RehearsedStep, outcome: StepOutcome, at_most: int) -> RehearsedStep:
    """Return the step with so many of its partitions: those that it harms first, the others drawn."""
    partitions = step.step.partitions
    if len(partitions) <= at_most:
        return step
    harmed = {harm.partition for harm in outcome.harms}
    numbers = random.Random(f"{step.settings.seed} {step.step.name}")
    drawn = numbers.sample(partitions, len(partitions))
    chosen = sorted(drawn, key=lambda tp: str(tp) not in harmed)[:at_most]
    return step.with_partitions(chosen)


def do_run(run: StepRun) -> StepOutcome:
    """Do one run. Raises: ClusterError, TimedOutError."""
    return execute_step(run.step, run.failure)
