"""What the analyses need of the engine that computes them, beyond tables and columns."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kcsim.scenarios.analysis.tables.event_tables import EventTables
from kcsim.scenarios.analysis.tables.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

T = TypeVar("T")

FoldBatches = Callable[[Iterator[Any]], Iterator[Any]]
"""From the record batches (pyarrow) of a table to those of another."""


class Engine(Protocol):
    """An engine. Its tables and columns have the methods of PySpark's DataFrame, Row and Column that the analyses call."""

    @property
    def functions(self) -> Any:
        """The functions of columns, as in pyspark.sql.functions."""

    @property
    def window(self) -> Any:
        """The windows of rows, as pyspark.sql.Window."""

    def read_events(self, paths: Sequence[Location]) -> EventTables:
        """Return the events of datasets and traces, and what in them is no event; as tables/reading.py."""

    def read_table(self, folder: Location, schema: Any) -> "DataFrame":
        """Return a table of a dataset. `schema`: its pyarrow.Schema, with `batch`."""

    def detached(self, table: "DataFrame", together: Sequence[str] = (), in_order: Sequence[str] = ()) -> "DataFrame":
        """Compute a table, and return it without its query plan.

        Args:
            together: columns by which most analyses of the table group its rows: they are exchanged between tasks once, now.
            in_order: the order of the rows with the same values of these columns.
        """

    def small(self, table: "DataFrame") -> "DataFrame":
        """Return a table that is small enough for each executor to have a copy of it, marked as such."""

    def fold_runs(self, rows: "DataFrame", fold: FoldBatches, schema: Any) -> "DataFrame":
        """Return what a function makes of the rows, which it gets with each run's together, ordered by `seq`.

        Args:
            rows: has batch, run and seq.
            schema: the pyarrow.Schema of the result.
        """

    def first_rows(
        self, table: "DataFrame", in_order: Callable[["DataFrame"], "DataFrame"], most: int
    ) -> tuple[list[Any], int]:
        """Return the first rows of a table in an order, and how many rows it has. The table is computed once."""

    def results(self, computations: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield what functions that compute tables return, in their order.

        Several may run at a time, in threads in which this engine is in use. The first exception of one is raised, and no
        further one is started.
        """

    def write_counted(self, table: "DataFrame", folder: Location) -> int:
        """Write a table as Parquet to a new folder, and return how many rows it has. The table is computed once."""
