"""Read server.log: what only a broker itself knows, namely its registration, its session and its ISR changes as a leader.

Almost all of a server.log is about other things; messages that are not known here count as unknown under their logger.
Source: docs/kafka/logging.md 6.
"""

import re

from kcsim.brokers.apache_kafka.log_import.log_value_parsers import ids_in, partition_in
from kcsim.brokers.apache_kafka.log_import.messages import (
    BecameLeader,
    BrokerSessionEnded,
    ClockRead,
    IsrChangeTried,
    IsrUpdated,
    Message,
    NoMessage,
    Registered,
)
from kcsim.brokers.apache_kafka.log_import.patterns import (
    NO_EPOCH,
    UNKNOWN_BROKER,
    Found,
    Speaker,
    look_up,
    named,
    reads,
    table,
    without_history,
)
from kcsim.vocabulary import BrokerId, TopicPartition

PARTITION_LOGGER = "kafka.cluster.Partition"
PARTITION_PREFIX = re.compile(r"\[Partition (\S+) broker=(\d+)\] |Partition (\[\S+\]|\S+) on broker (\d+): ")
SERVER_PREFIX = re.compile(
    r"\[(?:KafkaServer id=|Kafka Server |ReplicaManager broker=|Replica Manager on Broker )(\d+)\]:?,? ?"
)
ENDPOINT = re.compile(r"[\w.-]+://[^,\s()]*:\d+")


def read_partition(message: str) -> Message | NoMessage:
    """Return what a leader's message about its partition says."""
    prefix = PARTITION_PREFIX.match(message)
    if prefix is None:
        return NoMessage.UNKNOWN
    name, broker = prefix.group(1, 2) if prefix[1] else prefix.group(3, 4)
    try:
        tp = partition_in(name)
    except ValueError:
        return NoMessage.UNKNOWN
    speaker = Speaker(BrokerId(int(broker)), NO_EPOCH)
    text = message[prefix.end() :]
    if (found := UPDATED.fullmatch(text)) is not None:
        return IsrUpdated(speaker.broker, tp, ids_in(found["isr"]), int(found["version"]))
    if (found := TRIED.match(text)) is not None:
        return IsrChangeTried(speaker.broker, tp, ids_in(found["before"]), ids_in(found["isr"]))
    if (found := STARTS.match(text)) is not None:
        return _leads(found, tp, speaker)
    if text.startswith(PARTITION_NEWS):
        return named(speaker.broker)
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


def _leads(found: Found, tp: TopicPartition, by: Speaker) -> Message:
    mark = found["mark"]
    return BecameLeader(by.broker, tp, int(found["epoch"]), int(found["offset"]), None if mark is None else int(mark))


def read_server(message: str) -> Message | NoMessage:
    """Return what any other message of server.log says."""
    prefix = SERVER_PREFIX.match(message)
    if prefix is not None:
        return named(BrokerId(int(prefix[1])))
    return look_up(MESSAGES, message, Speaker(UNKNOWN_BROKER, NO_EPOCH))


def _registered(found: Found, by: Speaker) -> Message:
    epoch = found["epoch"]
    endpoints = tuple(ENDPOINT.findall(found["addresses"]))
    return Registered(BrokerId(int(found["broker"])), None if epoch is None else int(epoch), endpoints)


def _closed(found: Found, by: Speaker) -> Message:
    return BrokerSessionEnded(is_expired=False)


def _expired(found: Found, by: Speaker) -> Message:
    return BrokerSessionEnded(is_expired=True)


def _began(found: Found, by: Speaker) -> Message:
    return ClockRead(int(found["ms"]))


def _named(found: Found, by: Speaker) -> Message:
    return named(BrokerId(int(found["broker"])))


CLIENTS = ("[ZooKeeperClient ", "[ZooKeeperClient]")
"""With the client's name, since 2.1, and without it."""
MESSAGES = table(
    (
        reads(
            "Registered broker ",
            r"(?P<broker>\d+) at path \S+ with addresses: (?P<addresses>.*?)(?:, czxid \(broker epoch\): (?P<epoch>\d+))?",
            _registered,
        ),
        *(reads(client, r"(?:.*\])? Closed\.", _closed) for client in CLIENTS),
        *(reads(client, r"(?:.*\])? Session expired\.", _expired) for client in CLIENTS),
        reads("Stat of the created znode at /brokers/ids/", r"\d+ is: -?\d+,-?\d+,(?P<ms>\d{12,14}),.*", _began),
        reads("Kafka startTimeMs: ", r"(?P<ms>\d{12,14})", _began),
        reads("Creating /brokers/ids/", r"(?P<broker>\d+) .*", _named),
        *without_history(
            *CLIENTS,
            "starting",
            "Connecting to zookeeper on ",
            "Cluster ID = ",
            "Stat of the created znode ",
            "Creating ",
            "Error while creating ephemeral ",
            "Successfully created /controller_epoch ",
            "Session establishment complete ",
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
            "[Log partition=",
            "[LogLoader partition=",
            "[UnifiedLog partition=",
            "[LocalLog partition=",
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
)
