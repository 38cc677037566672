"""Make event logs that were imported in parts comparable with those that one process imported."""

from collections.abc import Iterable, Sequence
from typing import Any, get_type_hints

import msgspec
from msgspec import structs
from pyspark.sql import DataFrame

from kcsim.brokers.apache_kafka.log_import.parse_statistics import ParseStatistics
from kcsim.eventlog.events import Event, EventFields

LISTS = tuple(name for name, hint in get_type_hints(EventFields).items() if hint in (Sequence[int], Sequence[str]))
"""Columns that hold lists: tuples in the memory of one process, lists in a table."""


def renumbered(events: Iterable[Event]) -> list[Event]:
    """Return the events in order, with a seq without gaps; their causes are renumbered too.

    Fail where a cause is no event, or two events have the same seq.
    """
    ordered = sorted(events, key=lambda event: event.seq)
    numbers = {event.seq: number for number, event in enumerate(ordered)}
    assert len(numbers) == len(ordered), "two events have the same seq"
    return [_plain(event, numbers) for event in ordered]


def _plain(event: Event, numbers: dict[int, int]) -> Event:
    lists = {name: list(value) for name in LISTS if (value := getattr(event, name)) is not None}
    cause = None if event.cause is None else numbers[event.cause]
    return structs.replace(event, seq=numbers[event.seq], cause=cause, **lists)


def runs_of(table: DataFrame) -> dict[str, list[Event]]:
    """Return the events of a table, per run."""
    found: dict[str, list[Event]] = {}
    for row in table.toArrow().to_pylist():
        found.setdefault(row["run"], []).append(_event(row))
    return found


def _event(row: dict[str, Any]) -> Event:
    return msgspec.convert({name: row[name] for name in Event.__struct_fields__}, Event)


def differences(found: Sequence[Event], wanted: Sequence[Event]) -> list[tuple[Event | None, Event | None]]:
    """Return the first three places where two logs differ; an empty list if they are equal."""
    longest = max(len(found), len(wanted))
    padded = ([*log, *[None] * (longest - len(log))] for log in (found, wanted))
    return [pair for pair in zip(*padded, strict=True) if pair[0] != pair[1]][:3]


def counted(tally: ParseStatistics) -> dict[str, object]:
    """Return the counters of the statistics, without their lookup cache."""
    return {name: value for name, value in vars(tally).items() if name != "_source_of"}
