"""Turn a running broker's server.log into events: its session, its log directories, its log truncations.

Source: docs/kafka/logging.md 6; the messages of ZooKeeper's own client are those of its versions 3.5 to 3.8.
"""

from collections.abc import Iterator

from kcsim.brokers.apache_kafka.log_feed.log_lines import Found, ParsedEvent, PatternTable, says
from kcsim.brokers.apache_kafka.log_import.log_value_parsers import partition_in, partitions_in
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.zk.operations import SessionState

CONNECTION = "org.apache.zookeeper.ClientCnxn"
TRIES_AGAIN = ("attempting reconnect", "Attempting reconnect")
"""Part of every message of ZooKeeper's client about a connection that it has lost or could not make."""


class ServerLines:
    """Reads one broker's server.log."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self._session_id: str | None = None
        self._is_connected = False

    def read(self, logger: str, message: str, exception: str) -> list[ParsedEvent]:
        """Return the events that a message of this logger describes."""
        if logger == CONNECTION and any(words in message for words in TRIES_AGAIN):
            return list(self._lost())
        # Messages may start with a prefix such as [Partition orders-0 broker=1]; the text after it is looked up.
        text = message[message.find("] ") + 2 :] if message.startswith("[") and not message.startswith(LOGS) else message
        return LINES.read(self, text, exception)

    # --- the session

    def connected(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        self._session_id, self._is_connected = f"0x{int(found['session'], 16):016x}", True
        fields = EventFields(
            state=SessionState.CONNECTED.value, session_id=self._session_id, duration_ms=int(found["granted"])
        )
        yield ParsedEvent(EventKind.SESSION_STATE, fields)

    def _lost(self) -> Iterator[ParsedEvent]:
        if self._is_connected:
            yield from self._session(SessionState.SUSPENDED)

    def expired(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        yield from self._session(SessionState.EXPIRED)

    def closed(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        yield from self._session(SessionState.CLOSED)

    def _session(self, state: SessionState) -> Iterator[ParsedEvent]:
        self._is_connected = False
        if self._session_id is not None:
            yield ParsedEvent(EventKind.SESSION_STATE, EventFields(state=state.value, session_id=self._session_id))
        if state is not SessionState.SUSPENDED:
            self._session_id = None

    # --- logs

    def truncated(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        """Report a truncation that removed records; Kafka words a truncation without effect differently."""
        tp = partition_in(found["tp"])
        fields = EventFields(topic=tp.topic, partition=tp.partition, offset=int(found["offset"]), detail=found.string)
        yield ParsedEvent(EventKind.RECORDS_TRUNCATED, fields)

    def lost_directory(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        lost, path = partitions_in(found["tps"]), found["path"]
        fields = EventFields(
            broker_id=self.broker_id, path=path, count=len(lost), detail=f"{len(lost)} replicas are offline"
        )
        yield ParsedEvent(EventKind.LOG_DIR_FAILED, fields)

    # --- shutting down

    def gives_up(self, found: Found, _: str) -> Iterator[ParsedEvent]:
        fields = EventFields(broker_id=self.broker_id, step="proceeding with an unclean shutdown")
        yield ParsedEvent(EventKind.CONTROLLED_SHUTDOWN, fields)


LOGS = ("[Log ", "[UnifiedLog ", "[LocalLog ")
"""Prefixes that are kept because they name the partition."""

S = ServerLines
LINES: PatternTable[ServerLines] = PatternTable(
    # ZK session
    says(
        "Session establishment complete ",
        r".*session ?id = 0x(?P<session>[0-9a-f]+), negotiated timeout = (?P<granted>\d+).*",
        S.connected,
    ),
    says("Session expired.", "", S.expired),
    says("Closed.", "", S.closed),
    # follower, data lost
    *(
        says(prefix, r"partition=(?P<tp>[^,\]]+),? ?[^\]]*\] Truncating to offset (?P<offset>\d+)", S.truncated)
        for prefix in LOGS
    ),
    # log dir failure
    says(
        "Broker ",  # the last line that a broker logs of this before it halts because its last directory has failed
        r"\d+ stopped fetcher for partitions (?P<tps>\S*) and stopped moving logs for partitions \S* because they are in "
        r"the failed log directory (?P<path>.*)\.",
        S.lost_directory,
    ),
    # shutdown
    says("Proceeding to do an unclean shutdown ", ".*", S.gives_up),
)
