"""The settings of topics and brokers, and where their values come from.

The expected values, sources and synonyms are what a Kafka 2.8.2 with these settings described.
"""

import pytest

from kcsim.brokers.admin.config_definitions import TOPIC_SETTINGS as DEFINED
from kcsim.brokers.admin.config_definitions import ConfigType
from kcsim.brokers.admin.config_descriptions import broker_entries, broker_settings, shared_entries, topic_entries
from kcsim.brokers.admin.requests import ConfigEntry
from kcsim.brokers.config import BrokerConfig, Value
from kcsim.controller.decisions.topic_config import TOPIC_SETTINGS

OWN = {
    "log.retention.ms": "7200000",
    "log.cleanup.policy": "compact",
    "log.segment.bytes": "2000000",
    "unclean.leader.election.enable": "true",
}
SHARED = {"log.retention.ms": "3600000", "log.segment.bytes": "3000000", "min.insync.replicas": "2"}
TOPIC = {"retention.ms": " 1000 ", "cleanup.policy": " compact , delete ", "preallocate": "TRUE"}
Described = tuple[str | None, list[tuple[str, str | None, int]]]


def described(entries: tuple[ConfigEntry, ...], name: str) -> Described:
    """Return a setting's value, and its synonyms with their sources."""
    (entry,) = (one for one in entries if one.name == name)
    return entry.value, [(one.name, one.value, one.source) for one in entry.synonyms]


def of_topic(name: str, static: dict[str, Value] | None = None) -> Described:
    broker = broker_settings(BrokerConfig.of(static or {}), OWN, SHARED)
    return described(topic_entries(TOPIC, broker), name)


@pytest.mark.parametrize(
    ("name", "value", "synonyms"),
    [
        (
            "retention.ms",
            "1000",
            [
                ("retention.ms", "1000", 1),
                ("log.retention.ms", "7200000", 2),
                ("log.retention.ms", "3600000", 3),
                ("log.retention.hours", "168", 5),
            ],
        ),
        (
            "cleanup.policy",
            "compact,delete",
            [
                ("cleanup.policy", "compact,delete", 1),
                ("log.cleanup.policy", "compact", 2),
                ("log.cleanup.policy", "delete", 5),
            ],
        ),
        ("preallocate", "true", [("preallocate", "true", 1), ("log.preallocate", "false", 5)]),
        (
            "segment.bytes",
            "2000000",
            [
                ("log.segment.bytes", "2000000", 2),
                ("log.segment.bytes", "3000000", 3),
                ("log.segment.bytes", "1073741824", 5),
            ],
        ),
        ("min.insync.replicas", "2", [("min.insync.replicas", "2", 3), ("min.insync.replicas", "1", 5)]),
        (
            "unclean.leader.election.enable",
            "true",
            [("unclean.leader.election.enable", "true", 2), ("unclean.leader.election.enable", "false", 5)],
        ),
        ("segment.ms", "604800000", []),
        ("leader.replication.throttled.replicas", "", []),
    ],
)
def test_a_topic_s_own_value_comes_first_and_then_those_of_its_broker(
    name: str, value: str, synonyms: list[tuple[str, str, int]]
) -> None:
    assert of_topic(name) == (value, synonyms)


def test_a_value_in_hours_applies_to_topics_but_is_no_synonym_of_the_setting_in_ms() -> None:
    broker = broker_settings(BrokerConfig.of({"log.retention.hours": 1, "log.roll.hours": 2}), {}, {})
    assert described(topic_entries({}, broker), "retention.ms") == ("3600000", [])
    assert described(topic_entries({}, broker), "segment.ms") == ("7200000", [])
    assert described(broker_entries(broker), "log.retention.ms") == (None, [])
    hours = [("log.retention.hours", "1", 4), ("log.retention.hours", "168", 5)]
    assert described(broker_entries(broker), "log.retention.hours") == ("1", hours)
    assert described(broker_entries(broker), "log.retention.minutes") == (None, [])


def test_a_setting_in_ms_that_was_changed_has_the_one_in_hours_as_synonym() -> None:
    broker = broker_settings(BrokerConfig.of({"log.roll.hours": 2}), {"log.roll.ms": "600000"}, {})
    synonyms = [("log.roll.ms", "600000", 2), ("log.roll.hours", "2", 4), ("log.roll.hours", "168", 5)]
    assert described(topic_entries({}, broker), "segment.ms") == ("600000", synonyms)
    assert described(broker_entries(broker), "log.roll.ms") == ("600000", synonyms)


def test_a_change_of_the_setting_in_ms_hides_the_value_in_hours_that_the_broker_was_started_with() -> None:
    broker = broker_settings(BrokerConfig.of({"log.retention.hours": 24}), {}, {"log.retention.ms": "7200000"})
    hours = [("log.retention.hours", "24", 4), ("log.retention.hours", "168", 5)]
    assert described(broker_entries(broker), "log.retention.hours") == ("168", hours)
    assert described(topic_entries({}, broker), "retention.ms") == ("7200000", [("log.retention.ms", "7200000", 3), *hours])


def test_no_limit_in_minutes_is_no_limit() -> None:
    broker = broker_settings(BrokerConfig.of({"log.retention.minutes": -1}), {}, {})
    assert described(topic_entries({}, broker), "retention.ms") == ("-1", [])


def test_a_setting_that_was_given_is_static_also_where_it_was_given_its_default() -> None:
    broker = broker_settings(BrokerConfig.of({"message.max.bytes": 1_048_588}), {}, {})
    synonyms = [("message.max.bytes", "1048588", 4), ("message.max.bytes", "1048588", 5)]
    assert described(topic_entries({}, broker), "max.message.bytes") == ("1048588", synonyms)


def test_what_was_changed_for_all_brokers_is_described_alone() -> None:
    broker = broker_settings(BrokerConfig(), OWN, SHARED)
    entries = shared_entries(broker)
    assert {entry.name for entry in entries} == set(SHARED)
    assert described(entries, "log.retention.ms") == ("3600000", [("log.retention.ms", "3600000", 3)])


def test_an_unknown_setting_is_described_without_its_value() -> None:
    broker = broker_settings(BrokerConfig(), {"nosuch.setting": "5", "leader.replication.throttled.rate": "1000"}, {})
    entries = {entry.name: entry for entry in broker_entries(broker)}
    unknown, rate = entries["nosuch.setting"], entries["leader.replication.throttled.rate"]
    assert (unknown.value, unknown.type, unknown.is_sensitive, unknown.is_read_only) == (
        None,
        ConfigType.UNKNOWN,
        True,
        True,
    )
    assert described((unknown,), "nosuch.setting") == (None, [("nosuch.setting", None, 2)])
    assert (rate.value, rate.type, rate.is_sensitive, rate.is_read_only) == ("1000", ConfigType.LONG, False, True)


def test_what_can_change_while_the_broker_runs_is_not_read_only() -> None:
    read_only = {entry.name: entry.is_read_only for entry in broker_entries(broker_settings(BrokerConfig(), {}, {}))}
    assert not read_only["log.retention.ms"]
    assert not read_only["compression.type"]
    assert read_only["log.retention.hours"]
    assert read_only["log.message.format.version"]
    assert read_only["num.partitions"]


def test_every_setting_that_a_topic_can_have_is_described() -> None:
    assert set(DEFINED) == set(TOPIC_SETTINGS)
