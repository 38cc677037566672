"""Registration of a broker: existing znodes that count as its own, are replaced, or are refused.

Source: docs/kafka/znodes.md 5.2.
"""

import pytest

from kcsim.vocabulary import BrokerEpoch, BrokerId, BrokerInfo, Endpoint, ZkVersion
from kcsim.zk.errors import NodeExistsError, SessionExpiredError
from kcsim.zk.operations import Create, Delete, GetData, Multi, Request, SetData
from kcsim.znodes import paths
from tests.zk.kafka.scripted import Bench, writes

INFO = BrokerInfo(BrokerId(7), (Endpoint("PLAINTEXT", "PLAINTEXT", "b7", 9092),), rack="dc1", timestamp_ms=5)
PATH = paths.broker_id(BrokerId(7))


async def connected(bench: Bench) -> None:
    await bench.connect()
    await bench.by_hand.cluster.create_top_level_paths()


def is_registration(request: Request) -> bool:
    return isinstance(request, Multi)


def test_a_fresh_registration_is_one_multi_and_has_data_version_1(bench: Bench) -> None:
    """The setData is there for the stat in its answer: the broker epoch is the znode's czxid."""

    async def main() -> None:
        await connected(bench)
        epoch = await bench.kafka_zk.brokers.register(INFO)
        (multi,) = writes(bench.session.calls)
        assert isinstance(multi, Multi)
        create, set_data = multi.ops
        assert create == Create(PATH, None, ephemeral=True)
        assert isinstance(set_data, SetData)
        assert set_data.version == ZkVersion(0)
        found = await bench.kafka_zk.znodes.get_data(PATH)
        assert found is not None
        assert (found.stat.version, BrokerEpoch(found.stat.czxid)) == (1, epoch)
        assert found.stat.ephemeral_owner == bench.client.session_id
        assert await bench.kafka_zk.brokers.read(INFO.broker_id) == INFO

    bench.runtime.run(main())


def test_a_registration_whose_answer_was_lost_is_recognised_by_its_owner(bench: Bench) -> None:
    async def main() -> None:
        await connected(bench)
        bench.zookeeper.lose_reply(is_registration, is_applied=True)
        epoch = await bench.kafka_zk.brokers.register(INFO)
        found = await bench.kafka_zk.znodes.get_data(PATH)
        assert found is not None
        assert BrokerEpoch(found.stat.czxid) == epoch

    bench.runtime.run(main())


def test_a_foreign_registration_is_refused_at_the_start(bench: Bench) -> None:
    """A broker killed and started again within the session time-out finds its own old znode, and fails to start."""

    async def main() -> None:
        await connected(bench)
        await bench.by_hand.brokers.register(INFO)
        with pytest.raises(NodeExistsError):
            await bench.kafka_zk.brokers.register(INFO)
        assert not any(isinstance(r, Delete) for r in writes(bench.session.calls))

    bench.runtime.run(main())


def test_a_registration_that_goes_meanwhile_is_no_obstacle(bench: Bench) -> None:
    async def main() -> None:
        await connected(bench)
        await bench.by_hand.brokers.register(INFO)

        def it_goes(request: Request) -> bool:
            if isinstance(request, GetData):
                bench.zookeeper.sessions[1].expire()
            return False

        bench.zookeeper.lose_reply(it_goes, is_applied=False)
        await bench.kafka_zk.brokers.register(INFO)
        assert await bench.kafka_zk.brokers.read(INFO.broker_id) == INFO

    bench.runtime.run(main())


def test_what_this_processs_former_session_left_over_is_replaced(bench: Bench) -> None:
    """The znode should have been deleted with its session; in one known case it was not (KAFKA-7165)."""

    async def main() -> None:
        await connected(bench)
        first = await bench.kafka_zk.brokers.register(INFO)
        former = bench.session
        # The client considers its session dead and opens another; the server still keeps the old one, and its znode.
        former.believe_expired()
        await bench.runtime.sleep_ms(10)
        assert bench.session is not former
        second = await bench.kafka_zk.brokers.register(INFO)
        assert second > first
        assert writes(bench.session.calls)[-3:-1] == [GetData(PATH), Delete(PATH)]
        found = await bench.kafka_zk.znodes.get_data(PATH)
        assert found is not None
        assert found.stat.ephemeral_owner == bench.client.session_id

    bench.runtime.run(main())


def test_a_foreign_registration_is_refused_after_expiry_too(bench: Bench) -> None:
    """The broker stays unregistered until its next expiry."""

    async def main() -> None:
        await connected(bench)
        await bench.kafka_zk.brokers.register(INFO)
        bench.session.expire()
        await bench.by_hand.brokers.register(INFO)
        await bench.runtime.sleep_ms(10)
        with pytest.raises(NodeExistsError):
            await bench.kafka_zk.brokers.register(INFO)

    bench.runtime.run(main())


def test_registering_twice_in_one_session_keeps_the_epoch(bench: Bench) -> None:
    async def main() -> None:
        await connected(bench)
        first = await bench.kafka_zk.brokers.register(INFO)
        assert await bench.kafka_zk.brokers.register(INFO) == first

    bench.runtime.run(main())


def test_a_new_session_registers_under_a_higher_epoch(bench: Bench) -> None:
    async def main() -> None:
        await connected(bench)
        first = await bench.kafka_zk.brokers.register(INFO)
        bench.session.expire()
        await bench.runtime.sleep_ms(10)
        assert await bench.kafka_zk.brokers.register(INFO) > first

    bench.runtime.run(main())


def test_a_dead_session_cannot_register(bench: Bench) -> None:
    async def main() -> None:
        await connected(bench)
        bench.zookeeper.refusals = 1
        bench.session.expire()
        with pytest.raises(SessionExpiredError):
            await bench.kafka_zk.brokers.register(INFO)

    bench.runtime.run(main())


def test_a_broker_changes_what_it_says_of_itself_whatever_the_version(bench: Bench) -> None:
    async def main() -> None:
        await connected(bench)
        epoch = await bench.kafka_zk.brokers.register(INFO)
        moved = BrokerInfo(INFO.broker_id, (Endpoint("PLAINTEXT", "PLAINTEXT", "elsewhere", 9092),))
        await bench.kafka_zk.brokers.update(moved)
        assert await bench.kafka_zk.brokers.read_all_with_epochs(register_watch=True) == [(moved, epoch)]

    bench.runtime.run(main())
