"""Types of values in a scenario file about topics: partitions, replicas, and values per partition.

Pydantic types, checked against the topics and brokers that the file itself defines (value_types.KnownNames).
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from kcsim.brokers.config import MAX_INT
from kcsim.scenarios.language.value_types import (
    ALL,
    ANY,
    NONE,
    PARTITION,
    ROLE_HOLDER,
    check_partition,
    check_role_holder,
    check_topic,
    known_names,
    one_or_list,
    one_or_several,
    require_unique,
    validation_error,
)
from kcsim.text import comma_separated
from kcsim.vocabulary import BrokerId, TopicPartition

T = TypeVar("T")

TOPIC = r"^[A-Za-z0-9._-]+$"
REPLICAS_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {"type": "integer", "minimum": 0, "maximum": MAX_INT},
    "minItems": 1,
    "uniqueItems": True,
}

# --- topics and partitions by name -----------------------------------------------------------------------------------------


def _topics_by_name(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (check_topic(value, info),)
    if not value:
        raise validation_error("an empty list names no topic")
    return require_unique(tuple(check_topic(name, info, place) for place, name in enumerate(value)))


def _topics(value: object, info: ValidationInfo) -> tuple[str, ...]:
    return (ALL,) if value == ALL else _topics_by_name(value, info)


TopicNames = Annotated[
    tuple[str, ...], PlainValidator(_topics), PlainSerializer(one_or_list), WithJsonSchema(one_or_several(TOPIC))
]
"""`all`, or one topic that the file declares, or a list."""


TopicsByName = Annotated[
    tuple[str, ...], PlainValidator(_topics_by_name), PlainSerializer(one_or_list), WithJsonSchema(one_or_several(TOPIC))
]
"""One topic that the file declares, or a list."""


def _topics_there(value: object, info: ValidationInfo) -> tuple[str, ...]:
    return () if value == NONE else _topics_by_name(value, info)


TopicsThere = Annotated[
    tuple[str, ...],
    PlainValidator(_topics_there),
    PlainSerializer(lambda topics: one_or_list(topics or (NONE,))),
    WithJsonSchema(one_or_several(TOPIC)),
]
"""`none`, or one topic that the file declares, or a list."""

ALL_PARTITIONS: tuple[TopicPartition, ...] = ()
"""Stands for all partitions that exist at the time."""


def _partitions(value: object, info: ValidationInfo) -> tuple[TopicPartition, ...]:
    if value == ALL:
        return ALL_PARTITIONS
    return _partitions_by_name(value, info)


def _partitions_by_name(value: object, info: ValidationInfo) -> tuple[TopicPartition, ...]:
    if not isinstance(value, list):
        return (check_partition(value, info),)
    if not value:
        raise validation_error("an empty list names no partition; write all, or a name")
    return require_unique(tuple(check_partition(name, info, place) for place, name in enumerate(value)))


_PARTITION = f"^{PARTITION}$"

Partitions = Annotated[
    tuple[TopicPartition, ...],
    PlainValidator(_partitions),
    PlainSerializer(lambda partitions: one_or_list(partitions or (ALL,))),
    WithJsonSchema(one_or_several(_PARTITION, ALL)),
]
"""`all` (every partition that exists at the time), or one partition, as orders-0, or a list."""


def _partitions_moving(value: object, info: ValidationInfo) -> tuple[TopicPartition, ...] | str:
    return str(value) if value in (ANY, NONE) else _partitions_by_name(value, info)


PartitionsMoving = Annotated[
    tuple[TopicPartition, ...] | str,
    PlainValidator(_partitions_moving),
    PlainSerializer(lambda partitions: partitions if isinstance(partitions, str) else one_or_list(partitions)),
    WithJsonSchema(one_or_several(_PARTITION, ANY, NONE)),
]
"""`none`, `any` (at least one), or exactly these partitions."""

# --- replicas --------------------------------------------------------------------------------------------------------------


def replicas(value: object, info: ValidationInfo) -> tuple[BrokerId, ...]:
    """Return a list of broker ids, all defined in the file. Raises: PydanticCustomError."""
    if not isinstance(value, list) or not value:
        raise validation_error(
            f"{value!s} is no list of replicas; write brokers' ids, the preferred leader first, as [1, 2, 3]"
        )
    known = known_names(info).brokers
    for place, item in enumerate(value):
        if not isinstance(item, int) or isinstance(item, bool) or not 0 <= item <= MAX_INT:
            raise validation_error(f"{item!r} is no broker id; write a number, as 1 for broker-1", place)
        if known and f"broker-{item}" not in known:
            raise validation_error(f"there is no broker {item}; there are {comma_separated(known)}", place)
    return require_unique(tuple(BrokerId(int(item)) for item in value))


# --- values per partition --------------------------------------------------------------------------------------------------


def of_each_partition(
    check: Callable[[object, ValidationInfo], T],
) -> Callable[[object, ValidationInfo], Mapping[TopicPartition, T]]:
    """Return a validator of {orders-0: value}, where `check` validates each value."""

    def validate(value: object, info: ValidationInfo) -> Mapping[TopicPartition, T]:
        if not isinstance(value, dict) or not value:
            raise validation_error(f"{value!s} names no partition; write {{orders-0: …}}")
        return {check_partition(name, info, name): check_under_key(name, check, item, info) for name, item in value.items()}

    return validate


def check_under_key(key: str | int, check: Callable[[object, ValidationInfo], T], value: object, info: ValidationInfo) -> T:
    """Check the value of a key, and report its problem at that key. Raises: PydanticCustomError."""
    try:
        return check(value, info)
    except PydanticCustomError as error:
        raise validation_error(error.message(), key) from None


def partition_schema(schema: dict[str, Any]) -> WithJsonSchema:
    """Return the JSON Schema of {orders-0: value}."""
    return WithJsonSchema(
        {
            "type": "object",
            "patternProperties": {f"^{PARTITION}$": schema},
            "additionalProperties": False,
            "minProperties": 1,
        }
    )


def serialized_per_key(say: Callable[[Any], Any]) -> PlainSerializer:
    """Return a serializer of {orders-0: value} to the form in a file, where `say` serializes each value."""
    return PlainSerializer(lambda values: {str(name): say(item) for name, item in values.items()})


def _leader(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (check_role_holder(value, info),)
    if not value:
        raise validation_error("the list is empty; write none")
    return require_unique(tuple(check_role_holder(name, info) for name in value))


def _epoch(value: object, _: ValidationInfo) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_INT:
        raise validation_error(f"{value!r} is no leader epoch, which is a whole number from 0 on")
    return int(value)


Leaders = Annotated[
    Mapping[TopicPartition, tuple[str, ...]],
    PlainValidator(of_each_partition(_leader)),
    serialized_per_key(one_or_list),
    partition_schema(one_or_several(ROLE_HOLDER)),
]
"""Partition -> its leader: a broker's name, `any`, `none`, `not NAME`; a list means one of these."""
LeaderEpochs = Annotated[
    Mapping[TopicPartition, int],
    PlainValidator(of_each_partition(_epoch)),
    serialized_per_key(int),
    partition_schema({"type": "integer", "minimum": 0, "maximum": MAX_INT}),
]
"""Partition -> its leader epoch."""
ReplicasOfEach = Annotated[
    Mapping[TopicPartition, tuple[BrokerId, ...]],
    PlainValidator(of_each_partition(replicas)),
    serialized_per_key(list),
    partition_schema(REPLICAS_SCHEMA),
]
"""Partition -> its replicas, as broker ids: {orders-0: [1, 2, 3]}."""

