"""A door that everything passes and that can be held shut."""

import asyncio


class Door:
    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    async def passage(self) -> None:
        """Return at once while the door is open, else when it has been opened and not shut again before our turn."""
        while not self._open.is_set():
            await self._open.wait()
