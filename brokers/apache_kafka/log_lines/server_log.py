"""The messages of server.log: what only a broker itself knows of its registration, session, replicas and log directories.

Almost all of a server.log is about other things; messages that are not known here count as unknown under their logger.
Source: docs/kafka/logging.md 6; the messages of ZooKeeper's own client are those of its versions 3.5 to 3.8.
"""

import re

from kcsim.brokers.apache_kafka.log_lines.activity_messages import (
    ConnectionLost,
    LogDirLost,
    LogTruncated,
    SessionEstablished,
    UncleanShutdown,
)
from kcsim.brokers.apache_kafka.log_lines.log_value_parsers import ids_in, partition_in
from kcsim.brokers.apache_kafka.log_lines.messages import (
    BecameLeader,
    BrokerNamed,
    BrokerSessionEnded,
    ClockRead,
    HistoryMessage,
    IsrChangeTried,
    IsrUpdated,
    Message,
    NoMessage,
    Registered,
)
from kcsim.brokers.apache_kafka.log_lines.patterns import Found, Speaker, knows_by_start, reads
from kcsim.vocabulary import BrokerId, TopicPartition

PARTITION_LOGGER = "kafka.cluster.Partition"
PARTITION_PREFIX = re.compile(r"\[Partition (\S+) broker=(\d+)\] |Partition (\[\S+\]|\S+) on broker (\d+): ")
SERVER_PREFIX = re.compile(
    r"\[(?:KafkaServer id=|Kafka Server |ReplicaManager broker=|Replica Manager on Broker )(\d+)\]:?,? ?"
)
ENDPOINT = re.compile(r"[\w.-]+://[^,\s()]*:\d+")


def read_partition(message: str) -> HistoryMessage | NoMessage:
    """Return the message of a text of PARTITION_LOGGER: a leader's, about its partition."""
    prefix = PARTITION_PREFIX.match(message)
    if prefix is None:
        return NoMessage.UNKNOWN
    name, broker = prefix.group(1, 2) if prefix[1] else prefix.group(3, 4)
    try:
        tp = partition_in(name)
    except ValueError:
        return NoMessage.UNKNOWN
    leader = BrokerId(int(broker))
    text = message[prefix.end() :]
    if (found := UPDATED.fullmatch(text)) is not None:
        return IsrUpdated(leader, tp, ids_in(found["isr"]), int(found["version"]))
    if (found := TRIED.match(text)) is not None:
        return IsrChangeTried(leader, tp, ids_in(found["before"]), ids_in(found["isr"]))
    if (found := STARTS.match(text)) is not None:
        return _leads(found, tp, leader)
    if text.startswith(PARTITION_NEWS):
        return BrokerNamed(leader)
    return NoMessage.UNKNOWN


UPDATED = re.compile(
    r"ISR updated to \[?(?P<isr>[\d,]*)\]?(?: \(under-min-isr\))? {1,2}and (?:zkV|v)ersion updated to "
    r"\[?(?P<version>\d+)\]?"
)
TRIED = re.compile(r"(?:Shrinking|Expanding) ISR (?:for partition \S+ )?from (?P<before>[\d,]*) to (?P<isr>[\d,]*)(?:\.|\Z)")
STARTS = re.compile(
    r"\S+ starts at [Ll]eader [Ee]poch (?P<epoch>\d+) from offset (?P<offset>\d+)"
    r"(?: with high watermark (?P<mark>\d+))?\. Previous [Ll]eader [Ee]poch was:? -?\d+"
)
PARTITION_NEWS = (
    "No checkpointed highwatermark is found ",
    "Log loaded for partition ",
    "Cached zkVersion ",
)


def _leads(found: Found, tp: TopicPartition, leader: BrokerId) -> BecameLeader:
    mark = found["mark"]
    return BecameLeader(leader, tp, int(found["epoch"]), int(found["offset"]), None if mark is None else int(mark))


def _registered(found: Found, by: Speaker) -> Message:
    epoch = found["epoch"]
    endpoints = tuple(ENDPOINT.findall(found["addresses"]))
    return Registered(BrokerId(int(found["broker"])), None if epoch is None else int(epoch), endpoints)


