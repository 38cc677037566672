"""Plays scripts of requests to a cluster, and keeps its answers under the names that the scripts give them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.brokers.differential.answers import comparable
from tests.brokers.differential.raw_client import RawClient


class Recorder:
    """What a cluster has answered so far.

    Attributes:
        answers: by the name of the operation, in order.
    """

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self.answers: dict[str, Any] = {}

    async def ask(self, name: str, broker: int, api_key: int, version: int, **values: Any) -> Any:
        """Send a request, keep the answer, and return its message; None if the broker closes the connection."""
        assert name not in self.answers, f"two operations are named {name}"
        try:
            message = await self.client.call(broker, api_key, version, **values)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.answers[name] = "the connection is closed"
            return None
        self.answers[name] = comparable(message)
        return message


Operations = Callable[[Recorder], Awaitable[None]]
