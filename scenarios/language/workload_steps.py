"""The timetable steps about the workload: start and stop producers."""

from typing import Annotated, Unpack

from pydantic import Field, PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema, model_validator

from kcsim.scenarios.language.python_keywords import Names, ScenarioPart, TimingKeywords
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.value_types import (
    ALL,
    NAME,
    known_names,
    one_or_list,
    one_or_several,
    require_unique,
    validation_error,
)
from kcsim.scenarios.language.workload_model import MAX_RECORDS
from kcsim.text import comma_separated, did_you_mean


def _producer(value: object, info: ValidationInfo, at: int | None = None) -> str:
    known = known_names(info).producers
    if isinstance(value, str) and (known is None or value in known):
        return value
    there = f"there are {comma_separated(known)}" if known else "the scenario has none; name them in workload: producers:"
    raise validation_error(f"unknown producer {value!r}{did_you_mean(value, known or ()) or f'; {there}'}", at)


def _producers(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if value == ALL:
        return tuple(known_names(info).producers or ()) or (_producer(value, info),)
    if not isinstance(value, list):
        return (_producer(value, info),)
    if not value:
        raise validation_error("an empty list names no producer")
    return require_unique(tuple(_producer(name, info, place) for place, name in enumerate(value)))


ProducerNames = Annotated[
    tuple[str, ...], PlainValidator(_producers), PlainSerializer(one_or_list), WithJsonSchema(one_or_several(NAME))
]
"""`all`, or one producer that the file declares, or a list."""

Records = Annotated[int, Field(ge=1, le=MAX_RECORDS)]


class ProduceStep(ScenarioStep):
    """Let producers write a number of records, and go on when all of these are acknowledged or given up."""

    produce: ProducerNames
    records: Records | None = Field(
        None, description="The number of records of each producer; the producer's own number if not given."
    )

    @classmethod
    def part(cls, producers: Names, records: int | None = None, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(producers, timing, records=records)

    @model_validator(mode="after")
    def _comes_to_an_end(self, info: ValidationInfo) -> "ProduceStep":
        endless = known_names(info).endless_producers
        for name in self.produce:
            if self.records is None and name in endless:
                raise validation_error(
                    f"{name} would never end: write how many records, or start it with start-workload", "produce"
                )
        return self


class StartWorkloadStep(ScenarioStep):
    """Let producers write while the timetable goes on, until they are done or `stop-workload`."""

    start_workload: ProducerNames

    @classmethod
    def part(cls, producers: Names, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(producers, timing)


class StopWorkloadStep(ScenarioStep):
    """Let producers make no more records, and go on when all that they made are acknowledged or given up."""

    stop_workload: ProducerNames

    @classmethod
    def part(cls, producers: Names, **timing: Unpack[TimingKeywords]) -> ScenarioPart:
        return cls._part(producers, timing)


WORKLOAD_STEPS = (ProduceStep, StartWorkloadStep, StopWorkloadStep)
