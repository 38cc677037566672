"""The models of a scenario: a cluster, a timetable of actions, and expectations.

The models are the specification of the file format: the loader (scenario_file.py) and the published JSON Schema are derived
from them. Keys are written with hyphens; an unknown key is an error. Conditions are evaluated in
engine/expectations/conditions.py, scenarios are run in engine/runner.py.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from kcsim.brokers.config import MAX_INT, BrokerConfig, SettingError
from kcsim.controller.decisions.kafka_refusals import InvalidTopicError
from kcsim.controller.decisions.topic_creation import check_topic_name
from kcsim.controller.protections import ALL_ON
from kcsim.scenarios.language.broker_settings import KafkaRelease, Settings
from kcsim.scenarios.language.conditions_model import Expectation
from kcsim.scenarios.language.invariant_types import ALL_INVARIANTS, InvariantChoice
from kcsim.scenarios.language.known_names import MAX_BROKERS
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.protection_types import HardeningSwitch, ProtectionSwitches
from kcsim.scenarios.language.steps import TimetableStep
from kcsim.scenarios.language.topic_model import TopicModel
from kcsim.scenarios.language.topic_types import TOPIC
from kcsim.scenarios.language.value_types import Duration, TickTime, validation_error
from kcsim.scenarios.language.workload_model import WorkloadModel
from kcsim.scenarios.language.yaml_text import yaml_text

SCENARIO_NAME = r"^[a-z0-9][a-z0-9-]*$"
DEFAULT_RECOVERY_MS = 60_000


class BrokerItem(Model):
    """One broker, with its id and rack."""

    id: Annotated[int, Field(ge=0, le=MAX_INT)] = Field(description="The broker's id; its name is broker-ID.")
    rack: Annotated[str, Field(min_length=1)] | None = Field(None, description="The broker's rack.")
    settings: Settings = Field(default_factory=dict, description="Settings of this broker alone.")


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
            raise validation_error(str(error), name) from None
    return topics


Topics = Annotated[dict[Annotated[str, Field(pattern=TOPIC)], TopicModel], AfterValidator(_topic_names)]


class ClusterModel(Model):
    """The brokers and their settings."""

    brokers: Brokers = Field(description="The number of brokers (ids 1, 2, …), or a list of brokers.")
    racks: Annotated[int, Field(ge=1)] | None = Field(
        None, description="The number of racks: brokers are put into rack-1, rack-2, … in turn."
    )
    settings: Settings = Field(default_factory=dict, description="Settings of every broker.")
    release: KafkaRelease | None = Field(
        None,
        description="The release of Kafka whose behaviour the brokers have, from 2.8 to 3.9; also the default of "
        "inter.broker.protocol.version. If it is not given, it is that setting's value, but at least 2.8.",
    )
    hardening: HardeningSwitch = Field(
        False,
        description="Whether controller and brokers do what Kafka's do not, to survive faulty znodes, and requests that "
        "cannot be fulfilled; off if it is not given.",
    )
    topics: Topics = Field(
        default_factory=dict,
        description="Name -> topic. A declared topic is created by a create-topic step.",
        json_schema_extra={"additionalProperties": False},
    )

    @model_validator(mode="after")
    def _check(self) -> "ClusterModel":
        if isinstance(self.brokers, list):
            ids = [broker.id for broker in self.brokers]
            if twice := [i for place, i in enumerate(ids) if i in ids[:place]]:
                raise validation_error(f"broker id {twice[0]} is given twice", "brokers")
            if self.racks is not None:
                raise validation_error("racks goes with a number of brokers; in a list each has its own rack", "racks")
        try:
            self.check_release()
        except SettingError as error:
            raise validation_error(str(error), "release") from None
        brokers = len(self.members())
        for name, topic in self.topics.items():
            if topic.replication_factor is not None and topic.replication_factor > brokers:
                raise validation_error(
                    f"topic {name!r} wants {topic.replication_factor} replicas of {brokers} brokers", "topics"
                )
        return self

    def check_release(self) -> None:
        """Check that the release knows the protocol version of every broker. Raises: SettingError."""
        listed = self.brokers if isinstance(self.brokers, list) else []
        for own in ({}, *(broker.settings for broker in listed if broker.settings)):
            BrokerConfig.of({**self.settings, **own}, release=self.release)

    def members(self) -> list[BrokerItem]:
        """Return every broker with its rack."""
        if isinstance(self.brokers, list):
            return self.brokers
        rack_of = (lambda i: f"rack-{i % self.racks + 1}") if self.racks else (lambda _: None)
        return [BrokerItem(id=number, rack=rack_of(number - 1)) for number in range(1, self.brokers + 1)]


class ZooKeeperModel(Model):
    """The servers of ZooKeeper, where the simulator starts them."""

    members: Literal[1, 3, 5] = Field(1, description="The number of servers: one, or an ensemble.")
    tick_time: TickTime = Field(
        200,
        description="ZooKeeper's tickTime. If it is given, sessions last between 2 and 20 ticks; otherwise as long as "
        "zookeeper.session.timeout.ms requests.",
    )


class AfterwardsModel(Model):
    """What is done after the timetable, before anything is judged."""

    heal: Literal[True] = Field(
        True,
        description="Undo every fault: dead, stopped and frozen brokers and servers run again, all links work, producers "
        "end. Then the cluster must recover and come to rest.",
    )
    within: Duration = Field(DEFAULT_RECOVERY_MS, description="The time in which the cluster must have recovered.")

    @model_validator(mode="before")
    @classmethod
    def _is_mapping(cls, value: object) -> object:
        if not isinstance(value, dict | Model):
            raise validation_error(f"{str(value).lower()} is not a list of final actions; write {{heal: true}}")
        return value


class Scenario(Model):
    """A scenario file."""

    name: Annotated[str, Field(pattern=SCENARIO_NAME, description="Small letters, digits and hyphens.")]
    description: Annotated[str, Field(min_length=1, description="What happens in the scenario, and what it shows.")]
    cluster: ClusterModel = Field(description="The brokers, their settings and the topics.")
    zookeeper: ZooKeeperModel = Field(
        default_factory=lambda: ZooKeeperModel.model_validate({}), description="The servers of ZooKeeper."
    )
    workload: WorkloadModel = Field(
        default_factory=lambda: WorkloadModel.model_validate({}), description="The producers and consumers."
    )
    protections: ProtectionSwitches = Field(
        default_factory=lambda: ALL_ON, description="Protections of Kafka that the scenario switches off."
    )
    timetable: Annotated[list[TimetableStep], Field(min_length=1)] = Field(
        description="The actions on the cluster, step by step."
    )
    afterwards: AfterwardsModel | None = Field(
        None, description="Undo all faults after the timetable: the cluster must recover, which is judged as well."
    )
    expect: Annotated[list[Expectation], Field(min_length=1)] = Field(
        default_factory=list,
        description="What must be true in the end; can be left out if the run is checked against invariants only.",
    )
    invariants: InvariantChoice = Field(
        default_factory=lambda: ALL_INVARIANTS,
        description="The invariants that the run is checked against; all if not given.",
    )

    def to_yaml(self) -> str:
        """Return the text of a file with this scenario."""
        return yaml_text(self.model_dump(by_alias=True))

    def with_hardening(self) -> "Scenario":
        """Return the scenario with hardening switched on."""
        return self.model_copy(update={"cluster": self.cluster.model_copy(update={"hardening": True})})

    @model_validator(mode="after")
    def _is_judged(self) -> "Scenario":
        if not self.expect and not self.invariants.names():
            raise validation_error("nothing is checked: write expect, or name invariants", "invariants")
        return self


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a scenario file.

    It covers all checks of the loader, except those that need the rest of the file (that brokers, servers, topics,
    partitions and names given with `as` exist, and that no id, name or verb is repeated) and Kafka's rules about a whole
    assignment or a topic setting's value.
    """
    schema: dict[str, Any] = _without_null(Scenario.model_json_schema(by_alias=True))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "kcsim scenario"}


def _without_null(schema: Any) -> Any:
    """Remove null from a schema: the models use None for "not given", but in a file null is not a value."""
    if isinstance(schema, list):
        return [_without_null(item) for item in schema if item != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _without_null(item) for key, item in schema.items() if not (key == "default" and item is None)}
    return {**kept.pop("anyOf")[0], **kept} if len(kept.get("anyOf", ())) == 1 else kept
