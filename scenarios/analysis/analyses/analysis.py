"""What an analysis is: a question, the function that answers it, and the columns of the table that it returns."""

from collections.abc import Callable
from dataclasses import dataclass

from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F

MS, ONE, COUNT, SHARE = "ms", "", "count", "0 to 1"
LONG, TEXT, REAL, FLAG, LONGS = "bigint", "string", "double", "boolean", "array<bigint>"


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result: its name, Spark's name of its type, its unit, what it means."""

    name: str
    type: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Analysis:
    """One analysis.

    Attributes:
        name: its name on the command line.
        question: what it answers, in one line.
        definition: what exactly is counted, and how the edges are treated.
        fields: the columns of the result, in order.
        worst_first: the columns by which a listing is sorted; a name with a minus in front is descending.
        compute: makes the table; `table` drops further columns, and puts the columns in order.
        details: the columns that a printed table leaves out unless they are asked for, so that it is at most eight wide.
    """

    name: str
    question: str
    definition: str
    fields: tuple[Field, ...]
    worst_first: tuple[str, ...]
    compute: Callable[[HistoryTables], DataFrame]
    details: tuple[str, ...] = ()

    def table(self, history: HistoryTables) -> DataFrame:
        """Return the result, in no order."""
        return self.compute(history).select(*(F.col(field.name).cast(field.type).alias(field.name) for field in self.fields))

    def sorted_table(self, history: HistoryTables) -> DataFrame:
        """Return the result with the worst, or the first, on top, always in the same order."""
        return self.in_order(self.table(history))

    def in_order(self, table: DataFrame) -> DataFrame:
        """Return rows of the result in the order of `sorted_table`."""
        named = {name.removeprefix("-") for name in self.worst_first}
        tie_breakers = (F.col(field.name) for field in self.fields if field.name not in named)
        return table.orderBy(*map(_order, self.worst_first), *tie_breakers)


def _order(name: str) -> Column:
    return F.col(name[1:]).desc_nulls_first() if name.startswith("-") else F.col(name).asc_nulls_first()


IN_A_RUN = (
    Field("batch", TEXT, ONE, "the batch, as in the table of events"),
    Field("run", TEXT, ONE, "the run in it"),
)
OF_A_TOPIC = (*IN_A_RUN, Field("topic", TEXT, ONE, "the topic"))
OF_A_PARTITION = (*OF_A_TOPIC, Field("partition", LONG, ONE, "the partition's number"))
A_WINDOW = (
    Field("from_ms", LONG, MS, "when it began, since the run's beginning; at the edge if it began before --since"),
    Field("to_ms", LONG, MS, "when it ended; the end of what is looked at if it had not ended then"),
    Field("duration_ms", LONG, MS, "how long it was"),
    Field("open", FLAG, ONE, "whether it was still so at the end"),
)


def share(part: Column, whole: Column) -> Column:
    """Return one whole number as a share of another; null if the whole is 0."""
    return F.when(whole > 0, part.cast("double") / whole.cast("double"))


def per_scope(of_partitions: DataFrame, sums: tuple[str, ...], greatest: tuple[str, ...] = ()) -> DataFrame:
    """Return figures of partitions, and their sums for topics and runs, with a further column `scope`.

    Args:
        of_partitions: batch, run, topic, partition and the figures.
        sums: the columns to add up.
        greatest: the columns of which the maximum is taken.
    """
    figures = [F.sum(name).alias(name) for name in sums] + [F.max(name).alias(name) for name in greatest]
    whole = of_partitions.groupBy("batch", "run").agg(F.count("*").alias("partitions"), *figures)
    topics = of_partitions.groupBy("batch", "run", "topic").agg(F.count("*").alias("partitions"), *figures)
    return (
        of_partitions.withColumn("partitions", F.lit(1))
        .withColumn("scope", F.lit("partition"))
        .unionByName(topics.withColumn("scope", F.lit("topic")), allowMissingColumns=True)
        .unionByName(whole.withColumn("scope", F.lit("cluster")), allowMissingColumns=True)
    )
