"""Basic types of values in a scenario file: durations, and names of brokers, servers, topics and partitions.

Pydantic types that the models use. Names are checked against those that the file itself defines (KnownNames, passed as
validation context), so that a mistyped one is found before anything is started.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from kcsim.text import comma_separated, did_you_mean, suggestion
from kcsim.vocabulary import TopicPartition

T = TypeVar("T")

CONTROLLER = "controller"
ALL = "all"
ANY = "any"
NONE = "none"
NOT = "not "
MS_PER_UNIT = {"ms": 1, "s": 1_000, "m": 60_000}
LONGEST_MS = 24 * 60 * 60 * 1_000
SHORTEST_TICK_MS, LONGEST_TICK_MS = 10, 60_000
DURATION = r"^[0-9]+(\.[0-9]+)?(ms|s|m)$"
NAME = r"^[a-z][a-z0-9-]*$"
BROKER = r"^broker-[0-9]+$"
PARTITION = r"[A-Za-z0-9._-]+-[0-9]+"
ROLES = ("leader", "preferred", "follower")
ROLE_OF = rf"^({'|'.join(ROLES)})-of ({PARTITION})$"
BROKER_NAME = rf"^([a-z][a-z0-9-]*|({'|'.join(ROLES)})-of {PARTITION})$"
MEMBER = r"^(leader|follower|member-[1-9][0-9]*)$"
RESERVED = (CONTROLLER, ALL, ANY, NONE, "leader", "follower")


@dataclass(frozen=True)
class KnownNames:
    """The names that a scenario file may refer to.

    Attributes:
        brokers: broker-1, broker-2, …
        aliases: every name given to a broker with `as` in the whole timetable; whether it is given before it is used is
            checked later. None: the timetable is invalid, which is reported elsewhere.
        members: member-1, … of ZooKeeper's servers.
        member_aliases: every name given to a server with `as`.
        topics: each topic with its partitions, including those to be added; None for a topic whose partitions the file does
            not show. None in place of the mapping: the topics are invalid, which is reported elsewhere.
        racks: the racks of the brokers.
        clients: producer-NAME, …: the clients' nodes on the network.
        producers: every producer of the workload. None: the producers are invalid, which is reported elsewhere.
        endless_producers: the producers without a number of records.
        consumers, groups: every consumer, and every group. None, as for producers.
        znodes: the paths of the znodes that steps create or change by hand.
        report: called with each problem that pydantic does not find: the mapping that contains it, the key, a sentence.
    """

    brokers: tuple[str, ...] = ()
    aliases: tuple[str, ...] | None = ()
    members: tuple[str, ...] = ()
    member_aliases: tuple[str, ...] = ()
    topics: Mapping[str, range | None] | None = None
    racks: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    producers: tuple[str, ...] | None = None
    endless_producers: tuple[str, ...] = ()
    consumers: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    znodes: tuple[str, ...] = ()
    report: Callable[[Any, str, str], None] | None = field(default=None, compare=False)


def validation_error(message: str, at: str | int | None = None) -> PydanticCustomError:
    """Return a validation error with this message. `at` is the key or index of the problem, if the value has parts."""
    # The message is passed as context, since pydantic would take braces in it for a template.
    return PydanticCustomError("kcsim", "{message}", {"message": message, "at": at})


# --- durations -----------------------------------------------------------------------------------------------------------


def parse_duration(value: object) -> int:
    """Return the milliseconds of 500ms, 2s, 1.5s or 1m. Raises: PydanticCustomError."""
    if isinstance(value, str) and re.fullmatch(DURATION, value):
        number, unit = re.fullmatch(r"([\d.]+)([a-z]+)", value).groups()  # type: ignore[union-attr]
        exact_ms = round(float(number) * MS_PER_UNIT[unit], 6)
        if exact_ms > LONGEST_MS:
            raise validation_error(f"{value!r} is longer than a day")
        if exact_ms == int(exact_ms):
            return int(exact_ms)
        raise validation_error(f"{value!r} is no whole number of milliseconds")
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise validation_error(f"{value!r} has no unit; write {value}ms or {value}s")
    match = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", value) if isinstance(value, str) else None
    if match:
        number, unit = match.groups()
        raise validation_error(f"{value!r} is no duration: unknown unit {unit!r}{_unit_meant(number, unit)}")
    raise validation_error(f"{value!r} is no duration; write one as 500ms, 2s, 1.5s or 1m")


def duration_text(duration_ms: int) -> str:
    """Return a duration as it is written in a file, in the longest unit in which it is a whole number."""
    unit = next(unit for unit in ("m", "s", "ms") if duration_ms % MS_PER_UNIT[unit] == 0)
    return "0s" if duration_ms == 0 else f"{duration_ms // MS_PER_UNIT[unit]}{unit}"


def _unit_meant(number: str, unit: str) -> str:
    for first, meant in (("mil", "ms"), ("mi", "m"), ("s", "s"), ("m", "ms"), ("h", "m")):
        if unit.lower().startswith(first):
            return f"; did you mean {number}{meant}?" if first != "h" else "; the longest unit is m, minutes"
    return "; units are ms, s and m"


Duration = Annotated[
    int,
    PlainValidator(parse_duration),
    PlainSerializer(duration_text),
    WithJsonSchema({"type": "string", "pattern": DURATION, "examples": ["500ms", "2s", "1.5s", "1m"]}),
]
"""A time with its unit: 500ms, 2s, 1.5s or 1m. At most one day."""


def parse_tick_time(value: object) -> int:
    """Return a tickTime in milliseconds. Raises: PydanticCustomError, also for one that is too short or too long."""
    tick_ms = parse_duration(value)
    if not SHORTEST_TICK_MS <= tick_ms <= LONGEST_TICK_MS:
        raise validation_error(
            f"{value!r} is no tickTime; one lasts from {SHORTEST_TICK_MS}ms to {LONGEST_TICK_MS // 1_000}s"
        )
    return tick_ms


TickTime = Annotated[
    int,
    PlainValidator(parse_tick_time),
    PlainSerializer(duration_text),
    WithJsonSchema({"type": "string", "pattern": DURATION, "examples": ["200ms", "2s"]}),
]
"""The length of a tick, ZooKeeper's unit of time: a duration from 10ms to 60s."""

