"""A place where data lies: a path of this machine, or the URL of a file or folder in another file system.

`location` returns a `pathlib.Path` or a `RemotePath`, which has the methods of Path that are called here: so the code that
reads and writes files does not know which of both it has. Python reads and writes by pyarrow's file systems, in the driver
and in the executors alike; Spark's own readers and writers take the URL (hadoop.py).

| scheme | file system | settings |
| --- | --- | --- |
| `file` | this machine's | |
| `s3a`, `s3` | Amazon S3, or what has its interface | AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL, and so on |
| `hdfs` | Hadoop's, by the package hdfs-native | HADOOP_CONF_DIR |
"""

import io
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from kcsim.extras import install_command

SCHEMES = {"s3": "s3a", "s3a": "s3a", "hdfs": "hdfs"}
"""The schemes of other file systems, and Hadoop's names for them."""
OBJECT_STORES = frozenset(("s3a",))
"""The schemes without folders to rename: an object has its name from the beginning, and exists only when it is whole."""
PACKAGES = {"hdfs": ("hdfs_native", "hdfs")}
"""What Python needs beyond pyarrow: a module, and the extra that brings it."""
BUFFER_BYTES = 2**20
CONNECT_SECONDS = 30
PARTS = attrgetter("parts")
"""The key by which places are sorted: folder by folder."""


class NoFileSystemError(Exception):
    """There is no file system for a URL. The message names what is missing, and how to get it."""


class FileStatus(NamedTuple):
    """What a file system reports of a file or folder; the names are those of os.stat_result."""

    is_folder: bool
    st_size: int
    st_mtime: float