def _closed(found: Found, by: Speaker) -> Message:
    return BrokerSessionEnded(is_expired=False)


def _expired(found: Found, by: Speaker) -> Message:
    return BrokerSessionEnded(is_expired=True)


def _established(found: Found, by: Speaker) -> Message:
    return SessionEstablished(int(found["session_id"], 16), int(found["timeout_ms"]))


CLIENTS = ("[ZooKeeperClient ", "[ZooKeeperClient]")
"""With the client's name, since 2.1, and without it."""

CONNECTION_LOGGER = "org.apache.zookeeper.ClientCnxn"
TRIES_AGAIN = ("attempting reconnect", "Attempting reconnect")
"""Part of every message of ZooKeeper's client about a connection that it has lost or could not make."""


def read_connection(message: str) -> ConnectionLost | NoMessage:
    """Return the message of a text of CONNECTION_LOGGER: that of ZooKeeper's client, about a connection."""
    return ConnectionLost() if any(words in message for words in TRIES_AGAIN) else NoMessage.UNKNOWN


LOGS = ("[Log ", "[UnifiedLog ", "[LocalLog ")

OF_SERVER = (
    reads(
        "Broker ",  # the last line that a broker logs of this before it halts because its last directory has failed
        r"\d+ stopped fetcher for partitions (?P<partitions>\S*) and stopped moving logs for partitions \S* because they "
        r"are in the failed log directory (?P<path>.*)\.",
        LogDirLost,
    ),
    reads("Proceeding to do an unclean shutdown ", ".*", UncleanShutdown),
)
"""Messages after SERVER_PREFIX."""

OTHERS = (
    reads(
        "Registered broker ",
        r"(?P<broker>\d+) at path \S+ with addresses: (?P<addresses>.*?)(?:, czxid \(broker epoch\): (?P<epoch>\d+))?",
        Registered,
        _registered,
    ),
    *(reads(client, r"(?:.*\])? Closed\.", BrokerSessionEnded, _closed) for client in CLIENTS),
    *(reads(client, r"(?:.*\])? Session expired\.", BrokerSessionEnded, _expired) for client in CLIENTS),
    reads(
        "Session establishment complete ",
        r".*session ?id = 0x(?P<session_id>[0-9a-f]+), negotiated timeout = (?P<timeout_ms>\d+).*",
        SessionEstablished,
        _established,
    ),
    reads("Stat of the created znode at /brokers/ids/", r"\d+ is: -?\d+,-?\d+,(?P<utc_ms>\d{12,14}),.*", ClockRead),
    reads("Kafka startTimeMs: ", r"(?P<utc_ms>\d{12,14})", ClockRead),
    reads("Creating /brokers/ids/", r"(?P<broker>\d+) .*", BrokerNamed),
    *(
        reads(f"{log}partition=", r"(?P<tp>[^,\]]+),? ?[^\]]*\] Truncating to offset (?P<offset>\d+)", LogTruncated)
        for log in LOGS
    ),
    *knows_by_start(
        *CLIENTS,
        "starting",
        "Connecting to zookeeper on ",
        "Cluster ID = ",
        "Stat of the created znode ",
        "Creating ",
        "Error while creating ephemeral ",
        "Successfully created /controller_epoch ",
        "Client session timed out",
        "Unable to reconnect to ZooKeeper service",
        "Session: ",
        "Terminating process due to signal ",
        "Registered signal handlers ",
        "KafkaConfig values: ",
        "Kafka version",
        "Kafka commitId",
        "[ReplicaFetcher",
        "[ReplicaFetcherManager",
        "[ReplicaAlterLogDirsManager",
        "[LogLoader partition=",
        "Created log for partition ",
        "Log for partition ",
        "Logs for partitions ",
        "Stopping serving logs ",
        "Attempting recovery for all logs ",
        "Skipping recovery for all logs ",
        "Completed load of Log(",
        "Loading logs from log dirs ",
        "Loaded ",
        "Shutdown broker because all log dirs ",
    ),
)
"""Messages without a prefix, or with one that is part of the message."""
