"""Types of values in a scenario file about consumers: their names, and conditions on groups and partitions."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.brokers.config import MAX_INT
from kcsim.brokers.groups.group_metadata import GroupState
from kcsim.scenarios.language.topic_types import check_under_key, serialized_per_key
from kcsim.scenarios.language.value_types import (
    ALL,
    DURATION,
    NAME,
    NONE,
    PARTITION,
    check_partition,
    duration_text,
    known_names,
    one_or_list,
    one_or_several,
    parse_duration,
    require_unique,
    validation_error,
)
from kcsim.text import comma_separated, did_you_mean
from kcsim.vocabulary import TopicPartition

GROUP = r"^[A-Za-z0-9._-]+$"
STATES = tuple(state.value for state in GroupState)
BOUNDS = ("exactly", "at-least", "at-most")

# --- names -----------------------------------------------------------------------------------------------------------------


def check_consumer(value: object, info: ValidationInfo, at: str | int | None = None) -> str:
    """Return the name of a consumer that the file declares. Raises: PydanticCustomError."""
    known = known_names(info).consumers
    if isinstance(value, str) and (known is None or value in known):
        return value
    there = f"there are {comma_separated(known)}" if known else "the scenario has none; name them in workload: groups:"
    raise validation_error(f"unknown consumer {value!r}{did_you_mean(value, known or ()) or f'; {there}'}", at)


def check_group(value: object, info: ValidationInfo, at: str | int | None = None) -> str:
    """Return the id of a group that the file declares. Raises: PydanticCustomError."""
    known = known_names(info).groups
    if isinstance(value, str) and (known is None or value in known):
        return value
    there = f"there are {comma_separated(known)}" if known else "the scenario has none; name them in workload: groups:"
    raise validation_error(f"unknown group {value!r}{did_you_mean(value, known or ()) or f'; {there}'}", at)


def _consumers(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if value == ALL:
        return tuple(known_names(info).consumers or ()) or (check_consumer(value, info),)
    if not isinstance(value, list):
        return (check_consumer(value, info),)
    if not value:
        raise validation_error("an empty list names no consumer")
    return require_unique(tuple(check_consumer(name, info, place) for place, name in enumerate(value)))


ConsumerNames = Annotated[
    tuple[str, ...], PlainValidator(_consumers), PlainSerializer(one_or_list), WithJsonSchema(one_or_several(NAME))
]
"""`all`, or one consumer that the file declares, or a list."""

# --- ownership of partitions -----------------------------------------------------------------------------------------------

_PARTITIONS_SCHEMA = one_or_several(f"^{PARTITION}$", NONE)


def _partitions(value: object, info: ValidationInfo) -> tuple[TopicPartition, ...]:
    if value == NONE:
        return ()
    if not isinstance(value, list):
        return (check_partition(value, info),)
    if not value:
        raise validation_error("an empty list names no partition; write none")
    return require_unique(tuple(check_partition(name, info, place) for place, name in enumerate(value)))


def _assignment(value: object, info: ValidationInfo) -> Mapping[str, tuple[TopicPartition, ...]]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} names no consumer; write {{c1: [orders-0, orders-1], c2: none}}")
    return {check_consumer(name, info, name): check_under_key(name, _partitions, item, info) for name, item in value.items()}


def _by_name(names: str, schema: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "object", "patternProperties": {names: schema}, "additionalProperties": False, "minProperties": 1}
    )


OwnedPartitions = Annotated[
    Mapping[str, tuple[TopicPartition, ...]],
    PlainValidator(_assignment),
    serialized_per_key(lambda partitions: one_or_list(partitions or (NONE,))),
    _by_name(NAME, _PARTITIONS_SCHEMA),
]
"""Consumer -> exactly the partitions that it consumes; or `none`."""


def _moved(value: object, info: ValidationInfo) -> Mapping[str, tuple[TopicPartition, ...]]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} names no group; write {{billing: [orders-0, orders-1]}}")
    return {check_group(name, info, name): check_under_key(name, _partitions, item, info) for name, item in value.items()}


MovedPartitions = Annotated[
    Mapping[str, tuple[TopicPartition, ...]],
    PlainValidator(_moved),
    serialized_per_key(lambda partitions: one_or_list(partitions or (NONE,))),
    _by_name(GROUP, _PARTITIONS_SCHEMA),
]
"""Group -> exactly the partitions that have changed their owner; or `none`."""

# --- groups ----------------------------------------------------------------------------------------------------------------


def _group_is(value: object, _: ValidationInfo) -> Mapping[str, str | int]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} has no condition on the group; write {{state: Stable, generation: 2}}")
    for key, wanted in value.items():
        if key == "state" and wanted not in STATES:
            raise validation_error(
                f"{wanted!r} is no state of a group{did_you_mean(wanted, STATES) or f'; they are {comma_separated(STATES)}'}"
            )
        if key == "generation" and (isinstance(wanted, bool) or not isinstance(wanted, int) or not 0 <= wanted <= MAX_INT):
            raise validation_error(f"{wanted!r} is no generation, which is a whole number from 0 on")
        if key not in ("state", "generation"):
            raise validation_error(f"unknown key {key!r}{did_you_mean(key, ('state', 'generation'))}")
    return dict(value)


def _groups(value: object, info: ValidationInfo) -> Mapping[str, Mapping[str, str | int]]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} names no group; write {{billing: {{state: Stable}}}}")
    return {check_group(name, info, name): check_under_key(name, _group_is, item, info) for name, item in value.items()}


Groups = Annotated[
    Mapping[str, Mapping[str, str | int]],
    PlainValidator(_groups),
    serialized_per_key(dict),
    _by_name(
        GROUP,
        {
            "type": "object",
            "properties": {"state": {"enum": list(STATES)}, "generation": {"type": "integer", "minimum": 0}},
            "additionalProperties": False,
            "minProperties": 1,
        },
    ),
]
"""Group -> its state, its generation, or both."""

# --- gaps in consumption ---------------------------------------------------------------------------------------------------


def _bounds(value: object, _: ValidationInfo) -> Mapping[str, int]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} has no time; write {{at-most: 14s}}")
    for key in value:
        if key not in BOUNDS:
            raise validation_error(
                f"unknown key {key!r}{did_you_mean(key, BOUNDS) or f'; write one of {comma_separated(BOUNDS)}'}"
            )
    return {key: parse_duration(item) for key, item in value.items()}


def _of_partitions(value: object, info: ValidationInfo) -> Mapping[TopicPartition, Mapping[str, int]]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} names no partition; write {{orders-0: {{at-most: 14s}}}}")
    return {check_partition(name, info): check_under_key(name, _bounds, item, info) for name, item in value.items()}


def _unconsumed(value: object, info: ValidationInfo) -> Mapping[str, Mapping[TopicPartition, Mapping[str, int]]]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} names no group; write {{billing: {{orders-0: {{at-most: 14s}}}}}}")
    return {check_group(name, info, name): check_under_key(name, _of_partitions, item, info) for name, item in value.items()}


_DURATION_SCHEMA = {"type": "string", "pattern": DURATION}

Unconsumed = Annotated[
    Mapping[str, Mapping[TopicPartition, Mapping[str, int]]],
    PlainValidator(_unconsumed),
    serialized_per_key(
        lambda of_group: {
            str(tp): {key: duration_text(bound) for key, bound in bounds.items()} for tp, bounds in of_group.items()
        }
    ),
    _by_name(
        GROUP,
        {
            "type": "object",
            "patternProperties": {
                f"^{PARTITION}$": {
                    "type": "object",
                    "properties": dict.fromkeys(BOUNDS, _DURATION_SCHEMA),
                    "additionalProperties": False,
                    "minProperties": 1,
                }
            },
            "additionalProperties": False,
            "minProperties": 1,
        },
    ),
]
"""Group -> partition -> bounds of the longest time without a consumer in the group, after it first had one."""
