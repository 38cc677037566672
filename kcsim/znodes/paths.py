"""Every znode path that Kafka uses, and the parsing of a path into its kind and the names in it.

All paths are relative to the chroot, if there is one. Source: Kafka 2.8, ZkData (one object per kind of znode).
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from kcsim.vocabulary import BrokerId, TopicPartition

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
MIGRATION = "/migration"
CLUSTER_ID = "/cluster/id"
BROKER_IDS = "/brokers/ids"
BROKER_TOPICS = "/brokers/topics"
BROKER_SEQUENCE_ID = "/brokers/seqid"
CONSUMERS = "/consumers"
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = "/config/changes/config_change_"
DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
ISR_CHANGE_NOTIFICATION = "/isr_change_notification"
ISR_CHANGE_PREFIX = "/isr_change_notification/isr_change_"
LOG_DIR_EVENT_NOTIFICATION = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = "/log_dir_event_notification/log_dir_event_"
FEATURE = "/feature"
LATEST_PRODUCER_ID_BLOCK = "/latest_producer_id_block"
KAFKA_ACL = "/kafka-acl"
KAFKA_ACL_EXTENDED = "/kafka-acl-extended"
KAFKA_ACL_CHANGES = "/kafka-acl-changes"
KAFKA_ACL_EXTENDED_CHANGES = "/kafka-acl-extended-changes"
DELEGATION_TOKEN = "/delegation_token"

CONFIG_TYPES = ("topics", "clients", "users", "brokers", "ips")
"""The kinds of entity that have settings, in the order in which a starting broker creates their parent znodes."""

TOP_LEVEL_PATHS = (
    CONSUMERS,
    BROKER_IDS,
    BROKER_TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE_ID,
    ISR_CHANGE_NOTIFICATION,
    LATEST_PRODUCER_ID_BLOCK,
    LOG_DIR_EVENT_NOTIFICATION,
    *(f"{CONFIG}/{entity_type}" for entity_type in CONFIG_TYPES),
)
"""The znodes that every starting broker creates if they are missing, in this order."""


def parent(path: str) -> str:
    """Return the path of the parent znode; the parent of the root is the root."""
    return path.rpartition("/")[0] or "/"


def name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def child(path: str, name: str) -> str:
    """Return the path of a child znode."""
    return f"/{name}" if path == "/" else f"{path}/{name}"


def lineage(path: str) -> list[str]:
    """Return a path and its ancestors without the root, highest first."""
    parts = path.split("/")
    return ["/".join(parts[: end + 1]) for end in range(1, len(parts))]


def broker_id(broker: BrokerId) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{broker}"


def topic(topic: str) -> str:
    """Return the path of the znode with a topic's assignment."""
    return f"{BROKER_TOPICS}/{topic}"


def topic_partitions(topic: str) -> str:
    return f"{BROKER_TOPICS}/{topic}/partitions"


def topic_partition(partition: TopicPartition) -> str:
    return f"{BROKER_TOPICS}/{partition.topic}/partitions/{partition.partition}"


def topic_partition_state(partition: TopicPartition) -> str:
    """Return the path of the znode with a partition's leader and ISR."""
    return f"{BROKER_TOPICS}/{partition.topic}/partitions/{partition.partition}/state"


def entity_type_config(entity_type: str) -> str:
    """Return the parent of the settings of all entities of a type, which is one of CONFIG_TYPES."""
    return f"{CONFIG}/{entity_type}"


def entity_config(entity_type: str, entity_name: str) -> str:
    """Return the path of the znode with an entity's settings.

    Args:
        entity_type: one of CONFIG_TYPES.
        entity_name: as in the path: users and client ids are quoted already, and `<default>` is a name too.
    """
    return f"{entity_type_config(entity_type)}/{entity_name}"


def topic_config(topic: str) -> str:
    return entity_config("topics", topic)


def delete_topic(topic: str) -> str:
    """Return the path of the znode that requests the deletion of a topic."""
    return f"{DELETE_TOPICS}/{topic}"


# --- parsing ---------------------------------------------------------------------------------------------------------------


