"""Settings that change while a broker runs. Source: docs/kafka/znodes.md 8."""

import pytest

from kcsim.brokers.config_change_listener import ConfigChangeListener
from kcsim.brokers.dynamic_config import DynamicConfig
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId
from kcsim.zk.memory.server import EPOCH_MS
from kcsim.zk.operations import Create, Delete, SetData
from kcsim.znodes import paths
from tests.zk.kafka.scripted import Bench

UNCLEAN = "unclean.leader.election.enable"
NOW_MS = 10


class Switches:
    """A controller module that records its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def enable_default_unclean_leader_election(self, cause: Cause) -> None:
        self.calls.append("on")

    def disable_default_unclean_leader_election(self) -> None:
        self.calls.append("off")

    def enable_topic_unclean_leader_election(self, topic: str, cause: Cause) -> None:
        self.calls.append(f"on for {topic}")


class ConfigBench(Bench):
    """Broker 1, and an admin who changes settings as Kafka's tools do: the entity first, then the notification."""

    def __init__(self, is_unclean_allowed: bool = False) -> None:
        super().__init__()
        self.switches = Switches()
        self.topics: list[tuple[str, dict[str, str]]] = []
        self.config = DynamicConfig(
            BrokerId(1),
            is_unclean_allowed,
            self.kafka_zk.configs,
            self.switches,
            on_topic=lambda topic, settings: self.topics.append((topic, dict(settings))),
        )
        sink = self.log.sink("broker-1")
        self.listener = ConfigChangeListener(
            self.runtime, self.client, self.kafka_zk.config_changes, sink, EPOCH_MS, self.config.apply
        )

    async def begin(self) -> None:
        await self.connect()
        await self.by_hand.cluster.create_top_level_paths()

    async def start(self) -> None:
        await self.config.read_own(None)
        await self.listener.startup(None)

    async def set(self, entity: str, **settings: str) -> None:
        """Change the settings of an entity; names are written with _ for the dots."""
        entity_type, _, name = entity.partition("/")
        named = {key.replace("_", "."): value for key, value in settings.items()}
        await self.by_hand.configs.set_or_create(entity_type, name, named)
        await self.by_hand.config_changes.create(entity)
        await self.runtime.sleep_ms(NOW_MS)


def test_a_topics_unclean_election_is_passed_on_whenever_its_settings_are_applied() -> None:
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.start()
        await bench.set("topics/orders", unclean_leader_election_enable="true")
        await bench.set("topics/orders", unclean_leader_election_enable="true", retention_ms="1")
        await bench.set("topics/orders", unclean_leader_election_enable="false")

    bench.runtime.run(script())
    assert bench.switches.calls == ["on for orders"] * 2
    assert bench.config.settings["topics/orders"] == {UNCLEAN: "false"}


def test_the_default_is_passed_on_when_it_changes() -> None:
    """Dynamic settings of the broker itself override the default for all, and that overrides its start configuration."""
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.start()
        await bench.set("brokers/<default>", unclean_leader_election_enable="true")
        await bench.set("brokers/<default>", unclean_leader_election_enable="true", log_retention_ms="1")
        await bench.set("brokers/1", unclean_leader_election_enable="false")
        await bench.set("brokers/2", unclean_leader_election_enable="true")
        await bench.set("brokers/1")
        await bench.set("brokers/<default>")

    bench.runtime.run(script())
    assert bench.switches.calls == ["on", "off", "on", "off"]


def test_a_broker_that_was_started_with_it_hears_nothing_new() -> None:
    bench = ConfigBench(is_unclean_allowed=True)

    async def script() -> None:
        await bench.begin()
        await bench.start()
        await bench.set("brokers/<default>", unclean_leader_election_enable="true")

    bench.runtime.run(script())
    assert bench.switches.calls == []


def test_what_was_set_before_the_start_is_taken_up_at_the_start() -> None:
    """The last processed number is -1 at first: all existing notifications are processed."""
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.by_hand.configs.set_or_create("brokers", "<default>", {UNCLEAN: "TRUE"})
        await bench.set("topics/orders", unclean_leader_election_enable="true")
        await bench.start()

    bench.runtime.run(script())
    assert bench.switches.calls == ["on", "on for orders"]


