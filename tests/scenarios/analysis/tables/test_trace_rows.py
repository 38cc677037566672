"""A Parquet trace is read as strictly as everywhere else, and reading goes on after a row that is no event."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kcsim.eventlog.event_log import arrow_schema, read_trace
from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.tables.rejects_table import Reject
from kcsim.scenarios.analysis.tables.trace_files import Split, Trace
from kcsim.scenarios.analysis.tables.trace_rows import read_rows
from tests.scenarios.analysis.synthetic_traces import event, started, written


def rows_of(*events: Event) -> list[dict[str, Any]]:
    return [{**msgspec.structs.asdict(e), "kind": str(e.kind)} for e in events]


def lenient_schema() -> pa.Schema:
    """Return our columns without any required one, as another program may have written them."""
    return pa.schema([field.with_nullable(True) for field in arrow_schema()])


def read(path: Path) -> tuple[list[Event], list[Reject]]:
    events: list[Event] = []
    rejects: list[Reject] = []
    for portion in read_rows(Split(Trace(str(path), "b", "r", path.stat().st_size))):
        events += [msgspec.convert(row, Event) for row in portion.events.to_pylist()] if portion.events else []
        rejects += portion.rejects
    return events, rejects


def read_table(path: Path, table: pa.Table) -> tuple[list[Event], list[Reject]]:
    pq.write_table(table, path)
    return read(path)


def test_a_trace_of_ours_is_read_as_everywhere(tmp_path: Path) -> None:
    path = written(tmp_path / "r.parquet", [started(), event(1, isr=[1, 2], detail="ü"), event(2, isr=[])])
    assert read(path) == (list(read_trace(path)), [])


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"seq": None}, "wrong type"),
        ({"node": None}, "wrong type"),
        ({"kind": "Foult"}, "unknown kind"),
        ({"seq": -3}, "out of range"),
        ({"isr": [1, None]}, "wrong type"),
    ],
)
def test_a_row_that_is_no_event_is_rejected_with_its_number_and_the_reason(
    tmp_path: Path, wrong: dict[str, Any], reason: str
) -> None:
    rows = rows_of(started(), event(1), event(2), event(3))
    rows[2] |= wrong
    events, rejects = read_table(tmp_path / "r.parquet", pa.Table.from_pylist(rows, schema=lenient_schema()))
    assert [e.seq for e in events] == [0, 1, 3]
    assert [(r.run, r.line, r.reason) for r in rejects] == [("r", 3, reason)]
    assert '"node"' in (rejects[0].text or "") or wrong == {"node": None}


def test_how_the_values_are_stored_does_not_matter(tmp_path: Path) -> None:
    """Other programs write narrower numbers, dictionaries, and only the columns that they need."""
    columns = {
        "kind": pa.array(["Fault", "Fault"]).dictionary_encode(),
        "seq": pa.array([1, 2], pa.int32()),
        "t_ms": pa.array([10, 20], pa.int16()),
        "node": pa.array(["broker-1", "broker-1"], pa.large_string()),
        "isr": pa.array([[1], [2, 3]], pa.large_list(pa.int32())),
        "topic": pa.nulls(2),
    }
    assert read_table(tmp_path / "r.parquet", pa.table(columns)) == ([event(1, isr=[1]), event(2, isr=[2, 3])], [])


@pytest.mark.parametrize(
    ("columns", "detail"),
    [
        ({"name": ["x"]}, "no events: there is no column seq, t_ms, node, kind"),
        ({"seq": ["1"], "t_ms": [1], "node": ["x"], "kind": ["Fault"]}, "column seq is string, not int64"),
        ({"seq": [1], "t_ms": [1.5], "node": ["x"], "kind": ["Fault"]}, "column t_ms is double, not int64"),
    ],
)
def test_a_file_of_other_columns_is_one_reject(tmp_path: Path, columns: dict[str, list[Any]], detail: str) -> None:
    events, rejects = read_table(tmp_path / "r.parquet", pa.table(columns))
    assert (events, [(r.line, r.reason, r.detail) for r in rejects]) == ([], [(None, "not a trace", detail)])


def newer_in_metadata(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=arrow_schema().with_metadata({"kcsim.schema_version": "99"}))


def newer_in_the_first_event(rows: list[dict[str, Any]]) -> pa.Table:
    rows[0]["schema_version"] = 99
    return pa.Table.from_pylist(rows, schema=arrow_schema().remove_metadata())


def newer_by_a_column(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=arrow_schema().remove_metadata()).append_column("colour", pa.array(["red"] * 3))


@pytest.mark.parametrize("newer", [newer_in_metadata, newer_in_the_first_event, newer_by_a_column])
def test_of_a_newer_version_nothing_is_taken(tmp_path: Path, newer: Any) -> None:
    """A newer version may have unknown columns that change the meaning of the known ones."""
    events, rejects = read_table(tmp_path / "r.parquet", newer(rows_of(started(), event(1), event(2))))
    assert (events, [(r.line, r.reason) for r in rejects]) == ([], [(line, "newer version") for line in (1, 2, 3)])
    assert "a newer kcsim wrote it" in rejects[1].detail


def test_a_truncated_file_is_a_reject_that_names_it(tmp_path: Path) -> None:
    path = written(tmp_path / "r.parquet", [started(), event(1)])
    path.write_bytes(path.read_bytes()[:-100])
    events, rejects = read(path)
    assert (events, [(r.file, r.line, r.reason) for r in rejects]) == ([], [(str(path), None, "unreadable file")])
