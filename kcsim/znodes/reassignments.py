"""The requested reassignments: /admin/reassign_partitions.

Kafka binds this znode to classes with Jackson, and reads all others with decoders of its own. So it is stricter here (no
unknown field) and more lenient: types are converted, except those of the replicas, which stay what they are.

Source: Kafka 2.8, ReassignPartitionsZNode (LegacyPartitionAssignment, ReplicaAssignment).
"""

import json
from collections.abc import Mapping
from typing import Any

from kcsim.vocabulary import BrokerId, NoBrokerId, TopicPartition
from kcsim.znodes import kafka_json
from kcsim.znodes.kafka_json import (
    INT_MAX,
    INT_MIN,
    JsonObject,
    NotJsonError,
    WrongJsonError,
    as_array,
    as_object,
    as_string,
    parse_java_int,
)
from kcsim.znodes.reading import BadZnodeError, Report, replica_list


def decode_reassignment(path: str, data: bytes | None, report: Report) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """Decode /admin/reassign_partitions, in its order; the last of several entries for one partition counts.

    Data that are empty, not JSON or JSON of another form (also one with an unknown field) are reported, and the result is
    empty. A missing partition number counts as 0, and a replica that is no int becomes a NoBrokerId.

    Raises: BadZnodeError for null data, when `partitions`, a topic or its `replicas` are missing, and when an entry is null:
        Kafka throws a NullPointerException there.
    """
    try:
        content = kafka_json.parse(data)
        if content is kafka_json.MISSING:
            raise NotJsonError("No content to map due to end-of-input")
    except NotJsonError as error:
        report(path, f"Ignoring partition reassignment due to invalid json: {error}")
        return {}
    except WrongJsonError as error:
        raise BadZnodeError(path, str(error), error.failure) from None
    if content is None:
        raise BadZnodeError(path, "null, where a reassignment should be")
    try:
        return _reassignments(path, content)
    except WrongJsonError as error:
        report(path, f"Ignoring partition reassignment due to invalid json: {error}")
        return {}


def _reassignments(path: str, content: Any) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    plan = _bound(content, {"version", "partitions"})
    _bound_int(plan.get("version"))
    listed = plan.get("partitions")
    items = [] if listed is None else as_array(listed)
    entries = [_bound(item, {"topic", "partition", "replicas"}) for item in items if item is not None]
    found = [(*_named_partition(entry), _replicas(entry)) for entry in entries]
    # Kafka binds the whole text first, so a wrong type anywhere takes precedence over a missing field.
    if listed is None:
        raise BadZnodeError(path, "`partitions` is missing")
    if None in items:
        raise BadZnodeError(path, "an entry of `partitions` is null")
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
    return _bound_text(entry.get("topic")), _bound_int(entry.get("partition"))


def _bound_int(value: Any) -> int:
    """Return the value as Jackson binds it to an int. Raises: WrongJsonError."""
    if value is None or (isinstance(value, str) and value.strip() in ("", "null")):
        return 0
    if isinstance(value, str):
        return parse_java_int(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or not INT_MIN <= value <= INT_MAX:
        raise WrongJsonError(f"{json.dumps(value)} is no int")
    return int(value)


def _bound_text(value: Any) -> str | None:
    """Return the value as Jackson binds it to a string. Raises: WrongJsonError."""
    return json.dumps(value) if isinstance(value, bool | int | float) else None if value is None else as_string(value)


def _replicas(entry: JsonObject) -> tuple[BrokerId, ...] | None:
    listed = entry.get("replicas")
    return None if listed is None else tuple(map(_replica, as_array(listed)))


def _replica(value: Any) -> BrokerId:
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return BrokerId(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return BrokerId(NoBrokerId(text, value if is_number else None))


def encode_reassignment(plans: Mapping[TopicPartition, tuple[BrokerId, ...]]) -> bytes:
    entries = [
        {"topic": tp.topic, "partition": tp.partition, "replicas": replica_list(replicas)} for tp, replicas in plans.items()
    ]
    return kafka_json.encode({"version": 1, "partitions": entries})
