"""The settings that a topic can have, and their valid values: Kafka's checks before it writes any.

Source: Kafka 2.8, LogConfig and ConfigDef; the messages are those of its ConfigException and InvalidConfigurationException.
"""

import re
from collections.abc import Iterable, Mapping

from kcsim.controller.decisions.kafka_refusals import ConfigError, InvalidConfigurationError
from kcsim.controller.decisions.setting_checks import (
    INT_BITS,
    LONG_BITS,
    Check,
    boolean,
    listed,
    one_of,
    ratio,
    some_of,
    whole_number,
)

MIN_INSYNC_REPLICAS = "min.insync.replicas"
MESSAGE_FORMAT_VERSION = "message.format.version"
LEADER_THROTTLED_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_THROTTLED_REPLICAS = "follower.replication.throttled.replicas"
THROTTLED_REPLICAS = (LEADER_THROTTLED_REPLICAS, FOLLOWER_THROTTLED_REPLICAS)
MIN_COMPACTION_LAG_MS, MAX_COMPACTION_LAG_MS = "min.compaction.lag.ms", "max.compaction.lag.ms"
LONGEST_MS = 2**63 - 1


def _throttled_replicas(name: str) -> Check:
    form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

    def check(text: str) -> str | None:
        entries = listed(text)
        if entries[:1] == ["*"] or all(re.fullmatch(r"([0-9]+:[0-9]+)?", entry) for entry in entries):
            return None
        return f"{name} must be the literal '*' or a list of replicas in the following format: {form}"

    return check


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
    "cleanup.policy": some_of("compact", "delete"),
    "compression.type": one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "delete.retention.ms": whole_number(LONG_BITS, 0),
    "file.delete.delay.ms": whole_number(LONG_BITS, 0),
    "flush.messages": whole_number(LONG_BITS, 0),
    "flush.ms": whole_number(LONG_BITS, 0),
    FOLLOWER_THROTTLED_REPLICAS: _throttled_replicas(FOLLOWER_THROTTLED_REPLICAS),
    "index.interval.bytes": whole_number(INT_BITS, 0),
    LEADER_THROTTLED_REPLICAS: _throttled_replicas(LEADER_THROTTLED_REPLICAS),
    MAX_COMPACTION_LAG_MS: whole_number(LONG_BITS, 1),
    "max.message.bytes": whole_number(INT_BITS, 0),
    "message.downconversion.enable": boolean,
    MESSAGE_FORMAT_VERSION: _version,
    "message.timestamp.difference.max.ms": whole_number(LONG_BITS, 0),
    "message.timestamp.type": one_of("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": ratio,
    MIN_COMPACTION_LAG_MS: whole_number(LONG_BITS, 0),
    MIN_INSYNC_REPLICAS: whole_number(INT_BITS, 1),
    "preallocate": boolean,
    "retention.bytes": whole_number(LONG_BITS),
    "retention.ms": whole_number(LONG_BITS, -1),
    "segment.bytes": whole_number(INT_BITS, 14),
    "segment.index.bytes": whole_number(INT_BITS, 0),
    "segment.jitter.ms": whole_number(LONG_BITS, 0),
    "segment.ms": whole_number(LONG_BITS, 1),
    "unclean.leader.election.enable": boolean,
}


TOPIC_LISTS: Mapping[str, str] = {"cleanup.policy": "delete", FOLLOWER_THROTTLED_REPLICAS: "", LEADER_THROTTLED_REPLICAS: ""}
"""The settings whose value is a list, with the default as text."""


def check_topic_config(config: Mapping[str, str]) -> None:
    """Check the settings of a topic. Raises: InvalidConfigurationError, ConfigError."""
    check_setting_names(config)
    for name, value in config.items():
        wrong = TOPIC_SETTINGS[name](value)
        if wrong is not None:
            shown = f"[{', '.join(listed(value))}]" if name in THROTTLED_REPLICAS else value
            raise ConfigError(f"Invalid value {shown} for configuration {name}: {wrong}")
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
