"""Turn a running broker's server.log into events: its session, its log directories, its log truncations.

Source: docs/kafka/logging.md 6.
"""

from collections.abc import Iterator
from typing import assert_never, get_args

from kcsim.brokers.apache_kafka.log_feed.parsed_event import ParsedEvent
from kcsim.brokers.apache_kafka.log_lines.activity_messages import (
    ConnectionLost,
    LogDirLost,
    LogTruncated,
    SessionEstablished,
    UncleanShutdown,
)
from kcsim.brokers.apache_kafka.log_lines.messages import BrokerSessionEnded, NoMessage
from kcsim.brokers.apache_kafka.log_lines.patterns import UNKNOWN_BROKER, PatternTable, Speaker
from kcsim.brokers.apache_kafka.log_lines.server_log import (
    CONNECTION_LOGGER,
    OF_SERVER,
    OTHERS,
    SERVER_PREFIX,
    read_connection,
)
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.zk.operations import SessionState

ServerMessage = SessionEstablished | ConnectionLost | BrokerSessionEnded | LogTruncated | LogDirLost | UncleanShutdown
AFTER_PREFIX: PatternTable[ServerMessage] = PatternTable(OF_SERVER, get_args(ServerMessage))
WITHOUT_PREFIX: PatternTable[ServerMessage] = PatternTable(OTHERS, get_args(ServerMessage))


class ServerLines:
    """Reads one broker's server.log."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self._session_id: str | None = None
        self._is_connected = False

    def read(self, logger: str, text: str) -> list[ParsedEvent]:
        """Return the events that a text of this logger describes."""
        message = _message(logger, text)
        return [] if isinstance(message, NoMessage) else list(self._events(message, text))

    def _events(self, message: ServerMessage, text: str) -> Iterator[ParsedEvent]:
        match message:
            case SessionEstablished(session_id, timeout_ms):
                self._session_id, self._is_connected = f"0x{session_id:016x}", True
                fields = EventFields(state=SessionState.CONNECTED.value, session_id=self._session_id, duration_ms=timeout_ms)
                yield ParsedEvent(EventKind.SESSION_STATE, fields)
            case ConnectionLost():
                if self._is_connected:
                    yield from self._session(SessionState.SUSPENDED)
            case BrokerSessionEnded(is_expired):
                yield from self._session(SessionState.EXPIRED if is_expired else SessionState.CLOSED)
            case LogTruncated(tp, offset):
                # Only a truncation that removed records: Kafka words one without effect differently.
                fields = EventFields(topic=tp.topic, partition=tp.partition, offset=offset, detail=text)
                yield ParsedEvent(EventKind.RECORDS_TRUNCATED, fields)
            case LogDirLost(lost, path):
                fields = EventFields(
                    broker_id=self.broker_id, path=path, count=len(lost), detail=f"{len(lost)} replicas are offline"
                )
                yield ParsedEvent(EventKind.LOG_DIR_FAILED, fields)
            case UncleanShutdown():
                fields = EventFields(broker_id=self.broker_id, step="proceeding with an unclean shutdown")
                yield ParsedEvent(EventKind.CONTROLLED_SHUTDOWN, fields)
            case _:
                assert_never(message)

    def _session(self, state: SessionState) -> Iterator[ParsedEvent]:
        self._is_connected = False
        if self._session_id is not None:
            yield ParsedEvent(EventKind.SESSION_STATE, EventFields(state=state.value, session_id=self._session_id))
        if state is not SessionState.SUSPENDED:
            self._session_id = None


def _message(logger: str, text: str) -> ServerMessage | NoMessage:
    if logger == CONNECTION_LOGGER and isinstance(lost := read_connection(text), ConnectionLost):
        return lost
    prefix = SERVER_PREFIX.match(text)
    nobody = Speaker(UNKNOWN_BROKER)
    if prefix is None:
        return WITHOUT_PREFIX.read(text, nobody)
    return AFTER_PREFIX.read(text[prefix.end() :], nobody)
