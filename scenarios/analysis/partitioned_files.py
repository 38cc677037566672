"""Reading and replaying files in which each partition's events lie together and in order, as in a generated dataset.

Each such file can be replayed alone by any process that has the timelines: partitions do not depend on each other.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from kcsim.eventlog.schema_upgrade import TEXT_COLUMNS
from kcsim.scenarios.analysis.folding.arrow_rows import COLUMNS, ROWS_PER_BATCH, facts_in, record_batch
from kcsim.scenarios.analysis.folding.folding_runs import FoldPartition, fold_of_many
from kcsim.scenarios.analysis.folding.mismatch import mismatches_arrow_schema
from kcsim.scenarios.analysis.folding.replay_fact import (
    CLUSTER_KINDS,
    CLUSTER_PATHS_PATTERN,
    EVENTS_BEGUN,
    FACT_COLUMNS,
    PARTITION_KINDS,
    STATE_PATH,
    ZNODE_KINDS,
    ReplayFact,
)
from kcsim.scenarios.analysis.folding.timeline import Run, Timeline
from kcsim.scenarios.analysis.folding.transition import transitions_arrow_schema
from kcsim.scenarios.analysis.folding.what_if_replay import PASSED_OVER
from kcsim.scenarios.analysis.gc_pause import gc_paused
from kcsim.scenarios.analysis.tables.batch_upgrade import is_older, upgrade_batch
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from kcsim.scenarios.analysis.tables.part_file import PartFile

ROWS_READ_AT_ONCE = 50_000


class ReplayCounts(NamedTuple):
    """The counts of a replay.

    Attributes:
        runs: the runs with any transition: (batch, run), sorted.
        partitions: how many partitions have any transition.
        transitions: (kind, trigger, how many), sorted.
        mismatches: how many times the history differs from the controller's decisions.
        passed_over: in a what-if, how many facts of the history were skipped because they no longer apply.
    """

    runs: list[Run]
    partitions: int
    transitions: list[tuple[str, str, int]]
    mismatches: int
    passed_over: int


def sum_counts(parts: Sequence[ReplayCounts]) -> ReplayCounts:
    """Return the counts of several files together."""
    counts: Counter[tuple[str, str]] = Counter()
    for kind, trigger, count in (row for part in parts for row in part.transitions):
        counts[kind, trigger] += count
    return ReplayCounts(
        sorted({run for part in parts for run in part.runs}),
        sum(part.partitions for part in parts),
        [(kind, trigger, count) for (kind, trigger), count in sorted(counts.items())],
        sum(part.mismatches for part in parts),
        sum(part.passed_over for part in parts),
    )


def replay_file(
    file: Path | str, number: int, to: Path | str, timelines: Mapping[Run, Timeline], fold: FoldPartition
) -> ReplayCounts:
    """Replay a file into files of the dataset `to`: one of transitions, and one of mismatches if there are any.

    Args:
        number: the number of the files that are written.
        timelines: the timelines of all runs that the file has events of.
    """
    batch, written = Path(file).parent.name, Dataset(to)
    transitions = _Part(written.transitions() / batch, number, transitions_arrow_schema(), ("kind", "trigger"))
    mismatches: _Part | None = None
    runs: set[Run] = set()
    partitions = 0
    with gc_paused():
        for rows, differing in fold_of_many(rows_of_files([file], of_partitions=True), timelines, fold):
            if rows:
                runs.add((rows[0].batch, rows[0].run))
                partitions += 1
            transitions.extend(rows)
            if differing:
                mismatches = mismatches or _Part(written.mismatches() / batch, number, mismatches_arrow_schema(), ("what",))
                mismatches.extend(differing)
    differences = mismatches.close() if mismatches is not None else Counter[tuple[str, ...]]()
    passed_over = differences.pop((PASSED_OVER,), 0)
    counted = [(kind, trigger, count) for (kind, trigger), count in sorted(transitions.close().items())]
    return ReplayCounts(sorted(runs), partitions, counted, differences.total(), passed_over)


class _Part:
    """A file that takes rows, and counts them by the values of some of their columns."""

    def __init__(self, folder: Path, number: int, schema: Any, counted_by: tuple[str, ...]) -> None:
        self._file = PartFile(folder, number, schema)
        self._schema = schema
        self._counted_by = list(counted_by)
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._waiting: list[msgspec.Struct] = []

    def extend(self, rows: Sequence[msgspec.Struct]) -> None:
        self._waiting.extend(rows)
        if len(self._waiting) >= ROWS_PER_BATCH:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa

        batch = record_batch(self._waiting, self._schema)
        self._waiting = []
        self._file.write(batch)
        counted = pa.Table.from_batches([batch]).group_by(self._counted_by).aggregate([([], "count_all")])
        for row in counted.select([*self._counted_by, "count_all"]).to_pylist():
            *value, count = row.values()
            self._counts[tuple(value)] += count

    def close(self) -> Counter[tuple[str, ...]]:
        """Complete the file. Returns: how many rows there are, by the values of the counted columns."""
        if self._waiting:
            self._write()
        self._file.close()
        return self._counts


def rows_of_files(files: Iterable[Path | str], of_partitions: bool) -> Iterator[tuple[str, str, ReplayFact]]:
    """Yield the facts in files of a table of events, in file order: either those of partitions or all others."""
    return facts_in(_batches(files, of_partitions))


def _batches(files: Iterable[Path | str], of_partitions: bool) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    for path in map(Path, files):
        batch = unquote(path.parent.name.removeprefix("batch="))
        with pq.ParquetFile(path) as file:
            groups = [n for n in range(file.num_row_groups) if of_partitions or _may_have_nulls(file.metadata.row_group(n))]
            upgrades = is_older(file.schema_arrow.names)
            read = ["run", *FACT_COLUMNS, *(TEXT_COLUMNS if upgrades else ())]
            for rows in file.iter_batches(ROWS_READ_AT_ONCE, row_groups=groups, columns=read):
                has_partition = rows.column("partition").is_valid()
                rows = rows.filter(has_partition if of_partitions else pc.invert(has_partition))  # first: few rows remain
                wanted = rows.filter(_wanted(rows, of_partitions))
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


def _wanted(rows: Any, of_partitions: bool) -> Any:
    """Return which rows a fold reads, of those of partitions or of the others, as a column of booleans."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds, path, event = rows.column("kind"), rows.column("path"), rows.column("event")
    is_znode = pc.is_in(kinds, pa.array(sorted(ZNODE_KINDS)))
    if of_partitions:
        is_state = pc.and_(is_znode, pc.fill_null(pc.ends_with(path, "/state"), False))
        return pc.or_(pc.is_in(kinds, pa.array(sorted(PARTITION_KINDS))), is_state)
    of_tree = pc.fill_null(pc.match_substring_regex(path, CLUSTER_PATHS_PATTERN), False)
    has_trigger = pc.fill_null(pc.match_substring_regex(event, f"^({'|'.join(EVENTS_BEGUN)})"), True)
    of_cluster = pc.and_(pc.is_in(kinds, pa.array(sorted(CLUSTER_KINDS))), has_trigger)
    return pc.or_(pc.and_(is_znode, of_tree), of_cluster)


def are_partitioned(files: Iterable[Path | str]) -> bool:
    """Return whether changes of state znodes name their partition, and so lie with its events. Only the first is read."""
    import pyarrow.parquet as pq

    for path in files:
        with pq.ParquetFile(path) as file:
            for rows in file.iter_batches(ROWS_READ_AT_ONCE, columns=["path", "partition"]):
                paths, partitions = rows.column("path").to_pylist(), rows.column("partition").to_pylist()
                for znode, partition in zip(paths, partitions, strict=True):
                    if znode is not None and STATE_PATH.fullmatch(znode):
                        return partition is not None
    return False
