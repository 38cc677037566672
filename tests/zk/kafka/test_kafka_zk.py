"""What holds of all gateways: fences and causes."""

from collections.abc import Awaitable, Callable

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import (
    BrokerEpoch,
    ControllerEpochZkVersion,
    ReplicaAssignment,
    TopicState,
)
from kcsim.zk.errors import ControllerMovedError, ZooKeeperError
from kcsim.zk.kafka.kafka_zk import KafkaZk
from kcsim.zk.operations import GetChildren
from kcsim.znodes import paths
from tests.zk.kafka.gateway_values import MOVED, ORDERS_0, broker, data_of, ids, prepared, state
from tests.zk.kafka.scripted import Bench

Fenced = Callable[[KafkaZk, ControllerEpochZkVersion], Awaitable[object]]


@pytest.mark.parametrize(
    "write",
    [
        lambda zk, v: zk.controller.delete(v),
        lambda zk, v: zk.topics.set_assignment("orders", TopicState({}), v),
        lambda zk, v: zk.topics.delete("orders", v),
        lambda zk, v: zk.configs.delete_topics(["orders"], v),
        lambda zk, v: zk.topic_deletions.delete(["orders"], v),
        lambda zk, v: zk.partition_states.create({ORDERS_0: state(1, (1,))}, v),
        lambda zk, v: zk.partition_states.set({ORDERS_0: state(1, (1,))}, v),
        lambda zk, v: zk.isr_changes.delete(["isr_change_0000000000"], v),
        lambda zk, v: zk.log_dir_events.delete(["log_dir_event_0000000000"], v),
        lambda zk, v: zk.reassignments.set_or_create({}, v),
        lambda zk, v: zk.reassignments.delete(v),
        lambda zk, v: zk.preferred_elections.delete(v),
    ],
)
def test_every_write_of_the_controller_is_fenced(bench: Bench, write: Fenced) -> None:
    """A replaced controller changes nothing: its check of /controller_epoch fails before everything else."""

    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topics.create("orders", TopicState({0: ReplicaAssignment(ids(1))}))
        before = bench.zookeeper.server.tree.get_children(GetChildren("/"), bench.zookeeper.server.zxid)
        topic = await data_of(bench, paths.topic("orders"))
        with pytest.raises(ControllerMovedError):
            await write(bench.kafka_zk, MOVED)
        assert await data_of(bench, paths.topic("orders")) == topic
        after = bench.zookeeper.server.tree.get_children(GetChildren("/"), bench.zookeeper.server.zxid)
        assert not isinstance(before, ZooKeeperError)
        assert not isinstance(after, ZooKeeperError)
        assert after.children == before.children

    bench.runtime.run(main())


def test_everything_written_names_its_cause(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        why = bench.log.sink("broker-1").emit(EventKind.CONTROLLER_EVENT_BEGUN)
        epoch: BrokerEpoch = await bench.kafka_zk.brokers.register(broker(1), why)
        assert epoch > 0
        begun = bench.log.events[why + 1]
        assert (begun.kind, begun.cause) == (EventKind.ZK_WRITE, why)
        assert bench.session.calls[-1][1] == begun.seq

    bench.runtime.run(main())
