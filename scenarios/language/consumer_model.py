"""Consumer groups as a scenario file declares them: who is in them, what they read, and how they share it."""

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

from kcsim.brokers.config import MAX_INT, SettingError, Value
from kcsim.brokers.groups.assignors import Strategy
from kcsim.brokers.groups.errors import BadPatternError
from kcsim.brokers.groups.subscriptions import TopicPattern
from kcsim.scenarios.consumers.consumer_config import (
    CONSUMER_SETTINGS,
    OFFSET_RESETS,
    ConsumerConfig,
    parse_consumer_setting,
)
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.topic_words import TopicsByName
from kcsim.scenarios.language.words import NAME, did_you_mean, listed, one_or_list, unlike, wrong

STRATEGIES = tuple(strategy.value for strategy in Strategy)
MAX_MEMBERS = 1_000


def _settings(value: object) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise wrong(f"{value!r} is no mapping of a consumer's settings")
    for name, given in value.items():
        if name not in CONSUMER_SETTINGS:
            raise wrong(f"unknown consumer setting {name!r}{did_you_mean(name, CONSUMER_SETTINGS)}", name)
        try:
            parse_consumer_setting(name, given)
        except SettingError as error:
            raise wrong(str(error), name) from None
    try:
        ConsumerConfig.of(value, (Strategy.RANGE,))
    except SettingError as error:
        raise wrong(f"Kafka refuses these settings: {error}") from None
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


def _strategies(value: object) -> tuple[Strategy, ...]:
    if isinstance(value, list) and not value:
        raise wrong("an empty list names no assignor")
    named = tuple(value) if isinstance(value, list) else (value,)
    for place, name in enumerate(named):
        if name not in STRATEGIES:
            near = did_you_mean(name, STRATEGIES) or f"; they are {listed(STRATEGIES)}"
            raise wrong(f"unknown assignor {name!r}{near}", place if isinstance(value, list) else None)
    return unlike(tuple(Strategy(name) for name in named))


Assignors = Annotated[
    tuple[Strategy, ...],
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
"""One assignor, or several, the one they like best first."""


def _pattern(value: str) -> str:
    try:
        TopicPattern(value)
    except BadPatternError as error:
        raise wrong(str(error)) from None
    return value


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_pattern)]
"""A regular expression that has to match a topic's whole name."""


def _one_subscription(schema: dict[str, Any]) -> None:
    schema["not"] = {"required": ["topics", "pattern"]}


def _some_subscription(schema: dict[str, Any]) -> None:
    """The group's own, or one of each member."""
    own = [{"required": ["topics"]}, {"required": ["pattern"]}]
    _one_subscription(schema)
    schema["anyOf"] = [*own, {"properties": {"members": {"type": "object", "patternProperties": {NAME: {"anyOf": own}}}}}]


class MemberModel(Model):
    """What one member does otherwise than its group."""

    model_config = ConfigDict(json_schema_extra=_one_subscription)

    topics: TopicsByName | None = Field(None, description="Subscribes to these instead.")
    pattern: Pattern | None = Field(None, description="Subscribes to whatever matches instead.")
    assignors: Assignors | None = None

    @model_validator(mode="after")
    def _check(self) -> "MemberModel":
        _refuse_both(self.topics, self.pattern)
        return self


def _refuse_both(topics: tuple[str, ...] | None, pattern: str | None) -> None:
    if topics is not None and pattern is not None:
        raise wrong("a subscription is a list of topics or a pattern, not both", "pattern")


def _names(names: list[str]) -> list[str]:
    return list(unlike(tuple(names)))


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

    members: Members = Field(description="Names, or name -> what this one does otherwise; consumer-NAME in the event log.")
    topics: TopicsByName | None = Field(None, description="One topic or a list.")
    pattern: Pattern | None = Field(None, description="A regular expression that has to match a topic's whole name.")
    assignors: Assignors = Field((Strategy.RANGE,), description="One, or several: the first that all support is voted for.")
    static: bool = Field(False, description="Each member has its name as group.instance.id, and keeps its place.")
    settings: ConsumerSettings = Field(default_factory=dict, description="Kafka's dotted names, with Kafka's defaults.")

    @model_validator(mode="after")
    def _check(self) -> "GroupModel":
        _refuse_both(self.topics, self.pattern)
        if self.topics is None and self.pattern is None:
            for name, member in self.each_member().items():
                if member.topics is None and member.pattern is None:
                    raise wrong(f"{name} subscribes to nothing: say topics or pattern")
        return self

    def each_member(self) -> dict[str, MemberModel]:
        """Every member by name, with what it does otherwise."""
        if isinstance(self.members, dict):
            return self.members
        return {name: MemberModel.model_validate({}) for name in self.members}
