"""Chooses the failures of a rehearsal from its undisturbed run: all of them, or a sample drawn with the seed."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kcsim.scenarios.planning.batches import Batch
from kcsim.scenarios.rehearsal.plan_execution import ExecutionOutcome, StepOutcome
from kcsim.scenarios.rehearsal.plan_failure import ControllerWrite, FailureKind, PlanFailure
from kcsim.scenarios.rehearsal.rehearsed_cluster import Rehearsal
from kcsim.scenarios.views.narration.story_words import duration

AFTER_THE_END_MS = 60_000
"""A loss after the last step happens so long after its end."""


class DrawnFailures(NamedTuple):
    """Failures, of which each is tried in a run of its own. Attributes: left_out: kind -> how many were not drawn."""

    failures: tuple[PlanFailure, ...]
    left_out: dict[FailureKind, int]


def draw_failures(rehearsal: Rehearsal, undisturbed: ExecutionOutcome, at_most: int) -> DrawnFailures:
    """Return the failures to be tried, by kind.

    Args:
        undisturbed: a complete run.
        at_most: how many of each kind.
    """
    numbers = random.Random(f"{rehearsal.seed} failures")
    batches = rehearsal.batches()
    kinds = (
        (FailureKind.CONTROLLER, [*_controller_deaths(undisturbed)]),
        (FailureKind.SOURCE, [*_deaths(FailureKind.SOURCE, rehearsal, batches, undisturbed)]),
        (FailureKind.DESTINATION, [*_deaths(FailureKind.DESTINATION, rehearsal, batches, undisturbed)]),
        (FailureKind.RACK, [*_losses_of_racks(rehearsal, undisturbed, numbers)]),
        (FailureKind.HARMFUL_STEP, [*_loss_after_harm(undisturbed)]),
        (FailureKind.THROTTLE, [*_low_throttle(batches)]),
    )
    drawn: list[PlanFailure] = []
    left_out: dict[FailureKind, int] = {}
    for kind, failures in kinds:
        if len(failures) > at_most:
            left_out[kind] = len(failures) - at_most
            failures = [failures[place] for place in sorted(numbers.sample(range(len(failures)), at_most))]
        drawn += failures
    return DrawnFailures(tuple(drawn), left_out)


def _controller_deaths(undisturbed: ExecutionOutcome) -> Iterator[PlanFailure]:
    for nth in range(1, undisturbed.writes + 1):
        for moment in ("before", "after"):
            what = f"the controller dies {moment} write {nth} of {undisturbed.writes}"
            yield PlanFailure(FailureKind.CONTROLLER, what, write=ControllerWrite(moment, nth))


def _deaths(
    kind: FailureKind, rehearsal: Rehearsal, batches: Sequence[Batch], undisturbed: ExecutionOutcome
) -> Iterator[PlanFailure]:
    """Yield the death of each source, or destination, of each step in the middle of that step."""
    for batch, step in zip(batches, undisturbed.steps, strict=True):
        copies = batch.sent if kind is FailureKind.SOURCE else batch.received
        for broker in sorted(broker for broker, count in copies.items() if count and broker in rehearsal.racks):
            at_ms = (step.began_ms + _end_ms(step)) // 2
            yield PlanFailure(kind, f"broker-{broker} dies during {step.name}", (broker,), at_ms)


def _end_ms(step: StepOutcome) -> int:
    return step.began_ms if step.ended_ms is None else step.ended_ms


def _losses_of_racks(rehearsal: Rehearsal, undisturbed: ExecutionOutcome, numbers: random.Random) -> Iterator[PlanFailure]:
    """Yield the loss of each rack at a drawn time in each step, and after the last one."""
    racks: dict[str, list[int]] = {}
    for broker, rack in sorted(rehearsal.racks.items()):
        if rack is not None:
            racks.setdefault(rack, []).append(broker)
    if len(racks) < 2:
        return
    for rack, brokers in sorted(racks.items()):
        for step in undisturbed.steps:
            at_ms = numbers.randint(step.began_ms, _end_ms(step))
            what = f"rack {rack} is lost after {duration(at_ms)}, during {step.name}"
            yield PlanFailure(FailureKind.RACK, what, tuple(brokers), at_ms)
        at_ms = undisturbed.duration_ms + AFTER_THE_END_MS
        yield PlanFailure(FailureKind.RACK, f"rack {rack} is lost when the plan is complete", tuple(brokers), at_ms)


def _loss_after_harm(undisturbed: ExecutionOutcome) -> Iterator[PlanFailure]:
    first = next((harm for harm in undisturbed.harms if harm.brokers), None)
    if first is not None:
        # A loss that leaves less than min.insync.replicas needs one of the brokers only, unless they are one rack.
        brokers = first.brokers if first.is_by_rack else first.brokers[:1]
        lost = ", ".join(f"broker-{broker}" for broker in sorted(brokers))
        step = undisturbed.steps[first.step - 1].name
        what = f"{lost} lost after {step} has brought {first.partition} to ISR {list(first.isr)}"
        yield PlanFailure(FailureKind.HARMFUL_STEP, what, brokers, first.at_ms + 1)


def lowest_throttle(batch: Batch) -> int:
    """Return the bytes per s that producers write to the partitions of a batch, for the broker with most of them.

    With a throttle of no more than that, the copies of the batch never catch up.
    """
    return int(max((*batch.rates_in.values(), *batch.rates_out.values()), default=0.0))


def _low_throttle(batches: Sequence[Batch]) -> Iterator[PlanFailure]:
    lowest = max(map(lowest_throttle, batches), default=0)
    if lowest:
        yield PlanFailure(FailureKind.THROTTLE, f"a throttle of {lowest} bytes/s", throttle=lowest)
