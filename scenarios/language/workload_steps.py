"""What a timetable can do to the workload: start producers and stop them."""

from typing import Annotated

from pydantic import Field, PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema, model_validator

from kcsim.scenarios.language.step import Step
from kcsim.scenarios.language.words import (
    ALL,
    NAME,
    did_you_mean,
    known_names,
    listed,
    one_or_list,
    one_or_several,
    unlike,
    wrong,
)
from kcsim.scenarios.language.workload_model import MAX_RECORDS


def _producer(value: object, info: ValidationInfo, at: int | None = None) -> str:
    known = known_names(info).producers
    if isinstance(value, str) and (known is None or value in known):
        return value
    there = f"there are {listed(known)}" if known else "the scenario has none; name them in workload: producers:"
    raise wrong(f"unknown producer {value!r}{did_you_mean(value, known or ()) or f'; {there}'}", at)


def _producers(value: object, info: ValidationInfo) -> tuple[str, ...]:
    if value == ALL:
        return tuple(known_names(info).producers or ()) or (_producer(value, info),)
    if not isinstance(value, list):
        return (_producer(value, info),)
    if not value:
        raise wrong("an empty list names no producer")
    return unlike(tuple(_producer(name, info, place) for place, name in enumerate(value)))


ProducerNames = Annotated[
    tuple[str, ...], PlainValidator(_producers), PlainSerializer(one_or_list), WithJsonSchema(one_or_several(NAME))
]
"""`all`, or one producer of the file, or a list."""

Records = Annotated[int, Field(ge=1, le=MAX_RECORDS)]


class Produce(Step):
    """Let producers write a number of records, and go on when all of these are acknowledged or given up."""

    produce: ProducerNames
    records: Records | None = Field(None, description="How many each writes; what the producer says if not given.")

    @model_validator(mode="after")
    def _comes_to_an_end(self, info: ValidationInfo) -> "Produce":
        endless = known_names(info).endless_producers
        for name in self.produce:
            if self.records is None and name in endless:
                raise wrong(f"{name} would never end: say how many records, or start it with start-workload", "produce")
        return self


class StartWorkload(Step):
    """Let producers write while the timetable goes on, until they are done or `stop-workload`."""

    start_workload: ProducerNames


class StopWorkload(Step):
    """Let producers make no more records, and go on when all that they made are acknowledged or given up."""

    stop_workload: ProducerNames


WorkloadStep = Produce | StartWorkload | StopWorkload
WORKLOAD_VERBS = ("produce", "start-workload", "stop-workload")
