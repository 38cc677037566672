"""The settings that brokers describe: their types, which setting of a broker each setting of a topic follows, the defaults.

Source: Kafka 2.8, LogConfig (TopicConfigSynonyms), KafkaConfig, DynamicBrokerConfig.brokerConfigSynonyms; what a Kafka 2.8.2
described.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from kcsim.brokers.config import HOUR_MS, MINUTE_MS, SETTING_TYPES, SettingType

LONGEST = str(2**63 - 1)


class ConfigType(IntEnum):
    """The type of a setting, as the protocol numbers it."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


class TopicSetting(NamedTuple):
    """A setting of a topic.

    Attributes:
        broker_setting: the broker's setting that applies to topics without this one; None: such topics have an empty list.
    """

    type: ConfigType
    broker_setting: str | None


TOPIC_SETTINGS: Mapping[str, TopicSetting] = MappingProxyType(
    {
        "compression.type": TopicSetting(ConfigType.STRING, "compression.type"),
        "leader.replication.throttled.replicas": TopicSetting(ConfigType.LIST, None),
        "message.downconversion.enable": TopicSetting(ConfigType.BOOLEAN, "log.message.downconversion.enable"),
        "min.insync.replicas": TopicSetting(ConfigType.INT, "min.insync.replicas"),
        "segment.jitter.ms": TopicSetting(ConfigType.LONG, "log.roll.jitter.ms"),
        "cleanup.policy": TopicSetting(ConfigType.LIST, "log.cleanup.policy"),
        "flush.ms": TopicSetting(ConfigType.LONG, "log.flush.interval.ms"),
        "follower.replication.throttled.replicas": TopicSetting(ConfigType.LIST, None),
        "segment.bytes": TopicSetting(ConfigType.INT, "log.segment.bytes"),
        "retention.ms": TopicSetting(ConfigType.LONG, "log.retention.ms"),
        "flush.messages": TopicSetting(ConfigType.LONG, "log.flush.interval.messages"),
        "message.format.version": TopicSetting(ConfigType.STRING, "log.message.format.version"),
        "max.compaction.lag.ms": TopicSetting(ConfigType.LONG, "log.cleaner.max.compaction.lag.ms"),
        "file.delete.delay.ms": TopicSetting(ConfigType.LONG, "log.segment.delete.delay.ms"),
        "max.message.bytes": TopicSetting(ConfigType.INT, "message.max.bytes"),
        "min.compaction.lag.ms": TopicSetting(ConfigType.LONG, "log.cleaner.min.compaction.lag.ms"),
        "message.timestamp.type": TopicSetting(ConfigType.STRING, "log.message.timestamp.type"),
        "preallocate": TopicSetting(ConfigType.BOOLEAN, "log.preallocate"),
        "min.cleanable.dirty.ratio": TopicSetting(ConfigType.DOUBLE, "log.cleaner.min.cleanable.ratio"),
        "index.interval.bytes": TopicSetting(ConfigType.INT, "log.index.interval.bytes"),
        "unclean.leader.election.enable": TopicSetting(ConfigType.BOOLEAN, "unclean.leader.election.enable"),
        "retention.bytes": TopicSetting(ConfigType.LONG, "log.retention.bytes"),
        "delete.retention.ms": TopicSetting(ConfigType.LONG, "log.cleaner.delete.retention.ms"),
        "segment.ms": TopicSetting(ConfigType.LONG, "log.roll.ms"),
        "message.timestamp.difference.max.ms": TopicSetting(ConfigType.LONG, "log.message.timestamp.difference.max.ms"),
        "segment.index.bytes": TopicSetting(ConfigType.INT, "log.index.size.max.bytes"),
    }
)
"""All settings of topics, in the order in which Kafka 2.8.2 describes them, because Kafka's commands print that order."""

UNUSED_DEFAULTS: Mapping[str, str | None] = MappingProxyType(
    {
        "compression.type": "producer",
        "log.cleaner.delete.retention.ms": "86400000",
        "log.cleaner.max.compaction.lag.ms": LONGEST,
        "log.cleaner.min.cleanable.ratio": "0.5",
        "log.cleaner.min.compaction.lag.ms": "0",
        "log.cleanup.policy": "delete",
        "log.flush.interval.messages": LONGEST,
        "log.flush.interval.ms": None,
        "log.flush.scheduler.interval.ms": LONGEST,
        "log.message.downconversion.enable": "true",
        "log.message.format.version": "2.8-IV1",
        "log.message.timestamp.difference.max.ms": LONGEST,
        "log.message.timestamp.type": "CreateTime",
        "log.preallocate": "false",
        "log.segment.delete.delay.ms": "60000",
    }
)
"""Kafka's defaults of broker settings that topics follow, and that a simulated broker does not use; None: no value."""

BROKER_SETTINGS = SETTING_TYPES.keys() | UNUSED_DEFAULTS.keys()
"""The settings that every broker describes."""
READ_ONLY_TOPIC_DEFAULTS = frozenset({"log.message.format.version"})
UPDATABLE = frozenset(s.broker_setting for s in TOPIC_SETTINGS.values() if s.broker_setting) - READ_ONLY_TOPIC_DEFAULTS
"""The described settings of brokers that can change while the broker runs."""

_RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
_ROLL = ("log.roll.ms", "log.roll.hours")
_JITTER = ("log.roll.jitter.ms", "log.roll.jitter.hours")
_FLUSH = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
SYNONYMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: names for names in (_RETENTION, _ROLL, _JITTER, _FLUSH) for name in names}
)
"""For a setting of brokers, all settings for the same thing; the first that has a value applies."""
UNIT_MS: Mapping[str, int] = MappingProxyType(
    {
        "log.retention.minutes": MINUTE_MS,
        "log.retention.hours": HOUR_MS,
        "log.roll.hours": HOUR_MS,
        "log.roll.jitter.hours": HOUR_MS,
    }
)
"""The unit of the settings that a setting in ms falls back to."""

_NAMED: Mapping[SettingType, ConfigType] = {
    "boolean": ConfigType.BOOLEAN,
    "int": ConfigType.INT,
    "string": ConfigType.STRING,
}
BROKER_TYPES: Mapping[str, ConfigType] = MappingProxyType(
    {
        **{name: _NAMED[kind] for name, kind in SETTING_TYPES.items()},
        **{s.broker_setting: s.type for s in TOPIC_SETTINGS.values() if s.broker_setting},
        **dict.fromkeys(
            (
                "controlled.shutdown.retry.backoff.ms",
                "follower.replication.throttled.rate",
                "leader.imbalance.check.interval.seconds",
                "leader.replication.throttled.rate",
                "log.flush.scheduler.interval.ms",
                "log.retention.check.interval.ms",
                "replica.alter.log.dirs.io.max.bytes.per.second",
                "replica.high.watermark.checkpoint.interval.ms",
                "replica.lag.time.max.ms",
            ),
            ConfigType.LONG,
        ),
        "offsets.topic.replication.factor": ConfigType.SHORT,
    }
)
"""The type of each described setting of brokers, and of those that only exist while a broker runs."""