# --- names ---------------------------------------------------------------------------------------------------------------


def known_names(info: ValidationInfo) -> KnownNames:
    """Return the names that the file under validation defines."""
    return info.context if isinstance(info.context, KnownNames) else KnownNames()


def check_broker(value: object, info: ValidationInfo, extra: Sequence[str] = (), at: int | None = None) -> str:
    """Return the name of a broker, or one of the `extra` words. Raises: PydanticCustomError."""
    known = known_names(info)
    allowed = (*known.brokers, *(known.aliases or ()), CONTROLLER, *extra)
    if not isinstance(value, str):
        raise validation_error(f"{value!r} is no name of a broker; write broker-1", at)
    if role := re.fullmatch(ROLE_OF, value):
        check_partition(role[2], info, at)
        return value
    is_broker = re.fullmatch(BROKER, value)
    # If the brokers, or the steps that give names, are invalid, that is reported, and not each use of a name as well.
    if value in allowed or (not known.brokers if is_broker else known.aliases is None and re.fullmatch(NAME, value)):
        return value
    if is_broker:
        nearest = min(known.brokers, key=lambda name: abs(_number(name) - _number(value)))
        hint = f"there are {known.brokers[0]} to {known.brokers[-1]}, the nearest is {nearest}"
        raise validation_error(f"unknown broker {value!r}; {hint}", at)
    near = _role_meant(value, known) or did_you_mean(value, allowed)
    raise validation_error(f"unknown name {value!r}{near or '; write broker-1, controller, or a name given with as'}", at)


def _role_meant(value: str, known: KnownNames) -> str:
    """Return a hint for a role without its partition, or a partition without a role."""
    partitions = [f"{topic}-0" for topic in known.topics or ()]
    if value in ROLES:
        return suggestion(f"{value}-of {next(iter(partitions), 'TOPIC-0')}")
    topic = value.rpartition("-")[0]
    return suggestion(f"leader-of {value}") if re.fullmatch(PARTITION, value) and topic in (known.topics or ()) else ""


def _number(broker: str) -> int:
    return int(broker.rpartition("-")[2])


