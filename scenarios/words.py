"""The small words of a scenario file: durations, names of brokers and servers, and the nearest one to a mistyped one.

Pydantic types that the models are made of. Names are checked against those that the file itself knows
(KnownNames, handed over as validation context), so that a mistyped one is found before anything is started.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from kcsim.zk.memory.paths import is_legal

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
MEMBER = r"^(leader|follower|member-[1-9][0-9]*)$"
PATH = r"^/$|^(/[^/]+)+$"
RESERVED = (CONTROLLER, ALL, ANY, NONE, "leader", "follower")


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return '; did you mean …?' with the nearest known word, or nothing when none is near."""
    near = get_close_matches(str(word), list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""


def listed(words: Iterable[object]) -> str:
    """Return the words with commas between."""
    return ", ".join(map(str, words))


@dataclass(frozen=True)
class KnownNames:
    """What a scenario file may refer to.

    Attributes:
        brokers: broker-1, broker-2, …
        aliases: every name given to a broker with `as` in the whole timetable; that it came earlier is checked later.
        members: member-1, … of ZooKeeper's servers.
        member_aliases: every name given to a server with `as`.
        report: takes a problem found beside pydantic's own: the mapping it is in, the key, a sentence.
    """

    brokers: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    member_aliases: tuple[str, ...] = ()
    report: Callable[[Any, str, str], None] | None = field(default=None, compare=False)


def wrong(message: str, at: str | int | None = None) -> PydanticCustomError:
    """An error of ours. `at` leads further into the value, when it is a list or a mapping."""
    # The message goes in as context: braces in it are not a template.
    return PydanticCustomError("kcsim", "{message}", {"message": message, "at": at})


# --- durations -----------------------------------------------------------------------------------------------------------


def parse_duration(value: object) -> int:
    """Return milliseconds of 500ms, 2s, 1.5s or 1m. Raises: PydanticCustomError."""
    if isinstance(value, str) and re.fullmatch(DURATION, value):
        number, unit = re.fullmatch(r"([\d.]+)([a-z]+)", value).groups()  # type: ignore[union-attr]
        exact_ms = round(float(number) * MS_PER_UNIT[unit], 6)
        if exact_ms > LONGEST_MS:
            raise wrong(f"{value!r} is longer than a day")
        if exact_ms == int(exact_ms):
            return int(exact_ms)
        raise wrong(f"{value!r} is no whole number of milliseconds")
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise wrong(f"{value!r} has no unit; write {value}ms or {value}s")
    match = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", value) if isinstance(value, str) else None
    if match:
        number, unit = match.groups()
        raise wrong(f"{value!r} is no duration: unknown unit {unit!r}{_unit_meant(number, unit)}")
    raise wrong(f"{value!r} is no duration; write one as 500ms, 2s, 1.5s or 1m")


def _unit_meant(number: str, unit: str) -> str:
    for first, meant in (("mil", "ms"), ("mi", "m"), ("s", "s"), ("m", "ms"), ("h", "m")):
        if unit.lower().startswith(first):
            return f"; did you mean {number}{meant}?" if first != "h" else "; the longest unit is m, minutes"
    return "; units are ms, s and m"


Duration = Annotated[
    int,
    PlainValidator(parse_duration),
    WithJsonSchema({"type": "string", "pattern": DURATION, "examples": ["500ms", "2s", "1.5s", "1m"]}),
]
"""Milliseconds; in the file 500ms, 2s, 1.5s or 1m. A day at most."""


def parse_tick_time(value: object) -> int:
    """Return a tickTime in milliseconds. Raises: PydanticCustomError, also for one with which no session could live."""
    tick_ms = parse_duration(value)
    if not SHORTEST_TICK_MS <= tick_ms <= LONGEST_TICK_MS:
        raise wrong(f"{value!r} is no tickTime; one lasts from {SHORTEST_TICK_MS}ms to {LONGEST_TICK_MS // 1_000}s")
    return tick_ms


TickTime = Annotated[
    int,
    PlainValidator(parse_tick_time),
    WithJsonSchema({"type": "string", "pattern": DURATION, "examples": ["200ms", "2s"]}),
]
"""Milliseconds of a tick, ZooKeeper's unit of time."""

# --- names ---------------------------------------------------------------------------------------------------------------


def known_names(info: ValidationInfo) -> KnownNames:
    """The names of the file that is being validated."""
    return info.context if isinstance(info.context, KnownNames) else KnownNames()


def _check_broker(value: object, info: ValidationInfo, extra: Sequence[str] = (), at: int | None = None) -> str:
    known = known_names(info)
    allowed = (*known.brokers, *known.aliases, CONTROLLER, *extra)
    if not isinstance(value, str):
        raise wrong(f"{value!r} is no name of a broker; write broker-1", at)
    if value in allowed or (not known.brokers and re.fullmatch(BROKER, value)):
        return value  # where the brokers themselves are not understood, that is reported, and not each name again
    if re.fullmatch(BROKER, value):
        nearest = min(known.brokers, key=lambda name: abs(_number(name) - _number(value)))
        told = f"there are {known.brokers[0]} to {known.brokers[-1]}, the nearest is {nearest}"
        raise wrong(f"unknown broker {value!r}; {told}", at)
    raise wrong(
        f"unknown name {value!r}{did_you_mean(value, allowed) or '; write broker-1, controller, or a name given with as'}",
        at,
    )


def _number(broker: str) -> int:
    return int(broker.rpartition("-")[2])


def _names(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (_check_broker(value, info, (ALL,)),)
    if not value:
        raise wrong("an empty list names nobody; write all, or a name")
    names = tuple(_check_broker(name, info, at=place) for place, name in enumerate(value))
    return _unlike(names)


def _unlike(names: tuple[str, ...]) -> tuple[str, ...]:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise wrong(f"{name!r} is named twice", place)
    return names


_NAME_SCHEMA = {"type": "string", "pattern": NAME}

BrokerNames = Annotated[
    tuple[str, ...],
    PlainValidator(_names),
    WithJsonSchema({"anyOf": [_NAME_SCHEMA, {"type": "array", "items": _NAME_SCHEMA, "minItems": 1, "uniqueItems": True}]}),
]
"""`all`, or one name, or a list: broker-N, `controller` (who holds the role at that moment), a name given with `as`."""


def _controller_is(value: object, info: ValidationInfo) -> str:
    if isinstance(value, str) and value.startswith(NOT):
        return NOT + _check_broker(value.removeprefix(NOT).strip(), info)
    return _check_broker(value, info, (ANY, NONE))


ControllerIs = Annotated[
    str, PlainValidator(_controller_is), WithJsonSchema({"type": "string", "pattern": r"^(not )?[a-z][a-z0-9-]*$"})
]
"""A broker's name, `any` (somebody), `none` (nobody), or `not NAME` (somebody else)."""


def _alias(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(NAME, value):
        raise wrong(f"{value!r} cannot be a name; write small letters, digits and hyphens, as in old-controller")
    if value in RESERVED or re.fullmatch(f"{BROKER}|{MEMBER}", value):
        raise wrong(f"{value!r} means something already; give another name")
    return value


Alias = Annotated[
    str,
    BeforeValidator(_alias),
    WithJsonSchema({**_NAME_SCHEMA, "not": {"anyOf": [{"enum": list(RESERVED)}, {"pattern": f"{BROKER}|{MEMBER}"}]}}),
]
"""A name for whoever a step was done to, to be used by later steps and by expectations."""


def _member(value: object, info: ValidationInfo, at: int | None = None) -> str:
    known = known_names(info)
    names = ("leader", "follower", *known.members, *known.member_aliases)
    if isinstance(value, str) and value in names:
        return value
    raise wrong(f"unknown ZooKeeper server {value!r}{did_you_mean(value, names) or f'; there are {listed(names)}'}", at)


def _members(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (_member(value, info),)
    if not value:
        raise wrong("an empty list names no server")
    return _unlike(tuple(_member(name, info, place) for place, name in enumerate(value)))


MemberNames = Annotated[
    tuple[str, ...],
    PlainValidator(_members),
    WithJsonSchema({"anyOf": [_NAME_SCHEMA, {"type": "array", "items": _NAME_SCHEMA, "minItems": 1, "uniqueItems": True}]}),
]
"""`leader`, `follower`, member-N, a name given with `as`, or a list of them."""


def _path(value: object) -> object:
    if not isinstance(value, str) or not value.startswith("/"):
        raise wrong(f"{value!r} is no znode path; one begins with /, as /controller")
    if not re.fullmatch(PATH, value):
        raise wrong(f"{value!r} is no znode path: no empty names, no slash at the end")
    if not is_legal(value):
        raise wrong(f"{value!r} is no znode path: a name is neither . nor .., and has no control characters")
    return value


ZnodePath = Annotated[str, BeforeValidator(_path), WithJsonSchema({"type": "string", "pattern": PATH})]


# --- what stands in a znode ------------------------------------------------------------------------------------------------


def _plain_json(value: object) -> Any:
    """The value without the YAML reader's own types. Raises: PydanticCustomError for what JSON does not have."""
    match value:
        case dict():
            if not all(isinstance(key, str) for key in value):
                raise wrong("the keys of a JSON object are text; put them in quotes")
            return {str(key): _plain_json(item) for key, item in value.items()}
        case list():
            return [_plain_json(item) for item in value]
        case bool() | None:
            return value
        case int():
            return int(value)
        case float():
            return float(value)
        case str():
            return str(value)
        case _:
            raise wrong(f"{value!s} is neither text nor JSON; put it in quotes")


def _znode_text(value: object) -> str | None:
    plain = _plain_json(value)
    return plain if plain is None or isinstance(plain, str) else json.dumps(plain, separators=(",", ":"), ensure_ascii=False)


JsonValue = Annotated[Any, PlainValidator(_plain_json), WithJsonSchema({})]
"""Anything that JSON can say."""

ZnodeText = Annotated[str | None, PlainValidator(_znode_text), WithJsonSchema({})]
"""Content of a znode: text as it is, anything else as JSON without spaces; null for null data."""
