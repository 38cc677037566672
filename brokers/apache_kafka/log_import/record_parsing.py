"""Parse one log record into a message: the record's logger shows which file it is from, not the file's name."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kcsim.brokers.apache_kafka.log_import import controller_log, server_log, state_change_log
from kcsim.brokers.apache_kafka.log_import.messages import Message, NoMessage
from kcsim.brokers.apache_kafka.log_import.records import BrokenLines, LogRecord, read_records


class ParsedRecord(NamedTuple):
    """A record and its message; broken lines have none."""

    record: LogRecord
    says: Message | NoMessage


def read_message(record: LogRecord) -> Message | NoMessage:
    """Return what a record says of a cluster's history. Pure: it depends on nothing but the record."""
    logger = record.logger
    if logger == state_change_log.LOGGER:
        return state_change_log.read_state_change(record.message, record.continuation)
    if logger.startswith(controller_log.LOGGERS):
        return controller_log.read_controller(record.message, record.continuation)
    if logger == server_log.PARTITION_LOGGER:
        return server_log.read_partition(record.message)
    return server_log.read_server(record.message)


def read_lines(lines: Iterable[str]) -> Iterator[ParsedRecord | BrokenLines]:
    """Yield the records of one file with their messages, and its broken lines, in order."""
    for found in read_records(lines):
        yield found if isinstance(found, BrokenLines) else ParsedRecord(found, read_message(found))
