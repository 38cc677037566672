"""A broker's settings. Source: Kafka 2.8, KafkaConfig."""

import re

import pytest

from kcsim.brokers.config import (
    KAFKA_NAMES,
    PROTOCOL_VERSION,
    SETTING_TYPES,
    BrokerConfig,
    LogConfig,
    SettingError,
    Value,
    parse_setting,
)
from kcsim.controller.config import ControllerConfig


def test_settings_go_by_kafkas_names_to_the_broker_and_to_its_controller() -> None:
    config = BrokerConfig.of(
        {
            "controlled.shutdown.enable": False,
            "log.dirs": "/a, /b",
            "replica.fetch.backoff.ms": 200,
            "auto.leader.rebalance.enable": "false",
            "leader.imbalance.per.broker.percentage": 0,
        }
    )
    assert (config.controlled_shutdown_enable, config.replica_fetch_backoff_ms) == (False, 200)
    assert config.log_dir_names == ("/a", "/b")
    assert config.controller == ControllerConfig(
        auto_leader_rebalance_enable=False, leader_imbalance_per_broker_percentage=0
    )


def test_what_is_not_set_has_kafkas_default() -> None:
    """docs/kafka/requests.md 10 and 11."""
    config = BrokerConfig.of({})
    assert (config.controlled_shutdown_max_retries, config.controlled_shutdown_retry_backoff_ms) == (3, 5_000)
    assert (config.replica_fetch_wait_max_ms, config.replica_fetch_backoff_ms) == (500, 1_000)
    assert (config.replica_socket_timeout_ms, config.replica_lag_time_max_ms) == (30_000, 30_000)
    assert len(config.log_dir_names) == 1


def test_the_session_time_out_bounds_connecting_unless_that_has_its_own() -> None:
    assert BrokerConfig.of({"zookeeper.session.timeout.ms": 3_000}).connect_timeout_ms == 3_000
    assert BrokerConfig.of({"zookeeper.connection.timeout.ms": 4_000}).connect_timeout_ms == 4_000


def test_every_setting_has_a_type_and_a_field() -> None:
    assert set(KAFKA_NAMES) == set(SETTING_TYPES)
    assert {SETTING_TYPES[n] for n in ("port", "delete.topic.enable", "host.name")} == {"int", "boolean", "string"}


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("delete.topic.enable", True, True),
        ("delete.topic.enable", " True", True),
        ("delete.topic.enable", "false", False),
        ("request.timeout.ms", "250", 250),
        ("request.timeout.ms", 250, 250),
        ("controlled.shutdown.retry.backoff.ms", 0, 0),
        ("host.name", "example.org", "example.org"),
    ],
)
def test_text_is_read_as_in_a_properties_file(name: str, given: Value, value: Value) -> None:
    assert parse_setting(name, given) == value


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("no.such.setting", 1, "unknown setting no.such.setting"),
        ("delete.topic.enable", "yes", "'yes' is no value of delete.topic.enable, which is true or false"),
        ("delete.topic.enable", 1, "1 is no value of delete.topic.enable, which is true or false"),
        ("request.timeout.ms", True, "True is no value of request.timeout.ms, which is a whole number from 1 to 2147483647"),
        ("request.timeout.ms", "soon", "'soon' is no value of request.timeout.ms"),
        ("request.timeout.ms", 0, "0 is no value of request.timeout.ms"),
        ("request.timeout.ms", 2**31, "2147483648 is no value of request.timeout.ms"),
        ("leader.imbalance.per.broker.percentage", -1, "which is a whole number from 0 to"),
        ("host.name", 5, "5 is no value of host.name, which is text"),
        ("log.dirs", " , ", "' , ' is no value of log.dirs, which is text"),
    ],
)
def test_a_wrong_value_is_named_with_what_the_setting_takes(name: str, given: Value, says: str) -> None:
    with pytest.raises(SettingError) as refused:
        BrokerConfig.of({name: given})
    assert says in str(refused.value)


# --- inter.broker.protocol.version


@pytest.mark.parametrize(
    ("given", "version"),
    [("2.6", "2.6"), ("2.8", "2.8"), ("3.9", "3.9"), (2.8, "2.8"), (3.0, "3.0"), ("2.8.2", "2.8"), ("2.8.2.1", "2.8")],
)
def test_a_protocol_version_is_a_release_as_text_or_as_a_number(given: Value | float, version: str) -> None:
    """A YAML reader takes 2.8 for a number. Kafka reads the first two parts of a version."""
    assert parse_setting(PROTOCOL_VERSION, given) == version


@pytest.mark.parametrize("given", ["2.5", "4.0", "2.80", "28", "", "latest", "2.8-IV1", 2.5, 2, True])
def test_a_protocol_version_that_is_not_known_is_refused(given: Value | float) -> None:
    """Versions within a release, such as 2.8-IV1, are Kafka's alone."""
    says = f"{given!r} is no value of {PROTOCOL_VERSION}, which is a release from 2.6 to 3.9, such as 2.8"
    with pytest.raises(SettingError, match=f"^{re.escape(says)}$"):
        parse_setting(PROTOCOL_VERSION, given)


def test_brokers_have_protocol_version_2_8_if_none_is_set() -> None:
    assert BrokerConfig.of({}).controller.inter_broker_protocol_version == "2.8"
    assert BrokerConfig.of({PROTOCOL_VERSION: "2.8.2"}).controller.inter_broker_protocol_version == "2.8"


# --- logs


def test_logs_have_kafkas_defaults_where_the_broker_sets_nothing() -> None:
    """docs/kafka/log_segments.md 4."""
    assert BrokerConfig.of({}).log_config == LogConfig()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"log.segment.bytes": 14, "message.max.bytes": 10}, LogConfig(segment_bytes=14, max_message_bytes=10)),
        ({"log.roll.hours": 2}, LogConfig(segment_ms=7_200_000)),
        ({"log.roll.hours": 2, "log.roll.ms": 5}, LogConfig(segment_ms=5)),
        ({"log.roll.jitter.hours": 1}, LogConfig(segment_jitter_ms=3_600_000)),
        ({"log.roll.jitter.hours": 1, "log.roll.jitter.ms": 0}, LogConfig(segment_jitter_ms=0)),
        ({"log.retention.hours": 1}, LogConfig(retention_ms=3_600_000)),
        ({"log.retention.hours": 1, "log.retention.minutes": 2}, LogConfig(retention_ms=120_000)),
        ({"log.retention.minutes": 2, "log.retention.ms": 3}, LogConfig(retention_ms=3)),
        ({"log.retention.hours": -1}, LogConfig(retention_ms=-1)),
        ({"log.retention.bytes": 7}, LogConfig(retention_bytes=7)),
        ({"log.message.timestamp.type": "LogAppendTime"}, LogConfig(message_timestamp_type="LogAppendTime")),
        (
            {"log.index.size.max.bytes": 80, "log.index.interval.bytes": 0},
            LogConfig(segment_index_bytes=80, index_interval_bytes=0),
        ),
    ],
)
def test_of_two_units_the_finer_wins(settings: dict[str, Value], expected: LogConfig) -> None:
    """docs/kafka/log_segments.md 4: milliseconds before minutes before hours."""
    assert BrokerConfig.of(settings).log_config == expected
