"""Damaged requests of real clients: brokers answer them or refuse them, and go on serving everybody else.

The frames are those that real clients sent to Kafka, with some bytes changed. The brokers of a simulated cluster get them.
"""

import random
from collections import Counter
from contextlib import suppress

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.requests import MetadataRequest, MetadataResponse
from kcsim.brokers.wire.apis.api import AnsweredRequestError, ConnectionRefusedByApiError
from kcsim.brokers.wire.apis.registry import answer_frame, is_served, request_of
from kcsim.brokers.wire.fetch_sessions import FetchSessions
from kcsim.brokers.wire.frames import UnknownVersionError, decode_request
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.controller.admin.topics import NewTopic
from kcsim.errors import TimedOutError
from tests.brokers.cluster.environments import play, start_and_elect
from tests.brokers.wire.recorded_frames import recorded_exchanges
from tests.brokers.wire.response_frames import response_frame

FRAMES = 2_000
SERVED = [one for one in recorded_exchanges() if is_served(one.api_key, one.version)]
TOPIC = "w"
"""The topic of most recorded requests."""
WAITED_MS = 50
"""How long an answer is waited for: a request may say that it waits for days."""


class DamagedRequests:
    """Sends damaged requests to the brokers of a cluster. Attributes: outcomes: how often each kind of end was seen."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self._addresses = cluster.bootstrap
        self._network = cluster.client_process("client").network
        self._numbers = random.Random(seed)
        self._sessions = FetchSessions(cluster.runtime.now_ms)

    async def send(self) -> None:
        """Send one of the recorded requests with up to four changed bytes to one of the brokers."""
        damaged = bytearray(self._numbers.choice(SERVED).request)
        for _ in range(self._numbers.randrange(5)):
            damaged[self._numbers.randrange(len(damaged))] = self._numbers.randrange(256)
        self.outcomes[await self._outcome(bytes(damaged))] += 1

    async def _outcome(self, damaged: bytes) -> str:
        try:
            frame = decode_request(damaged, "127.0.0.1:5000", self._sessions)
            if not is_served(frame.api_key, frame.version):
                return "unknown version"
            request = request_of(frame)
        except (MalformedFrameError, UnknownVersionError) as error:
            return type(error).__name__
        except AnsweredRequestError as answered:
            answer_frame(answered.values, frame)
            return "answered"
        connection = await self._network.connect(*self._numbers.choice(self._addresses), WAITED_MS)
        try:
            response = await connection.send(request, WAITED_MS, 0)
        except TimedOutError:
            return "waits"
        finally:
            connection.close()
        with suppress(ConnectionRefusedByApiError):
            response_frame(response, frame)
        return "answered"

    async def require_service(self) -> None:
        """Require that every broker answers another client."""
        for address in self._addresses:
            connection = await self._network.connect(*address, WAITED_MS)
            assert isinstance(await connection.send(MetadataRequest(), WAITED_MS, 0), MetadataResponse)
            connection.close()


def outcomes_of(frames: int, seed: int) -> Counter[str]:
    """Send this many damaged requests to a new cluster. Return how often each kind of end was seen."""
    outcomes: Counter[str] = Counter()

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.topics.create(NewTopic(TOPIC, 3, 3), random.Random(1))
        requests = DamagedRequests(cluster, seed)
        for number in range(frames):
            await requests.send()
            if number % 100 == 0:
                await requests.require_service()
        await requests.require_service()
        outcomes.update(requests.outcomes)

    play(script)
    return outcomes


def test_damaged_requests_are_answered_or_refused_and_brokers_serve_on() -> None:
    outcomes = outcomes_of(FRAMES, 1)
    assert outcomes.total() == FRAMES
    assert outcomes["answered"] > FRAMES / 4
    assert outcomes["MalformedFrameError"] > FRAMES / 100


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100))
def test_a_million_damaged_requests(seed: int) -> None:
    assert outcomes_of(10_000, seed).total() == 10_000
