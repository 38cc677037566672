"""A dataset on disk: a folder of tables, each of them Parquet files by batch; it comes into being whole, or not at all."""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PathExistsError(Exception):
    """What should be written is there already. Nothing was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} exists, and nothing is overwritten; choose another path, or remove it")
        self.path = path


class NoDatasetError(Exception):
    """What should be read is not there: says what was looked for."""


class Dataset:
    """The paths of a dataset. On a cluster they are seen by every machine under the same name.

    `DIR/events/batch=NAME/part-*.parquet`, and the same for every other table. A file holds whole histories of partitions,
    one after the other, each sorted by (t_ms, seq). What is of no partition is sorted likewise, and lies apart from them:
    before the partitions of its topic or of its run where events were read, at the end of the file where they were made up.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def table(self, name: str) -> Path:
        """The folder of a table."""
        return self.path / name

    def events(self) -> Path:
        """What happened: tables/events_table.py."""
        return self.table("events")

    def transitions(self) -> Path:
        """The changes of every partition's state: folding/transition.py."""
        return self.table("transitions")

    def mismatches(self) -> Path:
        """Where a replay came to something else than the history tells: folding/mismatch.py."""
        return self.table("mismatches")

    def rejects(self) -> Path:
        """What could not be read as an event: tables/rejects_table.py."""
        return self.table("rejects")

    def has(self, name: str) -> bool:
        """Whether a table is there."""
        return self.table(name).is_dir()

    def batches(self, name: str = "events") -> list[str]:
        """The batches of a table, sorted."""
        from urllib.parse import unquote  # Spark writes what a file system may not like as %XX

        return sorted(unquote(folder.name.removeprefix("batch=")) for folder in self.table(name).glob("batch=*"))

    def require(self, name: str) -> Path:
        """The folder of a table. Raises: NoDatasetError if it is not there."""
        if not self.has(name):
            raise NoDatasetError(f"{self.path} has no table of {name}: {self.table(name)} is missing")
        return self.table(name)


def refuse_existing(path: Path) -> None:
    """Raises: PathExistsError. To be called before any work is done; `being_written` does it too."""
    if path.exists() or path.is_symlink():
        raise PathExistsError(path)


@contextmanager
def being_written(path: Path | str) -> Iterator[Path]:
    """Yield a folder to write into, beside `path`; it becomes `path` at the end, or is removed if the end is a failure.

    Serves a whole dataset and a table that an existing dataset is given. Missing parents are made.
    Raises: PathExistsError, before anything is done, and in the end if somebody else was faster.
    """
    wanted = Path(path)
    refuse_existing(wanted)
    beside = wanted.parent / f"{wanted.name}.{uuid.uuid4().hex[:8]}.partial"
    beside.mkdir(parents=True)
    try:
        yield beside
        refuse_existing(wanted)
        beside.rename(wanted)
    except BaseException:  # Ctrl-C too: half a dataset looks like a whole one
        shutil.rmtree(beside, ignore_errors=True)
        raise
