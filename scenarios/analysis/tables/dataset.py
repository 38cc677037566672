"""A dataset: a folder of tables, each of them Parquet files by batch. It is created whole, or not at all."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from kcsim.scenarios.analysis.tables.delta_table import is_delta, parquet_files, split_version
from kcsim.scenarios.analysis.tables.location import Location, RemotePath, delete_folder, is_in_object_store, location

EVENTS, TRANSITIONS, MISMATCHES, REJECTS = "events", "transitions", "mismatches", "rejects"
RUNS, STATE_INTERVALS = "runs", "state_intervals"
"""Tables that a dataset keeps for the analyses: see analysis/kept_tables.py."""
KEPT_TABLES = "kept_tables.json"
"""The file that says by which version of the definitions the kept tables were computed."""
KEPT_TABLES_VERSION = 2
SUCCESS = "_SUCCESS"
"""The empty file that is written last in a file system other than this machine's."""
CLAIM = "_writing."
"""The beginning of the name of the file that is in a folder of an object store while it is being written."""


class PathExistsError(Exception):
    """The path to be written exists already. Nothing was written."""

    def __init__(self, path: Location) -> None:
        super().__init__(f"{path} exists, and nothing is overwritten; choose another path, or remove it")
        self.path = path


class NoDatasetError(Exception):
    """The table to be read does not exist, or is not whole. The message says which."""


class Dataset:
    """The paths of a dataset. On a cluster every machine sees them under the same name.

    In another file system, a dataset is whole once it has SUCCESS in it. On this machine it has its name only when whole.

    `DIR/events/batch=NAME/part-*.parquet`, and the same for every other table. A file holds whole histories of partitions,
    one after the other, each sorted by (t_ms, seq). Events of no partition are sorted likewise, and lie apart from them:
    before the partitions of their topic or run where the events were read, at the end of the file where they were generated.
    """

    def __init__(self, path: Location | str, part: str | None = None) -> None:
        """Args:
        path: its folder; `PATH@v3` where its tables are Delta tables, of their version 3.
        part: the folder in that of each table where its files are; None: that of the table.
        """
        self.path, self._version = split_version(location(path))
        self._part = part

    def resolved(self) -> "Dataset":
        """Return the same dataset with its path as all processes see it."""
        return Dataset(self.path.resolve(), self._part)

    def table(self, name: str) -> Location:
        """Return the folder of a table, or the name of a version of it."""
        if self._version is not None:
            return self.path / f"{name}@v{self._version}"
        return self.path / name if self._part is None else self.path / name / self._part

    def events(self) -> Location:
        """Return the folder of the events: tables/events_table.py."""
        return self.table(EVENTS)

    def transitions(self) -> Location:
        """Return the folder of the changes of every partition's state: folding/transition.py."""
        return self.table(TRANSITIONS)

    def mismatches(self) -> Location:
        """Return the folder of the differences between a replay and the history: folding/mismatch.py."""
        return self.table(MISMATCHES)

    def rejects(self) -> Location:
        """Return the folder of what could not be read as an event: tables/rejects_table.py."""
        return self.table(REJECTS)

    def has(self, name: str) -> bool:
        """Return whether a table exists. Raises: NoDatasetError if it does, and the dataset is not whole."""
        table = self.table(name)
        if not split_version(table)[0].is_dir():
            return False
        if is_delta(table):
            return True
        if self._version is not None:
            raise NoDatasetError(f"{self.path / name} is no Delta table: it has no versions")
        if isinstance(self.path, RemotePath) and not (self.path / SUCCESS).exists():
            raise NoDatasetError(f"{self.path} is half-written: there is no {SUCCESS} in it, which is written last")
        return True

    def batches(self, name: str = EVENTS) -> list[str]:
        """Return the batches of a table, sorted."""
        from urllib.parse import unquote  # Spark writes characters that are special in file names as %XX

        return sorted(unquote(folder.name.removeprefix("batch=")) for folder in self.table(name).glob("batch=*"))

    def files(self, name: str = EVENTS) -> list[Location]:
        """Return the Parquet files of a table, sorted."""
        return parquet_files(self.table(name))

    def require(self, name: str) -> Location:
        """Return the folder of a table. Raises: NoDatasetError if it does not exist."""
        if not self.has(name):
            raise NoDatasetError(f"{self.path} has no table of {name}: {self.table(name)} is missing")
        return self.table(name)


def mark_kept_tables(dataset: Dataset) -> None:
    """Record in a dataset that its kept tables were computed by the definitions of this version."""
    (dataset.path / KEPT_TABLES).write_text(json.dumps({"version": KEPT_TABLES_VERSION}) + "\n")


def has_kept_tables(dataset: Dataset) -> bool:
    """Return whether a dataset has tables that were kept for the analyses by the definitions of this version."""
    about = dataset.path / KEPT_TABLES
    try:
        return about.exists() and bool(json.loads(about.read_text()) == {"version": KEPT_TABLES_VERSION})
    except ValueError:  # it is no JSON, or no text: the tables are computed once more
        return False


def refuse_existing(path: Location) -> None:
    """Raise PathExistsError if the path exists. Call it before any work is done; `being_written` does it, too."""
    if path.exists() or path.is_symlink():
        raise PathExistsError(path)


@contextmanager
def being_written(path: Location | str) -> Iterator[Location]:
    """Yield a folder to write into. It is whole, and named `path`, at the end, or removed after an exception.

    The folder is beside `path`, and is renamed; missing parents are created. In an object store it is `path` itself, which
    counts as a dataset only when SUCCESS is in it.
    Raises: PathExistsError, before anything is done, and at the end if another process created `path` meanwhile.
    """
    wanted = location(path)
    refuse_existing(wanted)
    number = uuid.uuid4().hex[:8]
    if is_in_object_store(wanted):
        with _claimed(wanted, number):
            yield wanted
        return
    beside = wanted.with_name(f"{wanted.name}.{number}.partial")
    beside.mkdir(parents=True)
    try:
        yield beside
        if isinstance(beside, RemotePath):
            (beside / SUCCESS).write_text("")
        refuse_existing(wanted)
        beside.rename(wanted)  # type: ignore[arg-type]  # both are of one kind
    except BaseException:  # also at Ctrl-C: half a dataset looks like a whole one
        delete_folder(beside)
        raise


@contextmanager
def _claimed(wanted: Location, number: str) -> Iterator[None]:
    """Have a folder of an object store for this process alone: of two that claim it, at least one sees the other's claim."""
    claim = wanted / f"{CLAIM}{number}"
    claim.write_text("")
    if any(found.name != claim.name for found in wanted.iterdir()):
        claim.unlink()
        raise PathExistsError(wanted)
    try:
        yield
        (wanted / SUCCESS).write_text("")
        claim.unlink()
    except BaseException:
        delete_folder(wanted)
        raise
