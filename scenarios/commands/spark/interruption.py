"""Ctrl-C in a command that works on Spark: the jobs end first, then the command, and nothing is said of it."""

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
    is_heard = False

    def end_jobs(number: int, frame: FrameType | None) -> None:
        from kcsim.scenarios.replay.tables.spark_session import end_jvm

        nonlocal is_heard
        is_heard = True
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the next one is for the impatient
        end_jvm()
        raise KeyboardInterrupt

    def hear() -> None:
        signal.signal(signal.SIGINT, before if before is signal.SIG_IGN else end_jobs)

    with sigterm_as_ctrl_c():
        try:
            yield hear
        except Exception:
            # Raised while Python was clearing up an object, the interrupt was lost; then the missing JVM is what is found.
            if is_heard:
                raise KeyboardInterrupt from None
            raise
        finally:
            signal.signal(signal.SIGINT, before)