def _names(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (check_broker(value, info, (ALL,)),)
    if not value:
        raise validation_error("the list is empty; write all, or a name")
    return require_unique(tuple(check_broker(name, info, at=place) for place, name in enumerate(value)))


def require_unique(names: tuple[T, ...]) -> tuple[T, ...]:
    """Return the names if none occurs twice. Raises: PydanticCustomError."""
    for place, name in enumerate(names):
        if name in names[:place]:
            raise validation_error(f"{str(name)!r} is named twice", place)
    return names


_NAME_SCHEMA = {"type": "string", "pattern": NAME}


def one_or_list(values: Iterable[object]) -> Any:
    """Return a single value by itself and several as a list, each as text: the form in a file."""
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else texts


def one_or_several(pattern: str, *words: str) -> dict[str, Any]:
    """Return the JSON Schema of one text of this form, a list of such texts, or one of the words."""
    one = {"type": "string", "pattern": pattern}
    some = [one, {"type": "array", "items": one, "minItems": 1, "uniqueItems": True}]
    return {"anyOf": [*some, {"enum": list(words)}] if words else some}


BrokerNames = Annotated[
    tuple[str, ...],
    PlainValidator(_names),
    PlainSerializer(one_or_list),
    WithJsonSchema(one_or_several(BROKER_NAME)),
]
"""`all`, or one name, or a list: broker-N, `controller` (the controller at that time), a name given with `as`, or a broker
by its role in a partition at that time: `leader-of orders-0`, `preferred-of orders-0`, `follower-of orders-0` (the first of
its replicas that is not the leader)."""


def check_role_holder(value: object, info: ValidationInfo) -> str:
    """Return the given holder of a role. Raises: PydanticCustomError."""
    if isinstance(value, str) and value.startswith(NOT):
        return NOT + check_broker(value.removeprefix(NOT).strip(), info)
    return check_broker(value, info, (ANY, NONE))


ROLE_HOLDER = rf"^(not )?({BROKER_NAME.strip('^$')})$"

RoleHolder = Annotated[str, PlainValidator(check_role_holder), WithJsonSchema({"type": "string", "pattern": ROLE_HOLDER})]
"""The holder of a role: a broker's name, `any` (any broker), `none` (no broker), or `not NAME` (any other broker)."""


def _alias(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(NAME, value):
        raise validation_error(f"{value!r} cannot be a name; write small letters, digits and hyphens, as in old-controller")
    if value in RESERVED or re.fullmatch(f"{BROKER}|{MEMBER}", value):
        raise validation_error(f"{value!r} means something already; give another name")
    return value


Alias = Annotated[
    str,
    BeforeValidator(_alias),
    WithJsonSchema({**_NAME_SCHEMA, "not": {"anyOf": [{"enum": list(RESERVED)}, {"pattern": f"{BROKER}|{MEMBER}"}]}}),
]
"""A name for the target of a step, to be used by later steps and by expectations."""


def _member(value: object, info: ValidationInfo, at: int | None = None) -> str:
    known = known_names(info)
    names = ("leader", "follower", *known.members, *known.member_aliases)
    if isinstance(value, str) and value in names:
        return value
    raise validation_error(
        f"unknown ZooKeeper server {value!r}{did_you_mean(value, names) or f'; there are {comma_separated(names)}'}", at
    )


def _members(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (_member(value, info),)
    if not value:
        raise validation_error("an empty list names no server")
    return require_unique(tuple(_member(name, info, place) for place, name in enumerate(value)))


MemberNames = Annotated[
    tuple[str, ...], PlainValidator(_members), PlainSerializer(one_or_list), WithJsonSchema(one_or_several(NAME))
]
"""`leader`, `follower`, member-N, a name given with `as`, or a list of them."""


# --- partitions ------------------------------------------------------------------------------------------------------------


def parse_partition(text: str) -> TopicPartition:
    """Return the partition that a text such as orders-0 names; the text must match PARTITION."""
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def check_topic(value: object, info: ValidationInfo, at: str | int | None = None) -> str:
    """Return the name of a topic that the file declares. Raises: PydanticCustomError."""
    known = known_names(info).topics
    if isinstance(value, str) and (known is None or value in known):
        return value
    there = f"there are {comma_separated(known)}" if known else "the cluster has none; name them in cluster: topics:"
    raise validation_error(f"unknown topic {value!r}{did_you_mean(value, known or ()) or f'; {there}'}", at)


def check_partition(value: object, info: ValidationInfo, at: str | int | None = None) -> TopicPartition:
    """Return a partition of a topic that the file declares. Raises: PydanticCustomError."""
    if not isinstance(value, str) or not re.fullmatch(PARTITION, value):
        raise validation_error(f"{value!r} is no partition; write topic and number, as orders-0", at)
    partition = parse_partition(value)
    known = known_names(info).topics
    if known is not None and partition.topic not in known:
        near = did_you_mean(partition.topic, known) or f"; topics are {comma_separated(known) or 'none'}"
        raise validation_error(f"unknown partition {value!r}: no topic {partition.topic!r}{near}", at)
    numbers = known[partition.topic] if known is not None else None
    if numbers is not None and partition.partition not in numbers:
        raise validation_error(f"unknown partition {value!r}; {partition.topic} has 0 to {numbers[-1]}", at)
    return partition
