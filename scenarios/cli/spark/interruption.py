"""Ctrl-C in a command that works on Spark: the jobs end first, then the command, without error messages from Spark."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from kcsim.scenarios.cli.stop_signals import stop_signals_as_ctrl_c


@contextmanager
def ctrl_c_ends_jobs() -> Iterator[Callable[[], None]]:
    """Make Ctrl-C (and SIGTERM) end Spark's JVM and raise KeyboardInterrupt, within the context.

    If Ctrl-C is ignored, it stays ignored. The JVM ends first because its tasks may be writing what the unwinding command
    removes.

    Yields:
        A function to call after another handler was installed, which PySpark does when a session begins. PySpark's handler
        asks
        the JVM to cancel the jobs, through the same connection at which we are waiting.
    """
    before = signal.getsignal(signal.SIGINT)
    is_heard = False

    def end_jobs(number: int, frame: FrameType | None) -> None:
        from kcsim.scenarios.analysis.tables.spark_session import end_jvm

        nonlocal is_heard
        is_heard = True
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C does not wait for the JVM
        end_jvm()
        raise KeyboardInterrupt

    def hear() -> None:
        signal.signal(signal.SIGINT, before if before is signal.SIG_IGN else end_jobs)

    with stop_signals_as_ctrl_c():
        try:
            yield hear
        except Exception:
            # An interrupt raised during an object's clean-up is lost; the next error is then that of the missing JVM.
            if is_heard:
                raise KeyboardInterrupt from None
            raise
        finally:
            signal.signal(signal.SIGINT, before)
