"""A bound on how long something may take by the wall clock, by the alarm signal of this process."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN_AFTER_SECONDS = 1.0


class TooLongError(BaseException):
    """It took longer than it may. Outside Exception: what catches every failure of a run is not to catch its end."""


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Raise TooLongError in what is done in here when it takes longer; None, or outside the main thread: no bound.

    The alarm is given again each second: what it is raised in may hand an error on to somebody else, or drop it.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def too_long(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError(f"it was not done within {seconds:g} s by the wall clock")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_AFTER_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