class PathKind(StrEnum):
    """Kafka's kinds of znode. The values are the forms of the paths."""

    ROOT = "/"
    CONTROLLER = "/controller"
    CONTROLLER_EPOCH = "/controller_epoch"
    CLUSTER = "/cluster"
    CLUSTER_ID = "/cluster/id"
    MIGRATION = "/migration"
    BROKERS = "/brokers"
    BROKER_IDS = "/brokers/ids"
    BROKER_ID = "/brokers/ids/<broker>"
    BROKER_TOPICS = "/brokers/topics"
    TOPIC = "/brokers/topics/<topic>"
    TOPIC_PARTITIONS = "/brokers/topics/<topic>/partitions"
    TOPIC_PARTITION = "/brokers/topics/<topic>/partitions/<partition>"
    TOPIC_PARTITION_STATE = "/brokers/topics/<topic>/partitions/<partition>/state"
    BROKER_SEQUENCE_ID = "/brokers/seqid"
    CONSUMERS = "/consumers"
    CONFIG = "/config"
    CONFIG_CHANGES = "/config/changes"
    CONFIG_CHANGE = "/config/changes/config_change_<sequence>"
    CONFIG_ENTITY_TYPE = "/config/<entity_type>"
    CONFIG_ENTITY = "/config/<entity_type>/<entity>"
    ADMIN = "/admin"
    DELETE_TOPICS = "/admin/delete_topics"
    DELETE_TOPIC = "/admin/delete_topics/<topic>"
    REASSIGN_PARTITIONS = "/admin/reassign_partitions"
    PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
    ISR_CHANGE_NOTIFICATION = "/isr_change_notification"
    ISR_CHANGE = "/isr_change_notification/isr_change_<sequence>"
    LOG_DIR_EVENT_NOTIFICATION = "/log_dir_event_notification"
    LOG_DIR_EVENT = "/log_dir_event_notification/log_dir_event_<sequence>"
    FEATURE = "/feature"
    LATEST_PRODUCER_ID_BLOCK = "/latest_producer_id_block"
    KAFKA_ACL = "/kafka-acl"
    KAFKA_ACL_EXTENDED = "/kafka-acl-extended"
    KAFKA_ACL_CHANGES = "/kafka-acl-changes"
    KAFKA_ACL_EXTENDED_CHANGES = "/kafka-acl-extended-changes"
    DELEGATION_TOKEN = "/delegation_token"


@dataclass(frozen=True, slots=True)
class KnownPath:
    """One of Kafka's paths and the names in it; a name that its kind of path does not have is None.

    `entity` is the rest of a settings path; for a user's client quotas this rest has several parts. `sequence` is the number
    that ZooKeeper appended.
    """

    kind: PathKind
    broker_id: BrokerId | None = None
    topic: str | None = None
    partition: int | None = None
    entity_type: str | None = None
    entity: str | None = None
    sequence: int | None = None

    @property
    def topic_partition(self) -> TopicPartition | None:
        """The partition that the path belongs to; None for a path without a partition."""
        if self.topic is None or self.partition is None:
            return None
        return TopicPartition(self.topic, self.partition)


_PLACES = {
    "<broker>": r"(?P<broker>[0-9]+)",
    "<topic>": r"(?P<topic>[^/]+)",
    "<partition>": r"(?P<partition>[0-9]+)",
    "<entity_type>": f"(?P<entity_type>{'|'.join(CONFIG_TYPES)})",
    "<entity>": r"(?P<entity>.+)",
    "<sequence>": r"(?P<sequence>[0-9]{10})",
}


def _pattern(kind: PathKind) -> re.Pattern[str]:
    form = re.escape(kind.value)
    for place, pattern in _PLACES.items():
        form = form.replace(re.escape(place), pattern)
    return re.compile(form)


_PATTERNS = tuple((kind, _pattern(kind)) for kind in PathKind)


def parse(path: str) -> KnownPath | None:
    """Return a path's kind and the names in it; None if Kafka has no such path.

    Paths below /consumers and those of individual ACLs and delegation tokens are not distinguished: the result is None.
    """
    for kind, pattern in _PATTERNS:
        if match := pattern.fullmatch(path):
            return _known(kind, match.groupdict())
    return None


def _known(kind: PathKind, found: dict[str, str]) -> KnownPath:
    return KnownPath(
        kind,
        broker_id=BrokerId(int(found["broker"])) if "broker" in found else None,
        topic=found.get("topic"),
        partition=int(found["partition"]) if "partition" in found else None,
        entity_type=found.get("entity_type"),
        entity=found.get("entity"),
        sequence=int(found["sequence"]) if "sequence" in found else None,
    )
