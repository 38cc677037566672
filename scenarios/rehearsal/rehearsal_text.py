"""A rehearsal as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kcsim.scenarios.planning.batches import Batch
from kcsim.scenarios.rehearsal.drawn_failures import lowest_throttle
from kcsim.scenarios.rehearsal.exposure import Exposure
from kcsim.scenarios.rehearsal.plan_execution import ExecutionOutcome
from kcsim.scenarios.rehearsal.plan_failure import FailureKind
from kcsim.scenarios.rehearsal.rehearse_plan import RehearsalResult, harm_of_run
from kcsim.scenarios.rehearsal.rehearsed_cluster import Rehearsal
from kcsim.scenarios.rehearsal.step_orders import OrderTried
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.views.narration.story_words import duration
from kcsim.scenarios.views.terminal.table import table

NONE = "-"
SHOWN = 20
"""Tables and lists are cut after so many brokers, runs and reasons, unless all are asked for."""
ASSUMED = (
    "Assumed: a replica in the ISR has all records; one outside it stays behind until its broker restarts.\n"
    "Copies are as fast as the throttle lets them. Settings that ZooKeeper does not have are Kafka's defaults, without\n"
    "automatic balancing of leaders. Times are virtual: the controller's own work is not that of your machines."
)
EXPOSED = {
    Exposure.OFFLINE: "offline",
    Exposure.OFFLINE_BY_BROKER: "one broker from being offline",
    Exposure.OFFLINE_BY_RACK: "one rack from being offline",
    Exposure.BELOW_MIN_ISR: "below min.insync.replicas",
    Exposure.BELOW_MIN_ISR_BY_BROKER: "one broker from min.insync.replicas",
    Exposure.BELOW_MIN_ISR_BY_RACK: "one rack from min.insync.replicas",
}


def rehearsal_lines(
    snapshot: ControlPlaneSnapshot, rehearsal: Rehearsal, result: RehearsalResult, everything: bool
) -> Iterator[str]:
    """Yield the plan, its undisturbed run, the failures, the orders, and the verdict."""
    batches = rehearsal.batches()
    yield from _heading(snapshot, rehearsal, batches)
    yield ""
    yield from _steps(rehearsal, batches, result.undisturbed)
    yield ""
    yield from _brokers(batches, everything)
    if result.runs:
        yield ""
        yield from _failures(result, everything)
    if result.orders:
        yield ""
        yield from _orders(rehearsal, result)
    yield ""
    yield from _verdict(result, everything)
    yield ""
    yield ASSUMED


def _heading(snapshot: ControlPlaneSnapshot, rehearsal: Rehearsal, batches: Sequence[Batch]) -> Iterator[str]:
    partitions = sum(len(topic.partitions) for topic in snapshot.topics)
    yield f"{snapshot.source}, as of {snapshot.taken}: {len(snapshot.brokers)} brokers, {partitions} partitions"
    part, plan = rehearsal.cluster, rehearsal.plan
    copied = f"{sum(batch.replicas_moved for batch in batches)} replicas are copied"
    elections = f", {len(plan.elections)} preferred leaders are elected" if plan.elections else ""
    yield f"the plan: {len(plan.steps)} steps, {len(plan.partitions)} partitions; {copied}{elections}"
    yield f"simulated: these partitions, and the {len(part.brokers)} brokers that they are on"
    if missing := part.partitions_without_size:
        yield f"sizes of {missing} of {len(plan.partitions)} partitions are not known: their copies take a second"
    if rehearsal.throttle is None and missing < len(plan.partitions):
        yield "without --throttle the times of copies are not known: each takes a second"


def _steps(rehearsal: Rehearsal, batches: Sequence[Batch], undisturbed: ExecutionOutcome) -> Iterator[str]:
    header = ("undisturbed", "partitions", "copies", "bytes", "takes", "smallest ISR", "below min ISR", "offline", "racks")
    rows = [
        (
            step.name,
            len(step.smallest_isr),
            batch.replicas_moved,
            batch.bytes_moved,
            NONE if step.ended_ms is None else duration(step.ended_ms - step.began_ms),
            min(step.smallest_isr.values(), default=0),
            len(step.below_min_isr),
            len(step.offline),
            min(step.racks.values()) if step.racks else NONE,
        )
        for step, batch in zip(undisturbed.steps, batches, strict=False)
    ]
    yield from table(header, rows)
    if any(step.racks for step in undisturbed.steps):
        yield "racks: how many the ISR of a partition is in when the step is complete, at least"
    lowest = [lowest_throttle(batch) for batch in batches]
    if any(lowest):
        yield f"a throttle has to be above {max(lowest)} bytes/s: so much is written to partitions of one step by producers"


def _brokers(batches: Sequence[Batch], everything: bool) -> Iterator[str]:
    received, sent = bytes_of_brokers(batches)
    brokers = sorted({*received, *sent}, key=lambda one: (-max(received.get(one, 0), sent.get(one, 0)), one))
    shown = sorted(brokers if everything else brokers[:SHOWN])
    rows = [(f"broker-{broker}", received.get(broker, 0), sent.get(broker, 0)) for broker in shown]
    yield from table(("broker", "bytes received", "bytes sent"), rows)
    if len(brokers) > len(shown):
        yield f"({len(brokers) - len(shown)} more brokers: --all)"


def bytes_of_brokers(batches: Sequence[Batch]) -> tuple[dict[int, int], dict[int, int]]:
    """Return what each broker receives and sends."""
    received: dict[int, int] = {}
    sent: dict[int, int] = {}
    for move in (move for batch in batches for move in batch.moves if move.added):
        sent[move.source] = sent.get(move.source, 0) + move.bytes_moved
        for broker in move.added:
            received[broker] = received.get(broker, 0) + move.size_bytes
    return received, sent


def _failures(result: RehearsalResult, everything: bool) -> Iterator[str]:
    header = ("failure", "runs", "harm", "offline", "below min ISR", "unavailable", "longest", "records lost", "longer by")
    rows: list[tuple[object, ...]] = []
    for kind in FailureKind:
        runs = [run for run in result.runs if run.failure is not None and run.failure.kind is kind]
        if runs:
            rows.append((kind.value, len(runs), *_costs(runs, result.undisturbed)))
        if everything:
            rows += [(f"  {run.failure.what}", "", *_costs([run], result.undisturbed)) for run in runs if run.failure]
    yield from table(header, rows)
    yield "offline, below min ISR: partitions, until the dead brokers return; records lost: of partitions; in the worst run"
    if result.left_out:
        more = ", ".join(f"{kind.value}: {count}" for kind, count in result.left_out.items())
        yield f"not drawn (--runs): {more}"


def _costs(runs: Sequence[ExecutionOutcome], undisturbed: ExecutionOutcome) -> tuple[object, ...]:
    longest_ms = max(run.longest_unavailable_ms for run in runs)
    longer_ms = max(0, *(run.duration_ms - undisturbed.duration_ms for run in runs))
    is_stuck = any(run.stuck is not None for run in runs)
    return (
        sum(next(harm_of_run(run, undisturbed), None) is not None for run in runs),
        max(len(run.offline) for run in runs),
        max(len(run.below_min_isr) for run in runs),
        max(run.unavailable for run in runs),
        duration(longest_ms) if longest_ms else NONE,
        max(len(run.unclean) for run in runs),
        "never complete" if is_stuck else duration(longer_ms) if longer_ms else NONE,
    )


def _orders(rehearsal: Rehearsal, result: RehearsalResult) -> Iterator[str]:
    usable = [one for one in result.orders if one.same_end and one.stuck is None]
    given = tuple(range(len(rehearsal.plan.steps)))
    left_out = f"; {result.orders_left_out} more were not drawn (--orders)" if result.orders_left_out else ""
    tried = f"{len(result.orders)} orders of the steps tried{left_out}"
    if others := len(result.orders) - len(usable):
        tried += f"; {others} of them do not lead to where the plan does"
    yield tried
    best = usable[0]
    if best.order == given:
        yield "none is safer than that of the plan" + (f": {_exposed(best)}" if _exposed(best) else "")
        return
    names = ", ".join(rehearsal.plan.steps[place].name for place in best.order)
    yield f"the safest: {names}: {_exposed(best) or 'no partition is exposed for longer than in the end'}"
    plan = next(one for one in usable if one.order == given)
    yield f"that of the plan: {_exposed(plan)}"


def _exposed(tried: OrderTried) -> str:
    """Return for how long partitions are exposed in an order, summed up over partitions."""
    times = ((EXPOSED[Exposure[name]], ms) for name, ms in tried.exposed_ms.items() if ms)
    return ", ".join(f"{what} for {duration(ms)}" for what, ms in times)


def _verdict(result: RehearsalResult, everything: bool) -> Iterator[str]:
    runs = 1 + len(result.runs)
    reasons = list(result.reasons())
    if not reasons:
        yield f"Safe: in {runs} runs no partition lost more than the same failure would have taken without the plan."
        return
    yield "Not safe. The first harm:"
    yield f"  {reasons[0]}"
    shown = reasons[1:] if everything else reasons[1:SHOWN]
    if shown:
        yield "then:"
    for reason in shown:
        yield f"  {reason}"
    if len(reasons) > 1 + len(shown):
        yield f"  ({len(reasons) - 1 - len(shown)} more: --all)"


def rehearsal_json(snapshot: ControlPlaneSnapshot, rehearsal: Rehearsal, result: RehearsalResult) -> dict[str, Any]:
    """Return everything: each run with its steps, each order, and the verdict."""
    batches = rehearsal.batches()
    received, sent = bytes_of_brokers(batches)
    found: dict[str, Any] = msgspec.to_builtins(result, str_keys=True)
    return {
        "source": snapshot.source,
        "taken": snapshot.taken,
        "seed": rehearsal.seed,
        "throttle": rehearsal.throttle,
        "down_ms": rehearsal.down_ms,
        "partitions_without_size": rehearsal.cluster.partitions_without_size,
        "steps": [
            {
                "name": step.name,
                "partitions": list(map(str, step.targets)),
                "replicas_moved": batch.replicas_moved,
                "bytes_moved": batch.bytes_moved,
                "throttle_above": lowest_throttle(batch),
            }
            for step, batch in zip(rehearsal.plan.steps, batches, strict=True)
        ],
        "bytes_received": {str(broker): received[broker] for broker in sorted(received)},
        "bytes_sent": {str(broker): sent[broker] for broker in sorted(sent)},
        "is_safe": result.is_safe,
        "reasons": list(result.reasons()),
        **found,
    }
