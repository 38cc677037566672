"""The gateway to the znodes of topics."""

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import (
    ReplicaAssignment,
    TopicState,
)
from kcsim.zk.errors import ControllerMovedError
from kcsim.zk.kafka.fencing import UNFENCED
from kcsim.zk.kafka.zookeeper_client import NodeHandler
from kcsim.zk.operations import Create, Multi
from kcsim.znodes import BadZnodeError, paths
from tests.zk.kafka.gateway_values import EPOCH_0, MOVED, ORDERS, ids, prepared, state
from tests.zk.kafka.scripted import Bench, writes


def test_topics_are_read_watched_and_those_that_are_gone_left_out(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        orders = TopicState({0: ReplicaAssignment(ids(1, 2))})
        await bench.by_hand.topics.create("orders", orders)
        heard: list[Cause] = []
        bench.client.register_node_handler(paths.topic("orders"), NodeHandler(data_changed=heard.append))
        assert await bench.kafka_zk.topics.read(["orders", "gone"]) == {"orders": orders}
        assert await bench.kafka_zk.topics.names() == ("orders",)
        await bench.by_hand.topics.set_assignment("orders", TopicState({0: ReplicaAssignment(ids(2))}), UNFENCED)
        assert len(heard) == 1

    bench.runtime.run(main())


def test_a_topic_that_is_no_json_has_no_partitions_and_harms_no_other(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topics.create("good", TopicState({0: ReplicaAssignment(ids(1))}))
        await bench.tree(Create(paths.topic("bad"), b"junk"))
        found = await bench.kafka_zk.topics.read(["bad", "good"])
        assert found["bad"] == TopicState({})
        assert found["good"].assignments == {0: ReplicaAssignment(ids(1))}
        assert bench.kafka_zk.znodes.parse_failures == {"/brokers/topics/bad": 1}

    bench.runtime.run(main())
    (bad,) = [e for e in bench.log.events if e.kind is EventKind.BAD_ZNODE]
    assert bad.error is None
    assert bad.detail is not None
    assert "taken for absent or empty" in bad.detail


def test_a_topic_of_another_form_spoils_all_that_were_asked_for_with_it(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topics.create("good", TopicState({0: ReplicaAssignment(ids(1))}))
        await bench.tree(Create(paths.topic("bad"), b'{"partitions":{"x":[1]}}'))
        with pytest.raises(BadZnodeError):
            await bench.kafka_zk.topics.read(["good", "bad"])

    bench.runtime.run(main())


def test_a_topic_is_deleted_from_its_leaves_up_and_fenced(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topics.create("orders", TopicState({}))
        await bench.kafka_zk.partition_states.create({tp: state(1, (1,)) for tp in ORDERS[:2]}, EPOCH_0)
        with pytest.raises(ControllerMovedError):
            await bench.kafka_zk.topics.delete("orders", MOVED)
        await bench.kafka_zk.topics.delete("orders", EPOCH_0)
        assert await bench.kafka_zk.topics.names() == ()
        last = writes(bench.session.calls)[-2]
        assert isinstance(last, Multi)
        assert [op.path for op in last.ops] == [
            paths.CONTROLLER_EPOCH,
            "/brokers/topics/orders/partitions/0/state",
            "/brokers/topics/orders/partitions/0",
            "/brokers/topics/orders/partitions/1/state",
            "/brokers/topics/orders/partitions/1",
            "/brokers/topics/orders/partitions",
            "/brokers/topics/orders",
        ]

    bench.runtime.run(main())


def test_deleting_what_is_gone_is_no_error(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.kafka_zk.topics.delete("orders", EPOCH_0)
        await bench.kafka_zk.configs.delete_topics(["orders"], EPOCH_0)
        await bench.kafka_zk.topic_deletions.delete(["orders"], EPOCH_0)

    bench.runtime.run(main())
