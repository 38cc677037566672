"""Reads a history to be analysed: datasets, with the transitions that they hold, or traces of runs."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.replay.analyses.history import History
from kcsim.scenarios.replay.analyses.scope import Scope
from kcsim.scenarios.replay.folding.transition import transitions_arrow_schema
from kcsim.scenarios.replay.tables.dataset import Dataset
from kcsim.scenarios.replay.tables.dataset_reading import look_at
from kcsim.scenarios.replay.tables.reading import read_events, read_table

TRANSITIONS = "transitions"


class NoEventsError(Exception):
    """There is nothing to analyse: says where it was looked for."""


def read_history(
    spark: SparkSession,
    paths: Sequence[Path],
    transitions: Path | None = None,
    scope: Scope | None = None,
    keep: bool = False,
) -> tuple[History, list[str]]:
    """Read what is to be analysed.

    Args:
        paths: datasets, or traces (JSON lines, Parquet), or folders of traces.
        transitions: a dataset whose transitions count in place of those of `paths`, as of what a replay has derived.
        scope, keep: as of History.

    Returns: the history, and what could not be read, in sentences. The transitions are those of the datasets if each of them
        has some, else they are read off the events. Of a dataset only whole files are told that could not be read: to look
        for single rows would be to read all of it once more.

    Raises: NoTraceError, NoDatasetError, SameBatchError, OSError; NoEventsError.
    """
    events, rejects = read_events(spark, paths)
    datasets = list(map(Dataset, paths)) if transitions is None else [Dataset(transitions)]
    if transitions is not None:
        datasets[0].require(TRANSITIONS)
    told = _unread(paths, rejects)
    if events.isEmpty():
        raise NoEventsError("; ".join([f"there are no events in {', '.join(map(str, paths))}", *told]))
    return History(events, _transitions(spark, datasets), scope, keep), told


def _transitions(spark: SparkSession, datasets: Sequence[Dataset]) -> DataFrame | None:
    if not all(dataset.has(TRANSITIONS) for dataset in datasets):
        return None
    schema = transitions_arrow_schema()
    return reduce(DataFrame.unionByName, [read_table(spark, dataset.transitions(), schema) for dataset in datasets])


def _unread(paths: Sequence[Path], rejects: DataFrame) -> list[str]:
    datasets = [dataset for dataset in map(Dataset, paths) if dataset.has("events")]
    told = [f"{reject.file}: not read: {reject.detail}" for dataset in datasets for reject in look_at(dataset).rejects]
    if len(datasets) < len(paths) and (count := rejects.count()):
        told.append(f"{count} records are no events, and count nowhere: kcsim spark ingest tells why")
    return told
