"""A consumer's configuration. Source: Kafka 2.8, ConsumerConfig; docs/kafka/consumer_groups.md 9."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from kcsim.brokers.config import MAX_INT, SettingError, Value
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.groups.assignors.subscriptions import Subscription
from kcsim.eventlog.node_names import consumer_node

OffsetReset = Literal["earliest", "latest"]


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """A consumer's settings, under Kafka's names and with the defaults of Kafka 2.8.

    Attributes:
        auto_offset_reset: where to begin in a partition without a committed offset.
    """

    partition_assignment_strategy: tuple[AssignmentStrategy, ...] = (AssignmentStrategy.RANGE,)
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    metadata_max_age_ms: int = 300_000
    auto_commit_interval_ms: int = 5_000
    auto_offset_reset: OffsetReset = "latest"
    fetch_max_wait_ms: int = 500
    retry_backoff_ms: int = 100
    request_timeout_ms: int = 30_000

    @classmethod
    def of(cls, settings: Mapping[str, Value], strategies: tuple[AssignmentStrategy, ...]) -> "ConsumerConfig":
        """Build a config from Kafka's dotted names. Raises: SettingError for what Kafka would refuse."""
        given: dict[str, Any] = {n.replace(".", "_"): parse_consumer_setting(n, value) for n, value in settings.items()}
        config = cls(partition_assignment_strategy=strategies, **given)
        if config.heartbeat_interval_ms >= config.session_timeout_ms:
            raise SettingError(
                f"heartbeat.interval.ms is {config.heartbeat_interval_ms}; it has to be less than session.timeout.ms, "
                f"{config.session_timeout_ms}"
            )
        return config

    @property
    def is_cooperative(self) -> bool:
        """Whether partitions are kept through a rebalance, which all chosen assignors must support."""
        return all(strategy is AssignmentStrategy.COOPERATIVE_STICKY for strategy in self.partition_assignment_strategy)


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """The description of one consumer.

    Attributes:
        instance_id: group.instance.id; makes it a static member.
    """

    name: str
    group_id: str
    subscription: Subscription
    instance_id: str | None = None
    config: ConsumerConfig = field(default_factory=ConsumerConfig)

    @property
    def node(self) -> str:
        return consumer_node(self.name)


OFFSET_RESETS = ("earliest", "latest")
CONSUMER_SETTINGS: Mapping[str, int] = MappingProxyType(
    {
        "session.timeout.ms": 1,
        "heartbeat.interval.ms": 1,
        "max.poll.interval.ms": 1,
        "metadata.max.age.ms": 1,
        "auto.commit.interval.ms": 1,
        "fetch.max.wait.ms": 0,
        "retry.backoff.ms": 1,
        "request.timeout.ms": 1,
        "auto.offset.reset": 0,
    }
)
"""Kafka's dotted name of every known setting -> the least value; 0 for the one that is not a number."""


def parse_consumer_setting(name: str, given: object) -> Value:
    """Return a setting's value in its own type. Raises: SettingError."""
    if name == "auto.offset.reset":
        if given in OFFSET_RESETS:
            return str(given)
        raise SettingError(f"{given!r} is no value of {name}, which is {' or '.join(OFFSET_RESETS)}")
    least = CONSUMER_SETTINGS[name]
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= MAX_INT:
        raise SettingError(f"{given!r} is no value of {name}, which is a whole number from {least} to {MAX_INT}")
    return given
