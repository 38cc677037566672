"""A portion of a trace: some of its events as columns, and the rejects between them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kcsim.scenarios.analysis.tables.problems import Problem
from kcsim.scenarios.analysis.tables.rejects_table import Reject, cut
from kcsim.scenarios.analysis.tables.trace_files import Trace


class TracePortion(NamedTuple):
    """A portion. `events`: a pyarrow.RecordBatch of the event log's columns, in order; None if there are none."""

    events: Any
    rejects: Sequence[Reject]


def reject(trace: Trace, line: int | None, problem: Problem, text: bytes | str | None = None) -> Reject:
    """Return a row of the table of rejects."""
    shown = None if text is None else cut(text)
    return Reject(trace.batch, trace.run, trace.path, line, problem.reason.value, problem.detail, shown)
