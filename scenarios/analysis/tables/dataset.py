"""A dataset on disk: a folder of tables, each of them Parquet files by batch. It is created whole, or not at all."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PathExistsError(Exception):
    """The path to be written exists already. Nothing was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} exists, and nothing is overwritten; choose another path, or remove it")
        self.path = path


class NoDatasetError(Exception):
    """The table to be read does not exist. The message says which."""


class Dataset:
    """The paths of a dataset. On a cluster every machine sees them under the same name.

    `DIR/events/batch=NAME/part-*.parquet`, and the same for every other table. A file holds whole histories of partitions,
    one after the other, each sorted by (t_ms, seq). Events of no partition are sorted likewise, and lie apart from them:
    before the partitions of their topic or run where the events were read, at the end of the file where they were generated.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def table(self, name: str) -> Path:
        """Return the folder of a table."""
        return self.path / name

    def events(self) -> Path:
        """Return the folder of the events: tables/events_table.py."""
        return self.table("events")

    def transitions(self) -> Path:
        """Return the folder of the changes of every partition's state: folding/transition.py."""
        return self.table("transitions")

    def mismatches(self) -> Path:
        """Return the folder of the differences between a replay and the history: folding/mismatch.py."""
        return self.table("mismatches")

    def rejects(self) -> Path:
        """Return the folder of what could not be read as an event: tables/rejects_table.py."""
        return self.table("rejects")

    def has(self, name: str) -> bool:
        """Return whether a table exists."""
        return self.table(name).is_dir()

    def batches(self, name: str = "events") -> list[str]:
        """Return the batches of a table, sorted."""
        from urllib.parse import unquote  # Spark writes characters that are special in file names as %XX

        return sorted(unquote(folder.name.removeprefix("batch=")) for folder in self.table(name).glob("batch=*"))

    def require(self, name: str) -> Path:
        """Return the folder of a table. Raises: NoDatasetError if it does not exist."""
        if not self.has(name):
            raise NoDatasetError(f"{self.path} has no table of {name}: {self.table(name)} is missing")
        return self.table(name)


def refuse_existing(path: Path) -> None:
    """Raise PathExistsError if the path exists. Call it before any work is done; `being_written` does it, too."""
    if path.exists() or path.is_symlink():
        raise PathExistsError(path)


@contextmanager
def being_written(path: Path | str) -> Iterator[Path]:
    """Yield a folder to write into, beside `path`. It is renamed to `path` at the end, or removed after an exception.

    It is used for a whole dataset, and for a table that is added to an existing dataset. Missing parents are created.
    Raises: PathExistsError, before anything is done, and at the end if another process created `path` meanwhile.
    """
    wanted = Path(path)
    refuse_existing(wanted)
    beside = wanted.parent / f"{wanted.name}.{uuid.uuid4().hex[:8]}.partial"
    beside.mkdir(parents=True)
    try:
        yield beside
        refuse_existing(wanted)
        beside.rename(wanted)
    except BaseException:  # also at Ctrl-C: half a dataset looks like a whole one
        shutil.rmtree(beside, ignore_errors=True)
        raise
