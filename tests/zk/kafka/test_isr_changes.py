"""The gateway to the ISR change notifications."""

import pytest

from kcsim.zk.errors import ControllerMovedError
from kcsim.zk.operations import Create
from kcsim.znodes import BadZnodeError, paths
from tests.zk.kafka.gateway_values import EPOCH_0, MOVED, ORDERS, ORDERS_0, prepared
from tests.zk.kafka.scripted import Bench


def test_isr_changes_are_written_read_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        first = await bench.by_hand.isr_changes.create([ORDERS[1], ORDERS[0]])
        await bench.by_hand.isr_changes.create([ORDERS[1]])
        names = await bench.kafka_zk.isr_changes.names()
        assert names == ("isr_change_0000000000", "isr_change_0000000001")
        assert first == paths.child(paths.ISR_CHANGE_NOTIFICATION, names[0])
        assert await bench.kafka_zk.isr_changes.read_partitions(names) == ORDERS[:2]
        with pytest.raises(ControllerMovedError):
            await bench.kafka_zk.isr_changes.delete(names, MOVED)
        await bench.kafka_zk.isr_changes.delete(names, EPOCH_0)
        assert await bench.kafka_zk.isr_changes.names() == ()

    bench.runtime.run(main())


def test_an_isr_change_that_is_no_json_is_ignored_and_one_of_another_form_an_error(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.tree(Create(paths.ISR_CHANGE_PREFIX, b"junk", sequential=True))
        await bench.by_hand.isr_changes.create([ORDERS_0])
        names = await bench.kafka_zk.isr_changes.names()
        assert await bench.kafka_zk.isr_changes.read_partitions(names) == [ORDERS_0]
        await bench.tree(Create(paths.ISR_CHANGE_PREFIX, b"{}", sequential=True))
        with pytest.raises(BadZnodeError):
            await bench.kafka_zk.isr_changes.read_partitions(await bench.kafka_zk.isr_changes.names())

    bench.runtime.run(main())


def test_a_child_that_is_no_sequential_znode_is_neither_read_nor_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        by_hand = paths.child(paths.ISR_CHANGE_NOTIFICATION, "written-by-hand")
        await bench.tree(Create(by_hand, b'{"version":1,"partitions":[{"topic":"orders","partition":0}]}'))
        names = await bench.kafka_zk.isr_changes.names()
        assert await bench.kafka_zk.isr_changes.read_partitions(names) == []
        await bench.kafka_zk.isr_changes.delete(names, EPOCH_0)
        assert await bench.by_hand.znodes.get_data(by_hand) is not None
        await bench.tree(Create(paths.child(paths.ISR_CHANGE_NOTIFICATION, "mine")))
        with pytest.raises(BadZnodeError, match="mine: the name is too short"):
            await bench.kafka_zk.isr_changes.names()

    bench.runtime.run(main())
