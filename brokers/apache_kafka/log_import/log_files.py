"""Find the log files below the given paths, and read their lines.

Which broker wrote a file, and which of Kafka's files it is, follows from its lines; file names only serve to skip, in a
directory, what is not a Kafka log. Rolled and gzipped files are read like the rest. A file is read line by line, so its size
is not limited.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import TextIOWrapper
from pathlib import Path

OF_KAFKA = re.compile(r"(state-?change|controller|server|kafka|kafkaServer|broker)[\w-]*\.(log|out)([.\-_][\w.:-]*)?")
WANTED = "state-change.log, controller.log, server.log, rolled or gzipped ones too"
GZIP_MAGIC = b"\x1f\x8b"
LONGEST_LINE = 64 * 2**20
"""In characters. A controller of 100,000 partitions prints lines of several million. A longer line continues as another
line."""


class LogFilesError(Exception):
    """A path that yields no logs. The message is one line that says why."""


def log_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files to read: files given directly, and those in the given directories that have the name of a Kafka log.

    Raises: LogFilesError when a path does not exist, cannot be listed, or holds no such file.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_file():
            found[path] = None
        elif path.is_dir():
            found.update(dict.fromkeys(_below(path)))
        else:
            raise LogFilesError(f"{path}: there is no such file or directory")
    return list(found)


def _below(directory: Path) -> list[Path]:
    try:
        found = sorted(path for path in directory.rglob("*") if OF_KAFKA.fullmatch(path.name) and path.is_file())
    except OSError as error:
        raise LogFilesError(f"{error.filename}: {error.strerror}") from None
    if not found:
        raise LogFilesError(f"{directory}: it and its subdirectories hold no log of Kafka ({WANTED})")
    return found


def lines_of(path: Path, damaged: Callable[[str], None] = lambda what: None) -> Iterator[str]:
    """Yield a file's lines. Bytes that are not UTF-8 are replaced.

    Args:
        damaged: called with a sentence when compressed data ends too early or is corrupt; the lines before that are valid.

    Raises: LogFilesError when the file cannot be read.
    """
    number = 0
    try:
        with path.open("rb") as raw:
            is_gzip = raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            raw.seek(0)
            with TextIOWrapper(gzip.GzipFile(fileobj=raw) if is_gzip else raw, "utf-8", "replace", newline="\n") as text:
                for line in iter(partial(text.readline, LONGEST_LINE), ""):
                    number += 1
                    yield line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        damaged(f"{path}: its compressed data are damaged after line {number} ({error}); what comes before counts")
    except OSError as error:
        raise LogFilesError(f"{path}: {error.strerror or error}") from None
