"""Rehearses a plan: undisturbed, under each failure, and in other orders; and judges it."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from kcsim.scenarios.rehearsal.drawn_failures import draw_failures
from kcsim.scenarios.rehearsal.plan_execution import ExecutionOutcome, execute_plan
from kcsim.scenarios.rehearsal.plan_failure import FailureKind, PlanFailure
from kcsim.scenarios.rehearsal.rehearsed_cluster import Rehearsal
from kcsim.scenarios.rehearsal.step_orders import DrawnOrders, OrderTried, draw_orders, order_tried, safest_first


class PlanRun(NamedTuple):
    """A run that is asked for. Attributes: failure: None: undisturbed; order: None: that of the plan."""

    failure: PlanFailure | None = None
    order: tuple[int, ...] | None = None


RunAll = Callable[[Callable[[PlanRun], ExecutionOutcome], Sequence[PlanRun]], Sequence[ExecutionOutcome]]
"""Does each of these runs, and returns their outcomes in order."""


class RehearsalLimits(NamedTuple):
    """How many runs are made. Attributes: failures: of each kind; orders: that of the plan included."""

    failures: int = 40
    orders: int = 24


class RehearsalResult(msgspec.Struct, frozen=True):
    """A rehearsal.

    Attributes:
        runs: one for each failure, by kind.
        left_out: kind of failure -> how many failures were not drawn.
        orders: the orders tried, the safest first; those that do not complete, or end otherwise, are last.
        orders_left_out: how many orders were not drawn.
    """

    undisturbed: ExecutionOutcome
    runs: tuple[ExecutionOutcome, ...]
    left_out: dict[FailureKind, int]
    orders: tuple[OrderTried, ...]
    orders_left_out: int

    @property
    def is_safe(self) -> bool:
        return next(self.reasons(), None) is None

    def reasons(self) -> Iterator[str]:
        """Yield why the plan is not safe: what harms first comes first."""
        steps = [step.name for step in self.undisturbed.steps]
        for harm in self.undisturbed.harms:
            yield f"{steps[harm.step - 1]}: {harm.partition} has ISR {list(harm.isr)}, {harm.text}"
        if self.undisturbed.stuck is not None:
            yield self.undisturbed.stuck
        for run in (self.undisturbed, *self.runs):
            what = "undisturbed" if run.failure is None else run.failure.what
            yield from (f"{what}: {reason}" for reason in harm_of_run(run, self.undisturbed))


def harm_of_run(run: ExecutionOutcome, undisturbed: ExecutionOutcome) -> Iterator[str]:
    """Yield what a run has done that the same failure would not have done without the plan."""
    for name in run.losses:
        yield f"{name} is offline" if name in run.offline else f"{name} is below min.insync.replicas"
    for name in run.unclean:
        yield f"{name}: a replica outside the ISR was elected: records are lost"
    is_expected = run.failure is None or run.failure.kind is FailureKind.THROTTLE
    if run.stuck is not None and not is_expected:
        yield run.stuck
    for violation in run.violations:
        yield f"an invariant does not hold: {violation}"
    if run.stuck is None and undisturbed.stuck is None:
        for name, placed in run.final.items():
            expected = undisturbed.final[name]
            if (placed.replicas, placed.isr) != (expected.replicas, expected.isr):
                yield f"{name} ends on {list(placed.replicas)} with ISR {list(placed.isr)}"


def rehearse_plan(rehearsal: Rehearsal, limits: RehearsalLimits, run_all: RunAll) -> RehearsalResult:
    """Rehearse a plan. Raises: ClusterError, TimedOutError."""
    work = partial(do_run, rehearsal)
    undisturbed = work(PlanRun())
    if undisturbed.stuck is not None:
        return RehearsalResult(undisturbed, (), {}, (), 0)
    drawn = draw_failures(rehearsal, undisturbed, limits.failures)
    steps = len(rehearsal.plan.steps)
    orders = draw_orders(steps, limits.orders, rehearsal.seed) if steps > 1 else DrawnOrders(())
    failing = [PlanRun(failure) for failure in drawn.failures]
    ordered = [PlanRun(order=order) for order in orders.orders]
    outcomes = run_all(work, [*failing, *ordered])
    tried = [
        order_tried(order, outcome, undisturbed)
        for order, outcome in zip(orders.orders, outcomes[len(failing) :], strict=True)
    ]
    ranked = safest_first(tried)
    ranked += [one for one in tried if one not in ranked]
    return RehearsalResult(undisturbed, tuple(outcomes[: len(failing)]), drawn.left_out, tuple(ranked), orders.left_out)


def do_run(rehearsal: Rehearsal, run: PlanRun) -> ExecutionOutcome:
    """Do one run. Raises: ClusterError, TimedOutError."""
    return execute_plan(rehearsal, run.failure, run.order)
