"""Elections that tools request from the controller, and notifications from brokers."""

from collections.abc import Iterable

from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.znodes import kafka_json, paths
from kcsim.znodes.kafka_json import as_array, as_int, as_object, as_string, field
from kcsim.znodes.reading import BadZnodeError, Report, object_or_report, reading


def decode_preferred_election(path: str, data: bytes | None, report: Report) -> tuple[TopicPartition, ...]:
    """Decode /admin/preferred_replica_election, in its order.

    Data that are not JSON are reported, and the result is empty. Raises: BadZnodeError for JSON of another form.
    """
    return _decode_partitions(path, data, report)


def isr_change_name(child: str) -> str:
    """Return the name under which Kafka reads and deletes what a child of /isr_change_notification notifies of.

    Raises: BadZnodeError for a name of fewer than 10 characters.
    """
    return _notification_name(paths.ISR_CHANGE_PREFIX, child)


def log_dir_event_name(child: str) -> str:
    """Return the name as isr_change_name does, for a child of /log_dir_event_notification.

    Raises: BadZnodeError for a name of fewer than 13 characters.
    """
    return _notification_name(paths.LOG_DIR_EVENT_PREFIX, child)


def _notification_name(prefix_path: str, child: str) -> str:
    """Return the prefix and the child's number, which is to Kafka whatever follows the last occurrence of the prefix.

    In a name without the prefix, the number begins where the prefix would end if it stood one character before the name: the
    result of lastIndexOf, -1, is not checked. Source: Kafka 2.8, IsrChangeNotificationSequenceZNode.sequenceNumber,
    LogDirEventNotificationSequenceZNode.sequenceNumber.
    """
    prefix = paths.name(prefix_path)
    begin = child.rfind(prefix) + len(prefix)
    if begin > len(child):
        path = paths.child(paths.parent(prefix_path), child)
        raise BadZnodeError(path, f"the name is too short for a number after {prefix}")
    return prefix + child[begin:]


def decode_isr_change(path: str, data: bytes | None, report: Report) -> tuple[TopicPartition, ...]:
    """Decode a notification of ISR changes, in its order.

    Data that are not JSON are reported, and the result is empty. Raises: BadZnodeError for JSON of another form.
    """
    return _decode_partitions(path, data, report)


def _decode_partitions(path: str, data: bytes | None, report: Report) -> tuple[TopicPartition, ...]:
    content = object_or_report(path, data, report)
    if content is None:
        return ()
    with reading(path):
        entries = [as_object(entry) for entry in as_array(field(content, "partitions"))]
        named = [TopicPartition(as_string(field(e, "topic")), as_int(field(e, "partition"))) for e in entries]
    return tuple(dict.fromkeys(named))


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Encode a list of partitions, in the order given, as preferred elections and ISR change notifications contain it."""
    return kafka_json.encode(
        {"version": 1, "partitions": [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]}
    )


def decode_log_dir_event(path: str, data: bytes | None, report: Report) -> BrokerId | None:
    """Decode the id of the broker whose log directory failed.

    Data that are not JSON are reported, and the result is None. Raises: BadZnodeError for JSON of another form.
    """
    content = object_or_report(path, data, report)
    if content is None:
        return None
    with reading(path):
        return BrokerId(as_int(field(content, "broker")))


def encode_log_dir_event(broker_id: BrokerId) -> bytes:
    """Encode a notification of event 1, "a log directory failed"; Kafka has no other event."""
    return kafka_json.encode({"version": 1, "broker": broker_id, "event": 1})
