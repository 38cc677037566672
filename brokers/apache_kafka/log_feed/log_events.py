"""Turn the records of one broker's log files into events of the event log.

ZooKeeper's transaction log shows what was written. The brokers' logs show the rest: the steps of a controller, its requests
and their responses, and how a broker acted on them. Wording and columns are those of our own controller and brokers, so that
one pattern in a scenario file matches both. Covers the wordings of Kafka 2.4 to 3.9 where they are known.
"""

from dataclasses import dataclass

from kcsim.brokers.apache_kafka.log_feed.controller_lines import ControllerLines
from kcsim.brokers.apache_kafka.log_feed.controller_term import ControllerTerm
from kcsim.brokers.apache_kafka.log_feed.decision_lines import DecisionLines
from kcsim.brokers.apache_kafka.log_feed.parsed_event import ParsedEvent
from kcsim.brokers.apache_kafka.log_feed.replica_lines import ReplicaLines
from kcsim.brokers.apache_kafka.log_feed.server_lines import ServerLines
from kcsim.brokers.apache_kafka.log_lines import controller_log, state_change_log
from kcsim.brokers.apache_kafka.log_lines.records import LogRecord
from kcsim.eventlog.events import EventFields, EventKind

SERVER = "kafka.server.KafkaServer"
BEGINS = "starting"

SETTLES_AFTER_MS = 20
"""How long after its last line a request counts as complete if no line marks its end."""


@dataclass(frozen=True, slots=True)
class LogEvent:
    """An event from a broker's log. `time_ms`: the time of the record that it comes from, ms since 1970."""

    time_ms: int
    node: str
    kind: EventKind
    fields: EventFields


@dataclass
class RoleLines:
    """The lines of one of the two roles in a broker's state-change.log, and the time of the last one."""

    lines: DecisionLines | ReplicaLines
    last_ms: int = 0


class BrokerLog:
    """Turns one broker's records, taken from all its files in order of time, into events."""

    def __init__(self, broker_id: int) -> None:
        self._broker_id = broker_id
        self._node = f"broker-{broker_id}"
        self._begin()

    def _begin(self) -> None:
        term = ControllerTerm()
        self._controller = ControllerLines(self._broker_id, term)
        self._server = ServerLines(self._broker_id)
        self._roles = {
            state_change_log.CONTROLLER: RoleLines(DecisionLines(term)),
            state_change_log.BROKER: RoleLines(ReplicaLines()),
        }

    def take(self, record: LogRecord, time_ms: int) -> list[LogEvent]:
        """Return the events of a record, preceded by those of collected lines that this record does not belong to."""
        ended = self.settle(time_ms - SETTLES_AFTER_MS)
        if record.logger == state_change_log.LOGGER:
            return ended + self._take_state_change(record, time_ms)
        return ended + self._log_events(time_ms, self._read(record))

    def _take_state_change(self, record: LogRecord, time_ms: int) -> list[LogEvent]:
        name, speaker, text = state_change_log.role_and_text(record.message, record.continuation)
        role = self._roles.get(name)
        if role is None:
            return []
        ended = self._log_events(role.last_ms, role.lines.end_before(text))
        role.last_ms = time_ms
        return ended + self._log_events(time_ms, role.lines.read(text, speaker))

    def _read(self, record: LogRecord) -> list[ParsedEvent]:
        if record.logger.startswith(controller_log.LOGGERS):
            return self._controller.read(record.message, record.continuation)
        if record.logger == SERVER and record.message == BEGINS:
            self._begin()  # the same files, but a new process
            return []
        return self._server.read(record.logger, record.message)

    def settle(self, before_ms: int) -> list[LogEvent]:
        """Return the events of collected lines, if the last of these lines was written before this time (ms since 1970)."""
        return [
            event
            for role in self._roles.values()
            if role.lines.is_gathering and role.last_ms < before_ms
            for event in self._log_events(role.last_ms, role.lines.settle())
        ]

    def _log_events(self, time_ms: int, facts: list[ParsedEvent]) -> list[LogEvent]:
        return [LogEvent(time_ms, self._node, kind, fields) for kind, fields in facts]
