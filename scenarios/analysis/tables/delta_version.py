"""Writing a version of all Delta tables of a dataset: whole, or not at all."""

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcsim.scenarios.analysis.tables.dataset import PathExistsError
from kcsim.scenarios.analysis.tables.delta_table import add_version, is_delta
from kcsim.scenarios.analysis.tables.location import Location, delete_folder

Schemas = Mapping[str, Callable[[], Any]]
"""The name of each table, and what returns its pyarrow.Schema."""


@dataclass
class NewVersion:
    """A version that is being written.

    Attributes:
        part: the folder of its files, in that of each table.
        number: its number in the tables, once it is complete.
    """

    part: str
    number: int = -1


def refuse_other_than_delta(path: Location, schemas: Schemas) -> None:
    """Raise PathExistsError if the path exists, and is no dataset of which all of these are Delta tables."""
    if path.exists() and not all(is_delta(path / name) for name in schemas):
        raise PathExistsError(path)


@contextmanager
def versions_being_written(path: Location, schemas: Schemas, about: Mapping[str, object]) -> Iterator[NewVersion]:
    """Yield the folder to write files into, in the folder of each table. At the end they are the tables' newest version.

    After an exception the files are removed. The tables become versions one after the other, in the order of `schemas`.

    Args:
        about: the description of the version in the tables' logs.
    """
    version = NewVersion(uuid.uuid4().hex)
    try:
        yield version
        for name, schema in schemas.items():
            files: list[Location] = [*(path / name / version.part).glob("batch=*/*.parquet")]
            version.number = add_version(path / name, schema(), files, about)
    except BaseException:
        for name in schemas:
            _remove(path / name / version.part)
        raise


def _remove(part: Location) -> None:
    delete_folder(part)
    if isinstance(part, Path):
        with contextlib.suppress(OSError):  # a folder that is not empty is of versions before
            part.parent.rmdir()
            part.parent.parent.rmdir()
