"""A plan as text and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from kcsim.scenarios.planning.batches import Batch
from kcsim.scenarios.planning.reassignment_plan import BrokerLoad, PartitionMove, ReassignmentPlan
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.views.human import size
from kcsim.scenarios.views.narration.story_words import duration
from kcsim.scenarios.views.terminal.table import table
from kcsim.text import summarize

BROKERS_SHOWN = 20
"""A table of more brokers has those whose load changes most only, unless all are asked for."""
HELD, RECEIVED, COPIED, LASTS = "bytes", "bytes copied to it", "bytes copied", "takes at least"
OF_SIZES = (HELD, RECEIVED, COPIED, LASTS)
NOTHING = BrokerLoad(0, 0, 0)


def plan_lines(
    snapshot: ControlPlaneSnapshot, plan: ReassignmentPlan, batches: Sequence[Batch], throttle: int | None, everything: bool
) -> Iterator[str]:
    """Yield what moves, what each broker hosts before and after, and the batches."""
    partitions = sum(len(topic.partitions) for topic in snapshot.topics)
    yield f"{snapshot.source}, as of {snapshot.taken}: {len(snapshot.brokers)} brokers, {partitions} partitions"
    missing = snapshot.partitions_without_size
    has_sizes = missing < partitions
    if missing and has_sizes:
        yield f"sizes of {missing} partitions are not known: a replica of these counts as 1 byte"
    elif missing:
        yield "no size is known: every replica counts the same"
    if waiting := [move.partition for move in plan.moves if move.added and move.is_offline]:
        yield f"offline, so that their copies have to wait until they have a leader: {summarize(waiting)}"
    if plan.fixed:
        yield f"not planned for, being deleted or with replicas on absent brokers: {summarize(plan.fixed)}"
    yield ""
    yield summary(plan, has_sizes)
    if not plan.moves:
        return
    yield ""
    yield from _broker_table(plan, has_sizes, everything)
    held = [load.size_bytes for load in plan.after.values() if load.replicas]
    if has_sizes:
        yield f"bytes of a broker: {size(min(held))} to {size(max(held))}, average {size(sum(held) / len(held))}"
    if throttle is not None or len(batches) > 1:
        yield ""
        header = ("batch", "partitions", "replicas copied", "copies of a broker, at most", COPIED, LASTS)
        rows = [
            (
                number,
                len(batch.moves),
                batch.replicas_moved,
                batch.most_copies,
                size(batch.bytes_moved),
                "-" if throttle is None else duration(batch.duration_ms(throttle)),
            )
            for number, batch in enumerate(batches, 1)
        ]
        yield from _known(header, rows, has_sizes)


def _known(header: Sequence[str], rows: Iterable[Sequence[object]], has_sizes: bool) -> Iterator[str]:
    """Yield the lines of a table, without the columns that depend on sizes if none is known."""
    shown = [column for column, name in enumerate(header) if has_sizes or name not in OF_SIZES]
    yield from table([header[column] for column in shown], ([row[column] for column in shown] for row in rows))


def summary(plan: ReassignmentPlan, has_sizes: bool) -> str:
    """Return in one line what the plan moves."""
    if not plan.moves:
        return "Nothing has to move."
    dropped = sum(len(move.dropped) for move in plan.moves) - plan.replicas_moved
    parts = [f"{len(plan.moves)} partitions change", f"{plan.replicas_moved} replicas are copied"]
    if has_sizes:
        parts[-1] += f", {size(plan.bytes_moved)}"
    if dropped > 0:
        parts.append(f"{dropped} replicas are dropped")
    return "; ".join([*parts, f"{len(plan.elections)} preferred leaders change"])


def _broker_table(plan: ReassignmentPlan, has_sizes: bool, everything: bool) -> Iterator[str]:
    received: dict[int, int] = {}
    for move in plan.moves:
        for broker in move.added:
            received[broker] = received.get(broker, 0) + move.size_bytes
    changed = sorted(plan.after, key=lambda one: -abs(plan.after[one].replicas - plan.before.get(one, NOTHING).replicas))
    shown = sorted(changed if everything else changed[:BROKERS_SHOWN])
    rows = []
    for broker in shown:
        old, new = plan.before.get(broker, NOTHING), plan.after[broker]
        pairs = ((old.replicas, new.replicas), (old.leaders, new.leaders), (size(old.size_bytes), size(new.size_bytes)))
        rows.append((f"broker-{broker}", *(f"{a} -> {b}" for a, b in pairs), size(received.get(broker, 0))))
    yield from _known(("broker", "replicas", "leads", HELD, RECEIVED), rows, has_sizes)
    if len(changed) > len(shown):
        yield f"({len(changed) - len(shown)} more brokers: --all)"


def explained(moves: Sequence[PartitionMove]) -> Iterator[str]:
    """Yield a line for each partition that changes: from where to where, and why."""
    for move in moves:
        before, after = (",".join(map(str, replicas)) for replicas in (move.before, move.after))
        yield f"{move.partition}: {before} -> {after}: {'; '.join(move.reasons)}"


def plan_json(
    snapshot: ControlPlaneSnapshot, plan: ReassignmentPlan, batches: Sequence[Batch], throttle: int | None
) -> dict[str, Any]:
    return {
        "source": snapshot.source,
        "taken": snapshot.taken,
        "partitions_without_size": snapshot.partitions_without_size,
        "bytes_moved": plan.bytes_moved,
        "replicas_moved": plan.replicas_moved,
        "fixed": list(map(str, plan.fixed)),
        "offline": [str(move.partition) for move in plan.moves if move.added and move.is_offline],
        "elections": list(map(str, plan.elections)),
        "moves": [_move_json(move) for move in plan.moves],
        "brokers": [
            {"broker": broker, "before": asdict(plan.before.get(broker, NOTHING)), "after": asdict(load)}
            for broker, load in plan.after.items()
        ],
        "batches": [
            {
                "partitions": [str(move.partition) for move in batch.moves],
                "replicas_moved": batch.replicas_moved,
                "bytes_moved": batch.bytes_moved,
                "least_ms": None if throttle is None else batch.duration_ms(throttle),
            }
            for batch in batches
        ],
    }


def _move_json(move: PartitionMove) -> dict[str, Any]:
    return {
        "topic": move.partition.topic,
        "partition": move.partition.partition,
        "before": move.before,
        "after": move.after,
        "bytes_moved": move.bytes_moved,
        "reasons": move.reasons,
    }