# --- assignments -----------------------------------------------------------------------------------------------------------


def _assignment(value: object, info: ValidationInfo) -> Mapping[int, tuple[BrokerId, ...]]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} is no assignment; write {{0: [1, 2, 3], 1: [2, 3, 1]}}")
    for number in value:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= MAX_INT:
            raise validation_error(f"{number!r} is no number of a partition", number)
    return {int(number): check_under_key(number, replicas, item, info) for number, item in value.items()}


ASSIGNMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "patternProperties": {"^[0-9]+$": REPLICAS_SCHEMA},
    "additionalProperties": False,
    "minProperties": 1,
}


def _assignment_as_in_file(assignment: Mapping[int, tuple[BrokerId, ...]]) -> dict[int, list[BrokerId]]:
    return {number: list(hosts) for number, hosts in assignment.items()}


Assignment = Annotated[
    Mapping[int, tuple[BrokerId, ...]],
    PlainValidator(_assignment),
    PlainSerializer(_assignment_as_in_file),
    WithJsonSchema(ASSIGNMENT_SCHEMA),
]
"""Number of a partition -> its replicas: {0: [1, 2, 3], 1: [2, 3, 1]}."""


def _growth(value: object, info: ValidationInfo) -> Mapping[str, int | Mapping[int, tuple[BrokerId, ...]]]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} names no topic; write {{orders: 6}}: how many partitions it is to have")
    return {check_topic(name, info, name): check_under_key(name, _wanted, item, info) for name, item in value.items()}


def _wanted(value: object, info: ValidationInfo) -> int | Mapping[int, tuple[BrokerId, ...]]:
    if isinstance(value, dict):
        return _assignment(value, info)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_INT:
        raise validation_error(f"{value!r} is no number of partitions, and no assignment of new ones, as {{2: [3, 1]}}")
    return int(value)


Growth = Annotated[
    Mapping[str, int | Mapping[int, tuple[BrokerId, ...]]],
    PlainValidator(_growth),
    serialized_per_key(lambda wanted: wanted if isinstance(wanted, int) else _assignment_as_in_file(wanted)),
    WithJsonSchema(
        {
            "type": "object",
            "patternProperties": {TOPIC: {"anyOf": [{"type": "integer", "minimum": 1}, ASSIGNMENT_SCHEMA]}},
            "additionalProperties": False,
            "minProperties": 1,
        }
    ),
]
"""Topic -> its new number of partitions, as Kafka's tool takes it, or the new partitions with their replicas."""
