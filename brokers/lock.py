"""A lock on the Runtime port: whoever waits longest is next."""

from kcsim.zk.ports import Mailbox, Runtime


class Lock:
    """Held by one task at a time: `async with lock`."""

    def __init__(self, runtime: Runtime) -> None:
        self._free: Mailbox[None] = runtime.mailbox()
        self._free.put(None)

    async def __aenter__(self) -> None:
        await self._free.get()

    async def __aexit__(self, *_: object) -> None:
        self._free.put(None)
