"""What an import gives: tables that are made when they are written, and what is known of each run beforehand."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from pyspark.sql import DataFrame

R = TypeVar("R")


@dataclass(frozen=True)
class Imported(Generic[R]):
    """Call `release` when the tables have been written: what they are made of is kept until then.

    Attributes:
        events: a table of events, in no order.
        rejects: a table of rejects.
        runs: what was read, run by run.
        kept: what they are made of.
    """

    events: DataFrame
    rejects: DataFrame
    runs: list[R]
    kept: tuple[DataFrame, ...]

    def release(self) -> None:
        for frame in self.kept:
            frame.unpersist()
