"""What brokers log about themselves and about each other that tells one fault from another.

ZooKeeper shows that a session ended. Whether its broker was dead, frozen, cut off or on its way down shows in server.log:
how the process began and ended, how its client of ZooKeeper fared, and whether other brokers still reached it.

Pure. Source: docs/kafka/logging.md 6; recordings in tests/vectors.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from kcsim.brokers.apache_kafka.log_import.entries import SourceLine
from kcsim.brokers.apache_kafka.log_lines.records import LogRecord

KAFKA_SERVER = "kafka.server.KafkaServer"
CLIENT_OF_ZOOKEEPER = "org.apache.zookeeper.ClientCnxn"
SIGNALS = "org.apache.kafka.common.utils.LoggingSignalHandler"
NETWORK = "org.apache.kafka.clients.NetworkClient"


class SignKind(StrEnum):
    """What a line shows. The comments say which broker the sign is about, if it is not the one that logged it."""

    STARTED = "the process started"
    TERMINATED = "the process was asked to terminate"  # a signal that a process can handle: SIGTERM, SIGINT, SIGHUP
    SHUTTING_DOWN = "the broker shuts down"
    SHUT_DOWN = "the broker has shut down"
    SILENCE = "nothing was heard from ZooKeeper"
    RECONNECTING = "the connection to ZooKeeper was lost, or could not be made"
    SESSION = "a session with ZooKeeper was established"
    EXPIRED = "its session had expired"
    DISK_LOST = "a log directory failed"
    HALTED = "the process ended itself"
    RESIGNED = "it gave up the role of the controller"
    PEER_DISCONNECTED = "a connection to another broker broke"  # about the broker in `value`
    PEER_REFUSED = "another broker could not be connected to"  # about the broker in `value`


class BrokerSign(NamedTuple):
    """One line of a broker that is a sign. `value`: ms of a silence, ms of a session time-out, or another broker's id."""

    t_ms: int
    broker: int
    kind: SignKind
    place: SourceLine
    value: int = 0
    detail: str = ""


PATTERNS: tuple[tuple[str, SignKind, "re.Pattern[str]"], ...] = tuple(
    (logger, kind, re.compile(regex))
    for logger, kind, regex in (
        (KAFKA_SERVER, SignKind.STARTED, r"starting"),
        (
            SIGNALS,
            SignKind.TERMINATED,
            r"Terminating process due to signal (SIG\w+)",
        ),
        (KAFKA_SERVER, SignKind.SHUTTING_DOWN, r"\[Kafka ?Server (?:id=)?\d+\],? shutting down"),
        (KAFKA_SERVER, SignKind.SHUT_DOWN, r"\[Kafka ?Server (?:id=)?\d+\],? shut down completed"),
        (CLIENT_OF_ZOOKEEPER, SignKind.SILENCE, r"Client session timed out, have not heard from server in (\d+)ms"),
        (CLIENT_OF_ZOOKEEPER, SignKind.RECONNECTING, r"(?s).*[Aa]ttempting reconnect"),
        (CLIENT_OF_ZOOKEEPER, SignKind.SESSION, r"Session establishment complete .*negotiated timeout = (\d+)"),
        ("kafka.zookeeper.ZooKeeperClient", SignKind.EXPIRED, r"\[ZooKeeperClient[^\]]*\] Session expired"),
        ("kafka.server.ReplicaManager", SignKind.DISK_LOST, r".*in the failed log directory (.*)\."),
        ("kafka.log.LogManager", SignKind.HALTED, r"Shutdown broker because (all log dirs in .* have failed)"),
        ("kafka.controller.KafkaController", SignKind.RESIGNED, r"\[Controller id=\d+\] Resigned"),
        (
            NETWORK,
            SignKind.PEER_REFUSED,
            r".*Connection to node (\d+) .*could not be established",
        ),
    )
)
DISCONNECTED = re.compile(r"java\.io\.IOException: Connection to (\d+) was disconnected")
"""The exception after a line about a fetch: its record ends with the logger, and the exception follows."""
SETTING = re.compile(r"^\s*([a-z][a-z.]+) = (\S*)$", re.MULTILINE)
OLDEST, FIRST_UNREAD = (0, 10), (4, 0)
VERSION = re.compile(r"Kafka version ?: (\d+)\.(\d+)")
KRAFT = (
    "kafka.server.KafkaRaftServer",
    "kafka.raft.",
    "org.apache.kafka.raft.",
    "org.apache.kafka.controller.QuorumController",
)
"""Loggers of servers without ZooKeeper."""


def short_place(place: SourceLine) -> str:
    """Return a place with the last two parts of its path, which name the broker and the file: broker-1/server.log:63."""
    return f"{'/'.join(Path(place.file).parts[-2:])}:{place.line}"


def signs_in(record: LogRecord, broker: int, t_ms: int, file: str) -> Iterator[BrokerSign]:
    """Yield the signs of one record of a broker."""
    place = SourceLine(file, record.line)
    for logger, kind, pattern in PATTERNS:
        if record.logger == logger and (found := pattern.match(record.message)) is not None:
            text = found[1] if pattern.groups else ""
            yield BrokerSign(t_ms, broker, kind, place, int(text) if text.isdecimal() else 0, text)
    if (found := DISCONNECTED.match(record.continuation)) is not None:
        yield BrokerSign(t_ms, broker, SignKind.PEER_DISCONNECTED, place, int(found[1]))


def settings_in(record: LogRecord) -> dict[str, str]:
    """Return the settings that a broker prints when it starts; empty for any other record."""
    return dict(SETTING.findall(record.message)) if record.message.startswith("KafkaConfig values:") else {}


def why_unreadable(record: LogRecord) -> str | None:
    """Return why logs with this record are not those of a cluster that can be understood, or None."""
    if record.logger.startswith(KRAFT):
        return "a cluster with KRaft wrote it: there is no controller with ZooKeeper in it"
    if (found := VERSION.match(record.message)) is not None and not OLDEST <= (int(found[1]), int(found[2])) < FIRST_UNREAD:
        return f"Kafka {found[1]}.{found[2]} wrote it; logs of Kafka 0.10 to 3.9 are read"
    return None
