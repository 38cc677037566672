"""Defer Ctrl-C while a scenario runs in virtual time."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ctrl_c_deferred() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of the context instead of in its middle; a second Ctrl-C is not deferred.

    A KeyboardInterrupt between any two instructions of a run leaves the simulator in a state that its own clean-up does not
    expect: the resulting error would be reported as a defect found by exploring.
    """
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if interrupted:
            raise KeyboardInterrupt
        interrupted = True

    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, before if before is signal.SIG_IGN else note)
    except ValueError:  # not the main thread, which alone can handle signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        raise KeyboardInterrupt
