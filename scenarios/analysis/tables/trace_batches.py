"""The events and the rejects of a part of a trace, as record batches. Pure Python: Spark's workers run it."""

from collections.abc import Iterator
from typing import Any

from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from kcsim.scenarios.analysis.tables.portion import TracePortion, reject
from kcsim.scenarios.analysis.tables.problems import Problem
from kcsim.scenarios.analysis.tables.rejects_table import Reason, rejects_arrow_schema
from kcsim.scenarios.analysis.tables.trace_files import Split


def portions_of(split: Split) -> Iterator[TracePortion]:
    """Return all portions of a split, read in its format."""
    from kcsim.scenarios.analysis.tables.trace_lines import read_lines
    from kcsim.scenarios.analysis.tables.trace_rows import read_rows

    if split.trace.size == 0:
        empty = Problem(Reason.EMPTY, "there is nothing in it")
        return iter([TracePortion(None, [reject(split.trace, None, empty)])])
    return read_rows(split) if split.trace.is_parquet else read_lines(split)


def events_batches(split: Split, portion: TracePortion) -> Iterator[Any]:
    """Yield the events of a portion, as a pyarrow.RecordBatch of the table of events; nothing if there are none."""
    import pyarrow as pa

    if portion.events is not None:
        own = [pa.repeat(name, len(portion.events)) for name in (split.trace.batch, split.trace.run)]
        yield pa.RecordBatch.from_arrays([*own, *portion.events.columns], schema=events_arrow_schema())


def rejects_batches(portion: TracePortion) -> Iterator[Any]:
    """Yield the rejects of a portion, as a pyarrow.RecordBatch of their table; nothing if there are none."""
    import pyarrow as pa

    if portion.rejects:
        yield pa.RecordBatch.from_pylist([row._asdict() for row in portion.rejects], schema=rejects_arrow_schema())
