"""Types of values in a scenario file about the controller's metrics: a metric's name, and its expected value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.controller.metrics import ControllerMetrics
from kcsim.scenarios.language.record_types import AMOUNT_SCHEMA, Amount, amount
from kcsim.scenarios.language.topic_types import check_under_key, serialized_per_key
from kcsim.scenarios.language.value_types import validation_error
from kcsim.text import comma_separated, did_you_mean

METRIC_NAMES = tuple(ControllerMetrics().gauges())
"""Kafka's names, such as OfflinePartitionsCount; for unclean elections, the count so far."""
HIGHEST = "highest"
WHAT = "value of a metric"


@dataclass(frozen=True, slots=True)
class MetricExpectation:
    """What a metric, summed over all brokers, should be: its present value, or its highest value so far."""

    amount: Amount
    is_highest: bool = False

    def __str__(self) -> str:
        return f"{HIGHEST} {self.amount}" if self.is_highest else str(self.amount)

    def as_in_file(self) -> Any:
        """Return the expectation as it is written in a file."""
        return {HIGHEST: self.amount.as_in_file()} if self.is_highest else self.amount.as_in_file()


def _wanted(value: object, _: ValidationInfo) -> MetricExpectation:
    if not isinstance(value, dict):
        return MetricExpectation(amount(value, WHAT))
    for key in value:
        if key != HIGHEST:
            raise validation_error(
                f"unknown key {key!r}; write a number, or {{{HIGHEST}: 1}} for the highest that it has been"
            )
    if HIGHEST not in value:
        raise validation_error(f"no value is given; write a number, or {{{HIGHEST}: 1}}")
    return MetricExpectation(amount(value[HIGHEST], WHAT), is_highest=True)


def _metrics(value: object, info: ValidationInfo) -> Mapping[str, MetricExpectation]:
    if not isinstance(value, dict) or not value:
        raise validation_error(f"{value!s} names no metric; write {{OfflinePartitionsCount: 0}}")
    for name in value:
        if name not in METRIC_NAMES:
            hint = did_you_mean(name, METRIC_NAMES) or f"; there are {comma_separated(METRIC_NAMES)}"
            raise validation_error(f"unknown metric {name!r}{hint}", name)
    return {str(name): check_under_key(name, _wanted, item, info) for name, item in value.items()}


_HIGHEST_SCHEMA = {
    "type": "object",
    "properties": {HIGHEST: AMOUNT_SCHEMA},
    "required": [HIGHEST],
    "additionalProperties": False,
}
_METRIC_SCHEMA = {"anyOf": [*AMOUNT_SCHEMA["anyOf"], _HIGHEST_SCHEMA]}

Metrics = Annotated[
    Mapping[str, MetricExpectation],
    PlainValidator(_metrics),
    serialized_per_key(MetricExpectation.as_in_file),
    WithJsonSchema(
        {
            "type": "object",
            "properties": dict.fromkeys(METRIC_NAMES, _METRIC_SCHEMA),
            "additionalProperties": False,
            "minProperties": 1,
        }
    ),
]
"""Kafka's name of a metric -> a number, a comparison as '>= 1', or {highest: one of these}."""
