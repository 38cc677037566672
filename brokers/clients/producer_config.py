"""A producer's settings, under Kafka's names and with Kafka's defaults, and Kafka's rules for their combinations.

Source: Kafka 2.8, ProducerConfig and KafkaProducer.configureDeliveryTimeout. One request at a time is in flight to a broker:
max.in.flight.requests.per.connection is 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from kcsim.brokers.config import MAX_INT, SettingError, Value
from kcsim.brokers.requests import ACKS_ALL, ACKS_LEADER, ACKS_NONE

ACKS: Mapping[Value, int] = MappingProxyType(
    {"all": ACKS_ALL, "-1": ACKS_ALL, -1: ACKS_ALL, 0: ACKS_NONE, "0": ACKS_NONE, 1: ACKS_LEADER, "1": ACKS_LEADER}
)
"""Value in a file -> value in a request."""


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """The settings that this simulator knows; each field is Kafka's dotted name with underscores, in Kafka's unit."""

    acks: int = ACKS_LEADER
    enable_idempotence: bool = False
    retries: int = MAX_INT
    retry_backoff_ms: int = 100
    delivery_timeout_ms: int = 120_000
    request_timeout_ms: int = 30_000
    linger_ms: int = 0
    batch_size: int = 16_384  # bytes
    buffer_memory: int = 33_554_432  # bytes
    max_block_ms: int = 60_000

    @classmethod
    def of(cls, settings: Mapping[str, Value]) -> "ProducerConfig":
        """Build a config from Kafka's dotted names. Raises: SettingError for what Kafka would refuse."""
        given = {name: parse_producer_setting(name, value) for name, value in settings.items()}
        config = cls(**{name.replace(".", "_"): value for name, value in given.items()})  # type: ignore[arg-type]
        config = _idempotent(config, given) if config.enable_idempotence else config
        longest_ms = min(config.linger_ms + config.request_timeout_ms, MAX_INT)
        if config.delivery_timeout_ms >= longest_ms:
            return config
        if "delivery.timeout.ms" in given:
            raise SettingError(
                f"delivery.timeout.ms is {config.delivery_timeout_ms}; it has to be at least linger.ms plus "
                f"request.timeout.ms, {longest_ms}"
            )
        return replace(config, delivery_timeout_ms=longest_ms)


def _idempotent(config: ProducerConfig, given: Mapping[str, Value]) -> ProducerConfig:
    """Apply enable.idempotence: it requires acks=all and at least one retry. Raises: SettingError."""
    if "acks" in given and config.acks != ACKS_ALL:
        raise SettingError("acks has to be all when enable.idempotence is true")
    if config.retries == 0:
        raise SettingError("retries has to be at least 1 when enable.idempotence is true")
    return replace(config, acks=ACKS_ALL)


PRODUCER_SETTINGS: Mapping[str, int] = MappingProxyType(
    {
        "acks": -1,
        "enable.idempotence": 0,
        "retries": 0,
        "retry.backoff.ms": 0,
        "delivery.timeout.ms": 0,
        "request.timeout.ms": 1,
        "linger.ms": 0,
        "batch.size": 1,
        "buffer.memory": 1,
        "max.block.ms": 0,
    }
)
"""Kafka's dotted name of every known setting -> the least value."""


def parse_producer_setting(name: str, given: object) -> int | bool:
    """Return a setting's value in its own type. Raises: SettingError."""
    if name == "acks":
        if isinstance(given, str | int) and not isinstance(given, bool) and given in ACKS:
            return ACKS[given]
        raise SettingError(f"{given!r} is no value of acks, which is 0, 1 or all")
    if name == "enable.idempotence":
        if isinstance(given, bool):
            return given
        raise SettingError(f"{given!r} is no value of {name}, which is true or false")
    least = PRODUCER_SETTINGS[name]
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= MAX_INT:
        raise SettingError(f"{given!r} is no value of {name}, which is a whole number from {least} to {MAX_INT}")
    return given
