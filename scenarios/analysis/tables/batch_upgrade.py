"""Upgrades record batches of events of an older version of the schema, as eventlog/schema_upgrade.py upgrades events.

Pure Python: Spark's workers run it. A Parquet file is of an older version if it lacks columns that were added since.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.schema_upgrade import FILLED_COLUMNS, UPGRADED_KINDS, upgraded

FIRST_ADDED_COLUMN = "started"
_KINDS = sorted(map(str, UPGRADED_KINDS))


def is_older(columns: Iterable[str]) -> bool:
    """Return whether a file with these columns was written in an older version of the schema."""
    return FIRST_ADDED_COLUMN not in set(columns)


def upgrade_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield upgraded record batches with the same columns."""
    for batch in batches:
        yield upgrade_batch(batch)


def upgrade_batch(batch: Any) -> Any:
    """Return a pyarrow.RecordBatch with the same columns, upgraded. Rows that are no events are left as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    places = pc.indices_nonzero(pc.fill_null(pc.is_in(batch.column("kind"), pa.array(_KINDS)), False))
    names = [name for name in batch.schema.names if name in Event.__struct_fields__]
    filled = {name: batch.column(name).to_pylist() for name in names if name in FILLED_COLUMNS}
    for place, row in zip(places.to_pylist(), batch.select(names).take(places).to_pylist(), strict=True):
        event = upgraded(_event(row))
        for name, values in filled.items():
            values[place] = getattr(event, name)
    columns = [
        pa.array(filled[field.name], field.type) if field.name in filled else batch.column(field.name)
        for field in batch.schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _event(row: dict[str, Any]) -> Event:
    """Return a row as an event, unchecked. Columns that the batch lacks are None, or have a value of no meaning."""
    return Event(**{"seq": 0, "t_ms": 0, "node": "", **row, "kind": EventKind(row["kind"])})
