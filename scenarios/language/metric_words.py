"""The words of a scenario file that are about the controller's metrics: which one, and what it should be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainValidator, ValidationInfo, WithJsonSchema

from kcsim.controller.metrics import ControllerMetrics
from kcsim.scenarios.language.record_words import AMOUNT_SCHEMA, Amount, amount
from kcsim.scenarios.language.topic_words import said_of_each, under
from kcsim.scenarios.language.words import did_you_mean, listed, wrong

METRIC_NAMES = tuple(ControllerMetrics().gauges())
"""Kafka's names, as OfflinePartitionsCount; of the unclean elections it is the count so far."""
HIGHEST = "highest"
WHAT = "value of a metric"


@dataclass(frozen=True, slots=True)
class WantedMetric:
    """What is said of a metric, summed over all brokers: as it is, or the highest that it has been so far."""

    amount: Amount
    is_highest: bool = False

    def __str__(self) -> str:
        return f"{HIGHEST} {self.amount}" if self.is_highest else str(self.amount)

    def as_said(self) -> Any:
        """As a file has it."""
        return {HIGHEST: self.amount.as_said()} if self.is_highest else self.amount.as_said()


def _wanted(value: object, _: ValidationInfo) -> WantedMetric:
    if not isinstance(value, dict):
        return WantedMetric(amount(value, WHAT))
    for key in value:
        if key != HIGHEST:
            raise wrong(f"unknown key {key!r}; write a number, or {{{HIGHEST}: 1}} for the highest that it has been")
    if HIGHEST not in value:
        raise wrong(f"nothing is said of it; write a number, or {{{HIGHEST}: 1}}")
    return WantedMetric(amount(value[HIGHEST], WHAT), is_highest=True)


def _metrics(value: object, info: ValidationInfo) -> Mapping[str, WantedMetric]:
    if not isinstance(value, dict) or not value:
        raise wrong(f"{value!s} names no metric; write {{OfflinePartitionsCount: 0}}")
    for name in value:
        if name not in METRIC_NAMES:
            hint = did_you_mean(name, METRIC_NAMES) or f"; there are {listed(METRIC_NAMES)}"
            raise wrong(f"unknown metric {name!r}{hint}", name)
    return {str(name): under(name, _wanted, item, info) for name, item in value.items()}


_HIGHEST_SCHEMA = {
    "type": "object",
    "properties": {HIGHEST: AMOUNT_SCHEMA},
    "required": [HIGHEST],
    "additionalProperties": False,
}
_METRIC_SCHEMA = {"anyOf": [*AMOUNT_SCHEMA["anyOf"], _HIGHEST_SCHEMA]}

Metrics = Annotated[
    Mapping[str, WantedMetric],
    PlainValidator(_metrics),
    said_of_each(WantedMetric.as_said),
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