@dataclass(frozen=True, order=True)
class RemotePath:
    """A file or folder in another file system.

    Attributes:
        root: the file system: `s3a://bucket`, `hdfs://host:port`.
        path: the place in it, without a slash at either end.
        status: what a listing reported; None: not known.
    """

    root: str
    path: str = ""
    status: FileStatus | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.root}/{self.path}" if self.path else self.root

    # --- names

    def __truediv__(self, name: str) -> "RemotePath":
        return RemotePath(self.root, str(self._pure / name))

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath(self.path)

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.root, *self._pure.parts)

    @property
    def scheme(self) -> str:
        return self.root.partition(":")[0]

    @property
    def name(self) -> str:
        return self._pure.name or self.root.rpartition("/")[2]

    @property
    def stem(self) -> str:
        return self._pure.stem

    @property
    def suffix(self) -> str:
        return self._pure.suffix

    @property
    def parent(self) -> "RemotePath":
        above = str(self._pure.parent)
        return RemotePath(self.root, "" if above == "." else above)

    def with_name(self, name: str) -> "RemotePath":
        return self.parent / name

    def with_suffix(self, suffix: str) -> "RemotePath":
        return RemotePath(self.root, str(self._pure.with_suffix(suffix)))

    def relative_to(self, other: "RemotePath") -> PurePosixPath:
        return self._pure.relative_to(other.path) if other.path else self._pure

    def absolute(self) -> "RemotePath":
        return self

    def resolve(self) -> "RemotePath":
        return self

    # --- the file system

    @property
    def filesystem(self) -> Any:
        """The pyarrow.fs.FileSystem. Raises: NoFileSystemError."""
        return _filesystem(self.root)

    @property
    def inner(self) -> str:
        """The name in that file system."""
        if self.scheme not in OBJECT_STORES:
            return f"/{self.path}"
        bucket = self.root.rpartition("/")[2]
        return f"{bucket}/{self.path}" if self.path else bucket

    def _status(self) -> FileStatus | None:
        if self.status is None:
            return _status_of(self.filesystem, self.filesystem.get_file_info(self.inner))
        return self.status

    def exists(self) -> bool:
        return self._status() is not None

    def is_dir(self) -> bool:
        found = self._status()
        return found is not None and found.is_folder

    def is_file(self) -> bool:
        found = self._status()
        return found is not None and not found.is_folder

    def is_symlink(self) -> bool:
        return False

    def stat(self) -> FileStatus:
        found = self._status()
        if found is None:
            raise FileNotFoundError(2, "No such file or folder", str(self))
        return found

    def iterdir(self) -> "Iterator[RemotePath]":
        return self._listed(recursive=False)

    def glob(self, pattern: str) -> "Iterator[RemotePath]":
        """Yield what a pattern matches below this folder: `*`, `?`, `[…]`, and `**` for any number of folders."""
        parts = pattern.split("/")
        for found in self._listed(recursive=len(parts) > 1 or "**" in parts):
            if _matches(found.relative_to(self).parts, parts):
                yield found

    def rglob(self, pattern: str) -> "Iterator[RemotePath]":
        return self.glob(f"**/{pattern}")

    def _listed(self, recursive: bool) -> "Iterator[RemotePath]":
        from pyarrow.fs import FileSelector

        selector = FileSelector(self.inner, allow_not_found=True, recursive=recursive)
        for info in self.filesystem.get_file_info(selector):
            inside = RemotePath(self.root).inner.rstrip("/")
            yield RemotePath(self.root, info.path[len(inside) :].strip("/"), _status_of(self.filesystem, info))

    # --- contents

    def open(self, mode: str, buffering: int = BUFFER_BYTES) -> IO[bytes]:
        """Open a file to be read ("rb"), from any place in it. To write, see `write_text`."""
        if mode != "rb":
            raise ValueError(f"{mode!r}: only rb")
        file: Any = self.filesystem.open_input_file(self.inner)
        return io.BufferedReader(file, buffering) if buffering else file

    def read_text(self, encoding: str = "utf-8") -> str:
        with self.open("rb") as file:
            return file.read().decode(encoding)

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        with self.filesystem.open_output_stream(self.inner, compression=None) as file:
            file.write(text.encode(encoding))

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Create a folder, with its parents. An object store has none: nothing is done."""
        if self.scheme not in OBJECT_STORES:
            self.filesystem.create_dir(self.inner, recursive=True)

    def rename(self, target: "RemotePath") -> None:
        self.filesystem.move(self.inner, target.inner)

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            self.filesystem.delete_file(self.inner)
        except FileNotFoundError:
            if not missing_ok:
                raise


Location = Path | RemotePath


def location(given: Location | str) -> Location:
    """Return what a path, or a URL, is the name of. Other than by its URL, a remote place has no name.

    Raises: NoFileSystemError for a scheme that has no file system here.
    """
    if not isinstance(given, str):
        return given
    scheme, is_url, _ = given.partition("://")
    if not is_url or not scheme.isascii() or not scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return Path(given)
    parts = urlsplit(given)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(unquote(parts.path))
    if parts.scheme not in SCHEMES:
        known = ", ".join(f"{known}://" for known in ("file", *sorted({*SCHEMES.values()})))
        raise NoFileSystemError(f"{given}: paths of {scheme}:// are not supported; give a local path, or one of {known}")
    _require_package(SCHEMES[parts.scheme], given)
    _, _, path = given.partition("://")[2].partition("/")  # not of urlsplit: names of objects may have a `?` or a `#`
    return RemotePath(f"{SCHEMES[parts.scheme]}://{parts.netloc}", path.strip("/"))


def _require_package(scheme: str, given: str) -> None:
    module, extra = PACKAGES.get(scheme, ("pyarrow", "spark"))
    if find_spec(module) is None:
        raise NoFileSystemError(f"{given}: {scheme}:// needs the package {module}; {install_command(extra)} brings it")


def expanded(pattern: Location) -> list[Location]:
    """Return what a shell pattern matches, sorted; nothing if it is no pattern."""
    import glob

    if isinstance(pattern, Path):
        return sorted(map(Path, glob.glob(str(pattern), recursive=True))) if glob.has_magic(str(pattern)) else []
    parts = pattern.path.split("/")
    first = next((place for place, part in enumerate(parts) if glob.has_magic(part)), None)
    if first is None:
        return []
    return sorted(RemotePath(pattern.root, "/".join(parts[:first])).glob("/".join(parts[first:])))


def is_in_object_store(place: Location) -> bool:
    """Return whether a file exists only when it is whole, and nothing can be renamed."""
    return isinstance(place, RemotePath) and place.scheme in OBJECT_STORES


def delete_folder(place: Location) -> None:
    """Delete a folder and all that is in it; errors are passed over."""
    import contextlib
    import shutil

    if isinstance(place, Path):
        shutil.rmtree(place, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        place.filesystem.delete_dir(place.inner)


# --- Parquet ---------------------------------------------------------------------------------------------------------------


def parquet_source(place: Location | str) -> Any:
    """Return what pyarrow opens to read a file: the name of a local file, or an open remote one. Raises: OSError."""
    found = location(place)
    return str(found) if isinstance(found, Path) else found.filesystem.open_input_file(found.inner)


def parquet_file(place: Location | str) -> Any:
    """Open a pyarrow.parquet.ParquetFile. Raises: OSError, pyarrow.ArrowException."""
    import pyarrow.parquet as pq

    found = location(place)
    if isinstance(found, Path):
        return pq.ParquetFile(found)
    return pq.ParquetFile(found.inner, filesystem=found.filesystem, pre_buffer=True)


def parquet_writer(place: Location, schema: Any) -> Any:
    """Begin a Parquet file: a pyarrow.parquet.ParquetWriter."""
    import pyarrow.parquet as pq

    if isinstance(place, Path):
        return pq.ParquetWriter(place, schema, compression="zstd")
    return pq.ParquetWriter(place.inner, schema, compression="zstd", filesystem=place.filesystem)


def remote_table(files: Sequence[RemotePath], schema: Any, partitioned_by: str) -> Any:
    """Return the rows of Parquet files of one file system as a pyarrow.dataset.Dataset. Columns that they lack are null.

    Args:
        partitioned_by: the column whose value is in the name of each file's folder.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    partitioning = ds.HivePartitioning(pa.schema([schema.field(partitioned_by)]), segment_encoding="uri")
    names = [file.inner for file in files]
    return ds.dataset(names, schema, "parquet", filesystem=files[0].filesystem, partitioning=partitioning)


