"""What the controller asks of the world beyond zk/ports.py: a way to reach brokers.

Adapter: scenarios/network.py.
"""

from typing import Protocol

from kcsim.controller.decisions.state_change_requests import StateChangeRequest
from kcsim.controller.requests import StateChangeResponse


class BrokerConnectionError(Exception):
    """A broker could not be reached, or the connection to it broke: what was under way there may have been done, or not."""


class Connection(Protocol):
    """A connection to one broker. One request at a time is under way on it."""

    @property
    def is_open(self) -> bool:
        """False once it was closed, or is known to have broken, also while nothing was under way on it."""
        ...

    async def send(self, request: StateChangeRequest, timeout_ms: int, cause: int) -> StateChangeResponse:
        """Send a request and wait for its answer.

        Args:
            cause: the request's RequestSent event: what the broker does about it follows from that.

        Raises: BrokerConnectionError when the connection breaks; TimedOutError (zk/errors.py) after timeout_ms without an
            answer. In both cases the broker may have processed the request, or be about to.
        """
        ...

    def close(self) -> None:
        """Give the connection up; whatever was under way on it is not heard of again. Idempotent."""
        ...


class Transport(Protocol):
    """A way to open connections, as one process has it."""

    async def connect(self, host: str, port: int, timeout_ms: int) -> Connection:
        """Open a connection.

        Raises: BrokerConnectionError when nobody listens there; TimedOutError when nothing answered in time.
        """
        ...
