"""What every subcommand of kcsim spark takes, and the session that it works in."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, give_up
from kcsim.scenarios.commands.spark.interruption import ctrl_c_ends_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"
Master = Annotated[
    str, typer.Option(metavar="URL", help="local[N]: in this process; spark://host:port, yarn, k8s://…: on that cluster.")
]
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark's; may be repeated.")]


@contextmanager
def session(master: str, conf: Sequence[str] | None, out: Path | None = None) -> Iterator["SparkSession"]:
    """The session of a command; ends with it, unless it was there before.

    What goes wrong in it, or with what is read and written, ends the command: with status 64 for a setting or a path that
    makes no sense (also one that exists and should be written), with 2 for a job that failed, for a file or folder that the
    system refuses, `out` if it does not say which, and without a Java.
    """
    settings = dict(map(_setting, conf or ()))
    from kcsim.scenarios.replay.tables.dataset import NoDatasetError, PathExistsError
    from kcsim.scenarios.replay.tables.driver_jvm import DriverError
    from kcsim.scenarios.replay.tables.job_errors import SPARK_ERRORS, sentence
    from kcsim.scenarios.replay.tables.reading import SameBatchError
    from kcsim.scenarios.replay.tables.trace_files import NoTraceError
    from kcsim.zk.servers.errors import NoJavaError

    try:
        with _begun(master, settings) as spark:
            yield spark
    except (PathExistsError, NoDatasetError, NoTraceError, SameBatchError) as error:
        give_up(str(error), ExitStatus.USAGE)
    except (NoJavaError, DriverError) as error:
        give_up(str(error), ExitStatus.UNDECIDED)
    except SPARK_ERRORS as error:
        give_up(sentence(error), ExitStatus.UNDECIDED)
    except OSError as error:
        give_up(f"{error.filename or out or master}: {error.strerror or error}", ExitStatus.UNDECIDED)


@contextmanager
def _begun(master: str, settings: dict[str, str]) -> Iterator["SparkSession"]:
    from kcsim.scenarios.replay.tables.spark_session import is_active, spark_session

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

    from kcsim.scenarios.replay.tables.job_errors import SPARK_ERRORS

    try:
        gc.collect()  # what is left of the tables takes its leave of the JVM while there is one
        spark.stop()
    except SPARK_ERRORS:  # the JVM is not there any more: what failed for that is what is told
        return


def refuse_existing(*paths: Path | None) -> None:
    """End the command with status 64 if something that it should write is there already. To be called before any work."""
    from kcsim.scenarios.replay.tables.dataset import PathExistsError
    from kcsim.scenarios.replay.tables.dataset import refuse_existing as refuse

    for path in paths:
        if path is not None:
            try:
                refuse(path)
            except PathExistsError as error:
                give_up(str(error), ExitStatus.USAGE)


def _setting(text: str) -> tuple[str, str]:
    key, is_there, value = text.partition("=")
    if not is_there or not key:
        give_up(f"--conf: {text!r} is no setting; write one as spark.sql.shuffle.partitions=64", ExitStatus.USAGE)
    return key, value
