"""A gate that pauses all forwarding of a proxy while it is closed."""

import asyncio


class PauseGate:
    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    async def wait_until_open(self) -> None:
        """Return when the gate is open: at once, or after it was opened and not closed again before this task runs."""
        while not self._open.is_set():
            await self._open.wait()
