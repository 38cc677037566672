"""What tools and brokers ask of the controller through znodes: reassignments, elections, notifications."""

from collections.abc import Iterable, Mapping
from typing import Any

from kcsim.zk import kafka_json
from kcsim.zk.kafka_json import JsonObject, NotJsonError, WrongJsonError, as_array, as_int, as_object, as_string, field
from kcsim.zk.vocabulary import BrokerId, TopicPartition
from kcsim.zk.znodes.reading import BadZnodeError, Report, broker_ids_in, object_or_report, reading


def decode_reassignment(path: str, data: bytes | None, report: Report) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """Read /admin/reassign_partitions, in its order; of several entries for a partition the last counts.

    Nothing, and reported, if it is empty, no JSON or of another form, with an unknown field too. A missing partition is 0.

    Raises: BadZnodeError for null data, and when `partitions`, a topic or its `replicas` are missing: Kafka runs into a
        null pointer there.
    """
    try:
        content = kafka_json.parse(data)
        if content is kafka_json.MISSING:
            raise NotJsonError("No content to map due to end-of-input")
    except NotJsonError as error:
        report(path, f"Ignoring partition reassignment due to invalid json: {error}")
        return {}
    except WrongJsonError as error:
        raise BadZnodeError(path, str(error)) from None
    if content is None:
        raise BadZnodeError(path, "null, where a reassignment should be")
    try:
        return _reassignments(path, content)
    except WrongJsonError as error:
        report(path, f"Ignoring partition reassignment due to invalid json: {error}")
        return {}


def _reassignments(path: str, content: Any) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    plan = _bound(content, {"version", "partitions"})
    as_int(plan.get("version", 1))
    listed = plan.get("partitions")
    entries = [] if listed is None else [_bound(e, {"topic", "partition", "replicas"}) for e in as_array(listed)]
    found = [(*_named_partition(entry), _replicas(entry)) for entry in entries]
    # Kafka binds the whole text first, so a wrong type anywhere wins over what is missing.
    if listed is None:
        raise BadZnodeError(path, "`partitions` is missing")
    plans: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for topic, partition, replicas in found:
        if topic is None or replicas is None:
            raise BadZnodeError(path, f"`{'topic' if topic is None else 'replicas'}` is missing in an entry of `partitions`")
        plans[TopicPartition(topic, partition)] = replicas
    return plans


def _bound(value: Any, fields: set[str]) -> JsonObject:
    unknown = sorted(as_object(value).keys() - fields)
    if unknown:
        raise WrongJsonError(f'Unrecognized field "{unknown[0]}"')
    return as_object(value)


def _named_partition(entry: JsonObject) -> tuple[str | None, int]:
    topic, partition = entry.get("topic"), entry.get("partition")
    return None if topic is None else as_string(topic), 0 if partition is None else as_int(partition)


def _replicas(entry: JsonObject) -> tuple[BrokerId, ...] | None:
    return None if entry.get("replicas") is None else broker_ids_in(entry["replicas"])


def encode_reassignment(plans: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> bytes:
    entries = [{"topic": tp.topic, "partition": tp.partition, "replicas": replicas} for tp, replicas in plans.items()]
    return kafka_json.encode({"version": 1, "partitions": entries})


def decode_preferred_election(path: str, data: bytes | None, report: Report) -> tuple[TopicPartition, ...]:
    """Read /admin/preferred_replica_election, in its order; none, and reported, if it is no JSON. Raises: BadZnodeError."""
    return _decode_partitions(path, data, report)


def decode_isr_change(path: str, data: bytes | None, report: Report) -> tuple[TopicPartition, ...]:
    """Read a notification of ISR changes, in its order; none, and reported, if it is no JSON. Raises: BadZnodeError."""
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
    """Write what both of these have: a list of partitions, in the order given."""
    return kafka_json.encode(
        {"version": 1, "partitions": [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]}
    )


def decode_log_dir_event(path: str, data: bytes | None, report: Report) -> BrokerId | None:
    """Read whose log directory failed; None, and reported, if it is no JSON. Raises: BadZnodeError."""
    content = object_or_report(path, data, report)
    if content is None:
        return None
    with reading(path):
        return BrokerId(as_int(field(content, "broker")))


def encode_log_dir_event(broker_id: BrokerId) -> bytes:
    """Event 1: a log directory failed. Kafka has no other."""
    return kafka_json.encode({"version": 1, "broker": broker_id, "event": 1})
