"""Types of values in a scenario file about the network: links, shares of lost messages, names of requests.

Pydantic types, checked against the brokers, racks and clients that the file itself defines (value_types.KnownNames).
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from kcsim.brokers.injected_errors import INJECTABLE
from kcsim.brokers.network.link_conditions import CLIENTS, is_client
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.value_types import (
    ALL,
    BROKER_NAME,
    check_broker,
    known_names,
    one_or_list,
    one_or_several,
    require_unique,
    validation_error,
)
from kcsim.text import comma_separated, did_you_mean

RACK = "rack "
REQUESTS = (
    *("LeaderAndIsr", "UpdateMetadata", "StopReplica", "ControlledShutdown", "AlterIsr", "Fetch", "OffsetsForLeaderEpoch"),
    "AllocateProducerIds",
    *("Produce", "ListOffsets", "Metadata", "FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    "OffsetCommit",
    *("OffsetFetch", "ApiVersions", "InitProducerId", "CreateTopics", "DeleteTopics", "CreatePartitions", "DeleteRecords"),
    *("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs", "DescribeCluster", "DescribeLogDirs", "DescribeGroups"),
    *("ListGroups", "DeleteGroups", "OffsetDelete", "ElectLeaders", "AlterPartitionReassignments"),
    "ListPartitionReassignments",
)
"""The requests of brokers and clients. Those from ApiVersions on are sent by Kafka's own clients only."""
PERCENT = r"^[0-9]+(\.[0-9]+)?%$"

# --- links -----------------------------------------------------------------------------------------------------------------


def _node(value: object, info: ValidationInfo, at: int | None = None) -> str:
    known = known_names(info)
    if isinstance(value, str) and value.startswith(RACK):
        rack = value.removeprefix(RACK).strip()
        if rack in known.racks or not known.brokers:
            return RACK + rack
        there = f"there are {comma_separated(known.racks)}" if known.racks else "the brokers are in none"
        raise validation_error(f"unknown rack {rack!r}{did_you_mean(rack, known.racks) or f'; {there}'}", at)
    if isinstance(value, str) and is_client(value):
        return value
    return check_broker(value, info, (*known.clients, CLIENTS), at)


def _side(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if value == ALL:
        return (ALL,)
    if not isinstance(value, list):
        return (_node(value, info),)
    if not value:
        raise validation_error("the list is empty; write all, or a name")
    return require_unique(tuple(_node(name, info, place) for place, name in enumerate(value)))


NODE = rf"^(rack .+|client .+|{BROKER_NAME.strip('^$')})$"
NodeNames = Annotated[
    tuple[str, ...], PlainValidator(_side), PlainSerializer(one_or_list), WithJsonSchema(one_or_several(NODE, ALL))
]
"""`all` (including clients and nodes that are started later), or one name, or a list: brokers as everywhere else, `rack
NAME` for the brokers in that rack, producer-NAME and consumer-NAME; `clients` for Kafka's own clients, which connect over
TCP, and `client ID` for those with this client.id."""

_PAIRS = (("between", "and"), ("from", "to"))


def one_pair(schema: dict[str, Any]) -> None:
    """Require in a JSON Schema that links are given in exactly one of the two ways."""
    schema["oneOf"] = [{"required": list(pair)} for pair in _PAIRS]
    schema["not"] = {"anyOf": [{"required": [one, other]} for one in _PAIRS[0] for other in _PAIRS[1]]}


class LinkSelector(Model):
    """Links of the network: in both directions (`between` and `and`), or in one (`from` and `to`)."""

    model_config = ConfigDict(json_schema_extra=one_pair)

    between: NodeNames | None = Field(None, description="One side of the links, in both directions; with `and`.")
    and_: NodeNames | None = Field(None, description="The other side; with `between`.")
    from_: NodeNames | None = Field(None, description="The senders, for one direction only; with `to`.")
    to: NodeNames | None = Field(None, description="The receivers; with `from`.")

    @model_validator(mode="after")
    def _is_one_pair(self) -> "LinkSelector":
        given = {"between": self.between, "and": self.and_, "from": self.from_, "to": self.to}
        named = tuple(key for key, side in given.items() if side is not None)
        if named not in _PAIRS:
            suffix = f", not {' and '.join(named)}" if named else ""
            raise validation_error(f"write which links: between some and others, or from some to others{suffix}")
        if both := [name for name in self.sources if name in self.targets and name != ALL]:
            raise validation_error(
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
    Annotated[Literal["all"], Tag("<all>")] | Annotated[LinkSelector, Tag("<links>")],
    Discriminator(lambda value: "<links>" if isinstance(value, dict | LinkSelector) else "<all>"),
]
"""`all`, or a mapping that selects links, as `between: broker-1` with `and: broker-2`."""

# --- shares and requests ---------------------------------------------------------------------------------------------------


def _probability(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise validation_error(f"{value!r} is no share; write one in percent, as {value if value > 1 else 100 * value:g}%")
    if not isinstance(value, str) or not re.fullmatch(PERCENT, value):
        raise validation_error(f"{value!r} is no share; write one in percent, as 5% or 0.1%")
    share = float(value.removesuffix("%")) / 100
    if share > 1:
        raise validation_error(f"{value} is more than all")
    return share


Probability = Annotated[
    float,
    PlainValidator(_probability),
    PlainSerializer(lambda probability: f"{round(100 * probability, 10):g}%"),
    WithJsonSchema({"type": "string", "pattern": PERCENT, "examples": ["5%", "0.1%"]}),
]
"""A share in percent: 5% or 0.1%."""


def _one_of(names: Sequence[str], what: str) -> PlainValidator:
    def check(value: object) -> str:
        if isinstance(value, str) and value in names:
            return value
        raise validation_error(
            f"unknown {what} {value!r}{did_you_mean(value, names) or f'; there are {comma_separated(names)}'}"
        )

    return PlainValidator(check)


RequestName = Annotated[str, _one_of(REQUESTS, "request"), WithJsonSchema({"enum": list(REQUESTS)})]
"""The name of a request, such as Fetch or LeaderAndIsr."""
InjectableRequest = Annotated[
    str, _one_of(INJECTABLE, "request whose answer can carry an error"), WithJsonSchema({"enum": list(INJECTABLE)})
]
"""The name of a request of clients whose answer can carry an error."""
ERRORS = tuple(error.name for error in ErrorCode if error is not ErrorCode.NONE)
KafkaError = Annotated[str, _one_of(ERRORS, "error"), WithJsonSchema({"enum": list(ERRORS)})]
"""The name of an error of Kafka's protocol, such as NOT_LEADER_OR_FOLLOWER."""
