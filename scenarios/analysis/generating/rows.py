"""Rows of the table of events, as the histories of topics and partitions generate them, and Arrow batches of such rows.

There are millions of rows, so that no Event is made of each. A test compares the columns with Event's.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.tables.events_table import RUN, events_arrow_schema

ROWS_PER_BATCH = 20_000
Ids = tuple[int, ...]


class GeneratedRow(NamedTuple):
    """The columns that events of topics and partitions have, under their names in Event."""

    seq: int
    t_ms: int
    node: str
    kind: str
    cause: int | None
    topic: str
    partition: int | None = None
    path: str | None = None
    data: str | None = None
    zxid: int | None = None
    zk_version: int | None = None
    ephemeral: bool | None = None
    session_id: str | None = None
    op: str | None = None
    broker_id: int | None = None
    controller_epoch: int | None = None
    leader: int | None = None
    leader_epoch: int | None = None
    isr: Ids | None = None
    replicas: Ids | None = None
    brokers: Ids | None = None
    adding_replicas: Ids | None = None
    removing_replicas: Ids | None = None
    target_replicas: Ids | None = None
    previous_isr: Ids | None = None
    live_replicas: Ids | None = None
    step: str | None = None
    rule: str | None = None
    inputs: str | None = None
    detail: str | None = None


def batches_of_rows(rows: Iterable[GeneratedRow], batch: str, run: str) -> Iterator[Any]:
    """Yield record batches of the table of events. Args: batch, run: the same for all rows."""
    made = _BatchMaker(batch, run)
    waiting: list[GeneratedRow] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) >= ROWS_PER_BATCH:
            yield made.of_columns(GeneratedRow._fields, list(zip(*waiting, strict=True)), len(waiting))
            waiting = []
    if waiting:
        yield made.of_columns(GeneratedRow._fields, list(zip(*waiting, strict=True)), len(waiting))


def batches_of_events(events: Iterable[Event], batch: str, run: str) -> Iterator[Any]:
    """Yield record batches of the table of events from whole events."""
    made = _BatchMaker(batch, run)
    names = Event.__struct_fields__
    waiting: list[Sequence[Any]] = []
    for event in events:
        waiting.append(msgspec.structs.astuple(event))
        if len(waiting) >= ROWS_PER_BATCH:
            yield made.of_columns(names, list(zip(*waiting, strict=True)), len(waiting))
            waiting = []
    if waiting:
        yield made.of_columns(names, list(zip(*waiting, strict=True)), len(waiting))


class _BatchMaker:
    """Makes record batches of one run's rows."""

    def __init__(self, batch: str, run: str) -> None:
        self._schema = events_arrow_schema()
        self._same = {"batch": batch, RUN: run}

    def of_columns(self, names: Sequence[str], columns: Sequence[Sequence[Any]], count: int) -> Any:
        """Return a batch of `count` rows; columns that are not named are null."""
        import pyarrow as pa

        given = dict(zip(names, columns, strict=True))
        arrays = []
        for field in self._schema:
            if field.name in self._same:
                arrays.append(pa.repeat(self._same[field.name], count))
            elif field.name in given:
                arrays.append(pa.array(given[field.name], field.type))
            else:
                arrays.append(pa.nulls(count, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
