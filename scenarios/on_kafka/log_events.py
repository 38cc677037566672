"""The records of one broker's own log files, as events of the event log.

ZooKeeper's transaction log tells what was written; this tells the rest: what a controller went through, sent and was
answered, and what a broker made of it. The words and columns are those that our own controller and brokers use, so that one
pattern of a scenario file means both. Wordings of Kafka 2.4 to 3.9 where they are known.
"""

from dataclasses import dataclass

from kcsim.scenarios.imported.kafka_logs.records import LogRecord
from kcsim.scenarios.imported.kafka_logs.state_change_log import PREFIX
from kcsim.scenarios.on_kafka.controller_lines import ControllerLines
from kcsim.scenarios.on_kafka.decision_lines import DecisionLines
from kcsim.scenarios.on_kafka.log_lines import Fact, Term
from kcsim.scenarios.on_kafka.replica_lines import ReplicaLines
from kcsim.scenarios.on_kafka.server_lines import ServerLines
from kcsim.zk.events import EventFields, EventKind

STATE_CHANGES = "state.change.logger"
CONTROLLER = "kafka.controller."
SERVER = "kafka.server.KafkaServer"
BEGINS = "starting"

SETTLES_AFTER_MS = 20
"""How long after its last line a request counts as complete of which nothing says that it is."""


@dataclass(frozen=True, slots=True)
class LogEvent:
    """An event that a broker's log tells. `time_ms`: of the record that told it, ms since 1970."""

    time_ms: int
    node: str
    kind: EventKind
    fields: EventFields


@dataclass
class Role:
    """One of the two that a broker's state-change.log has lines of, and when the last was written."""

    lines: DecisionLines | ReplicaLines
    last_ms: int = 0


class BrokerLog:
    """Takes one broker's records, of all its files in the order of their times; gives events."""

    def __init__(self, broker_id: int) -> None:
        self._broker_id = broker_id
        self._node = f"broker-{broker_id}"
        self._begin()

    def _begin(self) -> None:
        term = Term()
        self._controller = ControllerLines(self._broker_id, term)
        self._server = ServerLines(self._broker_id)
        self._roles = {"Controller": Role(DecisionLines(term)), "Broker": Role(ReplicaLines())}

    def take(self, record: LogRecord, time_ms: int) -> list[LogEvent]:
        """What a record tells, after what the lines before it tell together if it is not one of them."""
        ended = self.settle(time_ms - SETTLES_AFTER_MS)
        if record.logger == STATE_CHANGES:
            return ended + self._take_state_change(record, time_ms)
        return ended + self._told(time_ms, self._read(record))

    def _take_state_change(self, record: LogRecord, time_ms: int) -> list[LogEvent]:
        prefix = PREFIX.match(record.message)
        if prefix is None or prefix[1] is None:
            return []
        role, text = self._roles[prefix[1]], record.message[prefix.end() :]
        ended = self._told(role.last_ms, role.lines.end_before(text))
        role.last_ms = time_ms
        return ended + self._told(time_ms, role.lines.read(text, record.continuation))

    def _read(self, record: LogRecord) -> list[Fact]:
        if record.logger.startswith(CONTROLLER):
            return self._controller.read(record.message, record.continuation)
        if record.logger == SERVER and record.message == BEGINS:
            self._begin()  # the same files, another process
            return []
        return self._server.read(record.logger, record.message, record.continuation)

    def settle(self, before_ms: int) -> list[LogEvent]:
        """What lines tell together of which the last was written before this time (ms since 1970)."""
        return [
            event
            for role in self._roles.values()
            if role.lines.is_gathering and role.last_ms < before_ms
            for event in self._told(role.last_ms, role.lines.settle())
        ]

    def _told(self, time_ms: int, facts: list[Fact]) -> list[LogEvent]:
        return [LogEvent(time_ms, self._node, kind, fields) for kind, fields in facts]
