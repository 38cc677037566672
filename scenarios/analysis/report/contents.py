"""The contents of a report, as plain values: gathered by gathering.py on Spark, drawn by page.py without Spark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, its unit and what it means."""

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Table:
    """The result of an analysis.

    Attributes:
        name: of the analysis, as in `kcsim spark`.
        rows: the first rows, the worst on top.
        total: how many rows there are.
    """

    name: str
    question: str
    definition: str
    columns: Sequence[Column]
    rows: Sequence[tuple[Any, ...]]
    total: int

    def named(self) -> list[dict[str, Any]]:
        """Return the rows as dicts by the names of the columns."""
        return [dict(zip((column.name for column in self.columns), row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Focus:
    """The run that is shown over time: the one with the most unavailable time, unless another was requested.

    Attributes:
        over_time: analysis -> its rows in order of time, as dicts by the names of the columns.
    """

    batch: str
    run: str
    end_ms: int
    bucket_ms: int
    over_time: Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class DurationDistribution:
    """The distribution of a duration: the count of each class of durations, and some quantiles.

    Attributes:
        classes: how many are in each class of human.DURATION_EDGES_MS: under the first edge, …, from the last one on.
        quantiles_ms: 0.5 -> the median, and so on; 1 -> the longest.
    """

    classes: Sequence[int]
    quantiles_ms: Mapping[float, float]

    @property
    def total(self) -> int:
        return sum(self.classes)


@dataclass(frozen=True)
class ReportTotals:
    """Figures of all runs together. Times are sums over partitions unless they say otherwise.

    Attributes:
        longest_ms: the longest window of one partition.
        longest_gap_ms: the longest time without a working controller once there had been one; 0 if there is none on record.
    """

    runs: int
    batches: int
    events: int
    transitions: int
    topics: int
    partitions: int
    brokers: int
    racks: int
    existing_ms: int
    unavailable_ms: int
    windows: int
    open_windows: int
    longest_ms: int
    elections: int
    unclean: int
    nobody: int
    controllers: int
    longest_gap_ms: int


@dataclass(frozen=True)
class Contents:
    """All contents of a report.

    Attributes:
        dataset: the name of the dataset.
        facts: how the report was made: settings of the dataset and of the report.
        elections: the trigger -> how many were clean, were unclean, found no leader.
        faults: kind of fault -> after how many that took leaders all partitions had one again, and after how many never.
        tables: by the name of the analysis.
        left_out: what was not analysed, and why.
    """

    dataset: str
    version: str
    facts: Mapping[str, str]
    totals: ReportTotals
    focus: Focus | None
    unavailability: DurationDistribution
    recovery: DurationDistribution
    elections: Mapping[str, tuple[int, int, int]]
    faults: Mapping[str, tuple[int, int]]
    tables: Mapping[str, Table]
    left_out: Sequence[str] = field(default=())
