"""Ctrl-C and SIGTERM for a command that stops in order: the first asks it to, the next one is for the impatient."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Within, SIGTERM does what Ctrl-C does at that moment; at the end both are as they were.

    Where Ctrl-C is ignored (a job in the background of a script), SIGTERM stays as it is until `on_stop_signals`.
    """
    before = {number: signal.getsignal(number) for number in STOPPING}
    if before[signal.SIGINT] is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def on_stop_signals(loop: "asyncio.AbstractEventLoop", stop: Callable[[], None], kill: Callable[[], None]) -> None:
    """From now on the first of the signals calls `stop` in the loop, and every other one `kill`. Ignored ones stay so."""
    heard = 0

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard += 1
        if not loop.is_closed():  # else all is over, and only the goodbye is still to be said
            loop.call_soon_threadsafe(stop if heard == 1 else kill)

    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, hear)
