"""Connections over TCP for the requests between controller and brokers, and of followers to their leaders.

Source: Kafka 2.8, ControllerChannelManager, ReplicaFetcherBlockingSend; docs/kafka/requests.md 3.
"""

from typing import Any

from kcsim.brokers.wire.follower_requests import FollowerRequest, FollowerRequests
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.brokers.wire.sent_requests import RequestEncoder, decode_answer
from kcsim.brokers.wire.tcp_transport import TcpTransport
from kcsim.controller.requests import BrokerRequest
from kcsim.runtime.ports import Runtime


class TcpControlPlane(TcpTransport):
    """The BrokerTransport port of one broker's process.

    Args:
        client_id: what the process calls itself in its requests; Kafka's brokers: their id.
        causes: where the recipients look for the causes of requests.
    """

    def __init__(self, runtime: Runtime, client_id: str, causes: RequestCauses) -> None:
        encoder = RequestEncoder(client_id)
        super().__init__(runtime, lambda: _BetweenBrokers(encoder), causes)


class _BetweenBrokers:
    """The codec of a connection between brokers. Args: encoder: that of the whole process."""

    def __init__(self, encoder: RequestEncoder) -> None:
        self._encoder = encoder
        self._replication = FollowerRequests()

    def encode(self, request: BrokerRequest | FollowerRequest, correlation_id: int) -> bytes:
        if isinstance(request, FollowerRequest):
            return self._replication.encode(request, correlation_id)
        return self._encoder.encode(request, correlation_id)

    def decode(self, frame: bytes, request: BrokerRequest | FollowerRequest) -> tuple[int, Any]:
        if isinstance(request, FollowerRequest):
            return self._replication.decode(frame, request)
        return decode_answer(frame, request)
