"""The options of every subcommand of kcsim spark, and the session that a subcommand works in."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.spark.interruption import ctrl_c_ends_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"
Master = Annotated[
    str, typer.Option(metavar="URL", help="local[N]: in this process; spark://host:port, yarn, k8s://…: on that cluster.")
]
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark's; may be repeated.")]


@contextmanager
def session(master: str, conf: Sequence[str] | None, out: Path | None = None) -> Iterator["SparkSession"]:
    """Open the Spark session of a command. It ends with the command, unless it existed before.

    Errors in the session, and errors of what is read and written, end the command: with status 64 for an invalid setting or
    path (also an output path that exists), with 2 for a job that failed, for a file or folder that the system refuses (`out`
    if
    the error does not name one), and if there is no Java.
    """
    settings = dict(map(_setting, conf or ()))
    from kcsim.scenarios.analysis.tables.dataset import NoDatasetError, PathExistsError
    from kcsim.scenarios.analysis.tables.driver_jvm import DriverError
    from kcsim.scenarios.analysis.tables.job_errors import SPARK_ERRORS, sentence
    from kcsim.scenarios.analysis.tables.reading import SameBatchError
    from kcsim.scenarios.analysis.tables.trace_files import NoTraceError
    from kcsim.zk.servers.errors import NoJavaError

    try:
        with _begun(master, settings) as spark:
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
def _begun(master: str, settings: dict[str, str]) -> Iterator["SparkSession"]:
    from kcsim.scenarios.analysis.tables.spark_session import is_active, spark_session

    if is_active():
        yield spark_session(master, settings)
        return
    with ctrl_c_ends_jobs() as hear_ctrl_c:
        spark = spark_session(master, settings)
        hear_ctrl_c()
        try:
            yield spark
        finally:
            _stop(spark)


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
