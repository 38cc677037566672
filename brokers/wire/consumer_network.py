"""The network of simulated consumers whose brokers are processes of their own: connections over TCP.

Causes do not cross the network: what a broker does about a request follows from nothing in the consumer, and a consumer's
events follow from its own ones.
"""

from typing import NoReturn

from kcsim.brokers.wire.consumer_requests import ConsumerRequests
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.brokers.wire.tcp_transport import TcpTransport
from kcsim.controller.capabilities import Release
from kcsim.runtime.ports import Runtime


class ConsumerNetwork:
    """The network of all consumers of a run."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def interface(self, node: str) -> "ConsumerInterface":
        """Return the access of a process; it calls itself by the name of its node."""
        return ConsumerInterface(self._runtime, node)


class ConsumerInterface(TcpTransport):
    """The network access of one consumer's process. Attributes: control_plane: none; a consumer needs none."""

    control_plane = None

    def __init__(self, runtime: Runtime, node: str) -> None:
        codec = ConsumerRequests(node)
        super().__init__(runtime, lambda: codec, RequestCauses())

    def listen(self, host: str, port: int, release: Release | None = None) -> NoReturn:
        raise AssertionError(f"a consumer does not listen at {host}:{port}")
