"""Intervals of time, half open [from_ms, to_ms), and step functions of time: most analyses are computed with them.

The state at a millisecond t is the state after every event of that millisecond. An interval that begins and ends within one
millisecond therefore holds at no time, and is left out; one that begins at the end and still holds keeps the interval open
that it joins. Sums are sums of whole numbers, so that a result does not depend on how the data is distributed.
"""

from collections.abc import Callable, Mapping, Sequence

from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F, Window, engine_in_use

FROM, TO, OPEN = "from_ms", "to_ms", "open"
SECTION_MS = 24 * 3_600_000
"""Time is cut into sections of this length where all intervals of a broker or a run would be one task otherwise, or would
be compared with each other."""


def islands(pieces: DataFrame, key: Sequence[str], carried: Mapping[str, Column]) -> DataFrame:
    """Join intervals of a key that touch or overlap into one.

    Args:
        pieces: has the key, from_ms, to_ms and `open`: whether the interval still holds at the end.
        carried: further columns of the result, each an aggregate over the pieces of one island.

    Returns: the key, from_ms, to_ms, duration_ms, open (true if any piece is open), and `carried`. No interval has length 0.
    """
    in_order = Window.partitionBy(*key).orderBy(FROM, TO)
    reached = F.max(TO).over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    begins = (reached.isNull() | (F.col(FROM) > reached)).cast("int")
    numbered = (
        pieces.where(_holds())
        .withColumn("_begins", begins)
        # Of equal intervals one begins the island: the range has all of them, in whichever order they are.
        .withColumn("_island", F.sum("_begins").over(in_order.rangeBetween(Window.unboundedPreceding, 0)))
    )
    grouped = numbered.groupBy(*key, "_island").agg(
        F.min(FROM).alias("_from"),
        F.max(TO).alias("_to"),
        F.bool_or(OPEN).alias("_open"),
        *(aggregate.alias(name) for name, aggregate in carried.items()),
    )
    return grouped.where("_from < _to").select(
        *key,
        F.col("_from").alias(FROM),
        F.col("_to").alias(TO),
        (F.col("_to") - F.col("_from")).alias("duration_ms"),
        F.col("_open").alias(OPEN),
        *carried,
    )


def joined_neighbours(
    pieces: DataFrame, of: Sequence[str], same: Sequence[str] = (), of_last: Sequence[str] = ()
) -> DataFrame:
    """Join intervals of the same thing that touch and agree in some columns. Unlike islands(), it knows no overlaps.

    Args:
        pieces: has `of`, from_ms, to_ms and `open`; those of one thing do not overlap.
        of: the columns that name what an interval is of.
        same: the columns in which neighbours have to agree; null agrees with null.
        of_last: columns that are those of the last interval of the joined ones; all others are those of the first.

    Returns: the columns of `pieces`. No interval has length 0, but one that is open and begins at the end.
    """
    in_order = Window.partitionBy(*of).orderBy(FROM)
    goes_on = [(F.lag(TO).over(in_order) == F.col(FROM)), (F.lead(FROM).over(in_order) == F.col(TO))]
    for column in same:
        for place, neighbour in enumerate((F.lag(column), F.lead(column))):
            goes_on[place] = goes_on[place] & neighbour.over(in_order).eqNullSafe(F.col(column))
    begins, ends = (~F.coalesce(one, F.lit(False)) for one in goes_on)
    marked = pieces.where(_holds()).select(*pieces.columns, begins.alias("_begins"), ends.alias("_ends"))
    # What is left of joined intervals are the first and, next to it, the last.
    outer = marked.where("_begins OR _ends")
    last = {
        name: F.when(F.col("_ends"), F.col(name)).otherwise(F.lead(name).over(in_order)).alias(name)
        for name in (TO, *of_last)
    }
    whole = outer.select("_begins", *(last.get(name, F.col(name)) for name in pieces.columns))
    return whole.where("_begins").drop("_begins")


def _holds() -> Column:
    """Return whether an interval holds at some time, or at the end."""
    return (F.col(FROM) < F.col(TO)) | F.col(OPEN)


def of_first(column: str) -> Column:
    """Return the value of a column in the first piece of an island."""
    return F.min_by(column, F.struct(FROM, TO))


def of_last(column: str) -> Column:
    """Return the value of a column in the last piece of an island."""
    return F.max_by(column, F.struct(FROM, TO))


def overlapping(pieces: DataFrame, others: DataFrame, on: Sequence[str]) -> DataFrame:
    """Return each interval of the one table with each of the other that it overlaps.

    Args:
        pieces: has from_ms and to_ms.
        others: has `on` and, as its interval, down_ms and up_ms. Those of one broker in a section are few.

    Returns: all columns of both.
    """
    last_ms = F.greatest(F.col("up_ms") - 1, F.col("down_ms"))
    left = pieces.withColumn("_section", _sections(F.col(FROM), F.greatest(F.col(TO) - 1, F.col(FROM))))
    right = others.withColumn("_section", _sections(F.col("down_ms"), last_ms))
    both = (F.col("down_ms") < F.col(TO)) & (F.col("up_ms") > F.col(FROM))
    # Two intervals can meet in several sections: the one in which the later of them begins counts.
    is_first = F.col("_section") == _section(F.greatest(FROM, "down_ms"))
    return left.join(right, [*on, "_section"]).where(both & is_first).drop("_section")


