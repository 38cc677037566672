"""The ports for time and tasks: plain `async def` code depends only on these Protocols.

Adapters: simulated.py (SimPy, virtual time) and wallclock.py (asyncio). tests/conformance runs one suite against both.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Promise(Protocol[T]):
    """A value or an error that is set once. Settling the promise again has no effect."""

    @property
    def is_settled(self) -> bool: ...
    def resolve(self, value: T) -> None: ...
    def fail(self, error: Exception) -> None: ...
    async def wait(self, timeout_ms: int | None = None) -> T:
        """Return the value or raise the error. Any number of tasks may wait.

        Raises: TimedOutError when the promise is not settled within timeout_ms. Killed when the waiting task is killed.
        """
        ...


class Mailbox(Protocol[T]):
    """An unbounded FIFO queue. Several tasks may put and several may take; the longest waiting task is served first."""

    def put(self, item: T) -> None: ...
    async def get(self, timeout_ms: int | None = None) -> T:
        """Wait for the oldest item and take it. Raises: TimedOutError, Killed."""
        ...

    def drain(self) -> list[T]:
        """Take all items without waiting, oldest first."""
        ...

    def __len__(self) -> int: ...


class Alarm(Protocol):
    """A call that is made once when a time has come; it may set the alarm again."""

    def set(self, at_ms: int) -> None:
        """Let the alarm ring at this time of the run, or at once if that has passed. Of two times the earlier counts."""
        ...


class Task(Protocol):
    """A running coroutine."""

    @property
    def name(self) -> str: ...
    @property
    def is_done(self) -> bool: ...
    def kill(self) -> None:
        """Raise Killed in the task at the await where it stands. No effect after its end. A task may kill itself."""
        ...

    async def join(self) -> None:
        """Wait until the task has ended, for whatever reason."""
        ...


class Runtime(Protocol):
    """Time and tasks: virtual under SimPy, the wall clock under asyncio.

    An exception other than Killed that leaves a spawned task is a defect: it stops the whole run, whose `run` raises it.
    """

    def now_ms(self) -> int:
        """Return the milliseconds since the run began; the time never goes back."""
        ...

    async def sleep_ms(self, delay_ms: int) -> None: ...
    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> Task: ...
    def promise(self) -> Promise[Any]: ...
    def mailbox(self) -> Mailbox[Any]: ...
    def alarm(self, name: str, call: Callable[[], None]) -> Alarm:
        """Return an alarm that makes this call. An error that the call raises stops the run."""
        ...
