"""Reading a history to be analysed: datasets, with the transitions that they hold, or traces of runs."""

from collections.abc import Sequence
from typing import Any

from kcsim.scenarios.analysis.analyses.facts import runs_arrow_schema
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables, KeptTables
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.analyses.state_intervals import state_intervals_arrow_schema
from kcsim.scenarios.analysis.engines.frames import DataFrame, engine_in_use
from kcsim.scenarios.analysis.folding.transition import transitions_arrow_schema
from kcsim.scenarios.analysis.tables.dataset import RUNS, STATE_INTERVALS, TRANSITIONS, Dataset, has_kept_tables
from kcsim.scenarios.analysis.tables.dataset_files import inspect_files
from kcsim.scenarios.analysis.tables.location import Location


class NoEventsError(Exception):
    """There is nothing to analyse. The message says which paths were read."""


def read_history(
    paths: Sequence[Location], transitions: Location | None = None, scope: Scope | None = None
) -> tuple[HistoryTables, list[str]]:
    """Read a history to be analysed, by the engine in use.

    Args:
        paths: datasets, or traces (JSON lines, Parquet), or folders of traces.
        transitions: a dataset whose transitions replace those of `paths`, such as the dataset that a replay derived.
        scope: as in HistoryTables.

    Returns: the history, and sentences about what could not be read. The transitions are those of the datasets if each of
        them has some, else they are computed from the events. For a dataset only whole unreadable files are reported:
        finding single unreadable rows would take reading all of it once more.

    Raises: NoTraceError, NoDatasetError, SameBatchError, OSError; NoEventsError.
    """
    events, rejects = engine_in_use().read_events(paths)
    datasets = list(map(Dataset, paths)) if transitions is None else [Dataset(transitions)]
    if transitions is not None:
        datasets[0].require(TRANSITIONS)
    unread = _unread(paths, rejects)
    if events.isEmpty():
        raise NoEventsError("; ".join([f"there are no events in {', '.join(map(str, paths))}", *unread]))
    kept = KeptTables(
        runs=_kept(list(map(Dataset, paths)), RUNS, runs_arrow_schema()),
        state_intervals=_kept(datasets, STATE_INTERVALS, state_intervals_arrow_schema()),
    )
    return HistoryTables(events, _table_of_all(datasets, TRANSITIONS, transitions_arrow_schema()), scope, kept), unread


def _kept(datasets: Sequence[Dataset], name: str, schema: Any) -> DataFrame | None:
    return _table_of_all(datasets, name, schema) if all(map(has_kept_tables, datasets)) else None


def _table_of_all(datasets: Sequence[Dataset], name: str, schema: Any) -> DataFrame | None:
    """Return the rows of a table of all these datasets; None if one of them does not have it."""
    if not all(dataset.has(name) for dataset in datasets):
        return None
    table, *others = [engine_in_use().read_table(dataset.table(name), schema) for dataset in datasets]
    for other in others:
        table = table.unionByName(other)
    return table


def _unread(paths: Sequence[Location], rejects: DataFrame) -> list[str]:
    datasets = [dataset for dataset in map(Dataset, paths) if dataset.has("events")]
    sentences = [
        f"{reject.file}: not read: {reject.detail}" for dataset in datasets for reject in inspect_files(dataset).rejects
    ]
    if len(datasets) < len(paths) and (count := rejects.count()):
        sentences.append(f"{count} records are no events, and count nowhere: kcsim spark ingest reports why")
    return sentences
