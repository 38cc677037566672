"""Rows of the table of events, as the histories of topics and partitions make them, and batches of Arrow made of rows.

There are millions of them, so that no Event is made of each; a test holds the columns to Event's.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from kcsim.scenarios.replay.tables.events_table import RUN, events_arrow_schema
from kcsim.zk.events import Event

ROWS_PER_BATCH = 20_000
Ids = tuple[int, ...]


class Row(NamedTuple):
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
    step: str | None = None
    rule: str | None = None
    inputs: str | None = None
    detail: str | None = None


def batches_of_rows(rows: Iterable[Row], batch: str, run: str) -> Iterator[Any]:
    """Record batches of the table of events. Args: batch, run: the same for all rows."""
    made = _BatchMaker(batch, run)
    waiting: list[Row] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) >= ROWS_PER_BATCH:
            yield made.of_columns(Row._fields, list(zip(*waiting, strict=True)), len(waiting))
            waiting = []
    if waiting:
        yield made.of_columns(Row._fields, list(zip(*waiting, strict=True)), len(waiting))


def batches_of_events(events: Iterable[Event], batch: str, run: str) -> Iterator[Any]:
    """The same of whole events."""
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
    """Makes batches of one run's rows."""

    def __init__(self, batch: str, run: str) -> None:
        self._schema = events_arrow_schema()
        self._same = {"batch": batch, RUN: run}

    def of_columns(self, names: Sequence[str], columns: Sequence[Sequence[Any]], count: int) -> Any:
        """A batch of `count` rows; columns that are not named are null."""
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
