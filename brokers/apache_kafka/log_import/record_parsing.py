"""Parse one log record into a message about history: the record's logger shows which file it is from, not the file's name.

All messages of the log lines' history are read (log_lines/messages.py). Of a known line without one, only its author counts.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from kcsim.brokers.apache_kafka.log_lines import controller_log, server_log, state_change_log
from kcsim.brokers.apache_kafka.log_lines.messages import BrokerNamed, ControllerAtWork, HistoryMessage, NoMessage
from kcsim.brokers.apache_kafka.log_lines.patterns import NO_EPOCH, UNKNOWN_BROKER, PatternTable, Speaker
from kcsim.brokers.apache_kafka.log_lines.records import BrokenLines, LogRecord, read_records
from kcsim.vocabulary import BrokerId, ControllerEpoch

OF_CONTROLLER = PatternTable(controller_log.PATTERNS, (HistoryMessage,))
STATE_CHANGES = {
    state_change_log.CONTROLLER: PatternTable(state_change_log.BY_CONTROLLER, (HistoryMessage,)),
    state_change_log.BROKER: PatternTable(state_change_log.BY_BROKER, (HistoryMessage,)),
}
OF_SERVER = PatternTable(server_log.OTHERS, (HistoryMessage,))


class ParsedRecord(NamedTuple):
    """A record and its message; broken lines have none."""

    record: LogRecord
    message: HistoryMessage | NoMessage


def read_message(record: LogRecord) -> HistoryMessage | NoMessage:
    """Return what a record shows of a cluster's history. Pure: it depends on nothing but the record."""
    logger = record.logger
    if logger == state_change_log.LOGGER:
        return _read_state_change(record)
    if logger.startswith(controller_log.LOGGERS):
        return _read_controller(record)
    if logger == server_log.PARTITION_LOGGER:
        return server_log.read_partition(record.message)
    return _read_server(record.message)


def _read_state_change(record: LogRecord) -> HistoryMessage | NoMessage:
    """Return the message of a line of state-change.log. A controller's line at least shows the controller active."""
    role, speaker, text = state_change_log.role_and_text(record.message, record.continuation)
    table = STATE_CHANGES.get(role)
    if table is None:
        return NoMessage.UNKNOWN
    result = table.read(text, speaker)
    if result is not NoMessage.IGNORED:
        return result
    if role == state_change_log.BROKER:
        return _named(speaker.broker)
    return result if speaker.epoch == NO_EPOCH else _at_work(speaker.broker, speaker.epoch)


def _read_controller(record: LogRecord) -> HistoryMessage | NoMessage:
    found = controller_log.speaker_and_text(record.message)
    if found is None:
        return NoMessage.IGNORED if record.message.startswith(controller_log.WITHOUT_PREFIX) else NoMessage.UNKNOWN
    speaker, text = found
    result = OF_CONTROLLER.read(text, speaker)
    return _named(speaker.broker) if result is NoMessage.IGNORED else result


def _read_server(message: str) -> HistoryMessage | NoMessage:
    """Return the message of a line of server.log. Of lines of the server and the replica manager, only the author counts."""
    prefix = server_log.SERVER_PREFIX.match(message)
    return OF_SERVER.read(message, Speaker(UNKNOWN_BROKER)) if prefix is None else _named(BrokerId(int(prefix[1])))


@lru_cache(1_000)
def _named(broker: BrokerId) -> BrokerNamed:
    return BrokerNamed(broker)


@lru_cache(1_000)
def _at_work(broker: BrokerId, epoch: ControllerEpoch) -> ControllerAtWork:
    return ControllerAtWork(broker, epoch)


def read_lines(lines: Iterable[str]) -> Iterator[ParsedRecord | BrokenLines]:
    """Yield the records of one file with their messages, and its broken lines, in order."""
    for found in read_records(lines):
        yield found if isinstance(found, BrokenLines) else ParsedRecord(found, read_message(found))
