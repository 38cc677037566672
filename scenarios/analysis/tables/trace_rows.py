"""Reading a Parquet trace row by row, past rows that are no events. Pure Python: Spark's workers run it."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from kcsim.eventlog.event_log import arrow_schema
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventKind
from kcsim.eventlog.parquet_batches import OversizedFileError, batches_of, open_parquet
from kcsim.scenarios.analysis.tables import problems
from kcsim.scenarios.analysis.tables.batch_upgrade import is_older, upgrade_batch
from kcsim.scenarios.analysis.tables.location import parquet_file, parquet_source
from kcsim.scenarios.analysis.tables.portion import TracePortion, reject
from kcsim.scenarios.analysis.tables.problems import Problem
from kcsim.scenarios.analysis.tables.rejects_table import Reason
from kcsim.scenarios.analysis.tables.trace_files import Split

ROWS = 16_384
"""The greatest number of rows in a portion."""
VERSION_KEY = b"kcsim.schema_version"


@cache
def _kinds() -> Any:
    """Return the known kinds, as pyarrow.Array. To make one imports pandas, which commands on datasets do without."""
    return pa.array([str(kind) for kind in EventKind])


def read_rows(split: Split) -> Iterator[TracePortion]:
    """Yield the rows of a Parquet trace, in order. If the file cannot be read from some row on, that is a reject."""
    read = 0
    try:
        with parquet_file(split.trace.path) as file:
            problem = _problem_of_file(file)
            if problem is not None and problem.reason is Reason.FOREIGN:
                yield TracePortion(None, [reject(split.trace, None, problem)])
                return
            upgrades = is_older(file.schema_arrow.names)
        with open_parquet(parquet_source(split.trace.path)) as file:
            for batch in batches_of(file, ROWS):
                yield _portion(split, batch, read, problem, upgrades)
                read += len(batch)
    except (OSError, pa.ArrowException, OversizedFileError) as error:
        detail = f"{_first_line(error)}, after row {read}"
        yield TracePortion(None, [reject(split.trace, None, Problem(Reason.UNREADABLE, detail))])


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _problem_of_file(file: Any) -> Problem | None:
    """Return the problem of all rows, if there is one: columns that are not ours, or a newer version."""
    schema = file.schema_arrow
    versions = [(schema.metadata or {}).get(VERSION_KEY, b"")]
    versions = [int(version) for version in versions if version.isdigit()]
    if "schema_version" in schema.names and pa.types.is_integer(schema.field("schema_version").type):
        versions.append(pc.max(file.read(["schema_version"])["schema_version"]).as_py())
    newer = (problems.of_version(version) for version in versions)
    return next(filter(None, newer), None) or problem_of_columns(schema)


def problem_of_columns(schema: Any) -> Problem | None:
    """Return the problem with a file's columns (a pyarrow.Schema), if there is one: a wrong type, or an unknown column."""
    ours = arrow_schema()
    if missing := [field.name for field in ours if not field.nullable and field.name not in schema.names]:
        return Problem(Reason.FOREIGN, f"no events: there is no column {', '.join(missing)}")
    for field in schema:
        if field.name in ours.names and not _is_like(field.type, ours.field(field.name).type):
            return Problem(Reason.FOREIGN, f"column {field.name} is {field.type}, not {ours.field(field.name).type}")
    if unknown := [name for name in schema.names if name not in ours.names]:
        detail = f"column {', '.join(unknown)} is not in version {EVENT_SCHEMA_VERSION} of the format"
        return Problem(Reason.NEWER_VERSION, f"a newer kcsim wrote it: {detail}")
    return None


def _is_like(theirs: Any, ours: Any) -> bool:
    """Return whether values of `theirs` are values of `ours`, however they are stored. The null type fits every type."""
    if pa.types.is_null(theirs):
        return True
    if pa.types.is_dictionary(theirs):
        return _is_like(theirs.value_type, ours)
    if pa.types.is_integer(ours):
        return bool(pa.types.is_integer(theirs))
    if pa.types.is_string(ours):
        return bool(pa.types.is_string(theirs) or pa.types.is_large_string(theirs))
    if pa.types.is_list(ours):
        is_list = pa.types.is_list(theirs) or pa.types.is_large_list(theirs)
        return is_list and _is_like(theirs.value_type, ours.value_type)
    return bool(theirs == ours)


def _portion(split: Split, batch: Any, before: int, problem: Problem | None, upgrades: bool) -> TracePortion:
    """Separate events from rejects.

    Args:
        before: how many rows of the file came before these.
        upgrades: whether the file is of an older version of the format.
    """
    if problem is not None:
        rows = enumerate(batch.to_pylist(), before + 1)
        return TracePortion(None, [reject(split.trace, number, problem, _text(row)) for number, row in rows])
    if _all_well(batch):
        return TracePortion(_as_ours(batch, upgrades), ())
    rejects, kept = [], []
    for number, row in enumerate(batch.to_pylist(), before + 1):
        found = _problem_of(row)
        kept.append(found is None)
        if found is not None:
            rejects.append(reject(split.trace, number, found, _text(row)))
    return TracePortion(_as_ours(batch.filter(pa.array(kept)), upgrades) if any(kept) else None, rejects)


def _all_well(batch: Any) -> bool:
    """Return whether no row of a batch can be a reject, so that the rows need not be checked one by one."""
    required = [batch.column(name) for name in ("seq", "t_ms", "node", "kind")]
    lists = [column for column in batch.columns if pa.types.is_list(column.type) or pa.types.is_large_list(column.type)]
    return (
        not any(column.null_count for column in required)
        and pc.min(batch.column("seq")).as_py() >= 0
        and pc.all(pc.is_in(batch.column("kind"), _kinds())).as_py()
        and not any(column.flatten().null_count for column in lists)
    )


def _problem_of(row: dict[str, Any]) -> Problem | None:
    try:
        return problems.of_event(msgspec.convert(row, Event))
    except msgspec.ValidationError as error:
        return problems.of_error(error)


def _as_ours(batch: Any, upgrades: bool) -> Any:
    """Return the same rows in our columns, in our order, and of our version."""
    schema = arrow_schema()
    has = set(batch.schema.names)
    columns = [batch.column(f.name).cast(f.type) if f.name in has else pa.nulls(len(batch), f.type) for f in schema]
    ours = pa.RecordBatch.from_arrays(columns, schema=schema)
    return upgrade_batch(ours) if upgrades else ours


def _text(row: dict[str, Any]) -> str:
    return msgspec.json.encode({name: value for name, value in row.items() if value is not None}).decode()
