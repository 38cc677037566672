"""The settings of topics that a broker uses: the settings of its logs, and min.insync.replicas.

Source: Kafka 2.8, LogConfig; docs/kafka/requests.md 8, docs/kafka/log_segments.md 4.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.replica_log import DEFAULT_CONFIG

MIN_IN_SYNC = "min.insync.replicas"
CLEANUP_POLICY = "cleanup.policy"
TIMESTAMP_TYPE = "message.timestamp.type"
_NUMBERS: Mapping[str, str] = MappingProxyType(
    {f.name.replace("_", "."): f.name for f in fields(LogConfig) if f.type is int}
)
"""The field of LogConfig for each of Kafka's dotted names."""


class TopicSettings:
    """The settings of the topics on one broker. The broker's own settings apply where a topic has none.

    Args:
        min_in_sync_replicas, log_config: the broker's own settings.
    """

    def __init__(self, min_in_sync_replicas: int = 1, log_config: LogConfig = DEFAULT_CONFIG) -> None:
        self._default_min_in_sync = min_in_sync_replicas
        self._default_log_config = log_config
        self._min_in_sync: dict[str, int] = {}
        self._log_configs: dict[str, LogConfig] = {}

    def learn(self, topic: str, settings: Mapping[str, str]) -> None:
        """Store a topic's settings, given as text; a setting with an invalid number is ignored."""
        self._min_in_sync.pop(topic, None)
        self._log_configs.pop(topic, None)
        numbers = {name: int(text) for name, text in settings.items() if _is_number(text)}
        if MIN_IN_SYNC in numbers:
            self._min_in_sync[topic] = numbers[MIN_IN_SYNC]
        given: dict[str, object] = {_NUMBERS[name]: number for name, number in numbers.items() if name in _NUMBERS}
        if CLEANUP_POLICY in settings:
            given["cleanup_policy"] = tuple(part.strip() for part in settings[CLEANUP_POLICY].split(","))
        if TIMESTAMP_TYPE in settings:
            given["message_timestamp_type"] = settings[TIMESTAMP_TYPE]
        if given:
            self._log_configs[topic] = replace(self._default_log_config, **given)  # type: ignore[arg-type]

    def min_in_sync_replicas(self, topic: str) -> int:
        return self._min_in_sync.get(topic, self._default_min_in_sync)

    def log_config(self, topic: str) -> LogConfig:
        return self._log_configs.get(topic, self._default_log_config)


def _is_number(text: str) -> bool:
    return text.strip().removeprefix("-").isdecimal()
