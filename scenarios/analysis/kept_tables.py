"""The tables that a dataset keeps for its analyses. Most analyses begin with them, and need not compute them once more.

`runs` lies beside the events, `transitions` are those that the history records, and `state_intervals` are computed from the
transitions beside which they lie. A small dataset keeps none: reading them would take longer than computing them.
"""

from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.analysis.analyses.facts import runs_arrow_schema, whole_runs
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables, KeptTables
from kcsim.scenarios.analysis.analyses.recorded import recorded_transitions
from kcsim.scenarios.analysis.folding.transition import transitions_arrow_schema
from kcsim.scenarios.analysis.tables.dataset import RUNS, STATE_INTERVALS, Dataset, mark_kept_tables
from kcsim.scenarios.analysis.tables.dataset_reading import read_dataset
from kcsim.scenarios.analysis.tables.events_table import RUN
from kcsim.scenarios.analysis.tables.job_description import job_description
from kcsim.scenarios.analysis.tables.reading import read_table
from kcsim.scenarios.analysis.tables.writing import ORDER_OF_EVENTS, write_table

FEWEST_ROWS = 100_000
"""A dataset of fewer events, or transitions, keeps no tables."""


def keep_tables_of_events(spark: SparkSession, dataset: Dataset, rows: int) -> None:
    """Write the tables `runs`, `transitions` and `state_intervals` of a dataset of events that is being written.

    Args:
        rows: how many events there are.
    """
    if rows < FEWEST_ROWS:
        return
    events, _ = read_dataset(spark, dataset)
    with job_description(spark, "tables kept for the analyses"):
        write_table(whole_runs(events), dataset.table(RUNS), (), (RUN,))
        write_table(recorded_transitions(events), dataset.transitions(), (), ORDER_OF_EVENTS)
    _write_state_intervals(spark, dataset, events, KeptTables(read_table(spark, dataset.table(RUNS), runs_arrow_schema())))


def keep_state_intervals(spark: SparkSession, dataset: Dataset, rows: int, events: DataFrame) -> None:
    """Write the table `state_intervals` of a dataset of transitions that is being written.

    Args:
        rows: how many transitions there are.
        events: the events from which they were made.
    """
    if rows >= FEWEST_ROWS:
        _write_state_intervals(spark, dataset, events, KeptTables())


def _write_state_intervals(spark: SparkSession, dataset: Dataset, events: DataFrame, kept: KeptTables) -> None:
    transitions = read_table(spark, dataset.transitions(), transitions_arrow_schema())
    whole = HistoryTables(events, transitions, kept=kept).whole_state_intervals
    with job_description(spark, "state intervals kept for the analyses"):
        write_table(whole, dataset.table(STATE_INTERVALS), (), ORDER_OF_EVENTS)
    mark_kept_tables(dataset)
