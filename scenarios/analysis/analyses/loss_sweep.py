"""The partitions that would go offline, or under min.insync.replicas, if one or two brokers or racks were lost now.

The loss of one broker is computed in one pass over the partitions. A cluster of 1,000 brokers has half a million pairs:
computing each pair separately would read a million partitions half a million times. But the loss of a pair damages a
partition differently from the separate losses of its members only if the partition has replicas on both. The figures of a
pair are therefore the sums of its members' figures, corrected by the partitions that they share: rf × (rf - 1) / 2 pairs per
partition, added up once.
"""

from collections.abc import Callable

from kcsim.scenarios.analysis.analyses.analysis import COUNT, IN_A_RUN, LONG, LONGS, ONE, TEXT, Analysis, Field
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.state_intervals import PARTITION
from kcsim.scenarios.analysis.analyses.unavailability import A_PARTITION
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F

FIGURES = ("offline", "offline_if_unclean", "under_min_isr", "leaders_moved", "partitions")
DEFINITION = f"""\
As of the end, or of --at. In sync and live are the members of the ISR that are assigned and whose broker is live. Offline:
had one before, has none after. Offline if unclean: had a live replica, in sync or not, has none after. Under min ISR: not
offline, and fewer in sync and live than min.insync.replicas, which there were before. Leaders moved: led by what is lost.
Only new damage counts: not what is offline or under min ISR already. {A_PARTITION}"""


def as_of(history: HistoryTables) -> DataFrame:
    """Return each partition at the moment of the scope, with its live replicas, and with those of them in sync."""
    at_ms = history.scope.at_ms
    intervals, absences = history.state_intervals, history.absences
    now: Column = F.col("open")
    if at_ms is not None:
        ends_later = (F.col("to_ms") > at_ms) | F.col("open")
        now = (F.col("from_ms") <= at_ms) & ends_later
    away = absences.where(now).groupBy("batch", "run").agg(F.collect_set("broker").alias("away"))
    found = intervals.where(now).join(history.small(away), ["batch", "run"], "left")
    live = F.array_except("replicas", F.coalesce("away", F.array().cast("array<bigint>")))
    return found.select(
        *PARTITION, "leader", "min_isr", live.alias("live"), F.array_intersect(live, F.col("isr")).alias("live_isr")
    )


def _grouped_by_rack(history: HistoryTables) -> DataFrame:
    """Return as_of() with each live replica's rack in place of its broker; replicas without a rack are left out."""
    racks = history.brokers.where(F.col("rack").isNotNull())
    by_broker = F.map_from_entries(F.collect_list(F.struct("broker", "rack")))
    of_runs = racks.groupBy("batch", "run").agg(by_broker.alias("rack_of"))
    return as_of(history).join(history.small(of_runs), ["batch", "run"])


def _broker_members(history: HistoryTables) -> DataFrame:
    return _members(history, by_rack=False)


def _rack_members(history: HistoryTables) -> DataFrame:
    return _members(history, by_rack=True)


def _members(history: HistoryTables, by_rack: bool) -> DataFrame:
    """Return each partition with its groups: the brokers or racks that its live replicas are on.

    Returns: PARTITION, min_isr, k_live (how many replicas are live), k (how many of these are in sync), and groups: name (a
        text), live and isr (k_live and k of this group alone), leads (1 if the leader is in the group, else 0).
    """
    states = _grouped_by_rack(history) if by_rack else as_of(history)
    name: Callable[[Column], Column] = (
        (lambda b: F.try_element_at("rack_of", b)) if by_rack else (lambda b: b.cast("string"))
    )
    named = states.select(
        *(*PARTITION, "min_isr"),
        F.array_compact(F.transform("live", name)).alias("grouped"),
        F.array_compact(F.transform("live_isr", name)).alias("grouped_isr"),
        F.when(F.array_contains("live", F.col("leader")), name(F.col("leader"))).alias("leading"),
        F.size("live").cast("long").alias("k_live"),
        F.size("live_isr").cast("long").alias("k"),
    )

    def figures(group: Column) -> Column:
        def count(of: str) -> Column:
            return F.size(F.filter(of, lambda member: member == group)).cast("long")

        leads = F.coalesce((F.col("leading") == group).cast("long"), F.lit(0).cast("long"))
        return F.struct(
            group.alias("name"), count("grouped").alias("live"), count("grouped_isr").alias("isr"), leads.alias("leads")
        )

    groups = F.transform(F.array_sort(F.array_distinct("grouped")), figures)
    return named.select(*PARTITION, "min_isr", "k_live", "k", groups.alias("groups"))


