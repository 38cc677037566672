"""The words of a scenario file that are about the network: whose links, how much is lost, which request.

Pydantic types, checked against the brokers, racks and clients that the file itself knows (words.KnownNames).
"""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Discriminator,
    PlainSerializer,
    PlainValidator,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.words import (
    ALL,
    BROKER_NAME,
    check_broker,
    did_you_mean,
    known_names,
    listed,
    one_or_list,
    one_or_several,
    unlike,
    wrong,
)

RACK = "rack "
REQUESTS = (
    *("LeaderAndIsr", "UpdateMetadata", "StopReplica", "ControlledShutdown", "Fetch", "OffsetsForLeaderEpoch", "Produce"),
    *("ListOffsets", "Metadata", "FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit"),
    "OffsetFetch",
)
"""What brokers and clients ask each other."""
PERCENT = r"^[0-9]+(\.[0-9]+)?%$"

# --- whose links -----------------------------------------------------------------------------------------------------------


def _node(value: object, info: ValidationInfo, at: int | None = None) -> str:
    known = known_names(info)
    if isinstance(value, str) and value.startswith(RACK):
        rack = value.removeprefix(RACK).strip()
        if rack in known.racks or not known.brokers:
            return RACK + rack
        there = f"there are {listed(known.racks)}" if known.racks else "the brokers are in none"
        raise wrong(f"unknown rack {rack!r}{did_you_mean(rack, known.racks) or f'; {there}'}", at)
    return check_broker(value, info, known.clients, at)


def _side(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if value == ALL:
        return (ALL,)
    if not isinstance(value, list):
        return (_node(value, info),)
    if not value:
        raise wrong("an empty list names nobody; write all, or a name")
    return unlike(tuple(_node(name, info, place) for place, name in enumerate(value)))


NODE = rf"^(rack .+|{BROKER_NAME.strip('^$')})$"
NodeNames = Annotated[
    tuple[str, ...], PlainValidator(_side), PlainSerializer(one_or_list), WithJsonSchema(one_or_several(NODE, ALL))
]
"""`all` (clients included, and whoever comes later), or one name, or a list: brokers as everywhere else, `rack NAME` for
those in it, producer-NAME and consumer-NAME."""

_PAIRS = (("between", "and"), ("from", "to"))


def one_pair(schema: dict[str, Any]) -> None:
    """Say in a JSON Schema that links are named in one way."""
    schema["oneOf"] = [{"required": list(pair)} for pair in _PAIRS]
    schema["not"] = {"anyOf": [{"required": [one, other]} for one in _PAIRS[0] for other in _PAIRS[1]]}


class LinksMeant(Model):
    """Links of the network: `between` some `and` others, both ways; or one way, `from` some `to` others."""

    model_config = ConfigDict(json_schema_extra=one_pair)

    between: NodeNames | None = None
    and_: NodeNames | None = None
    from_: NodeNames | None = None
    to: NodeNames | None = None

    @model_validator(mode="after")
    def _is_one_pair(self) -> "LinksMeant":
        given = {"between": self.between, "and": self.and_, "from": self.from_, "to": self.to}
        named = tuple(key for key, side in given.items() if side is not None)
        if named not in _PAIRS:
            told = f", not {' and '.join(named)}" if named else ""
            raise wrong(f"say which links: between some and others, or from some to others{told}")
        if both := [name for name in self.sources if name in self.targets and name != ALL]:
            raise wrong(
                f"{both[0]!r} is on both sides, and what a node sends to itself does not touch the network", named[1]
            )
        return self

    @property
    def sources(self) -> tuple[str, ...]:
        return self.between or self.from_ or ()

    @property
    def targets(self) -> tuple[str, ...]:
        return self.and_ or self.to or ()

    @property
    def is_both_ways(self) -> bool:
        return self.between is not None


AllOrLinks = Annotated[
    Annotated[Literal["all"], Tag("<all>")] | Annotated[LinksMeant, Tag("<links>")],
    Discriminator(lambda value: "<links>" if isinstance(value, dict | LinksMeant) else "<all>"),
]
"""`all`, or the links that are meant."""

# --- how much, and what ----------------------------------------------------------------------------------------------------


def _probability(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise wrong(f"{value!r} is no share; write one in percent, as {value if value > 1 else 100 * value:g}%")
    if not isinstance(value, str) or not re.fullmatch(PERCENT, value):
        raise wrong(f"{value!r} is no share; write one in percent, as 5% or 0.1%")
    share = float(value.removesuffix("%")) / 100
    if share > 1:
        raise wrong(f"{value} is more than all")
    return share


Probability = Annotated[
    float,
    PlainValidator(_probability),
    PlainSerializer(lambda probability: f"{round(100 * probability, 10):g}%"),
    WithJsonSchema({"type": "string", "pattern": PERCENT, "examples": ["5%", "0.1%"]}),
]
"""From 0 to 1; in the file from 0% to 100%."""


def _request(value: object) -> str:
    if isinstance(value, str) and value in REQUESTS:
        return value
    raise wrong(f"unknown request {value!r}{did_you_mean(value, REQUESTS) or f'; there are {listed(REQUESTS)}'}")


RequestName = Annotated[str, PlainValidator(_request), WithJsonSchema({"enum": list(REQUESTS)})]
