"""A rehearsal as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kcsim.scenarios.planning.batches import Batch
from kcsim.scenarios.rehearsal.drawn_failures import lowest_throttle
from kcsim.scenarios.rehearsal.exposure import Exposure
from kcsim.scenarios.rehearsal.plan_failure import FailureKind
from kcsim.scenarios.rehearsal.plan_files import PlanStep
from kcsim.scenarios.rehearsal.rehearse_plan import RehearsalResult, StepTrials, harm_of_run
from kcsim.scenarios.rehearsal.rehearsed_step import RehearsalSettings
from kcsim.scenarios.rehearsal.step_orders import StepOrder
from kcsim.scenarios.rehearsal.step_outcome import StepOutcome
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.views.human import size
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
    snapshot: ControlPlaneSnapshot,
    steps: Sequence[PlanStep],
    settings: RehearsalSettings,
    result: RehearsalResult,
    everything: bool,
) -> Iterator[str]:
    """Yield the plan, its undisturbed runs, the failures, the orders, and the verdict."""
    batches = [trials.batch for trials in result.steps]
    yield from _heading(snapshot, steps, settings)
    yield ""
    yield from _steps(result)
    if any(batch.replicas_moved for batch in batches):
        yield ""
        yield from _brokers(batches, everything)
    if any(trials.failing for trials in result.steps):
        yield ""
        yield from _failures(result, everything)
    if len(result.orders) > 1:
        yield ""
        yield from _orders(result)
    yield ""
    yield from _verdict(result, everything)
    yield ""
    yield ASSUMED


def _heading(snapshot: ControlPlaneSnapshot, steps: Sequence[PlanStep], settings: RehearsalSettings) -> Iterator[str]:
    count = sum(len(topic.partitions) for topic in snapshot.topics)
    yield f"{snapshot.source}, as of {snapshot.taken}: {len(snapshot.brokers)} brokers, {count} partitions"
    of_plan = {tp for step in steps for tp in step.partitions}
    sizes = [partition.size_bytes for tp, partition in snapshot.partitions() if tp in of_plan]
    if missing := sizes.count(None):
        yield f"sizes of {missing} of the plan's {len(of_plan)} partitions are not known: their copies take a second"
    if settings.throttle is None and missing < len(sizes):
        yield "without --throttle the times of copies are not known: each takes a second"


def _steps(result: RehearsalResult) -> Iterator[str]:
    header = ("undisturbed", "partitions", "copies", "bytes", "takes", "smallest ISR", "below min ISR", "offline", "racks")
    rows = []
    for name, trials in zip(result.names, result.steps, strict=False):
        run, batch = trials.undisturbed, trials.batch
        rows.append(
            (
                name,
                len(run.smallest_isr),
                batch.replicas_moved,
                size(batch.bytes_moved),
                duration(run.duration_ms) if run.stuck is None else NONE,
                min(run.smallest_isr.values(), default=0),
                len(run.below_min_isr),
                len(run.offline),
                min(run.racks.values()) if run.racks else NONE,
            )
        )
    yield from table(header, rows)
    if any(trials.undisturbed.racks for trials in result.steps):
        yield "racks: how many the ISR of a partition is in when the step is complete, at least"
    if lowest := max(lowest_throttle(trials.batch) for trials in result.steps):
        yield f"a throttle has to be above {lowest} bytes/s: so much do producers write to partitions of one step"


def _brokers(batches: Sequence[Batch], everything: bool) -> Iterator[str]:
    received, sent = bytes_of_brokers(batches)
    brokers = sorted({*received, *sent}, key=lambda one: (-max(received.get(one, 0), sent.get(one, 0)), one))
    shown = sorted(brokers if everything else brokers[:SHOWN])
    rows = [(f"broker-{broker}", size(received.get(broker, 0)), size(sent.get(broker, 0))) for broker in shown]
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
    pairs = [(run, trials.baseline) for trials in result.steps for run in trials.failing]
    for kind in FailureKind:
        of_kind = [(run, baseline) for run, baseline in pairs if run.failure is not None and run.failure.kind is kind]
        if of_kind:
            rows.append((kind.value, len(of_kind), *_costs(of_kind)))
        if everything:
            rows += [(f"  {run.failure.what}", "", *_costs([(run, baseline)])) for run, baseline in of_kind if run.failure]
    yield from table(header, rows)
    yield "offline, below min ISR: partitions, until the dead brokers return; records lost: of partitions; in the worst run"
    if missed := sum(not run.happened for run, _ in pairs):
        yield f"in {missed} of these runs the failure did not happen: the controller made fewer writes than expected"
    for name, trials in zip(result.names, result.steps, strict=False):
        if trials.sampled < len(trials.undisturbed.smallest_isr):
            yield f"{name}: these runs have {trials.sampled} of its {len(trials.undisturbed.smallest_isr)} partitions"
    if result.left_out:
        more = ", ".join(f"{kind.value}: {count}" for kind, count in result.left_out.items())
        yield f"not drawn (--runs): {more}"


def _costs(runs: Sequence[tuple[StepOutcome, StepOutcome]]) -> tuple[object, ...]:
    """Return the cells of a row. Args: runs: each with the undisturbed run."""
    longest_ms = max(run.longest_unavailable_ms for run, _ in runs)
    longer_ms = max(run.duration_ms - baseline.duration_ms for run, baseline in runs)
    return (
        sum(next(harm_of_run(run, baseline), None) is not None for run, baseline in runs),
        max(len(run.offline) for run, _ in runs),
        max(len(run.below_min_isr) for run, _ in runs),
        max(run.unavailable for run, _ in runs),
        duration(longest_ms) if longest_ms else NONE,
        max(len(run.unclean) for run, _ in runs),
        "never ends" if any(run.stuck for run, _ in runs) else duration(longer_ms) if longer_ms > 0 else NONE,
    )


def _orders(result: RehearsalResult) -> Iterator[str]:
    which = "all" if result.are_all_orders else "not all, but also the one that mends most per time first"
    yield f"{len(result.orders)} orders of the steps compared: {which}"
    best = result.orders[0]
    plan = next(order for order in result.orders if list(order.order) == sorted(order.order))
    if best is plan:
        yield "none is safer than that of the plan" + (f": {_exposed(best)}" if best.exposed_ms else "")
        return
    yield f"the safest: {', '.join(result.names[place] for place in best.order)}"
    yield f"  {_exposed(best)}"
    yield f"that of the plan: {_exposed(plan)}"


def _exposed(order: StepOrder) -> str:
    """Return for how long partitions are exposed in an order, summed up over partitions."""
    times = ((EXPOSED[Exposure[name]], ms) for name, ms in order.exposed_ms.items())
    return ", ".join(f"{what} for {duration(ms)}" for what, ms in times) or "no partition is exposed for a time"


def _verdict(result: RehearsalResult, everything: bool) -> Iterator[str]:
    reasons = list(result.reasons())
    if not reasons:
        yield f"Safe: in {result.runs} runs no partition lost more than the same failure would have taken without the plan."
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


def rehearsal_json(snapshot: ControlPlaneSnapshot, settings: RehearsalSettings, result: RehearsalResult) -> dict[str, Any]:
    """Return everything: the verdict, each step with all its runs, each order."""
    received, sent = bytes_of_brokers([trials.batch for trials in result.steps])
    reasons = list(result.reasons())
    return {
        "source": snapshot.source,
        "taken": snapshot.taken,
        "seed": settings.seed,
        "throttle": settings.throttle,
        "down_ms": settings.down_ms,
        "is_safe": not reasons,
        "reasons": reasons,
        "bytes_received": {str(broker): received[broker] for broker in sorted(received)},
        "bytes_sent": {str(broker): sent[broker] for broker in sorted(sent)},
        "steps": [_step_json(name, trials) for name, trials in zip(result.names, result.steps, strict=False)],
        "failures_left_out": {kind.value: count for kind, count in result.left_out.items()},
        "orders": msgspec.to_builtins(result.orders),
        "are_all_orders": result.are_all_orders,
    }


def _step_json(name: str, trials: StepTrials) -> dict[str, Any]:
    return {
        "name": name,
        "replicas_moved": trials.batch.replicas_moved,
        "bytes_moved": trials.batch.bytes_moved,
        "throttle_above": lowest_throttle(trials.batch),
        "partitions_with_failures": trials.sampled,
        "undisturbed": msgspec.to_builtins(trials.undisturbed),
        "baseline": msgspec.to_builtins(trials.baseline),
        "failing": msgspec.to_builtins(trials.failing),
    }
