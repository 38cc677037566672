"""Judges what is said of numbers of records: what producers have reported, and what the ledger of the run came to."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.scenarios.judging.seen import Finding, Seen, each, last
from kcsim.scenarios.language.claims import COUNTED_AT_THE_END
from kcsim.scenarios.language.record_words import ALL_RECORDS, Amount, RecordsOf, WantedCounts
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import TopicPartition

Judge = Callable[[WantedCounts, Seen], Finding]


def _partition(event: Event) -> TopicPartition:
    return TopicPartition(event.topic or "", event.partition or 0)


def _reported(kind: EventKind, told: str) -> Judge:
    """A judge of what producers have reported so far."""

    def judge(wanted: WantedCounts, seen: Seen) -> Finding:
        def look(item: tuple[RecordsOf, Amount]) -> Finding:
            whose, amount = item
            events = [event for event in seen.of_kind(kind) if whose.includes(_partition(event))]
            count = sum(event.count or 0 for event in events)
            return Finding(amount.holds(count), f"{_records(count, whose)} {told}", last(events))

        return each(wanted.of, look)

    return judge


def _counted(name: str) -> Judge:
    """A judge of one of the ledger's counts. Where no ledger was taken, nothing is known of any record."""

    def judge(wanted: WantedCounts, seen: Seen) -> Finding:
        ledger = {_partition(event): event for event in seen.of_kind(EventKind.LEDGER)}

        def look(item: tuple[RecordsOf, Amount]) -> Finding:
            whose, amount = item
            counts = {tp: json.loads(event.data or "{}")[name] for tp, event in ledger.items() if whose.includes(tp)}
            if not counts:
                return Finding(False, f"no records{_of(whose)} were counted")
            count = sum(counts.values())
            # Where there are any, these partitions tell; where there are none, all of them do.
            telling = [tp for tp in counts if counts[tp]] or list(counts)
            told = f"{_records(count, whose)} {name.replace('_', ' ')}"
            return Finding(amount.holds(count), told, tuple(ledger[tp] for tp in telling))

        return each(wanted.of, look)

    return judge


def _records(count: int, whose: RecordsOf) -> str:
    return ("1 record" if count == 1 else f"{count} records") + _of(whose)


def _of(whose: RecordsOf) -> str:
    return "" if whose == ALL_RECORDS else f" of {whose}"


RECORD_JUDGES: Mapping[str, Judge] = MappingProxyType(
    {
        "acknowledged": _reported(EventKind.RECORDS_ACKNOWLEDGED, "acknowledged"),
        "given_up": _reported(EventKind.RECORDS_GIVEN_UP, "given up"),
        **{name: _counted(name) for name in COUNTED_AT_THE_END},
    }
)
"""Field of Condition -> its judge, of those about records."""
