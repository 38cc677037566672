"""Values, and a prepared cluster, for tests of the gateways."""

from kcsim.vocabulary import (
    BrokerId,
    BrokerInfo,
    ControllerEpoch,
    ControllerEpochZkVersion,
    Endpoint,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    TopicPartition,
    ZkVersion,
)
from kcsim.zk.operations import Create
from kcsim.znodes import paths
from tests.zk.kafka.scripted import Bench

EPOCH_0 = ControllerEpochZkVersion(0)
MOVED = ControllerEpochZkVersion(7)
ORDERS = [TopicPartition("orders", p) for p in range(3)]
ORDERS_0 = ORDERS[0]
STATE_0 = paths.topic_partition_state(ORDERS_0)


def ids(*brokers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, brokers))


def state(leader: int | None, isr: tuple[int, ...], epoch: int = 0, version: int = 0, ce: int = 1) -> PartitionState:
    of = None if leader is None else BrokerId(leader)
    return PartitionState(LeaderAndIsr(of, LeaderEpoch(epoch), ids(*isr), ZkVersion(version)), ControllerEpoch(ce))


def broker(number: int) -> BrokerInfo:
    return BrokerInfo(BrokerId(number), (Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092 + number),))


async def prepared(bench: Bench) -> None:
    """Prepare a cluster that has had a controller: /controller_epoch is at version 0."""
    await bench.connect()
    await bench.by_hand.cluster.create_top_level_paths()
    await bench.tree(Create(paths.CONTROLLER_EPOCH, b"1"))


async def data_of(bench: Bench, path: str) -> bytes | None:
    found = await bench.by_hand.znodes.get_data(path)
    return found.data if found else None
