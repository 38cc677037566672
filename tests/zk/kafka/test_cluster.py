"""The gateway to the top-level znodes and the cluster id."""

import pytest

from kcsim.zk.operations import Create
from kcsim.znodes import BadZnodeError, paths
from tests.zk.kafka.gateway_values import data_of
from tests.zk.kafka.scripted import Bench


def test_a_starting_broker_makes_sure_of_the_top_level_paths_with_null_data(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/admin", b"kept"))
        await bench.kafka_zk.cluster.create_top_level_paths()
        assert [await data_of(bench, path) for path in paths.TOP_LEVEL_PATHS] == [None] * len(paths.TOP_LEVEL_PATHS)
        assert all([await bench.by_hand.znodes.exists(path) for path in paths.TOP_LEVEL_PATHS])
        assert await data_of(bench, "/admin") == b"kept"

    bench.runtime.run(main())


def test_the_second_broker_to_start_writes_nothing(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.by_hand.cluster.create_top_level_paths()
        before = bench.zookeeper.server.zxid
        await bench.kafka_zk.cluster.create_top_level_paths()
        assert bench.zookeeper.server.zxid == before

    bench.runtime.run(main())


def test_brokers_that_start_together_do_not_disturb_each_other(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        starting = [
            bench.runtime.spawn(str(number), zk.cluster.create_top_level_paths())
            for number, zk in enumerate((bench.kafka_zk, bench.by_hand))
        ]
        for task in starting:
            await task.join()
        assert all([await bench.by_hand.znodes.exists(path) for path in paths.TOP_LEVEL_PATHS])

    bench.runtime.run(main())


def test_all_brokers_agree_on_the_cluster_id_that_the_first_made_up(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        first = await bench.kafka_zk.cluster.get_or_create_id()
        assert await bench.by_hand.cluster.get_or_create_id() == first
        assert len(first) == 22
        assert await data_of(bench, paths.CLUSTER_ID) == f'{{"version":"1","id":"{first}"}}'.encode()

    bench.runtime.run(main())


def test_a_cluster_id_whose_answer_was_lost_is_read_back(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/cluster"))
        bench.zookeeper.lose_reply(lambda r: isinstance(r, Create), is_applied=True)
        assert len(await bench.kafka_zk.cluster.get_or_create_id()) == 22

    bench.runtime.run(main())


def test_a_cluster_id_that_cannot_be_read_is_an_error(bench: Bench) -> None:
    async def main() -> None:
        await bench.connect()
        await bench.tree(Create("/cluster"), Create(paths.CLUSTER_ID, b"junk"))
        with pytest.raises(BadZnodeError):
            await bench.kafka_zk.cluster.get_or_create_id()

    bench.runtime.run(main())
