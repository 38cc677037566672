"""Damaged requests of real clients: a broker answers them or refuses them, and nothing else happens to it.

Each is handled by the components of a broker that leads two partitions of the recorded topic and knows of all the others.
"""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.requests import MetadataRequest
from kcsim.brokers.wire.apis.api import ConnectionRefusedByApiError
from kcsim.brokers.wire.apis.registry import is_served, request_of, response_frame
from kcsim.brokers.wire.frames import RequestFrame, UnknownVersionError, decode_request
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.errors import TimedOutError
from kcsim.vocabulary import TopicPartition
from tests.brokers.broker_bench import B1, CAUSE, BrokerBench
from tests.brokers.wire.recorded_frames import Exchange, recorded_exchanges

SERVED = [one for one in recorded_exchanges() if is_served(one.api_key, one.version)]
WITHIN_MS = 60_000


@given(st.sampled_from(SERVED), st.data())
def test_a_damaged_request_is_answered_or_refused(exchange: Exchange, data: st.DataObject) -> None:
    damaged = bytearray(exchange.request)
    for _ in range(data.draw(st.integers(0, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(MalformedFrameError, UnknownVersionError):
        frame = decode_request(bytes(damaged), "127.0.0.1:5000")
        if is_served(frame.api_key, frame.version):
            handled(frame)


def handled(frame: RequestFrame) -> None:
    """Have a broker handle a request, then another one, which it must answer. Raises: MalformedFrameError."""
    request = request_of(frame)
    bench = BrokerBench()

    async def script() -> None:
        await bench.lead(TopicPartition("w", 0), isr=(B1,))
        await bench.lead(TopicPartition("w", 1))
        with suppress(TimedOutError):  # a request may say that it waits for days
            response = await bench.begun(bench.handlers.handle(request, CAUSE)).wait(WITHIN_MS)
            with suppress(ConnectionRefusedByApiError):
                response_frame(response, frame)
        assert await bench.handlers.handle(MetadataRequest(), CAUSE)

    bench.play(script)
