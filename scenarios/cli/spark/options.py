"""The options of every subcommand of kcsim spark, and the session that a subcommand works in."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote, urlsplit

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.spark.interruption import ctrl_c_ends_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"
Master = Annotated[
    str, typer.Option(metavar="URL", help="local[N]: in this process; spark://host:port, yarn, k8s://…: on that cluster.")
]
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark's; may be repeated.")]


def local_path(text: str | Path) -> Path:
    """Return a path, or the path of a URL of this machine. Parses the options and arguments that are paths, and defaults.

    Other URLs are refused: as a path, each would be a folder in the current one. Raises: typer.BadParameter.
    """
    if isinstance(text, Path):
        return text
    url = URL.match(text)
    if url is None:
        return Path(text)
    parts = urlsplit(text)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise typer.BadParameter(f"{text}: paths of {url[1]}:// are not supported; give a local path, or file:///…")
    return Path(unquote(parts.path))


def local_pattern(text: str) -> str:
    """Return a path, or a pattern of paths, as local_path does."""
    return text if URL.match(text) is None else str(local_path(text))


@contextmanager
def session(
    master: str, conf: Sequence[str] | None, out: Path | None = None, reads: Sequence[Path] | None = None
) -> Iterator["SparkSession"]:
    """Open the Spark session of a command. It ends with the command, unless it existed before.

    Args:
        out: what is written, for the message of an error that names no file.
        reads: all that passes through the JVM, if it is known: nothing where Python reads and writes the files itself.

    Errors in the session, and errors of what is read and written, end the command: with status 64 for an invalid setting or
    path (also an output path that exists), with 2 for a job that failed, for a file or folder that the system refuses, and
    where there is no Java.
    """
    settings = dict(map(_setting, conf or ()))
    from kcsim.scenarios.analysis.tables.dataset import NoDatasetError, PathExistsError
    from kcsim.scenarios.analysis.tables.driver_jvm import DriverError
    from kcsim.scenarios.analysis.tables.job_errors import SPARK_ERRORS, sentence
    from kcsim.scenarios.analysis.tables.trace_files import NoTraceError, SameBatchError
    from kcsim.zk.servers.errors import NoJavaError

    try:
        with _begun(master, settings, None if reads is None else bytes_of(reads)) as spark:
            yield spark
    except (PathExistsError, NoDatasetError, NoTraceError, SameBatchError) as error:
        fail(str(error), ExitStatus.USAGE)
    except (NoJavaError, DriverError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
    except SPARK_ERRORS as error:
        fail(sentence(error), ExitStatus.UNDECIDED)
    except OSError as error:
        fail(f"{error.filename or out or master}: {error.strerror or error}", ExitStatus.UNDECIDED)


@contextmanager
def _begun(master: str, settings: dict[str, str], bytes_read: int | None) -> Iterator["SparkSession"]:
    from kcsim.scenarios.analysis.tables.spark_session import is_active, spark_session

    if is_active():
        yield spark_session(master, settings)
        return
    with ctrl_c_ends_jobs() as hear_ctrl_c:
        spark = spark_session(master, settings, bytes_read)
        hear_ctrl_c()
        try:
            yield spark
        finally:
            _stop(spark)


def bytes_of(paths: Sequence[Path]) -> int:
    """Return the size of files, and of all files in folders."""
    files = (file for path in paths for file in ([path] if path.is_file() else path.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file())


def _stop(spark: "SparkSession") -> None:
    import gc

    from kcsim.scenarios.analysis.tables.job_errors import SPARK_ERRORS

    try:
        gc.collect()  # remaining references to tables are released in the JVM while it still runs
        spark.stop()
    except SPARK_ERRORS:  # the JVM is gone: the error that caused this is the one to report
        return


def refuse_existing(*paths: Path | None) -> None:
    """End the command with status 64 if one of its output paths exists. To be called before any work."""
    from kcsim.scenarios.analysis.tables.dataset import PathExistsError
    from kcsim.scenarios.analysis.tables.dataset import refuse_existing as refuse

    for path in paths:
        if path is not None:
            try:
                refuse(path)
            except PathExistsError as error:
                fail(str(error), ExitStatus.USAGE)


def _setting(text: str) -> tuple[str, str]:
    key, is_there, value = text.partition("=")
    if not is_there or not key:
        fail(f"--conf: {text!r} is no setting; write one as spark.sql.shuffle.partitions=64", ExitStatus.USAGE)
    return key, value
