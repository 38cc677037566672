"""What the footers of a dataset's files show: which files can be read, and which versions of the format they have."""

from pathlib import Path
from typing import Any, NamedTuple

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION
from kcsim.scenarios.analysis.tables.batch_upgrade import is_older
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.events_table import RUN
from kcsim.scenarios.analysis.tables.problems import Problem
from kcsim.scenarios.analysis.tables.rejects_table import Reason, Reject
from kcsim.scenarios.analysis.tables.trace_rows import problem_of_columns

REQUIRED = (RUN, "seq", "t_ms", "node", "kind")
"""The columns that are never null."""


class DatasetFiles(NamedTuple):
    """What the footers of a dataset's files show.

    Attributes:
        good: the readable files.
        older: those of them that are of an older version of the format.
        rejects: the other files.
        version: the newest version of the format.
    """

    good: list[Path]
    older: list[Path]
    rejects: list[Reject]
    version: int


def inspect_files(dataset: Dataset) -> DatasetFiles:
    """Read the footer of each file of events, where Parquet keeps the schema and the statistics."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    good, older, rejects, version = [], [], [], 0
    for path in sorted(dataset.events().glob("batch=*/*.parquet")):
        try:
            with pq.ParquetFile(path) as file:
                problem = _problem_of(file.schema_arrow)
                names = file.schema_arrow.names
                version = max(version, _newest_version(file.metadata))
        except (OSError, pa.ArrowException) as error:
            problem = Problem(Reason.UNREADABLE, (str(error).splitlines() or [""])[0].rstrip("."))
        if problem is None:
            good.append(path)
            older.extend([path] if is_older(names) else [])
        else:
            batch = path.parent.name.removeprefix("batch=")
            rejects.append(Reject(batch, None, str(path), None, problem.reason.value, problem.detail, None))
    return DatasetFiles(good, older, rejects, version)


def _problem_of(schema: Any) -> Problem | None:
    if RUN not in schema.names:
        return Problem(Reason.FOREIGN, f"no events of a dataset: there is no column {RUN}")
    return problem_of_columns(schema.remove(schema.get_field_index(RUN)))


def _newest_version(metadata: Any) -> int:
    """Return the largest schema_version in a file; without statistics, a version that is newer, so that rows are checked."""
    newest = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place in range(row_group.num_columns):
            column = row_group.column(place)
            if column.path_in_schema != "schema_version":
                continue
            statistics = column.statistics
            if statistics is not None and statistics.has_min_max:
                newest = max(newest, statistics.max)
            elif statistics is None or statistics.null_count != column.num_values:
                return EVENT_SCHEMA_VERSION + 1
    return newest
