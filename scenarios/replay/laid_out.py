"""Files in which each partition's events are together and in order, as a generated dataset has them: read, and replayed.

Such a file is replayed by itself, by whoever has the timelines: partitions do not depend on each other.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from kcsim.scenarios.replay.collector import collector_at_rest
from kcsim.scenarios.replay.folding.arrow_rows import COLUMNS, ROWS_PER_BATCH, facts_in, record_batch
from kcsim.scenarios.replay.folding.derived_history import PASSED_OVER
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
from kcsim.scenarios.replay.folding.folding_runs import FoldPartition, fold_of_many
from kcsim.scenarios.replay.folding.mismatch import mismatches_arrow_schema
from kcsim.scenarios.replay.folding.timeline import Run, Timeline
from kcsim.scenarios.replay.folding.transition import transitions_arrow_schema
from kcsim.scenarios.replay.tables.dataset import Dataset
from kcsim.scenarios.replay.tables.part_file import PartFile

ROWS_READ_AT_ONCE = 50_000


class Replayed(NamedTuple):
    """What came of a replay.

    Attributes:
        runs: with any transition: (batch, run), sorted.
        partitions: with any transition.
        transitions: (kind, trigger, how many), sorted.
        mismatches: where the history tells something else than the decisions come to.
        passed_over: facts of the history that made no sense any more, of a what-if.
    """

    runs: list[Run]
    partitions: int
    transitions: list[tuple[str, str, int]]
    mismatches: int
    passed_over: int


def summed(parts: Sequence[Replayed]) -> Replayed:
    """What came of several files together."""
    counts: Counter[tuple[str, str]] = Counter()
    for kind, trigger, count in (row for part in parts for row in part.transitions):
        counts[kind, trigger] += count
    return Replayed(
        sorted({run for part in parts for run in part.runs}),
        sum(part.partitions for part in parts),
        [(kind, trigger, count) for (kind, trigger), count in sorted(counts.items())],
        sum(part.mismatches for part in parts),
        sum(part.passed_over for part in parts),
    )


def replay_file(
    file: Path | str, number: int, to: Path | str, timelines: Mapping[Run, Timeline], fold: FoldPartition
) -> Replayed:
    """Replay a file into files of the dataset `to`: one of transitions, and one of mismatches if there are any.

    Args:
        number: theirs.
        timelines: of all runs that it has events of.
    """
    batch, written = Path(file).parent.name, Dataset(to)
    transitions = _Part(written.transitions() / batch, number, transitions_arrow_schema(), ("kind", "trigger"))
    mismatches: _Part | None = None
    runs: set[Run] = set()
    partitions = 0
    with collector_at_rest():
        for told, differing in fold_of_many(rows_of_files([file], of_partitions=True), timelines, fold):
            if told:
                runs.add((told[0].batch, told[0].run))
                partitions += 1
            transitions.extend(told)
            if differing:
                mismatches = mismatches or _Part(written.mismatches() / batch, number, mismatches_arrow_schema(), ("what",))
                mismatches.extend(differing)
    differences = mismatches.close() if mismatches is not None else Counter[tuple[str, ...]]()
    passed_over = differences.pop((PASSED_OVER,), 0)
    counted = [(kind, trigger, count) for (kind, trigger), count in sorted(transitions.close().items())]
    return Replayed(sorted(runs), partitions, counted, differences.total(), passed_over)


class _Part:
    """A file that takes rows, and counts them by some of their columns."""

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
        """Complete it. Returns: how many rows there are, by the values of those columns."""
        if self._waiting:
            self._write()
        self._file.close()
        return self._counts


def rows_of_files(files: Iterable[Path | str], of_partitions: bool) -> Iterator[tuple[str, str, Fact]]:
    """The facts in files of a table of events: those of partitions, or else the others; as they lie."""
    return facts_in(_batches(files, of_partitions))


def _batches(files: Iterable[Path | str], of_partitions: bool) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    for path in map(Path, files):
        batch = unquote(path.parent.name.removeprefix("batch="))
        with pq.ParquetFile(path) as file:
            groups = [n for n in range(file.num_row_groups) if of_partitions or _may_have_nulls(file.metadata.row_group(n))]
            for rows in file.iter_batches(ROWS_READ_AT_ONCE, row_groups=groups, columns=["run", *FACT_COLUMNS]):
                has_partition = rows.column("partition").is_valid()
                rows = rows.filter(has_partition if of_partitions else pc.invert(has_partition))  # first: then few are left
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
    """Which rows a fold reads, of those of partitions or of the others, as a column of truth values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds, path, event = rows.column("kind"), rows.column("path"), rows.column("event")
    is_znode = pc.is_in(kinds, pa.array(sorted(ZNODE_KINDS)))
    if of_partitions:
        is_state = pc.and_(is_znode, pc.fill_null(pc.ends_with(path, "/state"), False))
        return pc.or_(pc.is_in(kinds, pa.array(sorted(PARTITION_KINDS))), is_state)
    of_tree = pc.fill_null(pc.match_substring_regex(path, CLUSTER_PATHS_PATTERN), False)
    asked = pc.fill_null(pc.match_substring_regex(event, f"^({'|'.join(EVENTS_BEGUN)})"), True)
    of_cluster = pc.and_(pc.is_in(kinds, pa.array(sorted(CLUSTER_KINDS))), asked)
    return pc.or_(pc.and_(is_znode, of_tree), of_cluster)


def is_laid_out(files: Iterable[Path | str]) -> bool:
    """Whether the changes of state znodes name their partition, so that they lie with it. Looks at the first."""
    import pyarrow.parquet as pq

    for path in files:
        with pq.ParquetFile(path) as file:
            for rows in file.iter_batches(ROWS_READ_AT_ONCE, columns=["path", "partition"]):
                paths, partitions = rows.column("path").to_pylist(), rows.column("partition").to_pylist()
                for znode, partition in zip(paths, partitions, strict=True):
                    if znode is not None and STATE_PATH.fullmatch(znode):
                        return partition is not None
    return False
