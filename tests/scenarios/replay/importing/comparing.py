"""Event logs that were told in parts, made comparable with those that were told in one go."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import structs
from pyspark.sql import DataFrame

from kcsim.scenarios.imported.kafka_logs.tally import Tally
from kcsim.zk.events import Event

LISTS = ("isr", "replicas", "brokers", "partitions")


def renumbered(events: Iterable[Event]) -> list[Event]:
    """In their order, with a seq without gaps; causes follow. Fails where a cause is no event, or a seq stands twice."""
    ordered = sorted(events, key=lambda event: event.seq)
    numbers = {event.seq: number for number, event in enumerate(ordered)}
    assert len(numbers) == len(ordered), "two events have the same seq"
    return [_plain(event, numbers) for event in ordered]


def _plain(event: Event, numbers: dict[int, int]) -> Event:
    lists = {name: list(value) for name in LISTS if (value := getattr(event, name)) is not None}
    cause = None if event.cause is None else numbers[event.cause]
    return structs.replace(event, seq=numbers[event.seq], cause=cause, **lists)


def runs_of(table: DataFrame) -> dict[str, list[Event]]:
    """The events of a table, of each run."""
    found: dict[str, list[Event]] = {}
    for row in table.toArrow().to_pylist():
        found.setdefault(row["run"], []).append(_event(row))
    return found


def _event(row: dict[str, Any]) -> Event:
    return msgspec.convert({name: row[name] for name in Event.__struct_fields__}, Event)


def differences(found: Sequence[Event], wanted: Sequence[Event]) -> list[tuple[Event | None, Event | None]]:
    """The first few places where two logs differ: none, if they are equal."""
    longest = max(len(found), len(wanted))
    padded = ([*log, *[None] * (longest - len(log))] for log in (found, wanted))
    return [pair for pair in zip(*padded, strict=True) if pair[0] != pair[1]][:3]


def counted(tally: Tally) -> dict[str, object]:
    """All that a tally has counted; not what it has looked up for that."""
    return {name: value for name, value in vars(tally).items() if name != "_source_of"}
