"""Consumer groups as a scenario file declares them: their members, what the members read, and how they share it."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    WithJsonSchema,
    model_validator,
)

from kcsim.brokers.clients.consumer_config import CONSUMER_SETTINGS, OFFSET_RESETS, ConsumerConfig, parse_consumer_setting
from kcsim.brokers.config import MAX_INT, SettingError, Value
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.groups.assignors.errors import BadPatternError
from kcsim.brokers.groups.assignors.subscriptions import TopicPattern
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.topic_types import TopicsByName
from kcsim.scenarios.language.value_types import NAME, one_or_list, require_unique, validation_error
from kcsim.text import comma_separated, did_you_mean

STRATEGIES = tuple(strategy.value for strategy in AssignmentStrategy)
MAX_MEMBERS = 1_000


def _settings(value: object) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise validation_error(f"{value!r} is no mapping of a consumer's settings")
    for name, given in value.items():
        if name not in CONSUMER_SETTINGS:
            raise validation_error(f"unknown consumer setting {name!r}{did_you_mean(name, CONSUMER_SETTINGS)}", name)
        try:
            parse_consumer_setting(name, given)
        except SettingError as error:
            raise validation_error(str(error), name) from None
    try:
        ConsumerConfig.of(value, (AssignmentStrategy.RANGE,))
    except SettingError as error:
        raise validation_error(f"Kafka refuses these settings: {error}") from None
    return dict(value)


def _setting_schema(name: str) -> dict[str, Any]:
    if name == "auto.offset.reset":
        return {"enum": list(OFFSET_RESETS)}
    return {"type": "integer", "minimum": CONSUMER_SETTINGS[name], "maximum": MAX_INT}


ConsumerSettings = Annotated[
    Mapping[str, Value],
    PlainValidator(_settings),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {name: _setting_schema(name) for name in CONSUMER_SETTINGS},
            "additionalProperties": False,
        }
    ),
]
"""Setting of a consumer, under Kafka's dotted name -> its value."""


def _strategies(value: object) -> tuple[AssignmentStrategy, ...]:
    if isinstance(value, list) and not value:
        raise validation_error("an empty list names no assignor")
    named = tuple(value) if isinstance(value, list) else (value,)
    for place, name in enumerate(named):
        if name not in STRATEGIES:
            near = did_you_mean(name, STRATEGIES) or f"; they are {comma_separated(STRATEGIES)}"
            raise validation_error(f"unknown assignor {name!r}{near}", place if isinstance(value, list) else None)
    return require_unique(tuple(AssignmentStrategy(name) for name in named))


Assignors = Annotated[
    tuple[AssignmentStrategy, ...],
    PlainValidator(_strategies),
    PlainSerializer(one_or_list),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(STRATEGIES)},
                {"type": "array", "items": {"enum": list(STRATEGIES)}, "minItems": 1, "uniqueItems": True},
            ]
        }
    ),
]
"""One assignor, or several in order of preference."""


def _pattern(value: str) -> str:
    try:
        TopicPattern(value)
    except BadPatternError as error:
        raise validation_error(str(error)) from None
    return value


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_pattern)]
"""A regular expression that must match a topic's whole name."""


def _one_subscription(schema: dict[str, Any]) -> None:
    schema["not"] = {"required": ["topics", "pattern"]}


def _some_subscription(schema: dict[str, Any]) -> None:
    """Require in the JSON Schema a subscription of the group, or one of each member."""
    own = [{"required": ["topics"]}, {"required": ["pattern"]}]
    _one_subscription(schema)
    schema["anyOf"] = [*own, {"properties": {"members": {"type": "object", "patternProperties": {NAME: {"anyOf": own}}}}}]


class MemberModel(Model):
    """The subscription of one member, where it differs from its group's."""

    model_config = ConfigDict(json_schema_extra=_one_subscription)

    topics: TopicsByName | None = Field(None, description="The topics of this member.")
    pattern: Pattern | None = Field(None, description="The pattern of this member.")
    assignors: Assignors | None = Field(None, description="The assignors of this member.")

    @model_validator(mode="after")
    def _check(self) -> "MemberModel":
        _refuse_both(self.topics, self.pattern)
        return self


def _refuse_both(topics: tuple[str, ...] | None, pattern: str | None) -> None:
    if topics is not None and pattern is not None:
        raise validation_error("a subscription is a list of topics or a pattern, not both", "pattern")


def _names(names: list[str]) -> list[str]:
    return list(require_unique(tuple(names)))


MemberName = Annotated[str, Field(pattern=NAME)]
Members = Annotated[
    Annotated[
        list[MemberName], Field(min_length=1, json_schema_extra={"uniqueItems": True}), AfterValidator(_names), Tag("<list>")
    ]
    | Annotated[
        dict[MemberName, MemberModel],
        Field(min_length=1, json_schema_extra={"additionalProperties": False}),
        Tag("<mapping>"),
    ],
    Discriminator(lambda value: "<mapping>" if isinstance(value, dict) else "<list>"),
]


class GroupModel(Model):
    """Consumers that share topics."""

    model_config = ConfigDict(json_schema_extra=_some_subscription)

    members: Members = Field(description="Names, or name -> its own subscription. In the event log they are consumer-NAME.")
    topics: TopicsByName | None = Field(None, description="The topics that the members subscribe to.")
    pattern: Pattern | None = Field(None, description="A regular expression instead: it must match a topic's whole name.")
    assignors: Assignors = Field(
        (AssignmentStrategy.RANGE,), description="The assignors that members support, the preferred one first."
    )
    static: bool = Field(False, description="Static membership: each member has its name as group.instance.id.")
    settings: ConsumerSettings = Field(default_factory=dict, description="Settings of the consumers.")

    @model_validator(mode="after")
    def _check(self) -> "GroupModel":
        _refuse_both(self.topics, self.pattern)
        if self.topics is None and self.pattern is None:
            for name, member in self.each_member().items():
                if member.topics is None and member.pattern is None:
                    raise validation_error(f"{name} subscribes to no topic: write topics or pattern")
        return self

    def each_member(self) -> dict[str, MemberModel]:
        """Return every member by name, with its deviations from the group."""
        if isinstance(self.members, dict):
            return self.members
        return {name: MemberModel.model_validate({}) for name in self.members}
