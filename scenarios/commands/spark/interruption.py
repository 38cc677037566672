"""Ctrl-C in a command that works on Spark: the jobs end first, then the command, and nothing is said of it."""

import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from kcsim.scenarios.commands.stop_signals import sigterm_as_ctrl_c


@contextmanager
def ctrl_c_ends_jobs() -> Iterator[Callable[[], None]]:
    """Within, Ctrl-C (and SIGTERM) ends Spark's JVM and raises KeyboardInterrupt; where it is ignored, it stays so.

    The JVM goes first because its tasks may be writing what the unwinding command removes.

    Yields:
        What to call when somebody else has put a handler in place: PySpark does as a session begins. Its own asks the JVM to
        cancel the jobs, through the connection that we are waiting at.
    """
    before = signal.getsignal(signal.SIGINT)

    def hear() -> None:
        signal.signal(signal.SIGINT, before if before is signal.SIG_IGN else _end_jobs)

    with _py4j_quiet(), sigterm_as_ctrl_c():
        try:
            yield hear
        finally:
            signal.signal(signal.SIGINT, before)


def _end_jobs(number: int, frame: FrameType | None) -> None:
    from kcsim.scenarios.replay.tables.spark_session import end_jvm

    signal.signal(signal.SIGINT, signal.default_int_handler)  # the next one is for the impatient
    end_jvm()
    raise KeyboardInterrupt


@contextmanager
def _py4j_quiet() -> Iterator[None]:
    """py4j tells the root logger, with a traceback, when it is interrupted; so do we, with the exit status."""
    from kcsim.scenarios.replay.tables.driver_jvm import LOG_VARIABLE

    root = logging.getLogger()
    if LOG_VARIABLE in os.environ:
        yield
        return
    root.addFilter(_is_of_others)
    try:
        yield
    finally:
        root.removeFilter(_is_of_others)


def _is_of_others(record: logging.LogRecord) -> bool:
    return not str(record.msg).endswith("while sending command.")
