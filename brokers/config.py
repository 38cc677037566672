"""A broker's settings, under Kafka's names and with Kafka's defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Literal, get_type_hints

from kcsim.controller.capabilities import PROTOCOL_VERSIONS, Release, is_known_to
from kcsim.controller.config import ControllerConfig
from kcsim.controller.hardening import HARDENED, NOT_HARDENED, Hardening
from kcsim.controller.protections import ALL_ON, Protections

SettingType = Literal["boolean", "int", "string"]
Value = str | int | bool
NO_SETTINGS: Mapping[str, Value] = MappingProxyType({})
MAX_INT = 2**31 - 1
"""The largest value of a setting of type INT, as in Kafka."""
TRUE, FALSE = "true", "false"
PROTOCOL_VERSION = "inter.broker.protocol.version"
FIRST_PORT = 9092
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
NO_LIMIT = 2**63 - 1


class SettingError(ValueError):
    """A setting that Kafka does not have, or a value that Kafka refuses. The message names the valid values."""


CREATE_TIME, LOG_APPEND_TIME = "CreateTime", "LogAppendTime"


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings of one partition's log: Kafka's names for topics, and its defaults. Sizes in bytes."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4_096
    retention_ms: int = 604_800_000  # negative: no limit
    retention_bytes: int = -1  # negative: no limit
    cleanup_policy: tuple[str, ...] = ("delete",)
    max_compaction_lag_ms: int = NO_LIMIT
    max_message_bytes: int = 1_048_588  # the largest batch that a producer may send
    flush_messages: int = NO_LIMIT  # how many records may be unsynced; only of logs in files
    message_timestamp_type: str = CREATE_TIME  # or LOG_APPEND_TIME: the leader's time replaces that of the producer

    @property
    def max_segment_ms(self) -> int:
        """The longest time for which a segment stays active.

        With compaction the limit ensures that no record waits longer than max_compaction_lag_ms.
        """
        if "compact" in self.cleanup_policy:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """The settings that this simulator supports; each field is Kafka's dotted name with underscores, in Kafka's unit.

    Attributes:
        given: the names of the settings that were set, though perhaps to their defaults.
        log_dirs: names of directories, separated by commas; they exist in the simulation only.
        controller: the settings of the controller module.

    Source: Kafka 2.8, KafkaConfig.
    """

    zookeeper_session_timeout_ms: int = 18_000
    zookeeper_connection_timeout_ms: int | None = None  # unset: the session time-out
    host_name: str = "localhost"
    port: int | None = None  # unset: FIRST_PORT + broker id, so that brokers of one cluster differ
    advertised_port: int | None = None  # unset: port; where a proxy stands in front of the broker, the port of that
    log_dirs: str = "/tmp/kafka-logs"
    controlled_shutdown_enable: bool = True
    controlled_shutdown_max_retries: int = 3  # the total number of attempts
    controlled_shutdown_retry_backoff_ms: int = 5_000
    replica_lag_time_max_ms: int = 30_000
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_backoff_ms: int = 1_000
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = 1 << 20
    replica_fetch_response_max_bytes: int = 10 << 20
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    min_insync_replicas: int = 1
    message_max_bytes: int = 1_048_588
    log_message_timestamp_type: str = CREATE_TIME
    log_segment_bytes: int = 1 << 30
    log_roll_ms: int | None = None  # unset: log_roll_hours
    log_roll_hours: int = 168
    log_roll_jitter_ms: int | None = None  # unset: log_roll_jitter_hours
    log_roll_jitter_hours: int = 0
    log_index_size_max_bytes: int = 10 << 20
    log_index_interval_bytes: int = 4_096
    log_flush_interval_messages: int | None = None  # unset: no limit
    log_retention_ms: int | None = None  # unset: the minutes; -1 in any of the three: no limit
    log_retention_minutes: int | None = None  # unset: log_retention_hours
    log_retention_hours: int = 168
    log_retention_bytes: int = -1  # -1: no limit
    log_retention_check_interval_ms: int = 300_000
    replica_socket_timeout_ms: int = 30_000
    auto_create_topics_enable: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    offsets_topic_num_partitions: int = 50
    offsets_topic_replication_factor: int = 3
    offsets_commit_timeout_ms: int = 5_000
    offset_metadata_max_bytes: int = 4_096
    group_initial_rebalance_delay_ms: int = 3_000
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = MAX_INT
    controller: ControllerConfig = field(default_factory=ControllerConfig)
    given: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        settings: Mapping[str, Value],
        protections: Protections = ALL_ON,
        release: Release | None = None,
        is_hardened: bool = False,
    ) -> "BrokerConfig":
        """Create it from Kafka's dotted names.

        Args:
            release: of Kafka; without a protocol version among the settings, that is the release's own.
            is_hardened: whether controller and broker do what Kafka's do not, to survive faults (controller/hardening.py).

        Raises: SettingError, a ValueError, for a setting that Kafka refuses.
        """
        parsed = {name: parse_setting(name, given) for name, given in settings.items()}
        if release is not None:
            version = str(parsed.setdefault(PROTOCOL_VERSION, release))
            if not is_known_to(version, release):
                raise SettingError(f"Kafka {release} does not know {PROTOCOL_VERSION} {version}")
        own = {KAFKA_NAMES[name]: value for name, value in parsed.items() if name in _BROKER_SETTINGS}
        of_controller = {KAFKA_NAMES[name]: value for name, value in parsed.items() if name in _CONTROLLER_SETTINGS}
        hardening = HARDENED if is_hardened else NOT_HARDENED
        controller = ControllerConfig(
            **of_controller,  # type: ignore[arg-type]
            protections=protections,
            release=release,
            hardening=hardening,
        )
        return cls(**own, controller=controller, given=frozenset(settings))  # type: ignore[arg-type]

    def named_values(self) -> dict[str, Value]:
        """Return the value of each setting by Kafka's dotted name; settings without a value are left out."""
        values = {
            name: getattr(self if name in _BROKER_SETTINGS else self.controller, field_name)
            for name, field_name in KAFKA_NAMES.items()
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def protections(self) -> Protections:
        return self.controller.protections

    @property
    def hardening(self) -> Hardening:
        return self.controller.hardening

    @property
    def connect_timeout_ms(self) -> int:
        return self.zookeeper_connection_timeout_ms or self.zookeeper_session_timeout_ms

    def port_of(self, broker_id: int) -> int:
        """Return the port of the broker with that id."""
        return self.port if self.port is not None else FIRST_PORT + broker_id

    def advertised_port_of(self, broker_id: int) -> int:
        """Return the port that the broker with that id registers."""
        return self.port_of(broker_id) if self.advertised_port is None else self.advertised_port

    @property
    def longest_controlled_shutdown_ms(self) -> int:
        """The longest time that a controlled shutdown may take, if every attempt fails as late as possible."""
        longest_attempt_ms = 2 * self.controller.controller_socket_timeout_ms + self.controlled_shutdown_retry_backoff_ms
        return self.controlled_shutdown_max_retries * longest_attempt_ms

    @property
    def log_config(self) -> LogConfig:
        """The log settings of a topic without settings of its own; the setting with the finer unit takes precedence."""
        minutes = self.log_retention_hours * 60 if self.log_retention_minutes is None else self.log_retention_minutes
        retention_ms = minutes * MINUTE_MS if self.log_retention_ms is None else self.log_retention_ms
        jitter_ms = self.log_roll_jitter_hours * HOUR_MS if self.log_roll_jitter_ms is None else self.log_roll_jitter_ms
        return LogConfig(
            segment_bytes=self.log_segment_bytes,
            segment_ms=self.log_roll_hours * HOUR_MS if self.log_roll_ms is None else self.log_roll_ms,
            segment_jitter_ms=jitter_ms,
            segment_index_bytes=self.log_index_size_max_bytes,
            index_interval_bytes=self.log_index_interval_bytes,
            retention_ms=max(retention_ms, -1),
            retention_bytes=self.log_retention_bytes,
            max_message_bytes=self.message_max_bytes,
            flush_messages=self.log_flush_interval_messages or NO_LIMIT,
            message_timestamp_type=self.log_message_timestamp_type,
        )

    @property
    def log_dir_names(self) -> tuple[str, ...]:
        """The log directories, in the order given."""
        return tuple(name for part in self.log_dirs.split(",") if (name := part.strip()))


def parse_setting(name: str, given: Value | float) -> Value:
    """Return a setting's value in its own type; text is parsed as in a server.properties file. Raises: SettingError."""
    if name not in SETTING_TYPES:
        raise SettingError(f"unknown setting {name}")
    if name == PROTOCOL_VERSION:
        return _protocol_version(given)
    match SETTING_TYPES[name]:
        case "boolean":
            return _boolean(name, given)
        case "int":
            return _int(name, given)
        case "string":
            return _string(name, given)


def _boolean(name: str, given: Value | float) -> bool:
    if isinstance(given, bool):
        return given
    if isinstance(given, str) and given.strip().lower() in (TRUE, FALSE):
        return given.strip().lower() == TRUE
    raise SettingError(f"{given!r} is no value of {name}, which is {TRUE} or {FALSE}")


def _int(name: str, given: Value | float) -> int:
    least = LEAST_VALUES.get(name, 1)
    number = int(given) if isinstance(given, str) and given.strip().lstrip("-").isdecimal() else given
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= MAX_INT:
        raise SettingError(f"{given!r} is no value of {name}, which is a whole number from {least} to {MAX_INT}")
    return int(number)  # a YAML reader's numbers keep their notation, as 10_000


def _string(name: str, given: Value | float) -> str:
    if not isinstance(given, str) or not given.replace(",", "").strip():
        raise SettingError(f"{given!r} is no value of {name}, which is text")
    return given


def _protocol_version(given: Value | float) -> str:
    """Return the release; a YAML reader takes 2.8 for a number."""
    release = ".".join(str(given).split(".")[:2])
    if isinstance(given, bool) or release not in PROTOCOL_VERSIONS:
        known = f"a release from {PROTOCOL_VERSIONS[0]} to {PROTOCOL_VERSIONS[-1]}, such as 2.8"
        raise SettingError(f"{given!r} is no value of {PROTOCOL_VERSION}, which is {known}")
    return release


def _types_of(config: type) -> dict[str, SettingType]:
    """Return the type of each setting of a settings class, by Kafka's dotted name.

    Fields that are no settings are left out.
    """
    hints = get_type_hints(config)
    named: dict[object, SettingType] = {bool: "boolean", int: "int", int | None: "int", str: "string"}
    return {f.name.replace("_", "."): named[hints[f.name]] for f in fields(config) if hints[f.name] in named}


_BROKER_SETTINGS = _types_of(BrokerConfig)
_CONTROLLER_SETTINGS = _types_of(ControllerConfig)

SETTING_TYPES: Mapping[str, SettingType] = MappingProxyType({**_BROKER_SETTINGS, **_CONTROLLER_SETTINGS})
"""Every supported setting, by Kafka's dotted name."""

KAFKA_NAMES = MappingProxyType({name: name.replace(".", "_") for name in SETTING_TYPES})
"""The field of BrokerConfig or ControllerConfig for each of Kafka's dotted names."""

INT_SETTINGS = frozenset(name for name, kind in SETTING_TYPES.items() if kind == "int")
"""Settings whose value is an integer, from LEAST_VALUES (1 where it has no entry) to MAX_INT."""

LEAST_VALUES: Mapping[str, int] = MappingProxyType(
    {
        "leader.imbalance.per.broker.percentage": 0,
        "controlled.shutdown.retry.backoff.ms": 0,
        "group.initial.rebalance.delay.ms": 0,
        "message.max.bytes": 0,
        "log.segment.bytes": 14,
        "log.roll.jitter.ms": 0,
        "log.roll.jitter.hours": 0,
        "log.index.size.max.bytes": 4,
        "log.index.interval.bytes": 0,
        "log.retention.ms": -1,
        "log.retention.minutes": -1,
        "log.retention.hours": -1,
        "log.retention.bytes": -1,
    }
)
