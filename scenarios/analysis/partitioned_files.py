"""Reading files in which each partition's events lie together and in order, as in a generated dataset."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from kcsim.eventlog.schema_upgrade import TEXT_COLUMNS
from kcsim.scenarios.analysis.folding.arrow_rows import COLUMNS, fact_mask, facts_in
from kcsim.scenarios.analysis.folding.replay_fact import CLUSTER_FACTS, FACT_COLUMNS, PARTITION_FACTS, STATE_PATH, ReplayFact
from kcsim.scenarios.analysis.tables.batch_upgrade import is_older, upgrade_batch
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from kcsim.scenarios.analysis.tables.location import Location, location, parquet_file

ROWS_READ_AT_ONCE = 50_000


def rows_of_files(files: Iterable[Location | str], of_partitions: bool) -> Iterator[tuple[str, str, ReplayFact]]:
    """Yield the facts in files of a table of events, in file order: either those of partitions or all others."""
    return facts_in(fact_batches(files, of_partitions))


def fact_batches(files: Iterable[Location | str], of_partitions: bool) -> Iterator[Any]:
    """Yield the facts in files of a table of events as record batches of facts_arrow_schema, in file order.

    Args:
        of_partitions: as for rows_of_files.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for path in map(location, files):
        batch = unquote(path.parent.name.removeprefix("batch="))
        with parquet_file(path) as file:
            groups = [n for n in range(file.num_row_groups) if of_partitions or _may_have_nulls(file.metadata.row_group(n))]
            upgrades = is_older(file.schema_arrow.names)
            read = ["run", *FACT_COLUMNS, *(TEXT_COLUMNS if upgrades else ())]
            for rows in file.iter_batches(ROWS_READ_AT_ONCE, row_groups=groups, columns=read):
                has_partition = rows.column("partition").is_valid()
                rows = rows.filter(has_partition if of_partitions else pc.invert(has_partition))  # first: few rows remain
                wanted = rows.filter(fact_mask(rows, PARTITION_FACTS if of_partitions else CLUSTER_FACTS))
                if upgrades:
                    wanted = upgrade_batch(_with_all(wanted, read))
                names = pa.repeat(batch, len(wanted))
                columns = [names, *wanted.columns]
                yield pa.RecordBatch.from_arrays(columns, names=["batch", *wanted.schema.names]).select(list(COLUMNS))


def _with_all(rows: Any, names: Sequence[str]) -> Any:
    """Return the rows of a record batch with all of these columns of the table of events: those that it lacks are null."""
    import pyarrow as pa

    types = {field.name: field.type for field in events_arrow_schema()}
    has = set(rows.schema.names)
    columns = [rows.column(name) if name in has else pa.nulls(len(rows), types[name]) for name in names]
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _may_have_nulls(group: Any) -> bool:
    """Return whether a row group may have events that belong to no partition."""
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema == "partition":
            return column.statistics is None or not column.statistics.has_null_count or column.statistics.null_count > 0
    return True


def are_partitioned(files: Iterable[Location | str]) -> bool:
    """Return whether changes of state znodes name their partition, and so lie with its events. Only the first is read."""
    for path in files:
        with parquet_file(path) as file:
            for rows in file.iter_batches(ROWS_READ_AT_ONCE, columns=["path", "partition"]):
                paths, partitions = rows.column("path").to_pylist(), rows.column("partition").to_pylist()
                for znode, partition in zip(paths, partitions, strict=True):
                    if znode is not None and re.fullmatch(STATE_PATH, znode):
                        return partition is not None
    return False
