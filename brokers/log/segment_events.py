"""Events about segments that were closed or deleted, each with the reason."""

from collections.abc import Mapping

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_retention import RetentionRule
from kcsim.brokers.log.log_segments import RollReason, Segment, offset_index_capacity, time_index_capacity
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.log.segment_appends import SegmentRolled
from kcsim.eventlog.events import EventFields
from kcsim.vocabulary import TopicPartition


def rolled_fields(tp: TopicPartition, rolled: SegmentRolled, config: LogConfig) -> EventFields:
    """Return the columns of SegmentRolled. `rule` names every reason that applied, the first one first: "size, time".

    Args:
        config: the settings of the decision.
    """
    reasons = rolled.roll.reasons
    return {
        "topic": tp.topic,
        "partition": tp.partition,
        "offset": rolled.closed.base_offset,
        "end_offset": rolled.roll.base_offset,
        "rule": ", ".join(reasons),
        "inputs": "; ".join(_decided_on(reason, rolled, config) for reason in reasons),
        "detail": f"{rolled.closed.file_name} is closed with {rolled.closed.size} bytes",
    }


def _decided_on(reason: RollReason, rolled: SegmentRolled, config: LogConfig) -> str:
    segment, batch = rolled.closed, rolled.batch
    match reason:
        case RollReason.SIZE:
            return f"{segment.size} bytes and {batch.size} of the batch, segment.bytes {config.segment_bytes}"
        case RollReason.TIME:
            jitter = f", less {segment.roll_jitter_ms} of jitter" if segment.roll_jitter_ms else ""
            return f"waited {rolled.waited_ms} ms, segment.ms {config.max_segment_ms}{jitter}"
        case RollReason.OFFSET_INDEX_FULL:
            full_at = offset_index_capacity(config.segment_index_bytes).full_at
            return f"{segment.offset_index_entries} entries in the offset index, full with {full_at}"
        case RollReason.TIME_INDEX_FULL:
            full_at = time_index_capacity(config.segment_index_bytes).full_at
            return f"{segment.time_index_entries} entries in the time index, full with {full_at}"
        case RollReason.OFFSET_OVERFLOW:
            return f"offset {batch.last_offset} in a segment from {segment.base_offset}"


def deleted_fields(log: ReplicaLog, deleted: Mapping[RetentionRule, tuple[Segment, ...]]) -> list[EventFields]:
    """Return the columns of SegmentDeleted, one event for each segment, the oldest first.

    Args:
        log: the log after a retention pass.
        deleted: the segments that the pass deleted; not empty.
    """
    gone = sorted(((s, rule) for rule, segments in deleted.items() for s in segments), key=lambda each: each[0].base_offset)
    ends = [segment.base_offset for segment, _ in gone[1:]] + [log.segments[0].base_offset]
    return [
        {
            "topic": log.tp.topic,
            "partition": log.tp.partition,
            "offset": segment.base_offset,
            "end_offset": end,
            "rule": rule,
            "detail": f"{segment.file_name} had {segment.size} bytes; the log begins at {log.log_start_offset}",
        }
        for (segment, rule), end in zip(gone, ends, strict=True)
    ]
