"""A broker's reception of requests from the network. Source: docs/kafka/znodes.md 5.2, docs/kafka/requests.md 10-4, 4.1."""

import pytest

from kcsim.brokers.requests import FetchPartition, FetchRequest
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import (
    BrokerRequest,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ErrorCode,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.errors import TimedOutError
from kcsim.vocabulary import ControllerEpoch, LeaderEpoch
from tests.brokers.broker_bench import B2, CAUSE, CONTROLLER, ORDERS_0, OWN_EPOCH, BrokerBench, refused

HOST, PORT = "localhost", 9093
METADATA = UpdateMetadataRequest(CONTROLLER, ControllerEpoch(1), OWN_EPOCH, {}, ())


async def ask(bench: BrokerBench, request: BrokerRequest | FetchRequest, within_ms: int = 100) -> object:
    connection = await bench.network.interface().connect(HOST, PORT, within_ms)
    return await connection.send(request, within_ms, CAUSE)


def test_what_comes_before_the_start_waits_in_the_socket() -> None:
    """The socket is bound before the broker registers, and served after its controller module has started."""
    bench = BrokerBench()
    answers: list[object] = []

    async def controller() -> None:
        answers.append(await ask(bench, METADATA, within_ms=1_000))

    async def script() -> None:
        listening = bench.interface.listen(HOST, PORT)
        asking = bench.runtime.spawn("controller", controller())
        await bench.runtime.sleep_ms(500)
        assert answers == []
        bench.handlers.start(listening)
        await asking.join()

    bench.play(script)
    assert answers == [UpdateMetadataResponse()]


def test_a_fetch_that_waits_holds_nobody_up() -> None:
    bench = BrokerBench()
    parked = FetchRequest(B2, 10_000, {ORDERS_0: FetchPartition(LeaderEpoch(0), 0, CAUSE)})

    async def script() -> None:
        await bench.lead()
        bench.handlers.start(bench.interface.listen(HOST, PORT))
        with pytest.raises(TimedOutError):
            await ask(bench, parked)
        assert await ask(bench, METADATA) == UpdateMetadataResponse()

    bench.play(script)


def test_each_kind_of_request_finds_its_way() -> None:
    bench = BrokerBench()

    async def script() -> None:
        bench.handlers.start(bench.interface.listen(HOST, PORT))
        shutdown = ControlledShutdownRequest(B2, OWN_EPOCH)
        assert await ask(bench, shutdown) == ControlledShutdownResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
        unknown = FetchRequest(B2, 0, {ORDERS_0: FetchPartition(LeaderEpoch(0), 0, CAUSE)})
        assert await ask(bench, unknown) == refused({ORDERS_0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})

    bench.play(script)


def test_once_closed_nothing_is_answered_any_more() -> None:
    """A client of a broker that is stopping finds the connection refused."""
    bench = BrokerBench()

    async def script() -> None:
        listening = bench.interface.listen(HOST, PORT)
        bench.handlers.start(listening)
        assert await ask(bench, METADATA) == UpdateMetadataResponse()
        listening.close()
        bench.handlers.close()
        with pytest.raises(BrokerConnectionError):
            await ask(bench, METADATA)

    bench.play(script)
