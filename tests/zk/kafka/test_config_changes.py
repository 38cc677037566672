"""The gateway to the notifications of changed settings."""

from kcsim.zk.operations import ChildrenRead, DataRead, GetChildren, GetData
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


def test_announcements_from_before_a_time_are_deleted_and_those_at_that_time_stay(bench: Bench) -> None:
    async def main() -> None:
        await prepared(bench)
        for _ in range(3):
            await bench.by_hand.config_changes.create("topics/orders")
            await bench.runtime.sleep_ms(10)
        names = [f"config_change_{number:010}" for number in range(3)]
        (middle,) = await bench.other.request([GetData(paths.child(paths.CONFIG_CHANGES, names[1]))])
        assert isinstance(middle, DataRead)
        await bench.kafka_zk.config_changes.delete_older([*names, "config_change_0000000009"], middle.stat.ctime_ms)
        (left,) = await bench.other.request([GetChildren(paths.CONFIG_CHANGES)])
        assert isinstance(left, ChildrenRead)
        assert sorted(left.children) == names[1:]

    bench.runtime.run(main())
