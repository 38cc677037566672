"""The replay in one Python process, without Spark: for histories of ordinary size, and to hold Spark's against."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from kcsim.scenarios.replay.folding.arrow_rows import COLUMNS, facts_in
from kcsim.scenarios.replay.folding.fact import (
    CLUSTER_KINDS,
    CLUSTER_PATHS_PATTERN,
    EVENTS_BEGUN,
    FACT_COLUMNS,
    PARTITION_KINDS,
    STATE_PATH,
    ZNODE_KINDS,
    Fact,
)
from kcsim.scenarios.replay.folding.folding_runs import Rows, fold_of_many
from kcsim.scenarios.replay.folding.folds import fold_for
from kcsim.scenarios.replay.folding.timeline import Timeline
from kcsim.scenarios.replay.folding.timeline_builder import TimelineBuilder
from kcsim.scenarios.replay.folding.what_if import WhatIf

ROWS_PER_BATCH = 50_000


def replay_in_one_process(files: Iterable[Path | str], what_if: WhatIf | None = None) -> Iterator[Rows]:
    """What comes of one partition after the other, with one partition in memory.

    Args:
        files: of a table of events in which each partition's are together and in order, the changes of its state znode
            among them: `DIR/events/batch=NAME/part-*.parquet` of a generated dataset. Read twice, first for the timelines.
    """
    paths = [Path(file) for file in files]
    builders: dict[tuple[str, str], TimelineBuilder] = {}
    for batch, run, fact in sorted(rows_of_files(paths, of_partitions=False), key=lambda row: (*row[:2], row[2].seq)):
        builders.setdefault((batch, run), TimelineBuilder()).take(fact)
    timelines: dict[tuple[str, str], Timeline] = {run: builder.timeline for run, builder in builders.items()}
    return fold_of_many(rows_of_files(paths, of_partitions=True), timelines, fold_for(what_if))


def rows_of_files(files: Iterable[Path | str], of_partitions: bool) -> Iterator[tuple[str, str, Fact]]:
    """The facts in files of a table of events: those of partitions, or else the others; as they lie."""
    return facts_in(_batches(files, of_partitions))


def _batches(files: Iterable[Path | str], of_partitions: bool) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in map(Path, files):
        batch = unquote(path.parent.name.removeprefix("batch="))
        with pq.ParquetFile(path) as file:
            groups = [n for n in range(file.num_row_groups) if of_partitions or _may_have_nulls(file.metadata.row_group(n))]
            for rows in file.iter_batches(ROWS_PER_BATCH, row_groups=groups, columns=["run", *FACT_COLUMNS]):
                wanted = rows.filter(_wanted(rows, of_partitions))
                names = pa.repeat(batch, len(wanted))
                columns = [names, *wanted.columns]
                yield pa.RecordBatch.from_arrays(columns, names=["batch", *wanted.schema.names]).select(list(COLUMNS))


def _may_have_nulls(group: Any) -> bool:
    """Whether a row group may have events that are of no partition."""
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema == "partition":
            return column.statistics is None or not column.statistics.has_null_count or column.statistics.null_count > 0
    return True


def _wanted(rows: Any, of_partitions: bool) -> Any:
    """Which rows a fold reads, as a column of truth values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds, path, event = rows.column("kind"), rows.column("path"), rows.column("event")
    is_znode = pc.is_in(kinds, pa.array(sorted(ZNODE_KINDS)))
    has_partition = pc.is_valid(rows.column("partition"))
    if of_partitions:
        is_state = pc.and_(is_znode, pc.fill_null(pc.ends_with(path, "/state"), False))
        return pc.and_(has_partition, pc.or_(pc.is_in(kinds, pa.array(sorted(PARTITION_KINDS))), is_state))
    of_tree = pc.fill_null(pc.match_substring_regex(path, CLUSTER_PATHS_PATTERN), False)
    asked = pc.fill_null(pc.match_substring_regex(event, f"^({'|'.join(EVENTS_BEGUN)})"), True)
    of_cluster = pc.and_(pc.is_in(kinds, pa.array(sorted(CLUSTER_KINDS))), asked)
    return pc.and_(pc.invert(has_partition), pc.or_(pc.and_(is_znode, of_tree), of_cluster))


def is_laid_out(files: Iterable[Path | str]) -> bool:
    """Whether the changes of state znodes name their partition, so that they lie with it. Looks at the first."""
    import pyarrow.parquet as pq

    for path in files:
        with pq.ParquetFile(path) as file:
            for rows in file.iter_batches(ROWS_PER_BATCH, columns=["path", "partition"]):
                paths, partitions = rows.column("path").to_pylist(), rows.column("partition").to_pylist()
                for znode, partition in zip(paths, partitions, strict=True):
                    if znode is not None and STATE_PATH.fullmatch(znode):
                        return partition is not None
    return False
