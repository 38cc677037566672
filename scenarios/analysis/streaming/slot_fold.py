"""The fold of one slot: portions of runs in, transitions and mismatches out; all that it knows is in a store between them.

The fold is that of the batch replay (folding/), in one pass: the timeline of a run and the replays of its partitions take in
the facts together, in order of seq. What is folded depends on the facts alone, not on how they are divided into portions.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from kcsim.eventlog.events import ZNODE_CHANGES
from kcsim.scenarios.analysis.folding.mismatch import Mismatch
from kcsim.scenarios.analysis.folding.partition_state import PartitionKey
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact
from kcsim.scenarios.analysis.folding.timeline import Run
from kcsim.scenarios.analysis.folding.timeline_builder import TimelineBuilder
from kcsim.scenarios.analysis.folding.timeline_state import TimelineState
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.streaming.event_chunk import EventChunk
from kcsim.scenarios.analysis.streaming.event_order import EventOrder, OrderState
from kcsim.scenarios.analysis.streaming.partition_states import PartitionStates, StateStore
from kcsim.scenarios.analysis.streaming.run_status import RunStatus, run_status
from kcsim.scenarios.analysis.streaming.running_analyses import RunningAnalyses, RunningState, UnavailabilityRow
from kcsim.scenarios.analysis.tables.rejects_table import Reason, Reject
from kcsim.znodes import paths

RUNS = "runs"

_ENCODER = msgspec.msgpack.Encoder()
_RUNS = msgspec.msgpack.Decoder(list[tuple[str, str]])
_ORDER = msgspec.msgpack.Decoder(OrderState)
_ANALYSES = msgspec.msgpack.Decoder(RunningState)
_TIMELINE = msgspec.msgpack.Decoder(TimelineState)


class SlotResult(NamedTuple):
    """What one portion adds.

    Attributes:
        rejects: what is no event, and events that came too late; only slot 0 returns them.
        unavailability: windows without a live leader that are over.
        running: the status of the portion's runs after it.
    """

    transitions: list[Transition]
    mismatches: list[Mismatch]
    rejects: list[Reject]
    unavailability: list[UnavailabilityRow]
    running: list[RunStatus]


class SlotFold:
    """Folds the portions that one slot receives."""

    def __init__(self, slot: int, lateness_ms: int, store: StateStore) -> None:
        self._slot = slot
        self._lateness_ms = lateness_ms
        self._store = store

    def take(self, chunks: Sequence[EventChunk]) -> SlotResult:
        """Fold the chunks of one portion, and save the state."""
        result = SlotResult([], [], [], [], [])
        partitions = PartitionStates(self._store)
        of_runs: dict[Run, list[EventChunk]] = {}
        for chunk in chunks:
            result.rejects.extend(chunk.rejects)
            if not chunk.flush:
                of_runs.setdefault((chunk.batch, chunk.run), []).append(chunk)
        flush = any(chunk.flush for chunk in chunks)
        known = self._known_runs()
        wanted = sorted({*of_runs, *(known if flush else ())})
        for run in wanted:
            self._fold_run(run, of_runs.get(run, ()), flush, partitions, result)
        partitions.save()
        if not known.issuperset(wanted):
            self._store.put(RUNS, _ENCODER.encode(sorted(known.union(wanted))))
        return result

    def _known_runs(self) -> set[Run]:
        saved = self._store.get(RUNS)
        return set() if saved is None else set(_RUNS.decode(saved))

    def _fold_run(
        self, run: Run, chunks: Sequence[EventChunk], flush: bool, partitions: PartitionStates, result: SlotResult
    ) -> None:
        name = "\0".join(run)
        saved = self._store.get(f"order {name}")
        order = EventOrder(self._lateness_ms, None if saved is None else _ORDER.decode(saved))
        seqs = np.frombuffer(b"".join(chunk.seqs for chunk in chunks), np.int64)
        times = np.frombuffer(b"".join(chunk.times for chunk in chunks), np.int64)
        facts = [fact for chunk in chunks for fact in chunk.facts]
        released = order.take(seqs, times, facts, _reached_ms(chunks), flush)
        if self._slot == 0:
            result.rejects.extend(_too_late(run, seq) for seq in released.late)
        saved = self._store.get(f"analyses {name}")
        analyses = RunningAnalyses(*run, None if saved is None else _ANALYSES.decode(saved))
        if released.facts:
            self._fold(run, released.facts, partitions, analyses, result)
        result.unavailability.extend(analyses.take_closed(order.state.released_ms))
        result.running.append(run_status(self._slot, run, order.state, analyses))
        self._store.put(f"order {name}", _ENCODER.encode(order.state))
        self._store.put(f"analyses {name}", _ENCODER.encode(analyses.state))

    def _fold(
        self,
        run: Run,
        facts: Iterable[ReplayFact],
        partitions: PartitionStates,
        analyses: RunningAnalyses,
        result: SlotResult,
    ) -> None:
        name = f"timeline {chr(0).join(run)}"
        saved = self._store.get(name)
        builder = TimelineBuilder() if saved is None else TimelineBuilder.restored(_TIMELINE.decode(saved))
        has_changed = False
        for fact in facts:
            if fact.partition is not None:
                key = PartitionKey(*run, fact.topic or "", fact.partition)
                replay = partitions.replay(key, builder.timeline)
                replay.take_in(fact)
                changes = replay.take()
            else:
                builder.take(fact)
                has_changed = True
                topic = _topic_written(fact)
                changes = [] if topic is None else partitions.follow_topic(*run, topic, builder.timeline)
                analyses.on_fact(fact)
            for change in changes:
                analyses.on_transition(change)
            result.transitions.extend(changes)
        for replay in partitions.open:
            result.mismatches.extend(replay.take_mismatches())
        if has_changed:
            self._store.put(name, _ENCODER.encode(builder.save()))


def _reached_ms(chunks: Sequence[EventChunk]) -> int:
    """Return up to which time of the run all parts of it are there that a portion has events of: 0 if it has none."""
    reached: dict[int, int] = {}
    for chunk in chunks:
        if chunk.times:
            newest = int(np.frombuffer(chunk.times, np.int64).max())
            reached[chunk.source] = max(newest, reached.get(chunk.source, 0))
    return min(reached.values(), default=0)


def _topic_written(fact: ReplayFact) -> str | None:
    """Return the topic whose znode a fact is a change of."""
    if fact.kind not in ZNODE_CHANGES or paths.parent(fact.path or "") != paths.BROKER_TOPICS:
        return None
    return paths.name(fact.path or "")


def _too_late(run: Run, seq: int) -> Reject:
    detail = f"event {seq} came after the fold had gone on without it"
    return Reject(*run, "", None, Reason.TOO_LATE.value, detail, None)
