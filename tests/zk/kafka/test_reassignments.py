"""The gateway to the requested reassignments."""

from kcsim.zk.operations import Create
from kcsim.znodes import paths
from tests.zk.kafka.gateway_values import EPOCH_0, ORDERS, ids, prepared
from tests.zk.kafka.scripted import Bench


def test_reassignments_are_asked_for_rewritten_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        plans = {ORDERS[0]: ids(4, 5), ORDERS[1]: ids(5, 6)}
        assert await bench.kafka_zk.reassignments.read() == {}
        await bench.by_hand.reassignments.create(plans)
        assert await bench.kafka_zk.reassignments.read() == plans
        await bench.kafka_zk.reassignments.set_or_create({ORDERS[1]: ids(5, 6)}, EPOCH_0)
        assert await bench.kafka_zk.reassignments.read() == {ORDERS[1]: ids(5, 6)}
        await bench.kafka_zk.reassignments.delete(EPOCH_0)
        await bench.kafka_zk.reassignments.set_or_create(plans, EPOCH_0)
        assert await bench.kafka_zk.reassignments.read() == plans

    bench.runtime.run(main())


def test_reassignments_are_written_also_where_there_is_no_admin_znode_yet(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create(paths.CONTROLLER_EPOCH, b"1"))
        plans = {ORDERS[0]: ids(4, 5)}
        await bench.kafka_zk.reassignments.set_or_create(plans, EPOCH_0)
        assert await bench.kafka_zk.reassignments.read() == plans

    bench.runtime.run(main())


def test_reassignments_that_are_no_json_are_none_and_reported(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.tree(Create(paths.REASSIGN_PARTITIONS, b"{nonsense"))
        assert await bench.kafka_zk.reassignments.read() == {}
        assert bench.kafka_zk.znodes.parse_failures == {paths.REASSIGN_PARTITIONS: 1}

    bench.runtime.run(main())
