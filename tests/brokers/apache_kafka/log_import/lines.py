"""Short log files made up for a test, and the history that they show."""

from collections.abc import Mapping

from kcsim.brokers.apache_kafka.log_import.entries import HistoryEntry, LogHistory, NotShown, StateWrite
from kcsim.brokers.apache_kafka.log_import.evidence import EvidenceIndex
from kcsim.brokers.apache_kafka.log_import.history import history_of
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import take
from kcsim.brokers.apache_kafka.log_import.parse_statistics import ParseStatistics
from kcsim.brokers.apache_kafka.log_import.record_parsing import ParsedRecord, read_lines
from kcsim.brokers.apache_kafka.log_lines.messages import Message, NoMessage

STATE_CHANGE = "state.change.logger"
CONTROLLER = "kafka.controller.KafkaController"
DELETION = "kafka.controller.TopicDeletionManager"
PARTITION = "kafka.cluster.Partition"
ZK = "kafka.zk.KafkaZkClient"

C2 = "[Controller id={c} epoch={ce}] Changed partition orders-0 from {before} to OnlinePartition with state "
STATE = "LeaderAndIsr(leader={leader}, leaderEpoch={epoch}, isr=List({isr}), zkVersion={version})"


def says(message: str, logger: str = STATE_CHANGE, level: str = "INFO") -> Message | NoMessage:
    """Return what one message says."""
    (found,) = read_lines([f"[2021-05-04 10:15:30,012] {level} {message} ({logger})\n"])
    assert isinstance(found, ParsedRecord), found
    return found.message


def line(second: float, message: str, logger: str = STATE_CHANGE) -> str:
    """Return a log line at this many seconds after ten o'clock."""
    whole, rest = divmod(round(second * 1000), 1000)
    minute, whole = divmod(whole, 60)
    return f"[2021-05-04 10:{minute:02}:{whole:02},{rest:03}] INFO {message} ({logger})\n"


def shown(files: Mapping[str, list[str]]) -> LogHistory:
    """Return the history that these files show."""
    gathered, tally = EvidenceIndex(), ParseStatistics()
    for file, lines in files.items():
        for found in read_lines(lines):
            take(gathered, tally, file, found)
    return history_of(gathered)


def writes(history: LogHistory) -> list[StateWrite]:
    return [entry for entry in history.entries if isinstance(entry, StateWrite)]


def kinds(history: LogHistory) -> list[tuple[str, str]]:
    """Return the class name and the visibility of each entry."""
    return [(type(entry).__name__, entry.shown.value) for entry in history.entries]


def places(history: LogHistory, kind: type[HistoryEntry]) -> list[str]:
    return [str(entry.place) for entry in history.entries if isinstance(entry, kind)]


def texts_of(not_shown: tuple[NotShown, ...]) -> list[str]:
    return [str(one) for one in not_shown]


def elected(
    second: float, leader: int, epoch: int, isr: str, version: int, c: int = 1, ce: int = 7, before: str = "OnlinePartition"
) -> str:
    """Return a controller's log line of an election in orders-0."""
    state = STATE.format(leader=leader, epoch=epoch, isr=isr, version=version)
    return line(second, C2.format(c=c, ce=ce, before=before) + state)


def won(second: float, controller: int, epoch: int) -> str:
    text = f"{controller} successfully elected as the controller. Epoch incremented to {epoch} and epoch zk version is now "
    return line(second, f"[Controller id={controller}] {text}{epoch}", CONTROLLER)


def isr_updated(second: float, broker: int, isr: str, version: int) -> str:
    return line(
        second, f"[Partition orders-0 broker={broker}] ISR updated to {isr} and version updated to [{version}]", PARTITION
    )
