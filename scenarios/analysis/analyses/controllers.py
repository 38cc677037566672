"""The controllers' terms, and the gaps in which there was no controller."""

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.analysis import FLAG, IN_A_RUN, LONG, MS, ONE, TEXT, Analysis, Field
from kcsim.scenarios.analysis.analyses.facts import ZNODES
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F, Window
from kcsim.znodes import paths

EXPIRED = "SESSIONEXPIRED"


def controllers(history: HistoryTables) -> DataFrame:
    """Return each controller's term, and the gap before it."""
    facts = history.facts
    in_order = Window.partitionBy("batch", "run").orderBy("t_ms", "seq")
    changes = facts.where((F.col("path") == paths.CONTROLLER) & F.col("kind").isin(*ZNODES)).select(
        *("batch", "run", "seq", "t_ms", "kind", "zxid", "cause"),
        F.get_json_object("data", "$.brokerid").try_cast("long").alias("broker"),
    )
    moments = changes.withColumns({name: F.lead(was).over(in_order) for name, was in _OF_THE_NEXT.items()}).withColumn(
        "_first", F.row_number().over(in_order) == 1
    )
    terms = _before_the_first(moments).unionByName(moments.where(F.col("kind") != EventKind.ZNODE_DELETED).drop("_first"))
    epochs = _epochs(facts)
    joined = terms.join(epochs, ["batch", "run", "zxid"], "left").join(
        _ends_of_sessions(facts), ["batch", "run", "_zxid"], "left"
    )
    won = _elections_won(facts)
    named = joined.join(won, ["batch", "run", "broker"], "left").where(
        F.col("won_seq").isNull()
        | ((F.col("won_seq") > F.col("seq")) & (F.col("_seq").isNull() | (F.col("won_seq") < F.col("_seq"))))
    )
    by_election = named.groupBy("batch", "run", "seq").agg(F.min("won_epoch").alias("won_epoch"))
    return _cut(joined.join(by_election, ["batch", "run", "seq"], "left"), history)


_OF_THE_NEXT = {"_seq": "seq", "_t_ms": "t_ms", "_zxid": "zxid", "_kind": "kind"}


def _before_the_first(moments: DataFrame) -> DataFrame:
    """Return the term of an unknown controller, for runs whose first event of /controller is a change or a deletion."""
    began = moments.where(F.col("_first") & (F.col("kind") != EventKind.ZNODE_CREATED))
    return began.select(
        *("batch", "run"),
        F.lit(-1).cast("long").alias("seq"),
        F.lit(None).cast("long").alias("t_ms"),
        F.lit(None).cast("string").alias("kind"),
        *(F.lit(None).cast("long").alias(name) for name in ("zxid", "cause", "broker")),
        *(F.col(was).alias(name) for name, was in _OF_THE_NEXT.items()),
    )


def _epochs(facts: DataFrame) -> DataFrame:
    """Return the controller epoch that was written in the transaction that wrote /controller."""
    written = facts.where((F.col("path") == paths.CONTROLLER_EPOCH) & F.col("zxid").isNotNull())
    return written.groupBy("batch", "run", "zxid").agg(F.max(F.col("data").try_cast("long")).alias("written_epoch"))


def _elections_won(facts: DataFrame) -> DataFrame:
    return facts.where(F.col("kind") == EventKind.ELECTION_WON).select(
        "batch",
        "run",
        F.col("controller_id").alias("broker"),
        F.col("seq").alias("won_seq"),
        F.col("controller_epoch").alias("won_epoch"),
    )


def _ends_of_sessions(facts: DataFrame) -> DataFrame:
    closed = facts.where((F.col("kind") == EventKind.SESSION_CLOSED) & F.col("zxid").isNotNull())
    how = F.when(F.col("error") == EXPIRED, "session expired").otherwise("session closed")
    return closed.groupBy("batch", "run", F.col("zxid").alias("_zxid")).agg(F.min(how).alias("session_end"))


def _cut(terms: DataFrame, history: HistoryTables) -> DataFrame:
    """Cut terms off at the edges of the scope, and add the gaps."""
    scope = history.scope
    is_open: Column = F.col("_t_ms").isNull()
    if scope.until_ms is not None:
        is_open = is_open | (F.col("_t_ms") >= scope.until_ms)
    in_order = Window.partitionBy("batch", "run").orderBy("from_ms", "seq")
    began, ended = F.coalesce("t_ms", F.lit(0)), F.when(is_open, F.col("end_ms")).otherwise(F.col("_t_ms"))
    placed = terms.join(history.small(history.ends), ["batch", "run"])
    seen = placed.where((began <= F.col("end_ms")) & (ended >= F.col("start_ms"))).select(
        *("batch", "run", "broker", "seq"),
        F.coalesce("written_epoch", "won_epoch").alias("controller_epoch"),
        F.greatest(began, "start_ms").alias("from_ms"),
        ended.alias("to_ms"),
        is_open.alias("open"),
        F.when(is_open, None)
        .when(F.col("_kind") != EventKind.ZNODE_DELETED, "overwritten")
        .otherwise(F.coalesce("session_end", F.lit("deleted")))
        .alias("ended_by"),
        *("start_ms", "end_ms"),
    )
    before = F.col("from_ms") - F.coalesce(F.lag("to_ms").over(in_order), "start_ms")
    after = F.coalesce(F.lead("from_ms").over(in_order), "end_ms") - F.col("to_ms")
    return seen.withColumn("served_ms", F.col("to_ms") - F.col("from_ms")).withColumns(
        {"gap_before_ms": before, "gap_after_ms": after}
    )


CONTROLLERS = Analysis(
    "controllers",
    "Which broker was the controller, for how long, and how long was there none?",
    "A term lasts as long as the znode /controller is there and names that broker. Its epoch is what was written to"
    " /controller_epoch in the same transaction, else what the broker itself reported. A gap is the time without the znode,"
    " since the term before or the run's beginning, until the next or the end. A new controller works only after its"
    " failover: controller-gaps lists the times without a working controller, which are longer.",
    (
        *IN_A_RUN,
        Field("broker", LONG, ONE, "the controller; null if the znode named none, or was there before the history began"),
        Field("controller_epoch", LONG, ONE, "its epoch; null if not recorded"),
        Field("from_ms", LONG, MS, "when it was elected, since the run's beginning"),
        Field("to_ms", LONG, MS, "when its znode went or named another; the end if it was still there"),
        Field("served_ms", LONG, MS, "how long it was"),
        Field("open", FLAG, ONE, "whether it was still so at the end"),
        Field("ended_by", TEXT, ONE, "session expired, session closed, deleted (by hand, or by a broker), overwritten"),
        Field("gap_before_ms", LONG, MS, "how long there was no /controller before it"),
        Field("gap_after_ms", LONG, MS, "how long there was no /controller after it"),
    ),
    ("batch", "run", "from_ms"),
    controllers,
    details=("to_ms",),
)
