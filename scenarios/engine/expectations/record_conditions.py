"""Evaluate conditions on numbers of records: those that producers reported, and those in the ledger of the run."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext, each, last
from kcsim.scenarios.language.conditions_model import COUNTED_AT_THE_END
from kcsim.scenarios.language.record_types import ALL_RECORDS, Amount, CountExpectation, RecordScope
from kcsim.vocabulary import TopicPartition

RecordEvaluator = Callable[[CountExpectation, EvaluationContext], ConditionResult]


def _partition(event: Event) -> TopicPartition:
    return TopicPartition(event.topic or "", event.partition or 0)


def _reported(kind: EventKind, label: str) -> RecordEvaluator:
    """Return an evaluator of the number of records that producers have reported so far."""

    def evaluate(wanted: CountExpectation, context: EvaluationContext) -> ConditionResult:
        def look(item: tuple[RecordScope, Amount]) -> ConditionResult:
            whose, amount = item
            events = [event for event in context.of_kind(kind) if whose.includes(_partition(event))]
            count = sum(event.count or 0 for event in events)
            return ConditionResult(amount.holds(count), f"{_records(count, whose)} {label}", last(events))

        return each(wanted.of, look)

    return evaluate


def _counted(name: str) -> RecordEvaluator:
    """Return an evaluator of one of the ledger's counts. Without a ledger, nothing is known of any record."""

    def evaluate(wanted: CountExpectation, context: EvaluationContext) -> ConditionResult:
        ledger = {_partition(event): event for event in context.of_kind(EventKind.LEDGER)}

        def look(item: tuple[RecordScope, Amount]) -> ConditionResult:
            whose, amount = item
            counts = {tp: json.loads(event.data or "{}")[name] for tp, event in ledger.items() if whose.includes(tp)}
            if not counts:
                return ConditionResult(False, f"no records{_of(whose)} were counted")
            count = sum(counts.values())
            # The evidence is the partitions with such records or, if there are none, all partitions.
            decisive = [tp for tp in counts if counts[tp]] or list(counts)
            observed = f"{_records(count, whose)} {name.replace('_', ' ')}"
            return ConditionResult(amount.holds(count), observed, tuple(ledger[tp] for tp in decisive))

        return each(wanted.of, look)

    return evaluate


def _records(count: int, whose: RecordScope) -> str:
    return ("1 record" if count == 1 else f"{count} records") + _of(whose)


def _of(whose: RecordScope) -> str:
    return "" if whose == ALL_RECORDS else f" of {whose}"


RECORD_EVALUATORS: Mapping[str, RecordEvaluator] = MappingProxyType(
    {
        "acknowledged": _reported(EventKind.RECORDS_ACKNOWLEDGED, "acknowledged"),
        "given_up": _reported(EventKind.RECORDS_GIVEN_UP, "given up"),
        **{name: _counted(name) for name in COUNTED_AT_THE_END},
    }
)
"""Field of Condition -> its evaluator, for the conditions about records."""
