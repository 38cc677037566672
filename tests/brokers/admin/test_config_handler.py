"""Requests for settings: which are refused, and with which error. The errors are those of a Kafka 2.8.2."""

from collections.abc import Mapping

import pytest

from kcsim.brokers.admin.config_handler import MALFORMED, ConfigHandler
from kcsim.brokers.admin.requests import ConfigResource, DescribeConfigsRequest, DescribedConfigs
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.dynamic_config import DynamicConfig
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.sink import Cause
from tests.brokers.broker_bench import B1, CAUSE, ORDERS_0, BrokerBench, decided

TOPIC, BROKER, LOGGER, GROUP = 2, 4, 8, 3


class NoElections:
    """The controller module's part in a change of settings, which does nothing here."""

    def enable_default_unclean_leader_election(self, cause: Cause) -> None: ...
    def disable_default_unclean_leader_election(self) -> None: ...
    def enable_topic_unclean_leader_election(self, topic: str, cause: Cause) -> None: ...


def ask(*resources: ConfigResource, config: Mapping[str, str] = {}) -> tuple[DescribedConfigs, ...]:
    """Ask a broker that knows the topic orders, whose settings in ZooKeeper are `config`."""
    bench = BrokerBench()
    zk = bench.kafka_zk
    found: list[DescribedConfigs] = []

    async def script() -> None:
        await zk.cluster.create_top_level_paths()
        await zk.configs.set_or_create("topics", "orders", config)
        await zk.configs.set_or_create("brokers", "1", {"min.insync.replicas": "2"})
        await bench.update_metadata({ORDERS_0: decided(B1)})
        dynamic = DynamicConfig(B1, False, zk.configs, NoElections(), lambda _topic, _settings: None)
        await dynamic.read_own(CAUSE)
        handler = ConfigHandler(B1, BrokerConfig(), dynamic, bench.metadata, zk.configs)
        found.extend((await handler.describe(DescribeConfigsRequest(resources), CAUSE)).results)

    bench.play(script)
    return tuple(found)


def test_the_settings_of_a_topic_are_those_in_zookeeper_over_those_of_the_broker() -> None:
    wanted = frozenset({"retention.ms", "min.insync.replicas", "nosuch"})
    (result,) = ask(ConfigResource(TOPIC, "orders", wanted), config={"retention.ms": "1000"})
    assert {entry.name: (entry.value, entry.source) for entry in result.entries} == {
        "retention.ms": ("1000", 1),
        "min.insync.replicas": ("2", 2),
    }


@pytest.mark.parametrize(
    ("resource", "error", "message"),
    [
        ((BROKER, "2"), ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1 or empty string, but received 2"),
        ((BROKER, "x"), ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: x"),
        ((LOGGER, ""), ErrorCode.INVALID_REQUEST, "Broker id must not be empty"),
        ((LOGGER, "2"), ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1 but received 2"),
        ((TOPIC, "nosuch"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
    ],
)
def test_a_resource_is_refused_alone(resource: tuple[int, str], error: ErrorCode, message: str) -> None:
    refused, described = ask(ConfigResource(*resource), ConfigResource(TOPIC, "orders"))
    assert (refused.error, refused.error_message, refused.entries) == (error, message, ())
    assert (described.error, len(described.entries)) == (ErrorCode.NONE, 26)


@pytest.mark.parametrize("name", ["bad/name", ""])
def test_a_name_that_no_topic_can_have_is_refused(name: str) -> None:
    (refused,) = ask(ConfigResource(TOPIC, name))
    assert refused.error is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("resource_type", [0, GROUP, 99])
def test_a_resource_of_another_type_spoils_the_whole_request(resource_type: int) -> None:
    results = ask(ConfigResource(TOPIC, "orders"), ConfigResource(resource_type, "1"))
    assert [(one.error, one.error_message) for one in results] == [(ErrorCode.INVALID_REQUEST, MALFORMED)] * 2


def test_all_brokers_share_only_what_was_changed_for_all() -> None:
    own, shared, loggers = ask(ConfigResource(BROKER, "1"), ConfigResource(BROKER, ""), ConfigResource(LOGGER, "1"))
    assert len(own.entries) > 50
    assert (shared.error, shared.entries) == (ErrorCode.NONE, ())
    assert (loggers.error, loggers.entries) == (ErrorCode.NONE, ())
