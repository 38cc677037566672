"""A scenario as data: a cluster, a timetable of what is done to it, and what is expected of it.

The models are the specification of the file format: the loader (scenario_file.py) and the published JSON Schema follow from
them. Keys are written with hyphens, an unknown one is an error. Judging is done in conditions.py, running in runner.py.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, PlainValidator, Tag, WithJsonSchema, model_validator

from kcsim.brokers.config import (
    INT_SETTINGS,
    KAFKA_NAMES,
    LEAST_VALUES,
    MAX_INT,
    SETTING_TYPES,
    SettingError,
    parse_setting,
)
from kcsim.controller.decisions.kafka_refusals import InvalidTopicError
from kcsim.controller.decisions.topic_creation import check_topic_name
from kcsim.controller.protections import ALL_ON
from kcsim.scenarios.language.claims import Expectation
from kcsim.scenarios.language.invariant_words import ALL_INVARIANTS, InvariantChoice
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.names_in_file import MAX_BROKERS
from kcsim.scenarios.language.protection_words import ProtectionSwitches
from kcsim.scenarios.language.steps import TimetableStep
from kcsim.scenarios.language.topic_model import TopicModel
from kcsim.scenarios.language.topic_words import TOPIC
from kcsim.scenarios.language.words import Duration, TickTime, did_you_mean, wrong
from kcsim.scenarios.language.workload_model import WorkloadModel
from kcsim.scenarios.language.yaml_text import yaml_text

SCENARIO_NAME = r"^[a-z0-9][a-z0-9-]*$"
DEFAULT_RECOVERY_MS = 60_000


def _settings(value: object) -> dict[str, str | int | bool]:
    if not isinstance(value, dict):
        raise wrong(f"{value!r} is no mapping of Kafka's settings")
    for name, given in value.items():
        if name not in KAFKA_NAMES:
            raise wrong(f"unknown setting {name!r}{did_you_mean(name, KAFKA_NAMES)}", name)
        if isinstance(given, str) and SETTING_TYPES[name] != "string":  # a properties file has text only; YAML has types
            raise wrong(f"{given!r} is no value of {name}, which is {_in_words(name)}", name)
        try:
            parse_setting(name, given)
        except SettingError as error:
            raise wrong(str(error), name) from None
    return dict(value)


def _in_words(name: str) -> str:
    least = LEAST_VALUES.get(name, 1)
    if name.endswith(".ms"):
        return f"a whole number of milliseconds from {least} to {MAX_INT}"
    return f"a whole number from {least} to {MAX_INT}" if name in INT_SETTINGS else "true or false"


def _setting_schema(name: str) -> dict[str, Any]:
    match SETTING_TYPES[name]:
        case "int":
            return {"type": "integer", "minimum": LEAST_VALUES.get(name, 1), "maximum": MAX_INT}
        case "boolean":
            return {"type": "boolean"}
        case "string":
            return {"type": "string", "minLength": 1}


Settings = Annotated[
    Mapping[str, str | int | bool],
    PlainValidator(_settings),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {name: _setting_schema(name) for name in KAFKA_NAMES},
            "additionalProperties": False,
        }
    ),
]


class BrokerItem(Model):
    """One broker, with its id and rack."""

    id: Annotated[int, Field(ge=0, le=MAX_INT)]
    rack: Annotated[str, Field(min_length=1)] | None = None


Brokers = Annotated[
    Annotated[int, Field(ge=1, le=MAX_BROKERS), Tag("<number>")]
    | Annotated[list[BrokerItem], Field(min_length=1), Tag("<list>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list) else "<number>"),
]


def _topic_names(topics: Mapping[str, TopicModel]) -> Mapping[str, TopicModel]:
    for name in topics:
        try:
            check_topic_name(name)
        except InvalidTopicError as error:
            raise wrong(str(error), name) from None
    return topics


Topics = Annotated[dict[Annotated[str, Field(pattern=TOPIC)], TopicModel], AfterValidator(_topic_names)]


class ClusterModel(Model):
    """The brokers and their settings."""

    brokers: Brokers = Field(description="How many (ids 1..n), or a list of {id, rack}.")
    racks: Annotated[int, Field(ge=1)] | None = Field(None, description="Spread the brokers over rack-1.. in turn.")
    settings: Settings = Field(default_factory=dict, description="Kafka's dotted names; the same for every broker.")
    topics: Topics = Field(
        default_factory=dict,
        description="Name -> topic; created when a create-topic step says so.",
        json_schema_extra={"additionalProperties": False},
    )

    @model_validator(mode="after")
    def _check(self) -> "ClusterModel":
        if isinstance(self.brokers, list):
            ids = [broker.id for broker in self.brokers]
            if twice := [i for place, i in enumerate(ids) if i in ids[:place]]:
                raise wrong(f"broker id {twice[0]} is given twice", "brokers")
            if self.racks is not None:
                raise wrong("racks goes with a number of brokers; in a list each has its own rack", "racks")
        brokers = len(self.members())
        for name, topic in self.topics.items():
            if topic.replication_factor is not None and topic.replication_factor > brokers:
                raise wrong(f"topic {name!r} wants {topic.replication_factor} replicas of {brokers} brokers", "topics")
        return self

    def members(self) -> list[BrokerItem]:
        """Every broker with its rack."""
        if isinstance(self.brokers, list):
            return self.brokers
        rack_of = (lambda i: f"rack-{i % self.racks + 1}") if self.racks else (lambda _: None)
        return [BrokerItem(id=number, rack=rack_of(number - 1)) for number in range(1, self.brokers + 1)]


class ZooKeeperModel(Model):
    """The ZooKeeper that the scenario wants, where it is ours to choose."""

    members: Literal[1, 3, 5] = Field(1, description="One server, or an ensemble.")
    tick_time: TickTime = Field(
        200,
        description="ZooKeeper's tickTime; sessions last between 2 and 20 ticks, or as long as zookeeper.session.timeout.ms "
        "asks for where no tick-time is given.",
    )


class AfterwardsModel(Model):
    """What is done when the timetable is done, before anything is judged."""

    heal: Literal[True] = Field(
        True,
        description="Undo every fault: brokers and servers that are dead, stopped or frozen run again, all links and "
        "connections work, producers come to their end. Then all has to recover and to come to rest.",
    )
    within: Duration = Field(DEFAULT_RECOVERY_MS, description="How long that may take.")

    @model_validator(mode="before")
    @classmethod
    def _is_mapping(cls, value: object) -> object:
        if not isinstance(value, dict | Model):
            raise wrong(f"{str(value).lower()} does not say what is done afterwards; write {{heal: true}}")
        return value


class Scenario(Model):
    """A scenario file."""

    name: Annotated[str, Field(pattern=SCENARIO_NAME)]
    description: Annotated[str, Field(min_length=1)]
    cluster: ClusterModel
    zookeeper: ZooKeeperModel = Field(default_factory=lambda: ZooKeeperModel.model_validate({}))
    workload: WorkloadModel = Field(default_factory=lambda: WorkloadModel.model_validate({}), description="What clients do.")
    protections: ProtectionSwitches = Field(
        default_factory=lambda: ALL_ON, description="What Kafka protects itself with; a scenario may do without."
    )
    timetable: Annotated[list[TimetableStep], Field(min_length=1)]
    afterwards: AfterwardsModel | None = Field(
        None, description="Undo all faults after the timetable: everything has to recover, and that is judged as well."
    )
    expect: Annotated[list[Expectation], Field(min_length=1)] = Field(
        default_factory=list,
        description="What should be true in the end; can be left out where invariants are all there is.",
    )
    invariants: InvariantChoice = Field(
        default_factory=lambda: ALL_INVARIANTS, description="What must hold of every run; all that there are if not given."
    )

    def to_yaml(self) -> str:
        """The text of a file that says the same."""
        return yaml_text(self.model_dump(by_alias=True))

    @model_validator(mode="after")
    def _is_judged(self) -> "Scenario":
        if not self.expect and not self.invariants.names():
            raise wrong("nothing is judged: say what to expect, or name invariants", "invariants")
        return self


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a scenario file.

    It says all that the loader checks, except what needs the rest of the file (that brokers, servers, topics, partitions and
    names given with `as` exist, and that no id, name or verb stands twice) and what Kafka's rules say of a whole assignment
    or of a topic setting's value.
    """
    schema: dict[str, Any] = _without_null(Scenario.model_json_schema(by_alias=True))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "kcsim scenario"}


def _without_null(schema: Any) -> Any:
    """None is how the models say "not given"; in a file it is not a value."""
    if isinstance(schema, list):
        return [_without_null(item) for item in schema if item != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _without_null(item) for key, item in schema.items() if not (key == "default" and item is None)}
    return {**kept.pop("anyOf")[0], **kept} if len(kept.get("anyOf", ())) == 1 else kept