def _damage(isr_lost: Column, live_lost: Column) -> dict[str, Column]:
    """Return what the loss of so many in-sync and live replicas does to a partition: each figure is 0 or 1."""
    left = F.col("k") - isr_lost
    offline = (F.col("k") > 0) & (left == 0)
    under = (F.col("k") >= F.col("min_isr")) & (left > 0) & (left < F.col("min_isr"))
    unclean = (F.col("k_live") > 0) & (F.col("k_live") == live_lost)
    return {
        "offline": offline.cast("long"),
        "offline_if_unclean": unclean.cast("long"),
        "under_min_isr": under.cast("long"),
    }


def _alone(members: DataFrame) -> DataFrame:
    """Return the figures of the loss of each group alone: batch, run, name, FIGURES, topics_offline."""
    one = members.select("*", F.explode("groups").alias("g"))
    damage = _damage(F.col("g.isr"), F.col("g.live"))
    rows = one.select(
        *("batch", "run", "topic"),
        F.col("g.name").alias("name"),
        *(column.alias(figure) for figure, column in damage.items()),
        F.col("g.leads").alias("leaders_moved"),
        F.lit(1).alias("partitions"),
    )
    return rows.groupBy("batch", "run", "name").agg(
        *(F.sum(figure).alias(figure) for figure in FIGURES),
        F.count_distinct(F.when(F.col("offline") > 0, F.col("topic"))).alias("topics_offline"),
    )


def _together(members: DataFrame) -> DataFrame:
    """Return how much the figures of each pair that shares partitions differ from the sums of its members' figures."""
    first = members.select("*", F.explode("groups").alias("a"))
    pairs = first.select("*", F.explode(F.filter("groups", lambda g: g["name"] > F.col("a.name"))).alias("b"))
    both = _damage(F.col("a.isr") + F.col("b.isr"), F.col("a.live") + F.col("b.live"))
    of_a, of_b = _damage(F.col("a.isr"), F.col("a.live")), _damage(F.col("b.isr"), F.col("b.live"))
    only_both = (both["offline"] == 1) & (of_a["offline"] == 0) & (of_b["offline"] == 0)
    rows = pairs.select(
        *("batch", "run", "topic"),
        F.col("a.name").alias("a"),
        F.col("b.name").alias("b"),
        *((both[figure] - of_a[figure] - of_b[figure]).alias(figure) for figure in both),
        only_both.cast("long").alias("offline_together"),
    )
    return rows.groupBy("batch", "run", "a", "b").agg(
        *(F.sum(figure).alias(figure) for figure in FIGURES[:3]),
        F.count("*").alias("shared"),
        F.sum("offline_together").alias("offline_together"),
        F.count_distinct(F.when(F.col("offline_together") > 0, F.col("topic"))).alias("topics_together"),
    )


def _pairs(history: HistoryTables, members: DataFrame) -> DataFrame:
    alone = _alone(members)
    corrected = _together(members)
    keys = ["batch", "run"]
    of_a, of_b = (
        history.small(alone.select(*keys, F.col("name").alias(side), *(F.col(f).alias(f"{side}_{f}") for f in FIGURES)))
        for side in ("a", "b")
    )
    joined = corrected.join(of_a, [*keys, "a"]).join(of_b, [*keys, "b"])
    totals = {figure: F.col(f"a_{figure}") + F.col(f"b_{figure}") + F.col(figure) for figure in FIGURES[:3]}
    totals["leaders_moved"] = F.col("a_leaders_moved") + F.col("b_leaders_moved")
    totals["partitions"] = F.col("a_partitions") + F.col("b_partitions") - F.col("shared")
    return joined.withColumns(totals)


