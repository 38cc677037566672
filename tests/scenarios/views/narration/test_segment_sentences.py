"""Sentences about log segments."""

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.narrator import Narrator
from kcsim.scenarios.views.narration.segment_sentences import SEGMENT_SENTENCES
from kcsim.scenarios.views.narration.timeline import LIMITED_KINDS

ORDERS_0 = {"topic": "orders", "partition": 0}


def sentence_of(kind: EventKind, **fields: object) -> str:
    return SEGMENT_SENTENCES[kind](Event(1, 0, "broker-1", kind, 0, **ORDERS_0, **fields))  # type: ignore[arg-type]


def test_a_closed_segment_is_described_with_the_reason() -> None:
    inputs = "800 bytes and 800 of the batch, segment.bytes 1000"
    assert sentence_of(EventKind.SEGMENT_ROLLED, offset=0, end_offset=8, rule="size", inputs=inputs) == (
        f"closes the segment 0..7 of orders-0, by size: {inputs}"
    )


def test_a_segment_without_records_can_be_closed() -> None:
    """An index without room for a single entry is full at once."""
    inputs = "0 entries in the offset index, full with 0"
    assert sentence_of(EventKind.SEGMENT_ROLLED, offset=5, end_offset=5, rule="offset_index_full", inputs=inputs) == (
        f"closes the segment 5, empty, of orders-0, by offset_index_full: {inputs}"
    )


def test_a_deleted_segment_is_described_with_the_rule() -> None:
    detail = "00000000000000000000.log had 800 bytes; the log begins at 8"
    assert sentence_of(EventKind.SEGMENT_DELETED, offset=0, end_offset=8, rule="time", detail=detail) == (
        f"deletes the segment 0..7 of orders-0, by time: {detail}"
    )


@pytest.mark.parametrize("kind", SEGMENT_SENTENCES)
def test_the_narrator_describes_them_and_of_many_alike_the_first(kind: EventKind) -> None:
    event = Event(1, 0, "broker-1", kind, 0, **ORDERS_0, offset=0, end_offset=8, rule="size")  # type: ignore[arg-type]
    assert "the segment 0..7 of orders-0" in (Narrator().narrate(event) or "")
    assert kind in LIMITED_KINDS
