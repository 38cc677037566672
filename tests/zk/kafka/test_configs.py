"""The gateway to the settings of entities."""

import pytest

from kcsim.zk.operations import Create
from kcsim.znodes import BadZnodeError, paths
from tests.zk.kafka.gateway_values import EPOCH_0, prepared
from tests.zk.kafka.scripted import Bench


def test_settings_are_written_read_and_deleted(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        assert await bench.kafka_zk.configs.read_entity("topics", "orders") == {}
        await bench.by_hand.configs.set_or_create("topics", "orders", {"unclean.leader.election.enable": "true"})
        await bench.by_hand.configs.set_or_create("topics", "plain", {})
        assert await bench.kafka_zk.configs.read_entity("topics", "orders") == {"unclean.leader.election.enable": "true"}
        assert await bench.kafka_zk.configs.read_topics(["plain", "orders", "none"]) == {
            "plain": {},
            "orders": {"unclean.leader.election.enable": "true"},
            "none": {},
        }
        await bench.kafka_zk.configs.delete_topics(["orders"], EPOCH_0)
        assert await bench.kafka_zk.configs.read_entity("topics", "orders") == {}

    bench.runtime.run(main())


def test_a_value_that_is_no_string_spoils_the_batch(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        await bench.tree(Create(paths.topic_config("bad"), b'{"version":1,"config":{"a":1}}'))
        with pytest.raises(BadZnodeError):
            await bench.kafka_zk.configs.read_topics(["bad", "good"])

    bench.runtime.run(main())