def time_covered(pieces: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return how long at least one of the intervals of each key held: the key, covered_ms."""
    section = _sections(F.col(FROM), F.col(TO) - 1)
    cut = pieces.where(F.col(FROM) < F.col(TO)).select(*key, OPEN, FROM, TO, section.alias("_section"))
    within = cut.withColumns(
        {
            FROM: F.greatest(FROM, F.col("_section") * SECTION_MS),
            TO: F.least(TO, (F.col("_section") + 1) * SECTION_MS),
        }
    )
    return islands(within, (*key, "_section"), {}).groupBy(*key).agg(F.sum("duration_ms").alias("covered_ms"))


def _section(moment: Column) -> Column:
    return F.floor(moment / SECTION_MS)


def _sections(first_ms: Column, last_ms: Column) -> Column:
    return F.explode(F.sequence(_section(first_ms), _section(last_ms)))


def steps(
    pieces: DataFrame,
    key: Sequence[str],
    measures: Sequence[str],
    ends: DataFrame,
    small: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """Return how many there are at each time: a step function for each measure, as its constant intervals.

    Args:
        pieces: has `key`, from_ms, to_ms, and for each measure how much of it holds in the interval (a whole number).
        key: begins with batch and run.
        ends: runs(), whose end is the end of the last interval.
        small: marks a table that has few rows of each run, for a join with a large one.

    Returns: `key`, from_ms, to_ms and the measures. Intervals start at the first piece of a key; no interval has length 0,
        and neighbouring intervals differ.
    """
    held = pieces.where(F.col(FROM) < F.col(TO))
    begun = held.select(*key, F.col(FROM).alias("_t"), *(F.col(m).cast("long").alias(m) for m in measures))
    ended = held.select(*key, F.col(TO).alias("_t"), *((-F.col(m)).cast("long").alias(m) for m in measures))
    # They are read twice: without being detached, they would be computed twice.
    changes = engine_in_use().detached(
        begun.unionByName(ended)
        .groupBy(*key, _section(F.col("_t")).alias("_section"), F.col("_t").alias(FROM))
        .agg(*(F.sum(m).alias(m) for m in measures))
    )
    differs = _any([F.col(m) != 0 for m in measures])
    begins = F.min(F.min(FROM)).over(Window.partitionBy(*key))
    nets = changes.groupBy(*key, "_section").agg(
        begins.alias("_begins"), F.min(F.when(differs, F.col(FROM))).alias("_first"), *(F.sum(m).alias(m) for m in measures)
    )
    # Of these rows there are few: the level at the beginning of each section, and when the next one has its first change.
    in_order = Window.partitionBy(*key).orderBy("_section")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    is_first = _section(F.col("_begins")) == F.col("_section")
    sections = (
        nets.withColumn("_first", F.when(is_first, F.col("_begins")).otherwise(F.col("_first")))
        .where(F.col("_first").isNotNull())
        .select(
            *(*key, "_section", "_begins"),
            F.lead("_first").over(in_order).alias("_next"),
            *(F.coalesce(F.sum(m).over(before), F.lit(0)).alias(f"_base_{m}") for m in measures),
        )
    )
    in_order = Window.partitionBy(*key, "_section").orderBy(FROM)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    levels = (
        changes.join(small(sections), [*key, "_section"])
        .where(differs | (F.col(FROM) == F.col("_begins")))
        .select(
            *key,
            FROM,
            *((F.col(f"_base_{m}") + F.sum(m).over(so_far)).alias(m) for m in measures),
            F.coalesce(F.lead(FROM).over(in_order), "_next").alias(TO),
        )
    )
    return (
        levels.join(small(ends), ["batch", "run"])
        .select(*key, FROM, F.coalesce(TO, "end_ms").alias(TO), *measures)
        .where(F.col(FROM) < F.col(TO))
    )


def in_buckets(stretches: DataFrame, key: Sequence[str], measures: Sequence[str], bucket_ms: int) -> DataFrame:
    """Sum up a step function over time in buckets.

    Returns: `key`, bucket_ms (when the bucket begins: a multiple of the width), covered_ms (how much of the bucket the
        function covers), and for each measure M the exact integral M_ms over the bucket, and its least and greatest value,
        least_M and most_M.
    """
    first = F.col(FROM) - F.col(FROM) % bucket_ms
    last = (F.col(TO) - 1) - (F.col(TO) - 1) % bucket_ms
    begins = F.explode(F.sequence(first, last, F.lit(bucket_ms).cast("long")))
    parts = stretches.withColumn("bucket_ms", begins).withColumn(
        "_ms", F.least(F.col(TO), F.col("bucket_ms") + bucket_ms) - F.greatest(FROM, "bucket_ms")
    )
    figures = [
        column
        for m in measures
        for column in (
            F.sum(F.col(m) * F.col("_ms")).alias(f"{m}_ms"),
            F.min(m).alias(f"least_{m}"),
            F.max(m).alias(f"most_{m}"),
        )
    ]
    return parts.groupBy(*key, "bucket_ms").agg(F.sum("_ms").alias("covered_ms"), *figures)


def _any(conditions: Sequence[Column]) -> Column:
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = whole | condition
    return whole
