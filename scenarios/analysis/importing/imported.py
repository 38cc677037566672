"""The result of an import: tables that are computed when they are written, and what is known of each run beforehand."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from pyspark.sql import DataFrame

R = TypeVar("R")


@dataclass(frozen=True)
class ImportedTables(Generic[R]):
    """The imported tables. Call `release` when they have been written: until then their sources are kept.

    Attributes:
        events: a table of events, in no order.
        rejects: a table of rejects.
        runs: what was read, run by run.
        kept: the persisted tables that they are computed from.
    """

    events: DataFrame
    rejects: DataFrame
    runs: list[R]
    kept: tuple[DataFrame, ...]

    def release(self) -> None:
        for frame in self.kept:
            frame.unpersist()
