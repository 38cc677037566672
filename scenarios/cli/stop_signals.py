"""Ctrl-C, SIGTERM and SIGHUP for a command that stops in a controlled way: the first stops it, the second kills it."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stop_signals_as_ctrl_c() -> Iterator[None]:
    """Make SIGTERM and SIGHUP do what Ctrl-C does, within the context; at its end restore the handlers of all.

    An ignored signal stays ignored (SIGHUP under nohup). Where Ctrl-C is ignored (a job in the background of a script), the
    others are unchanged until `on_stop_signals`.
    """
    before = {number: signal.getsignal(number) for number in STOPPING}
    if before[signal.SIGINT] is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def on_stop_signals(loop: "asyncio.AbstractEventLoop", stop: Callable[[], None], kill: Callable[[], None]) -> None:
    """Make the first of the signals call `stop` in the loop, and every later one `kill`. Ignored signals stay ignored."""
    heard = 0

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard += 1
        if not loop.is_closed():  # after that the command has ended, and only its last output is left
            loop.call_soon_threadsafe(stop if heard == 1 else kill)

    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, hear)
