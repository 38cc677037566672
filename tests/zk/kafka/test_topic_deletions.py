"""The gateway to the requests to delete topics."""

import pytest

from kcsim.zk.errors import NodeExistsError
from tests.zk.kafka.gateway_values import EPOCH_0, prepared
from tests.zk.kafka.scripted import Bench


def test_deletions_are_asked_for_once_listed_and_removed(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.by_hand.topic_deletions.create("orders")
        with pytest.raises(NodeExistsError):
            await bench.by_hand.topic_deletions.create("orders")
        assert await bench.kafka_zk.topic_deletions.topics(register_watch=True) == ("orders",)
        await bench.kafka_zk.topic_deletions.delete(["orders"], EPOCH_0)
        assert await bench.kafka_zk.topic_deletions.topics() == ()

    bench.runtime.run(main())
