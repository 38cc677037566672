"""A proxy for code without an event loop: the same operations, blocking, with the loop in its own thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

from kcsim.vocabulary import SessionId
from kcsim.zk.proxy.breakpoints import Breakpoint
from kcsim.zk.proxy.errors import ProxyError
from kcsim.zk.proxy.proxy import ZooKeeperProxy
from kcsim.zk.proxy.recent_writes import RecentWrites
from kcsim.zk.proxy.sessions import ProxiedSession
from kcsim.zk.security import Tls

T = TypeVar("T")


class ProxyThread:
    """A ZooKeeperProxy in its own thread; see ZooKeeperProxy for what each operation does, returns and raises.

    `with ProxyThread(connect_string) as proxy: …proxy.connect_string…`, or start() and stop(). Safe to use from several
    threads. A breakpoint's act runs in its own thread, so that it may block and may call these operations; its `matches`
    runs in the proxy's thread and may do neither.
    """

    def __init__(self, connect_string: str, recent_writes: RecentWrites | None = None, tls: Tls | None = None) -> None:
        """Prepare to start. Raises: BadConnectStringError, SecurityError."""
        self._proxy = ZooKeeperProxy(connect_string, recent_writes, tls)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended = asyncio.Event()

    def start(self) -> None:
        if self._loop is not None:
            raise ProxyError(f"this proxy runs already, at {self.connect_string}")
        running: Future[asyncio.AbstractEventLoop] = Future()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live(running)), name="kcsim-zookeeper-proxy", daemon=True
        )
        self._thread.start()
        self._loop = running.result()
        try:
            self._call(self._proxy.start())
        except BaseException:
            self._end_thread()
            raise

    def stop(self) -> None:
        if self._loop is None:
            return
        try:
            self._call(self._proxy.stop())
        finally:
            self._end_thread()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        return self._proxy.port

    @property
    def connect_string(self) -> str:
        return self._proxy.connect_string

    @property
    def sessions(self) -> list[ProxiedSession]:
        return self._proxy.sessions

    def cut(self) -> int:
        return self._call(self._proxy.cut())

    def refuse(self) -> None:
        self._call(_do(self._proxy.refuse))

    def allow(self) -> None:
        self._call(_do(self._proxy.allow))

    def hold(self) -> None:
        self._call(_do(self._proxy.hold))

    def release(self) -> None:
        self._call(_do(self._proxy.release))

    def break_at(self, breakpoint_: Breakpoint) -> None:
        aside = replace(breakpoint_, act=partial(_in_a_thread, breakpoint_.act))
        self._call(_do(partial(self._proxy.break_at, aside)))

    def expire(self, session_id: SessionId | None = None) -> None:
        self._call(self._proxy.expire(session_id))

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None or threading.current_thread() is self._thread:
            work.close()
            raise ProxyError("this proxy is not running, or was called from within itself: it cannot wait for itself")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _live(self, running: "Future[asyncio.AbstractEventLoop]") -> None:
        running.set_result(asyncio.get_running_loop())
        await self._ended.wait()

    def _end_thread(self) -> None:
        """End the loop; an operation that another thread still waits for is cancelled."""
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop = self._thread = None


async def _do(verb: Callable[[], None]) -> None:
    verb()


async def _in_a_thread(act: Callable[[], object]) -> None:
    """Run an act that may block. Not in a pool: the end of the program must not wait for an act that never returns."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            act()
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, error)
        except RuntimeError:  # the proxy was stopped meanwhile: no task waits for the act any more
            if error is not None:
                raise error from None

    threading.Thread(target=run, name="kcsim-zookeeper-proxy breakpoint", daemon=True).start()
    await done
