"""A broker's settings, under Kafka's names and with Kafka's defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """The settings that this simulator knows; each field is Kafka's dotted name with underscores, in Kafka's unit.

    Source: Kafka 2.8, KafkaConfig.
    """

    zookeeper_session_timeout_ms: int = 18_000
    zookeeper_connection_timeout_ms: int | None = None  # unset: the session time-out
    host_name: str = "localhost"
    port: int | None = None  # unset: 9092 + broker id, so that brokers of one cluster differ

    @classmethod
    def of(cls, settings: Mapping[str, str | int | bool]) -> "BrokerConfig":
        """Make it from Kafka's dotted names. Raises: ValueError for a name or a value that Kafka would refuse."""
        values = {}
        for name, value in settings.items():
            if name not in KAFKA_NAMES:
                raise ValueError(f"unknown setting {name}")
            values[KAFKA_NAMES[name]] = int(value) if name in INT_SETTINGS else value
        return cls(**values)  # type: ignore[arg-type]

    @property
    def connect_timeout_ms(self) -> int:
        return self.zookeeper_connection_timeout_ms or self.zookeeper_session_timeout_ms


KAFKA_NAMES = MappingProxyType({field.name.replace("_", "."): field.name for field in fields(BrokerConfig)})
"""Kafka's dotted name -> field of BrokerConfig."""

INT_SETTINGS = frozenset({"zookeeper.session.timeout.ms", "zookeeper.connection.timeout.ms", "port"})
"""Settings whose value is a whole number."""
