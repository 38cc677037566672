"""A lock on the Runtime port; waiting tasks get it in FIFO order."""

from kcsim.runtime.ports import Mailbox, Runtime


class Lock:
    """A lock that one task at a time can hold: `async with lock`."""

    def __init__(self, runtime: Runtime) -> None:
        self._free: Mailbox[None] = runtime.mailbox()
        self._free.put(None)

    async def __aenter__(self) -> None:
        await self._free.get()

    async def __aexit__(self, *_: object) -> None:
        self._free.put(None)
