"""The gateway to the notifications of changed settings."""

from kcsim.znodes import paths
from tests.zk.kafka.gateway_values import data_of, prepared
from tests.zk.kafka.scripted import Bench


def test_a_change_of_settings_is_announced_by_path(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        path = await bench.by_hand.config_changes.create("topics/orders")
        assert path == paths.CONFIG_CHANGE_PREFIX + "0000000000"
        assert await data_of(bench, path) == b'{"version":2,"entity_path":"topics/orders"}'

    bench.runtime.run(main())
