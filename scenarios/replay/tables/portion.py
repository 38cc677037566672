"""What is read of a trace at once: some of its events as columns, and what in between is none."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kcsim.scenarios.replay.tables.problems import Problem
from kcsim.scenarios.replay.tables.rejects_table import Reject, cut
from kcsim.scenarios.replay.tables.trace_files import Trace


class Portion(NamedTuple):
    """`events`: a pyarrow.RecordBatch of the event log's columns, in order; None if there are none."""

    events: Any
    rejects: Sequence[Reject]


def reject(trace: Trace, line: int | None, problem: Problem, text: bytes | str | None = None) -> Reject:
    """A row of the table of rejects."""
    shown = None if text is None else cut(text)
    return Reject(trace.batch, trace.run, trace.path, line, problem.reason.value, problem.detail, shown)
