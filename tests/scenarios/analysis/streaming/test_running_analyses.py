"""The running analyses are those of the whole history, as the analyses themselves compute them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.reading import read_history
from kcsim.scenarios.analysis.engines.duckdb.duckdb_engine import duckdb_engine
from kcsim.scenarios.analysis.engines.frames import using
from kcsim.scenarios.analysis.folding.folding_runs import fold_events
from kcsim.scenarios.analysis.streaming.run_status import of_runs
from kcsim.scenarios.analysis.streaming.table_files import write_micro_batch
from kcsim.scenarios.analysis.streaming.tables import TABLES, arrow_batch
from kcsim.scenarios.analysis.tables.events_table import events_arrow_schema
from kcsim.scenarios.analysis.tables.trace_lines import columns_of
from kcsim.scenarios.language.library import library_names
from tests.scenarios.analysis.folding.simulated_runs import library_run
from tests.scenarios.analysis.streaming.portions import BATCH, Slots, portions

Rows = list[tuple[Any, ...]]


def analysed(name: str, events: Sequence[Event], place: Path) -> dict[str, Rows]:
    """Return the analyses of a whole run, with the transitions of the replay."""
    columns = [pa.repeat(value, len(events)) for value in (BATCH, name)] + columns_of(events).columns
    write_micro_batch(place / "events", 0, [pa.RecordBatch.from_arrays(columns, schema=events_arrow_schema())])
    transitions = fold_events(BATCH, name, events).transitions
    if transitions:
        write_micro_batch(place / "transitions", 0, [arrow_batch(transitions, TABLES["transitions"])])
    with duckdb_engine() as engine, using(engine):
        history, _ = read_history([place])
        names = ("unavailability", "elections")
        return {each: sorted((tuple(row) for row in ANALYSES[each].table(history).collect()), key=repr) for each in names}


def followed(name: str, events: Sequence[Event], size: int) -> dict[str, Rows]:
    """Return the same of a run that is folded in portions."""
    slots = Slots(3)
    for portion in portions(events, size):
        slots.take(name, portion)
    [status] = of_runs(slots.statuses)
    windows = [msgspec.structs.astuple(row) for row in (*slots.windows, *status.windows)]
    elections = [
        (BATCH, name, *count.key, count.elections, count.partitions, count.first_ms, count.last_ms)
        for count in status.elections
    ]
    return {"unavailability": sorted(windows, key=repr), "elections": sorted(elections, key=repr)}


@pytest.mark.parametrize("name", library_names()[::8])
def test_windows_and_elections_are_those_of_the_analyses(name: str, tmp_path: Path) -> None:
    events = library_run(name)
    assert followed(name, events, 61) == analysed(name, events, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", library_names())
@pytest.mark.parametrize("size", [7, 5_000])
def test_for_every_run_of_the_library(name: str, size: int, tmp_path: Path) -> None:
    events = library_run(name)
    assert followed(name, events, size) == analysed(name, events, tmp_path)
