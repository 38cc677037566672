"""Producer ids: each broker gives those of its own blocks.

It takes them from /latest_producer_id_block, or the controller does for it. Source: Kafka 2.8, ProducerIdManager;
recordings of Kafka 3.9.1; KIP-730.
"""

import random

import pytest

from kcsim import znodes
from kcsim.brokers.api.producer_ids import RETRY_MS
from kcsim.brokers.config import PROTOCOL_VERSION, BrokerConfig
from kcsim.brokers.requests import InitProducerIdRequest, InitProducerIdResponse
from kcsim.controller.requests import AllocateProducerIdsRequest, AllocateProducerIdsResponse, ErrorCode
from kcsim.zk.kafka.producer_ids import BLOCK_SIZE
from kcsim.zk.operations import SetData
from kcsim.znodes import paths
from kcsim.znodes.cluster import ProducerIdBlock
from tests.brokers.broker_bench import B1, CAUSE, CONTROLLER, OWN_EPOCH, BrokerBench
from tests.brokers.scripted_controller import ScriptedController

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


# --- from the controller: protocol version 3.0


def block_of(first: int) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(first=first, count=BLOCK_SIZE)


class AllocationBench(BrokerBench):
    """Broker 1, which asks a scripted controller for blocks."""

    def __init__(self) -> None:
        super().__init__(BrokerConfig.of({PROTOCOL_VERSION: "3.0"}))
        self.controller = ScriptedController(self.runtime, self.network, CONTROLLER)

    async def know_controller(self) -> None:
        await self.make_paths()
        await self.update_metadata(alive=(B1, CONTROLLER))

    async def wait(self) -> None:
        await self.runtime.sleep_ms(2 * RETRY_MS)


LOADING = InitProducerIdResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def test_the_first_producer_has_to_try_again_until_the_controller_has_answered() -> None:
    """Recorded from Kafka 3.9.1."""
    bench = AllocationBench()

    async def script() -> None:
        await bench.know_controller()
        assert await new_id(bench) == LOADING
        assert await new_id(bench) == LOADING
        request = await bench.controller.allocate(block_of(5_000))
        assert request == AllocateProducerIdsRequest(B1, OWN_EPOCH)
        await bench.wait()
        assert [await new_id(bench) for _ in range(2)] == [
            InitProducerIdResponse(ErrorCode.NONE, n, 0) for n in (5_000, 5_001)
        ]
        assert len(bench.controller.received) == 1
        found = await bench.by_hand.znodes.get_data(PATH)
        assert found is not None
        assert not found.data  # the broker does not write it

    bench.play(script)


def test_the_next_block_is_asked_for_when_nine_tenths_are_used() -> None:
    """Recorded from Kafka 3.9.1: the id 900 of the block 0 to 999 brings the next block."""
    bench = AllocationBench()

    async def script() -> None:
        await bench.know_controller()
        await new_id(bench)
        await bench.controller.allocate(block_of(0))
        await bench.wait()
        assert [(await new_id(bench)).producer_id for _ in range(900)] == list(range(900))
        await bench.wait()
        assert len(bench.controller.received) == 1
        assert (await new_id(bench)).producer_id == 900
        await bench.controller.allocate(block_of(3_000))
        await bench.wait()
        assert [(await new_id(bench)).producer_id for _ in range(101)] == [*range(901, 1_000), 3_000, 3_001]
        assert len(bench.controller.received) == 2

    bench.play(script)


def test_a_block_that_the_controller_refuses_is_asked_for_by_a_later_producer() -> None:
    bench = AllocationBench()

    async def script() -> None:
        await bench.know_controller()
        assert await new_id(bench) == LOADING
        await bench.controller.allocate(AllocateProducerIdsResponse(ErrorCode.STALE_BROKER_EPOCH))
        await bench.wait()
        assert len(bench.controller.received) == 1
        assert await new_id(bench) == LOADING
        await bench.controller.allocate(block_of(0))
        await bench.wait()
        assert (await new_id(bench)).producer_id == 0

    bench.play(script)


@pytest.mark.parametrize("bench_of", [BrokerBench, AllocationBench])
def test_no_broker_coordinates_transactions(bench_of: type[BrokerBench]) -> None:
    bench = bench_of()

    async def script() -> None:
        assert (await new_id(bench, "payments")).error is ErrorCode.NOT_COORDINATOR

    bench.play(script)
