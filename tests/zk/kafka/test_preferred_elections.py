"""The gateway to the requested election of preferred leaders."""

from tests.zk.kafka.gateway_values import EPOCH_0, ORDERS, prepared
from tests.zk.kafka.scripted import Bench


def test_preferred_leaders_are_asked_for_read_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        assert await bench.kafka_zk.preferred_elections.read() == ()
        await bench.by_hand.preferred_elections.create(ORDERS[:2])
        assert await bench.kafka_zk.preferred_elections.read() == tuple(ORDERS[:2])
        await bench.kafka_zk.preferred_elections.delete(EPOCH_0)
        assert await bench.kafka_zk.preferred_elections.read() == ()

    bench.runtime.run(main())
