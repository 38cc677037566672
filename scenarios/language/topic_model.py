"""A topic as a scenario file declares it: its assignment or the rules of its placement, and its settings.

Declaring a topic creates nothing: a `create-topic` step creates it when the timetable reaches that step, as Kafka's tool
would at that time. So a topic is placed on the brokers that are registered then.
"""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.decisions.placement import Draw
from kcsim.controller.decisions.topic_creation import new_topic_assignment
from kcsim.scenarios.language.model import Model, hyphenated
from kcsim.scenarios.language.topic_settings import TopicConfig
from kcsim.scenarios.language.topic_types import Assignment
from kcsim.scenarios.language.value_types import validation_error

MAX_PARTITIONS = 1_000_000
MAX_REPLICATION_FACTOR = 2**15 - 1
OF_PLACEMENT = ("partitions", "replication_factor", "rack_aware", "start_index", "shift")
"""Fields that have no meaning together with an assignment."""


def _placed_or_assigned(schema: dict[str, Any]) -> None:
    placement = [{"required": [hyphenated(name)]} for name in OF_PLACEMENT]
    schema["anyOf"] = [
        {"required": ["assignment"], "not": {"anyOf": placement}},
        {"required": ["partitions", "replication-factor"], "not": {"required": ["assignment"]}},
    ]


class TopicModel(Model):
    """One topic: an assignment, or numbers of partitions and replicas that Kafka's rules place."""

    model_config = ConfigDict(json_schema_extra=_placed_or_assigned)

    assignment: Assignment | None = Field(None, description="Partition -> brokers' ids, the preferred leader first.")
    partitions: Annotated[int, Field(ge=1, le=MAX_PARTITIONS)] | None = Field(None, description="The number of partitions.")
    replication_factor: Annotated[int, Field(ge=1, le=MAX_REPLICATION_FACTOR)] | None = Field(
        None, description="The number of replicas of each partition."
    )
    rack_aware: bool = Field(True, description="false: place it as Kafka's tool does with --disable-rack-aware.")
    start_index: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Where on the ring of brokers placement begins; drawn by the run's seed if not given."
    )
    shift: Annotated[int, Field(ge=0)] | None = Field(
        None, description="How far the first followers are displaced; as start-index if that is given, else drawn."
    )
    config: TopicConfig = Field(default_factory=dict, description="The topic's own settings, under Kafka's names.")

    @model_validator(mode="after")
    def _check(self) -> "TopicModel":
        given = [name for name in OF_PLACEMENT if name in self.model_fields_set]
        if self.assignment is None:
            for name in ("partitions", "replication_factor"):
                if name not in given:
                    raise validation_error(f"{hyphenated(name)} is missing; a topic has these, or an assignment")
        elif given:
            raise validation_error(f"{hyphenated(given[0])} cannot be combined with an assignment", hyphenated(given[0]))
        else:
            try:
                new_topic_assignment("orders", (), (), Draw(0, 0), assignment=self.assignment)
            except RefusedError as error:
                raise validation_error(f"Kafka refuses this assignment: {error}", "assignment") from None
        return self
