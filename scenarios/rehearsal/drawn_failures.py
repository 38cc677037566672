"""Chooses the failures of a rehearsal from its undisturbed runs: all of them, or a sample drawn with the seed."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kcsim.scenarios.planning.batches import Batch
from kcsim.scenarios.rehearsal.plan_failure import ControllerWrite, FailureKind, PlanFailure
from kcsim.scenarios.rehearsal.rehearsed_step import RehearsedStep
from kcsim.scenarios.rehearsal.step_outcome import StepOutcome
from kcsim.scenarios.views.narration.story_words import duration

AFTER_THE_END_MS = 60_000
"""A loss after a step happens so long after its end."""


class StepWithFailure(NamedTuple):
    """A run with a failure. Attributes: place: of the step in the plan."""

    place: int
    failure: PlanFailure


class DrawnFailures(NamedTuple):
    """Failures, of which each is tried in a run of its own. Attributes: left_out: kind -> how many were not drawn."""

    failures: tuple[StepWithFailure, ...]
    left_out: dict[FailureKind, int]


def draw_failures(
    steps: Sequence[RehearsedStep], undisturbed: Sequence[StepOutcome], at_most: int, seed: int
) -> DrawnFailures:
    """Return the failures to be tried, by kind and step.

    Args:
        undisturbed: a complete run of each step.
        at_most: how many of each kind.
    """
    numbers = random.Random(f"{seed} failures")
    found: dict[FailureKind, list[StepWithFailure]] = {kind: [] for kind in FailureKind}
    for place, (step, outcome) in enumerate(zip(steps, undisturbed, strict=True)):
        batch = step.batch()
        for failure in (
            *_controller_deaths(step.step.name, outcome),
            *_deaths(FailureKind.SOURCE, step, batch, outcome),
            *_deaths(FailureKind.DESTINATION, step, batch, outcome),
            *_losses_of_racks(step, outcome, numbers),
        ):
            found[failure.kind].append(StepWithFailure(place, failure))
    found[FailureKind.HARMFUL_STEP] += _loss_after_first_harm(steps, undisturbed)
    found[FailureKind.THROTTLE] += _low_throttle(steps)
    drawn: list[StepWithFailure] = []
    left_out: dict[FailureKind, int] = {}
    for kind, failures in found.items():
        if len(failures) > at_most:
            left_out[kind] = len(failures) - at_most
            drawn += [failures[place] for place in sorted(numbers.sample(range(len(failures)), at_most))]
        else:
            drawn += failures
    return DrawnFailures(tuple(drawn), left_out)


def _controller_deaths(step: str, undisturbed: StepOutcome) -> Iterator[PlanFailure]:
    for nth in range(1, undisturbed.writes + 1):
        for moment in ("before", "after"):
            what = f"{step}: the controller dies {moment} write {nth} of {undisturbed.writes}"
            yield PlanFailure(FailureKind.CONTROLLER, what, write=ControllerWrite(moment, nth))


def _deaths(kind: FailureKind, step: RehearsedStep, batch: Batch, undisturbed: StepOutcome) -> Iterator[PlanFailure]:
    """Yield the death of each source, or destination, of a step in the middle of it."""
    copies = batch.sent if kind is FailureKind.SOURCE else batch.received
    racks = step.racks
    for broker in sorted(broker for broker, count in copies.items() if count and broker in racks):
        at_ms = undisturbed.duration_ms // 2
        yield PlanFailure(kind, f"{step.step.name}: broker-{broker} dies after {duration(at_ms)}", (broker,), at_ms)


def _losses_of_racks(step: RehearsedStep, undisturbed: StepOutcome, numbers: random.Random) -> Iterator[PlanFailure]:
    """Yield the loss of each rack at a drawn time in a step, and after it."""
    racks: dict[str, list[int]] = {}
    for broker, rack in sorted(step.racks.items()):
        if rack is not None:
            racks.setdefault(rack, []).append(broker)
    if len(racks) < 2:
        return
    for rack, brokers in sorted(racks.items()):
        at_ms = numbers.randint(0, undisturbed.duration_ms)
        lost = f"{step.step.name}: rack {rack} is lost"
        yield PlanFailure(FailureKind.RACK, f"{lost} after {duration(at_ms)}", tuple(brokers), at_ms)
        at_ms = undisturbed.duration_ms + AFTER_THE_END_MS
        yield PlanFailure(FailureKind.RACK, f"{lost} when it is complete", tuple(brokers), at_ms)


def _loss_after_first_harm(steps: Sequence[RehearsedStep], undisturbed: Sequence[StepOutcome]) -> Iterator[StepWithFailure]:
    for place, (step, outcome) in enumerate(zip(steps, undisturbed, strict=True)):
        for harm in outcome.harms:
            if harm.brokers:
                # One broker is enough for less than min.insync.replicas, unless it takes a rack.
                brokers = tuple(sorted(harm.brokers)) if harm.is_by_rack else harm.brokers[:1]
                lost = ", ".join(f"broker-{broker}" for broker in brokers)
                what = f"{step.step.name}: {lost} lost once {harm.partition} has ISR {list(harm.isr)}"
                yield StepWithFailure(place, PlanFailure(FailureKind.HARMFUL_STEP, what, brokers, harm.at_ms + 1))
                return


def lowest_throttle(batch: Batch) -> int:
    """Return the bytes per s that the throttle of a batch has to exceed, because of what producers write meanwhile.

    With no more, copies to some broker, or from it, never catch up; more may be needed. A broker that a partition leaves
    sends nothing for it any more once the partition is complete, so of these partitions only the one with most counts.
    """
    staying, leaving = Counter[int](), Counter[int]()
    for move in (move for move in batch.moves if move.added):
        rate = move.bytes_in_per_s * len(move.added)
        if move.source in move.after:
            staying[move.source] += rate  # type: ignore[assignment]  # a Counter also counts floats
        else:
            leaving[move.source] = max(leaving[move.source], rate)  # type: ignore[assignment]
    return int(max((*batch.rates_in.values(), *(staying + leaving).values()), default=0.0))


def _low_throttle(steps: Sequence[RehearsedStep]) -> Iterator[StepWithFailure]:
    lowest = [lowest_throttle(step.batch()) for step in steps]
    worst = max(lowest, default=0)
    if worst:
        what = f"{steps[lowest.index(worst)].step.name}: a throttle of {worst} bytes/s"
        yield StepWithFailure(lowest.index(worst), PlanFailure(FailureKind.THROTTLE, what, throttle=worst))
