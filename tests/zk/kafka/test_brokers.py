"""The gateway to the registrations of brokers."""

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import (
    BrokerId,
)
from kcsim.zk.operations import Create, Delete, GetChildren
from kcsim.znodes import BadZnodeError, paths
from tests.zk.kafka.gateway_values import broker, prepared
from tests.zk.kafka.scripted import Bench


def test_brokers_are_listed_by_number_with_their_epochs(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        epochs = {number: await bench.by_hand.brokers.register(broker(number)) for number in (10, 9)}
        assert await bench.kafka_zk.brokers.read_all_with_epochs(register_watch=True) == [
            (broker(9), epochs[9]),
            (broker(10), epochs[10]),
        ]

    bench.runtime.run(main())


def test_one_unreadable_registration_spoils_the_whole_listing(bench: Bench) -> None:
    """Recorded: the BrokerChange event is lost for all brokers."""

    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.brokers.register(broker(1))
        await bench.tree(Create(paths.broker_id(BrokerId(7)), b"junk"))
        with pytest.raises(BadZnodeError, match="Failed to parse ZooKeeper registration for broker 7: junk"):
            await bench.kafka_zk.brokers.read_all_with_epochs(register_watch=True)
        assert bench.kafka_zk.znodes.parse_failures == {"/brokers/ids/7": 1}

    bench.runtime.run(main())
    (bad,) = [e for e in bench.log.events if e.kind is EventKind.BAD_ZNODE]
    assert (bad.node, bad.path, bad.error) == ("broker-1", "/brokers/ids/7", "BadZnodeError")


def test_a_registration_under_a_name_that_is_no_number_spoils_it_too(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.tree(Create(f"{paths.BROKER_IDS}/seven", b"{}"))
        with pytest.raises(BadZnodeError, match="/brokers/ids/seven: no broker id"):
            await bench.kafka_zk.brokers.read_all_with_epochs(register_watch=True)

    bench.runtime.run(main())


def test_a_broker_that_goes_while_the_others_are_read_is_left_out(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.brokers.register(broker(1))
        await bench.tree(Create(paths.broker_id(BrokerId(2)), b"{}"))

        def broker_2_goes(request: object) -> bool:
            if not isinstance(request, GetChildren) and not gone:
                gone.append(2)
                bench.zookeeper.write_by_hand(Delete(paths.broker_id(BrokerId(2))))
            return False

        gone: list[int] = []
        bench.zookeeper.lose_reply(broker_2_goes, is_applied=True)
        assert [info.broker_id for info, _ in await bench.kafka_zk.brokers.read_all_with_epochs(register_watch=True)] == [1]

    bench.runtime.run(main())


def test_a_broker_that_is_not_registered_is_none(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        assert await bench.kafka_zk.brokers.read(BrokerId(1)) is None

    bench.runtime.run(main())


def test_listing_brokers_arms_the_child_watch_only_on_request(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        heard: list[Cause] = []
        bench.client.register_child_handler(paths.BROKER_IDS, heard.append)
        await bench.kafka_zk.brokers.read_all_with_epochs()
        await bench.by_hand.brokers.register(broker(1))
        assert heard == []
        await bench.kafka_zk.brokers.read_all_with_epochs(register_watch=True)
        await bench.by_hand.brokers.register(broker(2))
        assert len(heard) == 1

    bench.runtime.run(main())
