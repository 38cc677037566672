"""Log files of real brokers (tests/vectors/kafka-logs…), as events; and single lines, made up for a test."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from kcsim.brokers.apache_kafka.log_feed.log_events import BrokerLog, LogEvent
from kcsim.brokers.apache_kafka.log_feed.log_tail import LogTail, time_of
from kcsim.brokers.apache_kafka.log_lines.records import LogRecord, read_records
from kcsim.eventlog.events import EventKind

VECTORS = Path(__file__).parents[3] / "vectors"
RECORDINGS = VECTORS / "kafka-logs"
"""Recordings of Kafka 2.8.2, by name; those of other versions (kafka-logs-of-versions) are named by their version."""
FOREVER_MS = 10**14

STATE_CHANGE = "state.change.logger"
CONTROLLER = "kafka.controller.KafkaController"
DELETION = "kafka.controller.TopicDeletionManager"
SESSION = "kafka.zookeeper.ZooKeeperClient"
CONNECTION = "org.apache.zookeeper.ClientCnxn"


@lru_cache
def recorded(name: str) -> tuple[LogEvent, ...]:
    """Return all events that the log files of a recording yield, in their order."""
    root = RECORDINGS if (RECORDINGS / name).is_dir() else VECTORS / "kafka-logs-of-versions"
    directories = (root / name).glob("broker-*")
    return tuple(LogTail((int(one.name.removeprefix("broker-")), one) for one in directories).read(FOREVER_MS))


def of(events: Sequence[LogEvent], kind: EventKind, *columns: str, **wanted: object) -> list[Any]:
    """Return the values of these columns of all events of a kind whose other columns equal `wanted`."""
    fields = [{"node": event.node, **event.fields} for event in events if event.kind is kind]
    found = [tuple(one.get(c) for c in columns) for one in fields if wanted.items() <= one.items()]
    return [one[0] for one in found] if len(columns) == 1 else found


def parsed(*lines: tuple[str, str], broker: int = 1) -> list[LogEvent]:
    """Return the events that a broker's lines (message, logger) yield; the lines are one ms apart."""
    log, events = BrokerLog(broker), list[LogEvent]()
    for record in records(*(text(number, *line) for number, line in enumerate(lines))):
        events += log.take(record, time_of(record))
    return events + log.settle(FOREVER_MS)


def text(ms: int, message: str, logger: str) -> str:
    """Return a record as it stands in a file; text after a newline in the message is an exception and follows the logger."""
    message, _, exception = message.partition("\n")
    return f"[2021-05-04 10:00:00,{ms:03}] INFO {message} ({logger})\n" + (f"{exception}\n" if exception else "")


def records(*texts: str) -> list[LogRecord]:
    found = list(read_records("".join(texts).splitlines()))
    assert all(isinstance(one, LogRecord) for one in found)
    return [one for one in found if isinstance(one, LogRecord)]
