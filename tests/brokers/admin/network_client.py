"""An admin client in virtual time."""

from typing import Any

from kio.index import load_request_schema

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.wire.apis.registry import request_of
from kcsim.brokers.wire.frames import decode_request, decode_response, encode_request
from kcsim.brokers.wire.message_building import message_of
from tests.brokers.admin.recorded_answers import receiver
from tests.brokers.admin.requests_of_admin_clients import SentRequest
from tests.brokers.cluster.environments import WITHIN_MS, controller_of
from tests.brokers.wire.plain_messages import plain
from tests.brokers.wire.response_frames import response_frame


class NetworkClient:
    """Sends requests to the brokers of a simulated run, as they come out of frames."""

    def __init__(self, cluster: Cluster) -> None:
        self._addresses = dict(zip((1, 2, 3), cluster.bootstrap, strict=True))
        self._network = cluster.client_process("admin").network
        self._controller = int(controller_of(cluster).removeprefix("broker-"))

    async def ask(self, request: SentRequest) -> Any:
        key, version = request.api_key, request.version
        frame = decode_request(encode_request(message_of(load_request_schema(key, version), request.values), 7, "test"))
        connection = await self._network.connect(*self._addresses[receiver(request, self._controller)], WITHIN_MS)
        response = await connection.send(request_of(frame), WITHIN_MS, 0)
        connection.close()
        answer = response_frame(response, frame)
        assert answer is not None
        return plain(decode_response(answer, key, version)[1])
