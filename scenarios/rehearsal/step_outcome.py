"""What one run of a step has shown."""

import msgspec

from kcsim.scenarios.rehearsal.exposure_tracker import ExposureTimes, PlanHarm
from kcsim.scenarios.rehearsal.plan_failure import PlanFailure
from kcsim.scenarios.rehearsal.rehearsed_step import Placed


class StepOutcome(msgspec.Struct, frozen=True):
    """One run of a step.

    Attributes:
        failure: None: undisturbed.
        happened: whether the failure happened; a controller that makes fewer writes than expected does not die.
        stuck: why the step did not complete; None: it did.
        duration_ms: until the step was complete, or stuck.
        writes: of the controller's broker to ZooKeeper, from the beginning of the step on.
        smallest_isr: partition -> its smallest ISR.
        racks: partition -> the number of racks that its ISR is in at the end; empty if brokers have no racks.
        harms: exposures of partitions that had none as grave before the step; those that the failure brings, too.
        exposed: partition -> its exposures before, during and after the step; only those that have any.
        offline, below_min_isr: partitions that were so just before the dead brokers came back; undisturbed, in the end.
        losses: the partitions in `offline`, `below_min_isr` or `unclean` for which no such loss does it without the step.
        unavailable: partitions that clients could not use for a time.
        longest_unavailable_ms: the longest time for which one of them could not be used, and could be again.
        unclean: partitions of which a replica outside the ISR was elected: records are lost.
        violations: invariants that did not hold.
        final: where every partition of the step is in the end.
    """

    failure: PlanFailure | None
    happened: bool
    stuck: str | None
    duration_ms: int
    writes: int
    smallest_isr: dict[str, int]
    racks: dict[str, int]
    harms: tuple[PlanHarm, ...]
    exposed: dict[str, ExposureTimes]
    offline: tuple[str, ...]
    below_min_isr: tuple[str, ...]
    losses: tuple[str, ...]
    unavailable: int
    longest_unavailable_ms: int
    unclean: tuple[str, ...]
    violations: tuple[str, ...]
    final: dict[str, Placed]
