"""Questions about log segments: rolling, indexes, retention."""

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_retention import RULES_2_8, RULES_3, LogState, apply_retention
from kcsim.brokers.log.log_segments import (
    NO_TIMESTAMP,
    RecordBatch,
    Segment,
    fits_relative_offset,
    offset_index_capacity,
    roll_reasons,
    time_index_capacity,
    with_batch,
)
from tests.brokers.log.single_appends import append_batch
from tests.vectors.cases import Answer, BadCaseError, Given, Version

AMPLE_INDEX_BYTES = 1 << 40


def should_roll(given: Given) -> Answer:
    segment, batch = given["segment"], given["append"]
    reasons = roll_reasons(
        Segment(
            segment["base_offset"],
            created_ms=segment["created"],
            size=segment["size"],
            first_batch_max_timestamp=segment["first_batch_max_timestamp"],
            roll_jitter_ms=segment["roll_jitter_ms"],
            offset_index_entries=segment["offset_index_entries"],
            time_index_entries=segment["time_index_entries"],
        ),
        RecordBatch(batch["size"], batch["last_offset"], max_timestamp=batch["max_timestamp"]),
        _config(given),
        batch["now"],
    )
    return {"roll": bool(reasons), "reasons": [str(reason) for reason in reasons]}


def relative_offset(given: Given) -> Answer:
    return {"fits": fits_relative_offset(given["base_offset"], given["offset"])}


def index_capacity(given: Given) -> Answer:
    offsets, times = offset_index_capacity(given["index_max_bytes"]), time_index_capacity(given["index_max_bytes"])
    return {
        "offset_entries": offsets.slots,
        "offset_full_at": offsets.full_at,
        "time_entries": times.slots,
        "time_full_at": times.full_at,
    }


def index_entries(given: Given) -> Answer:
    """Return the index entries of batches without timestamps, all in one segment."""
    config = LogConfig(index_interval_bytes=given["interval_bytes"])
    segment, entries = Segment(0), []
    for number, size in enumerate(given["batch_sizes"]):
        after = with_batch(segment, RecordBatch(size, number), config, now_ms=0)
        if after.offset_index_entries > segment.offset_index_entries:
            entries.append({"batch": number, "position": segment.size})
        segment = after
    return {"entries": entries}


def sequence(given: Given) -> Answer:
    """Return a log's segments after each event; it begins at clock 0, and segments take the jitters in order, then 0."""
    config = _config(given)
    jitters = [*given["jitters"], *[0] * (len(given["events"]) + 1)]
    segments: tuple[Segment, ...] = (Segment(0, roll_jitter_ms=jitters.pop(0)),)
    log_end_offset, now_ms, counts = 0, 0, []
    for event in given["events"]:
        if "advance_ms" in event:
            now_ms += event["advance_ms"]
        elif "append" in event:
            batch = _appended(event["append"], log_end_offset)
            segments, log_end_offset, roll = append_batch(segments, log_end_offset, batch, config, now_ms, jitters[0])
            if roll is not None:
                jitters.pop(0)
        else:
            raise BadCaseError(f"an event is `advance_ms` or `append`, not {', '.join(event)}")
        counts.append(len(segments))
    return {
        "segments_after_each_event": counts,
        "base_offsets": [segment.base_offset for segment in segments],
        "sizes": [segment.size for segment in segments],
        "log_end_offset": log_end_offset,
    }


def retention(given: Given, version: Version) -> Answer:
    """Return the deleted segments. A segment without a timestamp counts as last written at clock 0."""
    segments = tuple(
        Segment(of["base_offset"], size=of["size"], largest_timestamp=of["largest_timestamp"]) for of in given["segments"]
    )
    log = LogState(segments, given["log_start_offset"], given["high_watermark"], given["log_end_offset"])
    rules = RULES_2_8 if version is Version.KAFKA_2_8 else RULES_3
    deleted, left = apply_retention(log, _config(given), given["now"], rules)
    return {
        "deleted": {str(rule): [segment.base_offset for segment in deleted[rule]] for rule in RULES_3},
        "remaining_base_offsets": [segment.base_offset for segment in left.segments],
    }


def _config(given: Given) -> LogConfig:
    settings = dict(given["config"])
    settings["segment_index_bytes"] = settings.pop("index_max_bytes", AMPLE_INDEX_BYTES)
    try:
        return LogConfig(**settings)
    except TypeError as error:
        raise BadCaseError(f"config: {error}") from None


def _appended(batch: Given, log_end_offset: int) -> RecordBatch:
    first = batch.get("first_offset", log_end_offset)
    return RecordBatch(batch["size"], batch.get("last_offset", first), first, batch.get("max_timestamp", NO_TIMESTAMP))