# --- one ------------------------------------------------------------------------------------------------------------------

_DAMAGE = (
    Field("offline", LONG, COUNT, "partitions that go offline: no replica in sync is left"),
    Field("offline_if_unclean", LONG, COUNT, "partitions that unclean elections do not help: no live replica is left"),
    Field("under_min_isr", LONG, COUNT, "partitions that stay online and refuse acks=all"),
    Field("leaders_moved", LONG, COUNT, "partitions that lose their leader"),
    Field("partitions", LONG, COUNT, "partitions with a live replica there"),
)
_TOPICS = Field("topics_offline", LONG, COUNT, "topics of which a partition goes offline")
_WORST = ("-offline", "-under_min_isr", "-partitions")


def loss_of_broker(history: HistoryTables) -> DataFrame:
    """Return the damage of N-1 over brokers, for the brokers that host a live replica."""
    return _alone(history.shared(_broker_members)).withColumn("broker", F.col("name").cast("long"))


LOSS_OF_BROKER = Analysis(
    "loss-of-broker",
    "If one broker were lost now, what would go with it?",
    DEFINITION,
    (*IN_A_RUN, Field("broker", LONG, ONE, "the broker lost"), *_DAMAGE, _TOPICS),
    (*_WORST, "broker"),
    loss_of_broker,
)


def loss_of_rack(history: HistoryTables) -> DataFrame:
    """Return the damage of N-1 over racks."""
    return _alone(history.shared(_rack_members)).withColumnRenamed("name", "rack")


LOSS_OF_RACK = Analysis(
    "loss-of-rack",
    "If one rack were lost now, what would go with it?",
    DEFINITION + " Brokers without a rack are lost with none.",
    (*IN_A_RUN, Field("rack", TEXT, ONE, "the rack lost"), *_DAMAGE, _TOPICS),
    (*_WORST, "rack"),
    loss_of_rack,
)

# --- two ------------------------------------------------------------------------------------------------------------------

_TOGETHER = (
    Field("shared", LONG, COUNT, "partitions with live replicas on both"),
    Field("offline_together", LONG, COUNT, "partitions that go offline only by the loss of both"),
    Field("topics_together", LONG, COUNT, "topics of which such a partition is"),
)
_PAIRS = " Pairs that share no partition are not listed: what they take is the sum of what each takes alone."


def loss_of_brokers(history: HistoryTables) -> DataFrame:
    """Return the damage of N-2 over brokers."""
    pairs = _pairs(history, history.shared(_broker_members))
    numbers = (F.col("a").cast("long"), F.col("b").cast("long"))
    return pairs.withColumn("brokers", F.array_sort(F.array(*numbers)))


LOSS_OF_BROKERS = Analysis(
    "loss-of-brokers",
    "If two brokers were lost now, together, what would go with them?",
    DEFINITION + _PAIRS,
    (*IN_A_RUN, Field("brokers", LONGS, ONE, "the two brokers lost"), *_DAMAGE, *_TOGETHER),
    ("-offline_together", *_WORST, "brokers"),
    loss_of_brokers,
    details=("topics_together",),
)


def loss_of_racks(history: HistoryTables) -> DataFrame:
    """Return the damage of N-2 over racks."""
    return _pairs(history, history.shared(_rack_members)).withColumn("racks", F.array("a", "b"))


LOSS_OF_RACKS = Analysis(
    "loss-of-racks",
    "If two racks were lost now, together, what would go with them?",
    DEFINITION + _PAIRS,
    (*IN_A_RUN, Field("racks", "array<string>", ONE, "the two racks lost"), *_DAMAGE, *_TOGETHER),
    ("-offline_together", *_WORST, "racks"),
    loss_of_racks,
    details=("topics_together",),
)
