"""The engine of a command that analyses: Spark, or DuckDB where all data is small and on this machine."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.spark.options import DEFAULT_MASTER, Place, bytes_of, session
from kcsim.scenarios.cli.spark.progress import Doing, progress, progress_in_time
from kcsim.scenarios.cli.spark.spark_command import missing_packages
from kcsim.scenarios.cli.stop_signals import stop_signals_as_ctrl_c


class EngineName(StrEnum):
    """--engine: what computes the analyses."""

    SPARK = "spark"
    DUCKDB = "duckdb"


INTERRUPTED = "Query interrupted"
"""What DuckDB raises a RuntimeError of where Ctrl-C ended a query."""

ChosenEngine = Annotated[
    EngineName,
    typer.Option("--engine", help="duckdb: the same results without a JVM, for little data, on this machine alone."),
]
OwnMaster = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="local[N]: in this process, as if not given; spark://host:port, yarn, k8s://…: on that cluster.",
    ),
]


@contextmanager
def engine(
    name: EngineName,
    what: str,
    master: str | None,
    conf: Sequence[str] | None,
    reads: Sequence[Place],
    out: Place | None = None,
) -> Iterator[Doing]:
    """Open the engine of a command, and have it in use within the context; report the command's progress.

    Args:
        what: the command.
        reads: all that is read.
        out: what is written, for the message of an error that names no file.

    Yields: a function that sets what is being done.

    Errors end the command: see options.session.
    """
    if name is EngineName.DUCKDB:
        if master is not None or conf:
            fail("--master and --conf are for Spark: leave them out, or take --engine spark", ExitStatus.USAGE)
        with _duckdb(out), progress_in_time(what) as doing:
            yield doing
        return
    with session(master or DEFAULT_MASTER, conf, out, reads) as spark, progress(spark, what) as doing:
        yield doing
    _hint(master or DEFAULT_MASTER, conf, reads)


@contextmanager
def _duckdb(out: Place | None) -> Iterator[None]:
    import duckdb

    from kcsim.scenarios.analysis.engines.duckdb.duckdb_engine import duckdb_engine
    from kcsim.scenarios.analysis.engines.frames import using
    from kcsim.scenarios.analysis.tables.dataset import NoDatasetError, PathExistsError
    from kcsim.scenarios.analysis.tables.delta_table import NoVersionError
    from kcsim.scenarios.analysis.tables.location import NoFileSystemError
    from kcsim.scenarios.analysis.tables.trace_files import NoTraceError, SameBatchError

    try:
        with stop_signals_as_ctrl_c(), duckdb_engine() as found, using(found):
            yield
    except (PathExistsError, NoDatasetError, NoTraceError, SameBatchError, NoFileSystemError, NoVersionError) as error:
        fail(str(error), ExitStatus.USAGE)
    except RuntimeError as error:
        if str(error) == INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    except duckdb.Error as error:
        fail((str(error).splitlines() or [type(error).__name__])[0].rstrip("."), ExitStatus.UNDECIDED)
    except OSError as error:
        fail(f"{error.filename or out or 'DuckDB'}: {error.strerror or error}", ExitStatus.UNDECIDED)


def _hint(master: str, conf: Sequence[str] | None, reads: Sequence[Place]) -> None:
    """Name the other engine, where it would do the same in less time."""
    from kcsim.scenarios.analysis.tables.spark_session import LITTLE_BYTES, is_active, is_in_this_process

    can = is_in_this_process(master) and not conf and not is_active() and not missing_packages(EngineName.DUCKDB)
    if can and bytes_of(reads) < LITTLE_BYTES:
        print("hint: --engine duckdb gives the same results sooner where there is so little data", file=sys.stderr)
