"""The settings that a topic can have, and Kafka's errors for invalid values (LogConfig, ConfigDef)."""

import pytest

from kcsim.controller.decisions.kafka_refusals import ConfigError, InvalidConfigurationError
from kcsim.controller.decisions.topic_config import check_setting_names, check_topic_config

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "compact , delete"),
        ("cleanup.policy", ""),
        ("compression.type", "zstd"),
        ("follower.replication.throttled.replicas", "0:1,12:3"),
        ("leader.replication.throttled.replicas", "*"),
        ("max.message.bytes", str(INT_MAX)),
        ("message.format.version", "2.6"),
        ("message.format.version", "0.10.0-IV1"),
        ("message.format.version", "2.6.3"),
        ("min.cleanable.dirty.ratio", "0.5"),
        ("preallocate", "TRUE"),
        ("retention.bytes", "-1"),
        ("retention.ms", str(LONG_MAX)),
        ("segment.bytes", " 14 "),
    ],
)
def test_values_that_can_be_are_taken(name: str, value: str) -> None:
    check_topic_config({name: value})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("cleanup.policy", "compact,burn", "String must be one of: compact, delete"),
        ("compression.type", "zip", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("max.message.bytes", str(INT_MAX + 1), "Not a number of type INT"),
        ("message.format.version", "2.9", "Version `2.9` is not a valid version"),
        ("min.cleanable.dirty.ratio", "1.5", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "-0.5", "Value must be at least 0"),
        ("min.cleanable.dirty.ratio", "half", "Not a number of type DOUBLE"),
        ("min.insync.replicas", "0", "Value must be at least 1"),
        ("preallocate", "yes", "Expected value to be either true or false"),
        ("retention.ms", "-2", "Value must be at least -1"),
        ("retention.ms", "1.0", "Not a number of type LONG"),
    ],
)
def test_values_that_cannot_be_are_refused(name: str, value: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_topic_config({name: value})
    assert str(refused.value) == f"Invalid value {value} for configuration {name}: {reason}"


def test_settings_that_do_not_exist_are_refused_before_any_value_is_looked_at() -> None:
    with pytest.raises(InvalidConfigurationError, match=r"^Unknown topic config name: no\.such$"):
        check_topic_config({"retention.ms": "x", "no.such": "1"})
    with pytest.raises(InvalidConfigurationError, match=r"^Unknown topic config name: no\.such$"):
        check_setting_names(["no.such"])


def test_a_wrong_list_of_throttled_replicas_is_shown_as_a_list() -> None:
    name = "leader.replication.throttled.replicas"
    with pytest.raises(ConfigError) as refused:
        check_topic_config({name: "0:1,2"})
    form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    assert str(refused.value) == (
        f"Invalid value [0:1, 2] for configuration {name}: {name} must be the literal '*' or a list of replicas"
        f" in the following format: {form}"
    )


def test_a_shortest_lag_above_the_longest_is_refused() -> None:
    with pytest.raises(InvalidConfigurationError) as refused:
        check_topic_config({"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"})
    assert str(refused.value) == "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)"
