"""The options of every subcommand of kcsim spark, and the session that a subcommand works in."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.analysis.tables.location import Location, NoFileSystemError, location
from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.spark.interruption import ctrl_c_ends_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"
OF_COMMANDS = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""Settings of a command's session. Otherwise each call of a column function looks up its source line, for error messages."""
Master = Annotated[
    str, typer.Option(metavar="URL", help="local[N]: in this process; spark://host:port, yarn, k8s://…: on that cluster.")
]
if TYPE_CHECKING:
    Place = Location
else:
    Place = Path  # typer takes no union; what an option becomes is what its parser, `place`, returns
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark's; may be repeated.")]


def place(text: str | Location) -> Location:
    """Return a path, or the place that a URL names. Parses the options and arguments that are paths, and defaults.

    Raises: typer.BadParameter for a URL without a file system: as a path, it would be a folder in the current one.
    """
    try:
        return location(text)
    except NoFileSystemError as error:
        raise typer.BadParameter(str(error)) from None


def milliseconds(option: str, text: str) -> int:
    """Return an option's duration, such as 30s or 2d, in ms; end the command with status 64 if it is none."""
    from kcsim.scenarios.analysis.generating.durations import parse_long_duration

    try:
        return parse_long_duration(text)
    except ValueError as error:
        fail(f"{option}: {error}", ExitStatus.USAGE)


def local_path(text: str | Path) -> Path:
    """Return a path of this machine, for files that only commands of this machine read. Raises: typer.BadParameter."""
    found = place(text)
    if not isinstance(found, Path):
        raise typer.BadParameter(f"{text}: only a path of this machine is supported here")
    return found


@contextmanager
def session(
    master: str, conf: Sequence[str] | None, out: Location | None = None, reads: Sequence[Location] | None = None
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
    from kcsim.scenarios.analysis.tables.delta_table import NoVersionError
    from kcsim.scenarios.analysis.tables.driver_jvm import DriverError
    from kcsim.scenarios.analysis.tables.job_errors import SPARK_ERRORS, sentence
    from kcsim.scenarios.analysis.tables.trace_files import NoTraceError, SameBatchError
    from kcsim.zk.servers.errors import NoJavaError

    try:
        with _begun(master, settings, None if reads is None else bytes_of(reads)) as spark:
            yield spark
    except (PathExistsError, NoDatasetError, NoTraceError, SameBatchError, NoFileSystemError, NoVersionError) as error:
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
        spark = spark_session(master, {**OF_COMMANDS, **settings}, bytes_read)
        hear_ctrl_c()
        try:
            yield spark
        finally:
            _stop(spark)


def bytes_of(paths: Sequence[Location]) -> int:
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


def refuse_existing(*paths: Location | None) -> None:
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
