"""Statistics of how much of the files was understood, and which kinds of file are missing for which broker."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from enum import StrEnum

from kcsim.brokers.apache_kafka.log_import.entries import NotShown, SourceLine
from kcsim.brokers.apache_kafka.log_import.evidence import EvidenceIndex
from kcsim.brokers.apache_kafka.log_import.record_parsing import ParsedRecord
from kcsim.brokers.apache_kafka.log_lines import controller_log, state_change_log
from kcsim.brokers.apache_kafka.log_lines.messages import BrokerNamed, ControllerAtWork, NoMessage
from kcsim.brokers.apache_kafka.log_lines.records import BrokenLines
from kcsim.vocabulary import BrokerId

INFO_AND_ABOVE = ("INFO", "WARN", "ERROR", "FATAL")


class Source(StrEnum):
    """The kinds of Kafka's log files; recognized by the loggers in them, whatever the files are called."""

    STATE_CHANGE = "state-change.log"
    CONTROLLER = "controller.log"
    SERVER = "server.log"


MISSED = {
    Source.STATE_CHANGE: "what it decided about partitions as a controller, and what it made of the decisions of others",
    Source.CONTROLLER: "when it was elected, which brokers and topics it saw as a controller, and why it elected leaders",
    Source.SERVER: "the ISR changes that it made as a leader, its registrations as they were made, the end of its sessions",
}


def source_of(logger: str) -> Source:
    """Return the file to which Kafka's own log4j.properties sends a logger."""
    if logger == state_change_log.LOGGER:
        return Source.STATE_CHANGE
    return Source.CONTROLLER if logger.startswith(controller_log.LOGGERS) else Source.SERVER


class ParseStatistics:
    """Counts made while the lines are read.

    Attributes:
        history, no_history: records with a message about history, and records that are known to have none.
        unknown: unknown records, by logger.
        broken: lines that are not records; `first_broken` has the first one's place and the reason.
        first, last: the earliest and the latest time, as written.
    """

    def __init__(self) -> None:
        self.history = 0
        self.no_history = 0
        self.unknown: Counter[str] = Counter()
        self.broken = 0
        self.first_broken: tuple[SourceLine, str] | None = None
        self.first: str | None = None
        self.last: str | None = None
        self.sources: dict[str, set[Source]] = defaultdict(set)
        self._detailed: set[Source] = set()  # with lines below INFO
        self._source_of: dict[str, Source] = {}

    @property
    def records(self) -> int:
        return self.history + self.no_history + self.unknown.total()

    def take(self, file: str, found: ParsedRecord | BrokenLines) -> None:
        """Count one record, or a group of broken lines."""
        if isinstance(found, BrokenLines):
            self.broken += found.count
            self.first_broken = self.first_broken or (SourceLine(file, found.line), found.reason)
            return
        record, message = found
        source = self._source_of.get(record.logger)
        if source is None:
            source = self._source_of[record.logger] = source_of(record.logger)
        self.sources[file].add(source)
        if record.level not in INFO_AND_ABOVE:
            self._detailed.add(source)
        if self.first is None or record.time < self.first:
            self.first = record.time
        if self.last is None or record.time > self.last:
            self.last = record.time
        if message is NoMessage.UNKNOWN:
            self.unknown[record.logger] += 1
        elif isinstance(message, NoMessage | BrokerNamed | ControllerAtWork):
            self.no_history += 1
        else:
            self.history += 1

    def add(self, later: "ParseStatistics") -> None:
        """Add the counts of other files, which follow these files."""
        self.history += later.history
        self.no_history += later.no_history
        self.unknown += later.unknown
        self.broken += later.broken
        self.first_broken = self.first_broken or later.first_broken
        self.first = min(filter(None, (self.first, later.first)), default=None)
        self.last = max(filter(None, (self.last, later.last)), default=None)
        for file, sources in later.sources.items():
            self.sources[file] |= sources
        self._detailed |= later._detailed

    def not_shown(self, gathered: EvidenceIndex, brokers: set[BrokerId]) -> Iterator[NotShown]:
        """Yield what these files as a whole cannot show, because files or log levels are missing."""
        has: dict[BrokerId, set[Source]] = defaultdict(set)
        for file, sources in self.sources.items():
            owners = gathered.owners.get(file, set())
            if len(owners) > 1:
                named = ", ".join(f"broker-{broker}" for broker in sorted(owners))
                yield NotShown(f"whose the ends of sessions in {file} are: it has lines of {named}")
            for owner in owners:
                has[owner] |= sources
        for broker in sorted(brokers):
            if not has[broker]:
                yield NotShown(f"anything that broker-{broker} alone knows: none of its files is here")
                continue
            for source in Source:
                if source not in has[broker]:
                    yield NotShown(f"of broker-{broker}, {MISSED[source]}: no {source} of it is here")
        is_there = any(Source.STATE_CHANGE in sources for sources in self.sources.values())
        if is_there and Source.STATE_CHANGE not in self._detailed:
            yield NotShown(
                "since when a partition was offline, the states of replicas, and what requests said: state-change.log has "
                "no lines below INFO"
            )
