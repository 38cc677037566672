"""Appends of single batches, made of the decisions of log_segments.py: what the append of a series must agree with."""

from collections.abc import Sequence
from typing import NamedTuple

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_segments import (
    RecordBatch,
    RecordBatchTooLargeError,
    Roll,
    Segment,
    closed_segment,
    decide_roll,
    with_batch,
)


class Appended(NamedTuple):
    """The segments of a log after an append, and the roll before the append if there was one."""

    segments: tuple[Segment, ...]
    log_end_offset: int
    roll: Roll | None


def append_batch(
    segments: Sequence[Segment],
    log_end_offset: int,
    batch: RecordBatch,
    config: LogConfig,
    now_ms: int,
    next_roll_jitter_ms: int,
) -> Appended:
    """Append a batch to a log, which is rolled first if necessary.

    Args:
        segments: at least one; the last is active.
        next_roll_jitter_ms: of the segment that this append may create; unused without a roll.

    Raises: RecordBatchTooLargeError.
    """
    if not batch.size:
        return Appended(tuple(segments), log_end_offset, None)
    if batch.size > config.segment_bytes:
        raise RecordBatchTooLargeError(batch.size, config.segment_bytes)
    *closed, active = segments
    roll = decide_roll(active, batch, log_end_offset, config, now_ms)
    if roll is not None:
        if not roll.replaces_active:
            closed.append(closed_segment(active))
        active = Segment(roll.base_offset, created_ms=now_ms, modified_ms=now_ms, roll_jitter_ms=next_roll_jitter_ms)
    return Appended((*closed, with_batch(active, batch, config, now_ms)), batch.last_offset + 1, roll)
