"""The intervals in which no broker was a working controller.

Each run is folded by kcsim/eventlog/controller_intervals.py, as the story of a run is.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

from kcsim.eventlog.cluster_state import READY_STEP
from kcsim.eventlog.controller_intervals import controller_intervals
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.analyses.analysis import A_WINDOW, IN_A_RUN, Analysis
from kcsim.scenarios.analysis.analyses.facts import ZNODES
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.engines.frames import DataFrame, F
from kcsim.znodes import paths

OF_CONTROLLERS = (
    EventKind.PROCESS_STATE,
    EventKind.SESSION_STATE,
    EventKind.ELECTION_WON,
    EventKind.CONTROLLER_RESIGNED,
    EventKind.RUN_ENDED,
)
COLUMNS = (
    *("seq", "t_ms", "node", "kind", "path", "data", "zk_version", "session_id", "state", "step"),
    *("controller_id", "controller_epoch", "controller_epoch_zk_version"),
)


def controller_gaps(history: HistoryTables) -> DataFrame:
    """Return the intervals without a working controller, cut off at the edges of the scope."""
    is_ready = (F.col("kind") == EventKind.CONTROLLER_FAILOVER) & (F.col("step") == READY_STEP)
    is_znode = F.col("kind").isin(*ZNODES) & F.col("path").isin(paths.CONTROLLER, paths.CONTROLLER_EPOCH)
    wanted = history.events.where(F.col("kind").isin(*OF_CONTROLLERS) | is_ready | is_znode).select("batch", "run", *COLUMNS)
    gaps = history.fold_runs(wanted, _folding(), _schema()).join(history.small(history.ends), ["batch", "run"])
    began, ended = F.greatest("from_ms", "start_ms"), F.when(F.col("is_over"), F.col("to_ms")).otherwise(F.col("end_ms"))
    return (
        gaps.withColumns({"from_ms": began, "open": ~F.col("is_over") | (ended > F.col("end_ms"))})
        .withColumn("to_ms", F.least(ended, "end_ms"))
        .where("from_ms < to_ms")
        .withColumn("duration_ms", F.col("to_ms") - F.col("from_ms"))
    )


def _schema() -> Any:
    """Return the columns of the intervals of a run, as a pyarrow.Schema."""
    import pyarrow as pa

    names, times = ("batch", "run"), ("from_ms", "to_ms")
    texts, numbers = [(name, pa.string()) for name in names], [(name, pa.int64()) for name in times]
    return pa.schema([*texts, *numbers, ("is_over", pa.bool_())])


def _folding() -> Callable[[Iterator[Any]], Iterator[Any]]:
    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for (batch, run), rows in groupby(_rows(batches), key=lambda row: (row.pop("batch"), row.pop("run"))):
            gaps = [i for i in controller_intervals(_events(rows)) if i.broker is None]
            rows_of_run = [
                {"batch": batch, "run": run, "from_ms": gap.from_ms, "to_ms": gap.until_ms, "is_over": gap.is_over}
                for gap in gaps
            ]
            yield pa.RecordBatch.from_pylist(rows_of_run, schema=_schema())

    return fold


def _rows(batches: Iterator[Any]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _events(rows: Iterable[dict[str, Any]]) -> Iterator[Event]:
    """Yield the events of one run, up to its end."""
    for row in rows:
        event = msgspec.convert({name: value for name, value in row.items() if value is not None}, Event)
        yield event
        if event.kind is EventKind.RUN_ENDED:
            return


CONTROLLER_GAPS = Analysis(
    "controller-gaps",
    "When was there no working controller?",
    "A controller works while /controller names it, its failover is complete up to 'Ready to serve as the new controller',"
    " its process runs, its connection to ZooKeeper is up, and /controller_epoch has the version that its writes check. A"
    " gap begins when one of these ends, and ends when all hold for a broker again. The time before the first working"
    " controller is no gap; a run without failovers in its history has none.",
    (*IN_A_RUN, *A_WINDOW),
    ("-duration_ms", "batch", "run"),
    controller_gaps,
)
