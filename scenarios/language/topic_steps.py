"""The timetable steps about topics and partitions: the operations of Kafka's tools."""

from collections.abc import Mapping, Sequence
from typing import Literal, Unpack

from pydantic import ConfigDict, Field, model_validator

from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.python_keywords import Names, ScenarioPart, TimingKeywords, given
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.topic_settings import ChangesOfDefaults, ChangesOfTopics
from kcsim.scenarios.language.topic_types import Growth, Partitions, ReplicasOfEach, TopicNames
from kcsim.scenarios.language.value_types import validation_error

Way = Literal["znode", "api"]
"""How the controller gets the request: by a znode below /admin, or by a request to the current controller."""


class CreateTopicStep(ScenarioStep):
    """Create topics of `cluster: topics:`, as Kafka's tool does: first the znode of the settings, then that of the topic."""

    create_topic: TopicNames

    @classmethod
    def part(cls, topics: Names, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(topics, timing)


class DeleteTopicStep(ScenarioStep):
    """Ask for the deletion of topics."""

    delete_topic: TopicNames

    @classmethod
    def part(cls, topics: Names, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(topics, timing)


class AddPartitionsStep(ScenarioStep):
    """Give topics more partitions."""

    add_partitions: Growth = Field(
        description="The number of partitions that a topic is to have; or the new partitions with their replicas."
    )

    @classmethod
    def part(cls, growth: Mapping[str, int | Mapping[int, Sequence[int]]], **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(growth, timing)


class ReassignStep(ScenarioStep):
    """Ask for partitions to be hosted by other brokers."""

    reassign: ReplicasOfEach
    via: Way = Field("znode", description="znode: /admin/reassign_partitions. api: a request to the controller.")

    @classmethod
    def part(
        cls, targets: Mapping[str, Sequence[int]], via: str | None = None, **timing: Unpack[TimingKeywords]
    ) -> ScenarioPart:
        return cls._part(targets, timing, via=via)


class CancelReassignmentStep(ScenarioStep):
    """Ask the controller to give reassignments up, by a request: there is no znode for it."""

    cancel_reassignment: Partitions = Field(description="all: every reassignment in progress.")

    @classmethod
    def part(cls, partitions: Names, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(partitions, timing)


class ElectPreferredStep(ScenarioStep):
    """Ask for the preferred replicas to lead."""

    elect_preferred: Partitions
    via: Way = Field("znode", description="znode: /admin/preferred_replica_election. api: a request to the controller.")

    @classmethod
    def part(cls, partitions: Names, via: str | None = None, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(partitions, timing, via=via)


class ElectUncleanStep(ScenarioStep):
    """Ask the controller to elect a replica that is not in the ISR where no member of it lives, by a request."""

    elect_unclean: Partitions

    @classmethod
    def part(cls, partitions: Names, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(partitions, timing)


class ConfigChange(Model):
    """Whose settings, and what becomes of them; null takes a setting away."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    topics: ChangesOfTopics | None = Field(None, description="Topic -> its own settings, in /config/topics.")
    broker_defaults: ChangesOfDefaults | None = Field(None, description="For all brokers, in /config/brokers/<default>.")

    @model_validator(mode="after")
    def _changes_something(self) -> "ConfigChange":
        if self.topics is None and self.broker_defaults is None:
            raise validation_error("no setting is given; write topics or broker-defaults")
        return self


class SetConfigStep(ScenarioStep):
    """Change settings while everybody runs: the entity's znode, then a notification below /config/changes."""

    set_config: ConfigChange

    @classmethod
    def part(
        cls,
        *,
        topics: Mapping[str, ScenarioPart] | None = None,
        broker_defaults: ScenarioPart | None = None,
        **timing: Unpack[TimingKeywords],
    ) -> ScenarioPart:
        return cls._part(given(topics=topics, broker_defaults=broker_defaults), timing)


TOPIC_STEPS = (
    CreateTopicStep,
    DeleteTopicStep,
    AddPartitionsStep,
    ReassignStep,
    CancelReassignmentStep,
    ElectPreferredStep,
    ElectUncleanStep,
    SetConfigStep,
)
