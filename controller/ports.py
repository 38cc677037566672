"""What the controller needs beyond zk/ports.py: connections to brokers.

Adapter: brokers/network/network.py.
"""

from dataclasses import dataclass
from typing import Protocol

from kcsim.controller.decisions.placement import RandomNumbers
from kcsim.controller.decisions.state_change_requests import StateChangeRequest
from kcsim.controller.requests import StateChangeResponse
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import ZkVersion


class BrokerConnectionError(Exception):
    """A broker could not be reached, or the connection broke. A request under way may or may not have been processed."""


class ControllerChannel(Protocol):
    """A connection to one broker, with at most one request under way."""

    @property
    def is_open(self) -> bool:
        """False once the connection was closed or is known to have broken, also if no request was under way on it."""
        ...

    async def send(self, request: StateChangeRequest, timeout_ms: int, cause: int) -> StateChangeResponse:
        """Send a request and wait for its answer.

        Args:
            cause: the request's RequestSent event, which is the cause of the broker's own events for it.

        Raises: BrokerConnectionError when the connection breaks; TimedOutError (zk/errors.py) after timeout_ms without an
        answer. In both cases the broker may have processed the request, or may still process it.
        """
        ...

    def close(self) -> None:
        """Close the connection. The answer to a request under way does not arrive any more. Idempotent."""
        ...


class Transport(Protocol):
    """Opens connections to brokers, on behalf of one process."""

    async def connect(self, host: str, port: int, timeout_ms: int) -> ControllerChannel:
        """Open a connection.

        Raises: BrokerConnectionError when no process listens there; TimedOutError when no answer arrived in time.
        """
        ...


class KnowsFeatures(Protocol):
    """What a broker has read of /feature."""

    async def wait_until_epoch(self, epoch: ZkVersion) -> None:
        """Wait until the broker has read features of this epoch or a later one. Raises: TimedOutError."""
        ...


@dataclass(frozen=True, slots=True)
class ControllerPorts:
    """What one controller module reaches outside itself, besides ZooKeeper.

    Args:
        transport: opens connections to all brokers, including the module's own.
        numbers: the source of random numbers for the ids of topics.
        features: what the module's own broker knows of them; None: the controller does not wait for it.
    """

    runtime: Runtime
    transport: Transport
    sink: EventSink
    numbers: RandomNumbers
    features: KnowsFeatures | None = None
