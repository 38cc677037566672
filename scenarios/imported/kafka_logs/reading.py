"""One log record to what it says: which file a record is from shows in its logger, not in the file's name."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kcsim.scenarios.imported.kafka_logs import controller_log, server_log, state_change_log
from kcsim.scenarios.imported.kafka_logs.messages import Message, Silent
from kcsim.scenarios.imported.kafka_logs.records import BrokenLines, LogRecord, read_records


class Said(NamedTuple):
    """A record and what it says; broken lines say nothing."""

    record: LogRecord
    says: Message | Silent


def read_message(record: LogRecord) -> Message | Silent:
    """What a record says of a cluster's history. Pure: it depends on nothing but the record."""
    logger = record.logger
    if logger == state_change_log.LOGGER:
        return state_change_log.read_state_change(record.message, record.continuation)
    if logger.startswith(controller_log.LOGGERS):
        return controller_log.read_controller(record.message, record.continuation)
    if logger == server_log.PARTITION_LOGGER:
        return server_log.read_partition(record.message)
    return server_log.read_server(record.message)


def read_lines(lines: Iterable[str]) -> Iterator[Said | BrokenLines]:
    """All that the lines of one file say, in their order."""
    for found in read_records(lines):
        yield found if isinstance(found, BrokenLines) else Said(found, read_message(found))
