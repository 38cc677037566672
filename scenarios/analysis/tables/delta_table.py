"""Tables of a dataset as Delta tables (delta.io): a version of a table is a list of Parquet files, in the table's log.

The files are written as in every dataset, each version's in a folder of its own, and then become a version by one entry in
the log. `TABLE@v3` names version 3 of a table, `DATASET@v3` that of all its tables; without it, the newest is meant. Any
reader of Delta tables can read them; to read them here takes no more than their list of files.

Only the package deltalake (the extra `delta`) is needed, in the driver alone.
"""

import json
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote

from kcsim.extras import install_command
from kcsim.scenarios.analysis.tables.events_table import BATCH
from kcsim.scenarios.analysis.tables.location import (
    PARTS,
    Location,
    NoFileSystemError,
    RemotePath,
    parquet_file,
    s3_endpoint,
)

LOG = "_delta_log"
DESCRIPTION = "kcsim"
"""The name under which an entry of the log describes what was written."""
_VERSION = re.compile(r"(.+)@v([0-9]+)")


def split_version(folder: Location) -> tuple[Location, int | None]:
    """Return the folder that a name of a version is of, and the version; None: the newest. An existing folder is itself."""
    named = _VERSION.fullmatch(folder.name)
    if named is None or folder.exists():
        return folder, None
    return folder.with_name(named[1]), int(named[2])


def is_delta(folder: Location) -> bool:
    """Return whether a folder, or what a name of a version is of, is a Delta table."""
    return (split_version(folder)[0] / LOG).is_dir()


def require_deltalake() -> None:
    """Raise NoFileSystemError if the package is not installed."""
    if find_spec("deltalake") is None:
        raise NoFileSystemError(f"Delta tables need the package deltalake; {install_command('delta')} brings it")


def parquet_files(folder: Location) -> list[Location]:
    """Return the files of a table, sorted: those of a version of a Delta table, or all `batch=…/*.parquet`.

    Raises: NoFileSystemError; NoVersionError.
    """
    if not is_delta(folder):
        return sorted(folder.glob("batch=*/*.parquet"), key=PARTS)
    table, version = split_version(folder)
    import pyarrow as pa

    named = pa.table(_opened(table, version).get_add_actions())["path"].to_pylist()
    return sorted((table / unquote(name) for name in named), key=PARTS)


class NoVersionError(Exception):
    """A Delta table has no such version. The message names both."""


def add_version(
    table: Location, schema: Any, files: Sequence[Location], description: Mapping[str, object] | None = None
) -> int:
    """Make files below the folder of a table its newest version, and return the number of this version, from 0.

    Args:
        table: a Delta table, or where one is to be.
        schema: its pyarrow.Schema, with `batch`.
        files: `FOLDER/batch=NAME/part-….parquet`; they replace those of the version before.
        description: what the entry in the log says of this version.
    """
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable, Schema
    from deltalake.transaction import create_table_with_add_actions

    columns = Schema.from_arrow(pa.schema([field.with_nullable(True) for field in schema]))
    actions = [_add_action(table, file) for file in files]
    properties = CommitProperties(custom_metadata={DESCRIPTION: json.dumps(description)})
    if is_delta(table):
        before = _opened(table, None)
        before.create_write_transaction(actions, "overwrite", columns, [BATCH], commit_properties=properties)
    else:
        uri, options = _uri(table), _options(table)
        create_table_with_add_actions(
            uri, columns, actions, "error", [BATCH], storage_options=options, commit_properties=properties
        )
    return int(DeltaTable(_uri(table), storage_options=_options(table)).version())


def _add_action(table: Location, file: Location) -> Any:
    from deltalake.transaction import AddAction

    status = file.stat()
    with parquet_file(file) as opened:
        rows = opened.metadata.num_rows
    name = str(file.relative_to(table))  # type: ignore[arg-type]  # both are of one kind
    batch = unquote(file.parent.name.removeprefix(f"{BATCH}="))
    return AddAction(
        name, status.st_size, {BATCH: batch}, round(status.st_mtime * 1000), True, json.dumps({"numRecords": rows})
    )


def _opened(table: Location, version: int | None) -> Any:
    require_deltalake()
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        return DeltaTable(_uri(table), version, _options(table))
    except DeltaError as error:
        raise NoVersionError(f"{table} has no version {version}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _uri(table: Location) -> str:
    return str(table).replace("s3a://", "s3://", 1) if isinstance(table, RemotePath) else str(table.absolute())


def _options(table: Location) -> dict[str, str]:
    """Return what deltalake does not take from the environment, as it takes the variables AWS_…."""
    has_no_tls = isinstance(table, RemotePath) and (s3_endpoint() or "").startswith("http:")
    return {"AWS_ALLOW_HTTP": "true"} if has_no_tls else {}
