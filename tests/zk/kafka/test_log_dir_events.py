"""The gateway to the log directory notifications."""

from kcsim.vocabulary import (
    BrokerId,
)
from tests.zk.kafka.gateway_values import EPOCH_0, prepared
from tests.zk.kafka.scripted import Bench


def test_log_dir_events_are_written_read_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        for number in (2, 1, 2):
            await bench.by_hand.log_dir_events.create(BrokerId(number))
        names = await bench.kafka_zk.log_dir_events.names()
        assert await bench.kafka_zk.log_dir_events.read_brokers(names) == [1, 2]
        await bench.kafka_zk.log_dir_events.delete(names, EPOCH_0)
        assert await bench.kafka_zk.log_dir_events.names() == ()

    bench.runtime.run(main())