def test_a_notification_is_processed_once() -> None:
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.start()
        await bench.set("topics/orders", unclean_leader_election_enable="true")
        await bench.set("topics/other", retention_ms="1")

    bench.runtime.run(script())
    assert bench.switches.calls == ["on for orders"]


def test_a_new_session_looks_at_once_for_what_it_missed() -> None:
    """The watches of the old session are gone."""
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.start()
        bench.zookeeper.refusals = 1
        bench.session.expire()
        await bench.set("topics/orders", unclean_leader_election_enable="true")
        await bench.runtime.sleep_ms(2_000)
        await bench.set("topics/other", unclean_leader_election_enable="true")

    bench.runtime.run(script())
    assert bench.switches.calls == ["on for orders", "on for other"]


def test_notifications_older_than_a_quarter_of_an_hour_are_deleted() -> None:
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.start()
        await bench.set("topics/orders")
        await bench.runtime.sleep_ms(15 * 60 * 1_000 - NOW_MS - 100)
        await bench.set("topics/orders")
        assert len(await bench.by_hand.znodes.get_children(paths.CONFIG_CHANGES)) == 2
        await bench.runtime.sleep_ms(200)
        await bench.set("topics/orders")
        assert await bench.by_hand.znodes.get_children(paths.CONFIG_CHANGES) == (
            "config_change_0000000001",
            "config_change_0000000002",
        )

    bench.runtime.run(script())


@pytest.mark.parametrize(
    "data",
    [
        b"no json",
        b"[]",
        b'{"version":2}',
        b'{"version":3,"entity_path":"topics/orders"}',
        b'{"version":2,"entity_path":"planets/mars"}',
        b'{"version":1,"entity_type":"topics"}',
    ],
)
def test_a_notification_that_cannot_be_processed_is_reported_and_skipped(data: bytes) -> None:
    """Recorded from Kafka 2.8.2: the broker logs the error, and processes the notification after it in the same scan."""
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.tree(Create(paths.CONFIG_CHANGE_PREFIX, data, sequential=True))
        await bench.set("topics/orders", unclean_leader_election_enable="true")
        await bench.start()

    bench.runtime.run(script())
    assert bench.switches.calls == ["on for orders"]
    assert [e.path for e in bench.log.events if e.kind is EventKind.BAD_ZNODE] == [f"{paths.CONFIG_CHANGE_PREFIX}0000000000"]


def test_settings_that_cannot_be_read_are_reported_and_skipped() -> None:
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.by_hand.configs.set_or_create("topics", "broken", {})
        await bench.tree(SetData("/config/topics/broken", b'{"version":1,"config":{"retention.ms":5}}'))
        await bench.by_hand.config_changes.create("topics/broken")
        await bench.set("topics/orders", unclean_leader_election_enable="true")
        await bench.start()

    bench.runtime.run(script())
    assert bench.switches.calls == ["on for orders"]
    assert [e.path for e in bench.log.events if e.kind is EventKind.BAD_ZNODE] == ["/config/topics/broken"]


def test_a_name_without_a_number_ends_each_scan() -> None:
    """Recorded from Kafka 2.8.2: notifications whose names come before it are processed, those after it are not."""
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.start()
        in_the_way = f"{paths.CONFIG_CHANGES}/config_change_"
        await bench.tree(Create(in_the_way, b"{}"))
        await bench.set("topics/orders", unclean_leader_election_enable="true")
        assert bench.switches.calls == []
        await bench.tree(Delete(in_the_way))
        await bench.runtime.sleep_ms(NOW_MS)

    bench.runtime.run(script())
    assert bench.switches.calls == ["on for orders"]
    assert {e.path for e in bench.log.events if e.kind is EventKind.BAD_ZNODE} == {f"{paths.CONFIG_CHANGES}/config_change_"}


def test_a_closed_broker_hears_no_more() -> None:
    bench = ConfigBench()

    async def script() -> None:
        await bench.begin()
        await bench.start()
        bench.listener.close()
        await bench.set("topics/orders", unclean_leader_election_enable="true")

    bench.runtime.run(script())
    assert bench.switches.calls == []
