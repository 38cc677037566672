"""Threads, an event loop and clocks for the other modules of this folder, whose users have no event loop."""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kcsim.errors import TimedOutError

T = TypeVar("T")

WITHIN_S = 20.0
"""How long a test waits for a condition by default."""
LOOK_EVERY_S = 0.01
"""Interval between two looks, where nothing notifies of a change."""


class Background:
    """An event loop in a thread of its own. `call` blocks the calling thread until the work is done."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the event loop and return its result. Raises: what the coroutine raises."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def stop(self) -> None:
        """End the loop. Work that is not done by then is never done. Idempotent."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        finally:
            self.loop.close()


class Flag:
    """A flag that is raised once, and that any thread can wait for."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def is_raised(self) -> bool:
        return self._event.is_set()

    def mark_raised(self) -> None:
        self._event.set()

    def wait(self, within_s: float | None = None) -> bool:
        """Wait until the flag is raised or the time is up. Return whether it is raised."""
        return self._event.wait(within_s)


def wait_until(holds: Callable[[], T | None], what: str, within_s: float, seen: Callable[[], object] | None = None) -> T:
    """Evaluate a condition repeatedly until it holds, and return its value.

    Args:
        holds: returns false, None or an empty value as long as the condition does not hold.
        what: names the awaited condition in messages.
        seen: returns what is the case instead, for the message; None: the last value of `holds` is reported.

    Raises: TimedOutError with what was last seen; TypeError for a condition that takes arguments.
    """
    check_condition(holds)
    until = time.monotonic() + within_s
    while not (found := holds()):
        if time.monotonic() > until:
            last = found if seen is None else seen()
            raise TimedOutError(f"not within {within_s:g} s: {what}; last seen: {last}")
        time.sleep(LOOK_EVERY_S)
    return found


def check_condition(holds: Callable[..., object]) -> None:
    """Check that a condition takes no arguments. Raises: TypeError with the form that is right."""
    try:
        inspect.signature(holds).bind()
    except TypeError:
        right = 'write wait_until(lambda: cluster.controller == "broker-2")'
        raise TypeError(f"the condition of wait_until is a function without arguments; {right}") from None
    except ValueError:  # a function in C, whose signature is not known
        pass


def condition_text(holds: Callable[..., object]) -> str:
    """Return a condition's text for messages: the function's name, or the source line of a lambda."""
    name = getattr(holds, "__name__", str(holds))
    if name != "<lambda>":
        return name.replace("_", " ")
    try:
        return inspect.getsource(holds).strip()
    except (OSError, TypeError):  # typed interactively: there is no source file
        return "a condition"
