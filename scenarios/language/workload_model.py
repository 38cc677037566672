"""The clients of a scenario, as its file declares them: the producers and their topics, and the consumer groups.

Declaring a producer starts nothing: a step of the timetable starts it.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field, PlainValidator, ValidationInfo, WithJsonSchema, model_validator

from kcsim.brokers.clients.producer_config import PRODUCER_SETTINGS, ProducerConfig, parse_producer_setting
from kcsim.brokers.clients.spread import MAX_SHARE
from kcsim.brokers.config import MAX_INT, SettingError, Value
from kcsim.scenarios.language.consumer_model import GroupModel
from kcsim.scenarios.language.consumer_types import GROUP
from kcsim.scenarios.language.model import Model
from kcsim.scenarios.language.topic_types import TopicsByName, of_each_partition, partition_schema, serialized_per_key
from kcsim.scenarios.language.value_types import NAME, validation_error
from kcsim.text import comma_separated, did_you_mean
from kcsim.vocabulary import TopicPartition

MAX_RATE = 1_000_000
MAX_RECORDS = 10**12


def _settings(value: object) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise validation_error(f"{value!r} is no mapping of a producer's settings")
    for name, given in value.items():
        if name not in PRODUCER_SETTINGS:
            raise validation_error(f"unknown producer setting {name!r}{did_you_mean(name, PRODUCER_SETTINGS)}", name)
        try:
            parse_producer_setting(name, given)
        except SettingError as error:
            raise validation_error(str(error), name) from None
    try:
        ProducerConfig.of(value)
    except SettingError as error:
        raise validation_error(f"Kafka refuses these settings: {error}") from None
    return dict(value)


def _setting_schema(name: str) -> dict[str, Any]:
    if name == "acks":
        return {"enum": ["all", "-1", "0", "1", -1, 0, 1]}
    if name == "enable.idempotence":
        return {"type": "boolean"}
    return {"type": "integer", "minimum": PRODUCER_SETTINGS[name], "maximum": MAX_INT}


ProducerSettings = Annotated[
    Mapping[str, Value],
    PlainValidator(_settings),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {name: _setting_schema(name) for name in PRODUCER_SETTINGS},
            "additionalProperties": False,
        }
    ),
]
"""Setting of a producer, under Kafka's dotted name -> its value."""


def _share(value: object, _: ValidationInfo) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_SHARE:
        return value
    raise validation_error(f"{value!r} is no share, which is a whole number from 1 to {MAX_SHARE}")


Shares = Annotated[
    Mapping[TopicPartition, int],
    PlainValidator(of_each_partition(_share)),
    serialized_per_key(int),
    partition_schema({"type": "integer", "minimum": 1, "maximum": MAX_SHARE}),
]
"""Partition -> its share of the records: {orders-0: 3, orders-1: 1} sends three of four records to orders-0."""


class ProducerModel(Model):
    """A client that writes records."""

    topics: TopicsByName = Field(description="The topics to write to, partition after partition.")
    rate: Annotated[int, Field(ge=1, le=MAX_RATE)] | None = Field(
        None, description="Records per second; as fast as they are acknowledged if not given."
    )
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)] | None = Field(
        None, description="Number of records per start; until it is stopped if not given."
    )
    record_bytes: Annotated[int, Field(ge=1, le=MAX_INT)] = Field(1_000, description="Size of each record.")
    shares: Shares | None = Field(None, description="How unevenly keys distribute the records.")
    settings: ProducerSettings = Field(default_factory=dict, description="Settings of the producer.")

    @model_validator(mode="after")
    def _check(self) -> "ProducerModel":
        for partition in self.shares or ():
            if partition.topic not in self.topics:
                raise validation_error(
                    f"{partition} is of no topic of this producer, which has {comma_separated(self.topics)}", "shares"
                )
        return self


class WorkloadModel(Model):
    """The clients of the cluster."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    producers: dict[Annotated[str, Field(pattern=NAME)], ProducerModel] = Field(
        default_factory=dict,
        description="Name -> producer; in the event log it is producer-NAME.",
        json_schema_extra={"additionalProperties": False},
    )
    groups: dict[Annotated[str, Field(pattern=GROUP)], GroupModel] = Field(
        default_factory=dict,
        description="Group id -> consumers that share topics.",
        json_schema_extra={"additionalProperties": False},
    )

    @property
    def nodes(self) -> tuple[str, ...]:
        """The clients' nodes in the event log."""
        consumers = (name for group in self.groups.values() for name in group.each_member())
        return (*(f"producer-{name}" for name in self.producers), *(f"consumer-{name}" for name in consumers))

    @model_validator(mode="after")
    def _check_consumers(self) -> "WorkloadModel":
        names = [name for group in self.groups.values() for name in group.each_member()]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise validation_error(f"consumer {name!r} is in two groups; each consumer has a name of its own", "groups")
        return self
