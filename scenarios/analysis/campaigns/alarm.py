"""A limit on the wall-clock time of a piece of work, enforced by the alarm signal of this process."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN_AFTER_SECONDS = 1.0


class TooLongError(BaseException):
    """The work took longer than its limit. No Exception: handlers that catch every failure of a run must not catch it."""


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Raise TooLongError in the body of the context if it takes longer; None, or outside the main thread: no limit.

    The alarm is repeated each second, because the interrupted code may pass an error on to other code, or drop it.
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
