"""Rows, their columns, and the batches made from them."""

import pyarrow as pa

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.generating.rows import ROWS_PER_BATCH, GeneratedRow, batches_of_events, batches_of_rows
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from tests.scenarios.analysis.generating.histories import ROUGH, event_of, made


def test_a_row_has_columns_of_the_event_log_alone() -> None:
    assert set(GeneratedRow._fields) <= set(Event.__struct_fields__)


def test_rows_and_the_events_that_they_are_make_the_same_table() -> None:
    rows = made(ROUGH).rows
    of_rows = pa.Table.from_batches(list(batches_of_rows(rows, "b", "r")))
    of_events = pa.Table.from_batches(list(batches_of_events(map(event_of, rows), "b", "r")))
    assert of_rows.schema == events_arrow_schema()
    assert of_rows.equals(of_events)
    assert set(of_rows.column("batch").to_pylist()) == {"b"}


def test_many_rows_come_in_several_batches_and_none_is_lost() -> None:
    rows = list(made(ROUGH).rows[:7]) * (ROWS_PER_BATCH // 7 + 1)
    batches = list(batches_of_rows(rows, "b", "r"))
    assert len(batches) == 2
    assert sum(batch.num_rows for batch in batches) == len(rows)


def test_without_rows_there_is_no_batch() -> None:
    assert list(batches_of_rows([], "b", "r")) == []
