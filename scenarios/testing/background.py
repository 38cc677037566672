"""Threads and clocks for the rest of this folder, whose users have no event loop."""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from kcsim.zk.errors import TimedOutError

T = TypeVar("T")

WITHIN_S = 20.0
"""How long a test waits for anything, unless it says otherwise."""
LOOK_EVERY_S = 0.01
"""Where nothing tells of a change."""


class Background:
    """An event loop in a thread of its own; `call` blocks until the work is done, in whichever thread it was asked for."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it there, and return what it returns. Raises: what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def stop(self) -> None:
        """End the loop. What has not been done by then never is. Idempotent."""
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
    """Raised once, waited for by any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    @property
    def is_raised(self) -> bool:
        return self._event.is_set()

    def lift(self) -> None:
        self._event.set()

    def wait(self, within_s: float | None = None) -> bool:
        """Whether it is raised, at the latest when the time is up."""
        return self._event.wait(within_s)


def in_thread(name: str, work: Callable[[], T]) -> "Future[T]":
    """Begin some work in a thread of its own, which nobody waits for at the end of the program."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done


def wait_until(holds: Callable[[], T | None], what: str, within_s: float, seen: Callable[[], object] | None = None) -> T:
    """Look again and again until something holds, and return what it then was.

    Args:
        holds: false, None or empty as long as it does not.
        what: is waited for, in words.
        seen: says what is the case instead; None: what `holds` returned.

    Raises: TimedOutError with what was last seen.
    """
    until = time.monotonic() + within_s
    while not (found := holds()):
        if time.monotonic() > until:
            last = found if seen is None else seen()
            raise TimedOutError(f"not within {within_s:g} s: {what}; last seen: {last}")
        time.sleep(LOOK_EVERY_S)
    return found


def in_words(holds: Callable[..., object]) -> str:
    """What a condition says of itself: its name, or the line that it stands on if it has none."""
    name = getattr(holds, "__name__", str(holds))
    if name != "<lambda>":
        return name.replace("_", " ")
    try:
        return inspect.getsource(holds).strip()
    except (OSError, TypeError):  # typed in, not written down
        return "a condition"


def wall_clock_ms() -> int:
    """Milliseconds since 1970, as ZooKeeper's own log has them."""
    return time.time_ns() // 1_000_000
