"""The settings that a topic can have, and their valid values: Kafka's checks before it writes any.

Source: Kafka 2.8, LogConfig and ConfigDef; the messages are those of its ConfigException and InvalidConfigurationException.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from kcsim.controller.decisions.kafka_refusals import ConfigError, InvalidConfigurationError

INT_BITS, LONG_BITS = 32, 64
MIN_INSYNC_REPLICAS = "min.insync.replicas"
MESSAGE_FORMAT_VERSION = "message.format.version"
LEADER_THROTTLED_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_THROTTLED_REPLICAS = "follower.replication.throttled.replicas"
MIN_COMPACTION_LAG_MS, MAX_COMPACTION_LAG_MS = "min.compaction.lag.ms", "max.compaction.lag.ms"
LONGEST_MS = 2**63 - 1

Check = Callable[[str], str | None]
"""Takes a value and returns what is wrong with it; None if it is valid."""


def _number(text: str, bits: int) -> int | None:
    digits = re.fullmatch(r"[+-]?[0-9]{1,30}", text.strip())
    value = int(digits[0]) if digits else None
    return value if value is not None and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def _whole(bits: int, at_least: int | None = None) -> Check:
    def check(text: str) -> str | None:
        value = _number(text, bits)
        if value is None:
            return f"Not a number of type {'INT' if bits == INT_BITS else 'LONG'}"
        return f"Value must be at least {at_least}" if at_least is not None and value < at_least else None

    return check


def _ratio(text: str) -> str | None:
    try:
        value = float(text)
    except ValueError:
        return "Not a number of type DOUBLE"
    return "Value must be at least 0" if value < 0 else "Value must be no more than 1" if value > 1 else None


def _boolean(text: str) -> str | None:
    return None if text.strip().lower() in ("true", "false") else "Expected value to be either true or false"


def _one_of(*allowed: str) -> Check:
    return lambda text: None if text.strip() in allowed else f"String must be one of: {', '.join(allowed)}"


def _some_of(*allowed: str) -> Check:
    return lambda text: None if set(_listed(text)) <= set(allowed) else f"String must be one of: {', '.join(allowed)}"


def _throttled_replicas(name: str) -> Check:
    form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

    def check(text: str) -> str | None:
        entries = _listed(text)
        if entries[:1] == ["*"] or all(re.fullmatch(r"([0-9]+:[0-9]+)?", entry) for entry in entries):
            return None
        return f"{name} must be the literal '*' or a list of replicas in the following format: {form}"

    return check


def _listed(text: str) -> list[str]:
    return re.split(r"\s*,\s*", text.strip()) if text.strip() else []


HIGHEST_STEP = {
    "0.10.0": 1, "0.10.1": 2, "0.10.2": 0, "0.11.0": 2, "1.0": 0, "1.1": 0, "2.0": 1, "2.1": 2, "2.2": 1, "2.3": 1,
    "2.4": 1, "2.5": 0, "2.6": 0, "2.7": 2, "2.8": 1,
}  # fmt: skip
"""The Kafka versions that came in steps, with the highest step: IV0 to IV of this number."""
VERSIONS = {"0.8.0", "0.8.1", "0.8.2", "0.9.0", *HIGHEST_STEP} | {
    f"{version}-IV{step}" for version, highest in HIGHEST_STEP.items() for step in range(highest + 1)
}


def _version(text: str) -> str | None:
    parts = text.strip().split(".")
    known = ".".join(parts[: 3 if parts[0] == "0" else 2]) in VERSIONS
    return None if known else f"Version `{text.strip()}` is not a valid version"


TOPIC_SETTINGS: Mapping[str, Check] = {
    "cleanup.policy": _some_of("compact", "delete"),
    "compression.type": _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "delete.retention.ms": _whole(LONG_BITS, 0),
    "file.delete.delay.ms": _whole(LONG_BITS, 0),
    "flush.messages": _whole(LONG_BITS, 0),
    "flush.ms": _whole(LONG_BITS, 0),
    FOLLOWER_THROTTLED_REPLICAS: _throttled_replicas(FOLLOWER_THROTTLED_REPLICAS),
    "index.interval.bytes": _whole(INT_BITS, 0),
    LEADER_THROTTLED_REPLICAS: _throttled_replicas(LEADER_THROTTLED_REPLICAS),
    MAX_COMPACTION_LAG_MS: _whole(LONG_BITS, 1),
    "max.message.bytes": _whole(INT_BITS, 0),
    "message.downconversion.enable": _boolean,
    MESSAGE_FORMAT_VERSION: _version,
    "message.timestamp.difference.max.ms": _whole(LONG_BITS, 0),
    "message.timestamp.type": _one_of("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": _ratio,
    MIN_COMPACTION_LAG_MS: _whole(LONG_BITS, 0),
    MIN_INSYNC_REPLICAS: _whole(INT_BITS, 1),
    "preallocate": _boolean,
    "retention.bytes": _whole(LONG_BITS),
    "retention.ms": _whole(LONG_BITS, -1),
    "segment.bytes": _whole(INT_BITS, 14),
    "segment.index.bytes": _whole(INT_BITS, 0),
    "segment.jitter.ms": _whole(LONG_BITS, 0),
    "segment.ms": _whole(LONG_BITS, 1),
    "unclean.leader.election.enable": _boolean,
}


def check_topic_config(config: Mapping[str, str]) -> None:
    """Check the settings of a topic. Raises: InvalidConfigurationError, ConfigError."""
    check_setting_names(config)
    for name, value in config.items():
        wrong = TOPIC_SETTINGS[name](value)
        if wrong is not None:
            raise ConfigError(f"Invalid value {value} for configuration {name}: {wrong}")
    least, most = int(config.get(MIN_COMPACTION_LAG_MS, 0)), int(config.get(MAX_COMPACTION_LAG_MS, LONGEST_MS))
    if least > most:
        raise InvalidConfigurationError(
            f"conflict topic config setting {MIN_COMPACTION_LAG_MS} ({least}) > {MAX_COMPACTION_LAG_MS} ({most})"
        )


def check_setting_names(names: Iterable[str]) -> None:
    """Refuse unknown setting names. Raises: InvalidConfigurationError."""
    for name in names:
        if name not in TOPIC_SETTINGS:
            raise InvalidConfigurationError(f"Unknown topic config name: {name}")