# --- pyarrow's file systems ------------------------------------------------------------------------------------------------


@cache
def _filesystem(root: str) -> Any:
    import pyarrow.fs as fs

    parts = urlsplit(root)
    if parts.scheme == "hdfs":
        from hdfs_native.fsspec import HdfsFileSystem

        if parts.port is not None:
            _connect_once(root, str(parts.hostname), parts.port)
        return fs.PyFileSystem(fs.FSSpecHandler(HdfsFileSystem(parts.hostname, parts.port)))
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return fs.S3FileSystem(endpoint_override=s3_endpoint(), region=region)


def _connect_once(root: str, host: str, port: int) -> None:
    """Check that a namenode listens: the client of HDFS would go on trying for minutes. Raises: OSError, which names it."""
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), root) from None


def s3_endpoint() -> str | None:
    """Return the URL of the service that has the interface of S3; None: Amazon's own. Not all clients read the variables."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


def _status_of(filesystem: Any, info: Any) -> FileStatus | None:
    """Return the status in a pyarrow.fs.FileInfo; None if there is no such file."""
    from pyarrow.fs import FileType

    if info.type is FileType.NotFound:
        return None
    if info.type is FileType.Directory:
        return FileStatus(True, 0, 0.0)
    modified = info.mtime_ns
    if modified is None:  # HDFS: the adapter to fsspec does not know this name
        return FileStatus(False, info.size, filesystem.handler.fs.info(info.path)["modification_time"] / 1000)
    return FileStatus(False, info.size, modified / 1e9)


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[place:], pattern[1:]) for place in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
