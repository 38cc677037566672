"""Producer ids: each broker gives those of its own blocks, which it takes from /latest_producer_id_block."""

import random

from kcsim import znodes
from kcsim.brokers.requests import InitProducerIdRequest, InitProducerIdResponse
from kcsim.controller.requests import ErrorCode
from kcsim.zk.kafka.producer_ids import BLOCK_SIZE
from kcsim.zk.operations import SetData
from kcsim.znodes import paths
from kcsim.znodes.cluster import ProducerIdBlock
from tests.brokers.broker_bench import B1, CAUSE, BrokerBench

PATH = paths.LATEST_PRODUCER_ID_BLOCK


async def new_id(bench: BrokerBench, transactional_id: str | None = None) -> InitProducerIdResponse:
    response = await bench.handlers.handle(InitProducerIdRequest(transactional_id), CAUSE)
    assert isinstance(response, InitProducerIdResponse)
    return response


async def block(bench: BrokerBench) -> ProducerIdBlock:
    found = await bench.by_hand.znodes.get_data(PATH)
    assert found is not None
    return znodes.decode_producer_id_block(PATH, found.data)


def test_ids_follow_each_other_and_the_block_is_in_zookeeper() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.make_paths()
        assert [await new_id(bench) for _ in range(3)] == [InitProducerIdResponse(ErrorCode.NONE, n, 0) for n in range(3)]
        assert await block(bench) == ProducerIdBlock(B1, 0, 999)

    bench.play(script)


def test_a_used_up_block_is_followed_by_the_next_one_that_nobody_has_taken() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.make_paths()
        for _ in range(BLOCK_SIZE):
            await new_id(bench)
        await bench.tree(SetData(PATH, znodes.encode_producer_id_block(ProducerIdBlock(B1, 1_000, 1_999))))
        assert (await new_id(bench)).producer_id == 2_000
        assert await block(bench) == ProducerIdBlock(B1, 2_000, 2_999)

    bench.play(script)


def test_many_producers_at_once_get_different_ids() -> None:
    bench = BrokerBench()

    async def script() -> None:
        await bench.make_paths()
        asked = [bench.begun(new_id(bench)) for _ in range(20)]
        random.Random(1).shuffle(asked)
        assert sorted([(await one.wait(1_000)).producer_id for one in asked]) == list(range(20))

    bench.play(script)


def test_without_the_znode_or_with_unreadable_content_no_id_is_given() -> None:
    bench = BrokerBench()

    async def script() -> None:
        assert (await new_id(bench)).error is ErrorCode.UNKNOWN_SERVER_ERROR
        await bench.make_paths()
        await bench.tree(SetData(PATH, b"junk"))
        assert (await new_id(bench)).error is ErrorCode.UNKNOWN_SERVER_ERROR

    bench.play(script)


def test_no_broker_coordinates_transactions() -> None:
    bench = BrokerBench()

    async def script() -> None:
        assert (await new_id(bench, "payments")).error is ErrorCode.NOT_COORDINATOR

    bench.play(script)
