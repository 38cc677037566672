"""What the footers of a dataset's files show: which files can be read, and which versions of the format they have."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION
from kcsim.scenarios.analysis.tables.batch_upgrade import is_older
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.events_table import RUN
from kcsim.scenarios.analysis.tables.location import Location, parquet_file
from kcsim.scenarios.analysis.tables.problems import Problem
from kcsim.scenarios.analysis.tables.rejects_table import Reason, Reject
from kcsim.scenarios.analysis.tables.trace_rows import problem_of_columns

REQUIRED = (RUN, "seq", "t_ms", "node", "kind")
"""The columns that are never null."""
AT_ONCE = 16
"""How many footers are read at a time."""


class DatasetFiles(NamedTuple):
    """What the footers of a dataset's files show.

    Attributes:
        good: the readable files.
        older: those of them that are of an older version of the format.
        rejects: the other files.
        version: the newest version of the format.
    """

    good: list[Location]
    older: list[Location]
    rejects: list[Reject]
    version: int


class _Footer(NamedTuple):
    """What the footer of a file shows. `version`: the newest in it; 0 if it is not readable."""

    problem: Problem | None
    is_older: bool = False
    version: int = 0


def inspect_files(dataset: Dataset) -> DatasetFiles:
    """Read the footer of each file of events, where Parquet keeps the schema and the statistics.

    Several are read at a time: in another file system, most of the time is the wait for an answer.
    """
    files = dataset.files()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        footers = dict(zip(files, threads.map(_read_footer, files), strict=True))
    good = [file for file, footer in footers.items() if footer.problem is None]
    rejects = [_reject(file, footer.problem) for file, footer in footers.items() if footer.problem is not None]
    older = [file for file in good if footers[file].is_older]
    return DatasetFiles(good, older, rejects, max((footer.version for footer in footers.values()), default=0))


def _read_footer(file: Location) -> _Footer:
    import pyarrow as pa

    try:
        with parquet_file(file) as opened:
            schema = opened.schema_arrow
            problem = _problem_of(schema)
            return _Footer(problem, is_older(schema.names), _newest_version(opened.metadata))
    except (OSError, pa.ArrowException) as error:
        return _Footer(Problem(Reason.UNREADABLE, (str(error).splitlines() or [""])[0].rstrip(".")))


def _reject(file: Location, problem: Problem) -> Reject:
    batch = file.parent.name.removeprefix("batch=")
    return Reject(batch, None, str(file), None, problem.reason.value, problem.detail, None)


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
