"""A kazoo handler that can freeze or kill its connection thread.

A stopped process neither sends nor reads, whatever its sockets hold; a killed one never does again. kazoo uses sockets,
threads and time only through its "handler": this handler lets the connection thread act only while it is not frozen or
killed.
"""

import math
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kazoo.exceptions import ConnectionDropped
from kazoo.handlers.threading import SequentialThreadingHandler

from kcsim.errors import TimedOutError

_FREEZE_BOUND_S = 5.0


class FreezableHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """kazoo's access to sockets, threads and time: the connection thread acts only while it is not frozen or killed."""

    def __init__(
        self, is_listening: Callable[[], bool], connect_timeout_s: float, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__()
        self.refusals: frozenset[str] = frozenset()
        self.longest_wait_s = math.inf
        self._is_listening = is_listening
        self._connect_timeout_s = connect_timeout_s
        self._tls = tls
        self._changed = threading.Condition()
        self._is_frozen = False
        self._is_acting = False
        self._is_dead = threading.Event()

    def start(self) -> None:
        """Do nothing: kazoo starts its two callback threads here, which this project does not use."""

    def stop(self) -> None: ...

    # --- from the event loop

    def freeze(self) -> None:
        """Stop the connection thread; on return it does not act any more. Raises: TimedOutError."""
        with self._changed:
            self._is_frozen = True
            if not self._changed.wait_for(lambda: not self._is_acting, _FREEZE_BOUND_S):
                raise TimedOutError(f"the connection thread did not come to rest within {_FREEZE_BOUND_S} s")

    def thaw(self) -> None:
        with self._changed:
            self._is_frozen = False
            self._changed.notify_all()

    def kill(self) -> None:
        with self._changed:
            self._is_dead.set()
            self._changed.notify_all()

    # --- in the connection thread

    def enter(self) -> bool:
        """Begin to act, as soon as the thread is not frozen.

        Returns: True if the thread was not frozen. Raises: ConnectionDropped if it was killed.
        """
        with self._changed:
            was_open = not self._is_frozen
            while self._is_frozen and not self._is_abandoned():
                self._changed.wait(1.0)
            if self._is_abandoned():
                raise ConnectionDropped("the client is gone")
            self._is_acting = True
        return was_open

    def leave(self) -> None:
        with self._changed:
            self._is_acting = False
            self._changed.notify_all()

    def _is_abandoned(self) -> bool:
        if not self._is_listening():
            self._is_dead.set()
        return self._is_dead.is_set()

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        self.leave()
        try:
            yield
        finally:
            self.enter()

    def select(self, rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None) -> Any:
        """Select; repeat if the thread was frozen meanwhile, because the sockets may have changed by the thaw."""
        ends_at = time.monotonic() + min(math.inf if timeout is None else timeout, self.longest_wait_s)
        while True:
            self.leave()
            remaining_s = max(0.0, ends_at - time.monotonic())
            ready = super().select(rlist, wlist, xlist, None if remaining_s == math.inf else remaining_s)
            if self.enter():
                return ready

    def create_connection(self, *args: Any, **options: Any) -> Any:
        options["timeout"] = self._connect_timeout_s
        if self.refusals:
            raise ConnectionRefusedError(f"connections are refused: {', '.join(sorted(self.refusals))}")
        with self._waiting():
            plain = super().create_connection(*args, **options)
            if self._tls is None:
                return plain
            plain.settimeout(self._connect_timeout_s)  # of the handshake; when it fails, the socket is closed
            return self._tls.wrap_socket(plain, server_hostname=options.get("hostname") or options["address"][0])

    def create_socket_pair(self) -> Any:
        """Return the socket pair that wakes the thread. Non-blocking: when it is full, the thread is to wake up already."""
        pair = super().create_socket_pair()
        for end in pair:
            end.setblocking(False)
        return pair

    def sleep_func(self, seconds: float) -> None:
        self.leave()
        self._is_dead.wait(seconds)
        with suppress(ConnectionDropped):  # the retry that sleeps here checks itself whether to continue
            self.enter()
