"""Events about a segment that was closed or deleted: the segment, the rule, and the values that decided it."""

from dataclasses import replace

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.log.segment_events import deleted_fields, rolled_fields
from kcsim.brokers.records import Run
from kcsim.eventlog.events import EventFields
from kcsim.vocabulary import LeaderEpoch, TopicPartition

NOW = 1_700_000_000_000
E0 = LeaderEpoch(0)
UNTIMED = -1
ENTRY_FOR_EVERY_BATCH = LogConfig(index_interval_bytes=0, segment_index_bytes=24)
HUGE = LogConfig(segment_bytes=2**40, max_message_bytes=2**40)


def rolled(config: LogConfig, *batches: tuple[int, int]) -> list[EventFields]:
    """Return the events when these batches, of a count of ten-byte records and their timestamp, are appended."""
    log = ReplicaLog(TopicPartition("orders", 3), config)
    events = []
    for count, at_ms in batches:
        info = log.append_as_leader([Run(0, count, E0, "p", log.log_end_offset, at_ms, 10)], E0, NOW)
        events += [rolled_fields(log.tp, each, config) for each in info.rolls]
    return events


def why(events: list[EventFields]) -> list[tuple[str, str]]:
    return [(fields["rule"], fields["inputs"]) for fields in events]


def test_a_closed_segment_is_reported_with_its_offsets_and_the_reason() -> None:
    assert rolled(LogConfig(segment_bytes=105), (10, NOW), (1, NOW)) == [
        {
            "topic": "orders",
            "partition": 3,
            "offset": 0,
            "end_offset": 10,
            "rule": "size",
            "inputs": "100 bytes and 10 of the batch, segment.bytes 105",
            "detail": "00000000000000000000.log is closed with 100 bytes",
        }
    ]


def test_age_is_reported_in_milliseconds() -> None:
    assert why(rolled(LogConfig(segment_ms=500), (1, NOW), (1, NOW + 501))) == [("time", "waited 501 ms, segment.ms 500")]


def test_a_full_offset_index_is_reported_with_its_entries() -> None:
    """24 bytes are 3 entries; records without timestamps leave the time index empty."""
    events = rolled(ENTRY_FOR_EVERY_BATCH, *[(1, UNTIMED)] * 5)
    assert why(events) == [("offset_index_full", "3 entries in the offset index, full with 3")]
    assert events[0]["end_offset"] == 4


def test_a_full_time_index_is_reported_with_its_entries() -> None:
    """24 bytes are 2 entries, of which one is kept for the closing entry."""
    events = rolled(ENTRY_FOR_EVERY_BATCH, *[(1, NOW)] * 3)
    assert why(events) == [("time_index_full", "1 entries in the time index, full with 1")]


def test_an_offset_too_far_from_the_base_is_reported() -> None:
    assert why(rolled(HUGE, (10, NOW), (2**31, NOW))) == [("offset_overflow", "offset 2147483657 in a segment from 0")]


def test_all_reasons_that_hold_are_reported() -> None:
    events = rolled(LogConfig(segment_bytes=105, segment_ms=500), (10, NOW), (1, NOW + 501))
    assert [fields["rule"] for fields in events] == ["size, time"]


def test_deleted_segments_are_reported_from_the_oldest_with_the_rule_of_each() -> None:
    log = ReplicaLog(TopicPartition("orders", 3), LogConfig(segment_bytes=20, retention_ms=1_000, retention_bytes=40))
    for count, at_ms in ((2, NOW), (1, NOW + 900), (2, NOW + 900), (2, NOW + 900)):
        log.append_as_leader([Run(0, count, E0, "p", log.log_end_offset, at_ms, 10)], E0, NOW)
    log.high_watermark = log.log_end_offset
    events = deleted_fields(log, log.apply_retention(NOW + 1_001))
    assert [(fields["offset"], fields["end_offset"], fields["rule"]) for fields in events] == [
        (0, 2, "time"),
        (2, 3, "size"),
    ]
    assert events[0]["detail"] == "00000000000000000000.log had 20 bytes; the log begins at 3"


def test_a_log_that_lost_all_segments_is_reported_up_to_its_end() -> None:
    log = ReplicaLog(TopicPartition("orders", 3), replace(LogConfig(), retention_ms=0))
    log.append_as_leader([Run(0, 7, E0, "p", 0, NOW, 10)], E0, NOW)
    log.high_watermark = 7
    events = deleted_fields(log, log.apply_retention(NOW + 1))
    assert [(fields["offset"], fields["end_offset"]) for fields in events] == [(0, 7)]
