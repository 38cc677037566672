"""server.log of a running broker, as events: its session, its log directories, what it cut off its logs.

Source: reference logging.md 6; the sentences of ZooKeeper's own client are those of its versions 3.5 to 3.8.
"""

from collections.abc import Iterator

from kcsim.scenarios.imported.kafka_logs.renderings import partition_in, partitions_in
from kcsim.scenarios.on_kafka.log_lines import Fact, Found, Lines, says
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.operations import SessionState

CONNECTION = "org.apache.zookeeper.ClientCnxn"
TRIES_AGAIN = ("attempting reconnect", "Attempting reconnect")
"""In every sentence of ZooKeeper's client about a connection that it has lost, or could not make."""


class ServerLines:
    """Reads one broker's server.log."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self._session_id: str | None = None
        self._is_connected = False

    def read(self, logger: str, message: str, exception: str) -> list[Fact]:
        """What a message of a logger says."""
        if logger == CONNECTION and any(words in message for words in TRIES_AGAIN):
            return list(self._lost())
        # [Partition orders-0 broker=1] and the like: the text after it has the words.
        text = message[message.find("] ") + 2 :] if message.startswith("[") and not message.startswith(LOGS) else message
        return LINES.read(self, text, exception)

    # --- the session

    def connected(self, found: Found, _: str) -> Iterator[Fact]:
        self._session_id, self._is_connected = f"0x{int(found['session'], 16):016x}", True
        fields = EventFields(
            state=SessionState.CONNECTED.value, session_id=self._session_id, duration_ms=int(found["granted"])
        )
        yield Fact(EventKind.SESSION_STATE, fields)

    def _lost(self) -> Iterator[Fact]:
        if self._is_connected:
            yield from self._session(SessionState.SUSPENDED)

    def expired(self, found: Found, _: str) -> Iterator[Fact]:
        yield from self._session(SessionState.EXPIRED)

    def closed(self, found: Found, _: str) -> Iterator[Fact]:
        yield from self._session(SessionState.CLOSED)

    def _session(self, state: SessionState) -> Iterator[Fact]:
        self._is_connected = False
        if self._session_id is not None:
            yield Fact(EventKind.SESSION_STATE, EventFields(state=state.value, session_id=self._session_id))
        if state is not SessionState.SUSPENDED:
            self._session_id = None

    # --- logs

    def truncated(self, found: Found, _: str) -> Iterator[Fact]:
        """Only what cut something off: a truncation without effect has other words."""
        tp = partition_in(found["tp"])
        fields = EventFields(topic=tp.topic, partition=tp.partition, offset=int(found["offset"]), detail=found.string)
        yield Fact(EventKind.RECORDS_TRUNCATED, fields)

    def lost_directory(self, found: Found, _: str) -> Iterator[Fact]:
        lost, path = partitions_in(found["tps"]), found["path"]
        fields = EventFields(
            broker_id=self.broker_id, path=path, count=len(lost), detail=f"{len(lost)} replicas are offline"
        )
        yield Fact(EventKind.LOG_DIR_FAILED, fields)

    # --- shutting down

    def gives_up(self, found: Found, _: str) -> Iterator[Fact]:
        fields = EventFields(broker_id=self.broker_id, step="proceeding with an unclean shutdown")
        yield Fact(EventKind.CONTROLLED_SHUTDOWN, fields)


LOGS = ("[Log ", "[UnifiedLog ", "[LocalLog ")
"""Prefixes that are needed: they name the partition."""

S = ServerLines
LINES: Lines[ServerLines] = Lines(
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
        "Broker ",  # the last that is said before a broker halts with its last directory
        r"\d+ stopped fetcher for partitions (?P<tps>\S*) and stopped moving logs for partitions \S* because they are in "
        r"the failed log directory (?P<path>.*)\.",
        S.lost_directory,
    ),
    # shutdown
    says("Proceeding to do an unclean shutdown ", ".*", S.gives_up),
)
