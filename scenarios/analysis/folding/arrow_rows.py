"""Conversion between Arrow's record batches and the rows that a fold reads and returns."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise, repeat, starmap
from typing import Any

import msgspec

from kcsim.eventlog.event_log import arrow_schema
from kcsim.scenarios.analysis.folding.folding_runs import Rows
from kcsim.scenarios.analysis.folding.mismatch import Mismatch
from kcsim.scenarios.analysis.folding.replay_fact import FACT_COLUMNS, FactRule, ReplayFact
from kcsim.scenarios.analysis.folding.transition import Transition, transitions_arrow_schema
from kcsim.scenarios.analysis.gc_pause import gc_paused

KEY_COLUMNS = ("batch", "run")
COLUMNS = (*KEY_COLUMNS, *FACT_COLUMNS)
ROWS_PER_BATCH = 10_000

OF_MISMATCH = ("what", "recorded", "computed")
MISMATCH = "Mismatch"
"""The value of the column `kind` in a row that is a mismatch."""


def replayed_arrow_schema() -> Any:
    """Return the schema of transitions and mismatches in one table.

    The columns OF_MISMATCH are null in transitions; most of the other columns are null in mismatches.
    """
    import pyarrow as pa

    fields = [*transitions_arrow_schema(), *(pa.field(name, pa.string()) for name in OF_MISMATCH)]
    return pa.schema(fields)


def facts_in(batches: Iterable[Any]) -> Iterator[tuple[str, str, ReplayFact]]:
    """Yield (batch, run, fact) of each row of record batches with COLUMNS."""
    for batch in batches:
        names, runs, *columns = (values(batch.column(name)) for name in COLUMNS)
        yield from zip(names, runs, starmap(ReplayFact, zip(*columns, strict=True)), strict=True)


def facts_arrow_schema() -> Any:
    """Return the schema of COLUMNS, with the types of the table of events."""
    import pyarrow as pa

    log = arrow_schema()
    own = [pa.field(name, pa.string()) for name in KEY_COLUMNS]
    return pa.schema([*own, *(pa.field(name, log.field(name).type) for name in FACT_COLUMNS)])


def fact_mask(rows: Any, rules: Iterable[FactRule]) -> Any:
    """Return which rows of a record batch of events one of the rules covers, as a column of booleans."""
    import pyarrow.compute as pc

    return reduce(pc.or_, (_covered(rows, rule) for rule in rules))


def _covered(rows: Any, rule: FactRule) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    covered = pc.is_in(rows.column("kind"), pa.array(sorted(rule.kinds), pa.string()))
    if rule.path is not None:
        covered = pc.and_(covered, pc.fill_null(pc.match_substring_regex(rows.column("path"), rule.path), False))
    if rule.event is not None:
        covered = pc.and_(covered, pc.fill_null(pc.match_substring_regex(rows.column("event"), rule.event), True))
    if rule.names_partition is not None:
        is_named = rows.column("partition").is_valid()
        covered = pc.and_(covered, is_named if rule.names_partition else pc.invert(is_named))
    return covered


def values(column: Any) -> Iterable[Any]:
    """Return a column's values. A column that is all null, as most are, needs no conversion."""
    if column.null_count == len(column):
        return repeat(None, len(column))
    if _is_list(column):
        return _lists(column)
    return column.to_pylist()  # type: ignore[no-any-return]


def _is_list(column: Any) -> bool:
    import pyarrow.types as arrow_types

    return bool(arrow_types.is_list(column.type) or arrow_types.is_large_list(column.type))


def _lists(column: Any) -> list[tuple[Any, ...] | None]:
    """Return the lists of a column, cut out of its flat values: one conversion for all of them."""
    offsets, inner = column.offsets.to_pylist(), column.values.to_pylist()
    found: list[tuple[Any, ...] | None] = [tuple(inner[a:b]) for a, b in pairwise(offsets)]
    if column.null_count:
        return [values if is_there else None for values, is_there in zip(found, column.is_valid().to_pylist(), strict=True)]
    return found


def batches_of(folded: Iterable[Rows]) -> Iterator[Any]:
    """Yield record batches of replayed_arrow_schema. The garbage collector is off until the last batch is taken."""
    transitions: list[Transition] = []
    with gc_paused():
        for rows, mismatches in folded:
            transitions.extend(rows)
            if mismatches:
                yield _of_mismatches(mismatches)
            if len(transitions) >= ROWS_PER_BATCH:
                yield _of_transitions(transitions)
                transitions = []
        if transitions:
            yield _of_transitions(transitions)


def record_batch(rows: Sequence[msgspec.Struct], schema: Any) -> Any:
    """Return rows of one kind, at least one, as a record batch; their attributes are the columns."""
    import pyarrow as pa

    columns = zip(*map(msgspec.structs.astuple, rows), strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _of_transitions(rows: Sequence[Transition]) -> Any:
    import pyarrow as pa

    columns = record_batch(rows, transitions_arrow_schema()).columns
    columns.extend(pa.nulls(len(rows), pa.string()) for _ in OF_MISMATCH)
    return pa.RecordBatch.from_arrays(columns, schema=replayed_arrow_schema())


def _of_mismatches(rows: Sequence[Mismatch]) -> Any:
    import pyarrow as pa

    schema = replayed_arrow_schema()
    records = [{**msgspec.structs.asdict(row), "n": -1, "kind": MISMATCH, "trigger": "", "derived": False} for row in rows]
    return pa.RecordBatch.from_pylist(records, schema=schema)
