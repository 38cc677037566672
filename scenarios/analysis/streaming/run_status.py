"""The status of a run after a micro-batch: its figures so far, from each slot, and their sums over the slots."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kcsim.scenarios.analysis.folding.timeline import Run
from kcsim.scenarios.analysis.streaming.event_order import OrderState
from kcsim.scenarios.analysis.streaming.running_analyses import ElectionCount, RunningAnalyses, UnavailabilityRow


class RunStatus(msgspec.Struct):
    """The figures of a run in one slot, or of all slots.

    Attributes:
        now_ms: the run's time up to which it is folded.
        events, repeated, late, waiting: of all partitions, in every slot the same: folded; dropped as repeated; that came
            too late; that wait for a missing one.
        controller: the broker that is the controller and since when, as /controller says; None if there is none.
        controllers: how many terms of a controller began.
        partitions, leaderless: how many there are, and how many of them have no live leader.
        windows: those without a live leader that are not in the table of windows yet.
    """

    slot: int
    batch: str
    run: str
    now_ms: int
    events: int
    repeated: int
    late: int
    waiting: int
    controller: tuple[int | None, int] | None
    controllers: int
    transitions: int
    partitions: int
    leaderless: int
    isr_shrinks: int
    isr_expansions: int
    elections: list[ElectionCount]
    windows: list[UnavailabilityRow]


RunStatuses = Mapping[tuple[str, str, int], RunStatus]
"""The latest of each batch, run and slot."""

_DECODER = msgspec.msgpack.Decoder(list[RunStatus])


def run_status(slot: int, run: Run, order: OrderState, analyses: RunningAnalyses) -> RunStatus:
    """Return the status of a run in one slot."""
    state = analyses.state
    known = [p for of_topic in state.partitions.values() for p in of_topic.values() if p.leader is not None]
    return RunStatus(
        slot,
        *run,
        order.released_ms,
        order.events,
        order.repeated,
        order.late,
        len(order.seqs) // 8,
        state.controller,
        state.controllers,
        state.transitions,
        len(known),
        sum(p.without is not None for p in known),
        state.isr_shrinks,
        state.isr_expansions,
        state.elections,
        list(analyses.open_windows(order.released_ms)),
    )


def packed_statuses(statuses: Sequence[RunStatus]) -> bytes:
    """Return statuses as bytes."""
    return msgspec.msgpack.encode(statuses)


def unpacked_statuses(data: bytes) -> list[RunStatus]:
    """Return the statuses in some bytes."""
    return _DECODER.decode(data)


def of_runs(statuses: RunStatuses) -> list[RunStatus]:
    """Return the sums over the slots of each run, in order of runs."""
    of_run: dict[Run, list[RunStatus]] = {}
    for key in sorted(statuses):
        of_run.setdefault(key[:2], []).append(statuses[key])
    return [_sum(parts) for parts in of_run.values()]


def _sum(parts: Sequence[RunStatus]) -> RunStatus:
    first = max(parts, key=lambda part: part.events)
    sums = {
        name: sum(getattr(part, name) for part in parts)
        for name in ("transitions", "partitions", "leaderless", "isr_shrinks", "isr_expansions")
    }
    windows = sorted(
        (row for part in parts for row in part.windows), key=lambda row: (row.from_ms, row.topic, row.partition)
    )
    elections = _sum_of_elections(count for part in parts for count in part.elections)
    return msgspec.structs.replace(first, **sums, windows=windows, elections=elections)


def _sum_of_elections(counts: Iterable[ElectionCount]) -> list[ElectionCount]:
    summed: dict[object, ElectionCount] = {}
    for count in counts:
        known = summed.setdefault(count.key, ElectionCount(count.key, 0, 0, count.first_ms, count.last_ms))
        known.elections += count.elections
        known.partitions += count.partitions
        known.first_ms, known.last_ms = min(known.first_ms, count.first_ms), max(known.last_ms, count.last_ms)
    return sorted(summed.values(), key=lambda count: -count.elections)
