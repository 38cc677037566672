"""SQL on a history: temporary views of its tables and analyses, and the replay as a table function.

from kcsim.scenarios.analysis.sql import register_sql

register_sql(spark, "history", analyses=["availability"])
spark.sql("SELECT topic, unavailable_ms FROM availability WHERE scope = 'topic'")
spark.sql("SELECT kind, count(*) FROM replay(TABLE(facts) PARTITION BY (batch, run)) GROUP BY kind")
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.reading import read_history
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.folding.arrow_rows import batches_of, facts_in, replayed_arrow_schema
from kcsim.scenarios.analysis.folding.folding_runs import fold_facts
from kcsim.scenarios.analysis.folding.folds import fold_for
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.analysis.replay import facts_of
from kcsim.scenarios.analysis.tables.events_table import spark_schema
from kcsim.scenarios.analysis.tables.location import Location, location

REPLAY = "replay"


def register_sql(
    spark: SparkSession,
    paths: Iterable[Location | str] | Location | str,
    analyses: Sequence[str] = (),
    *,
    transitions: Location | str | None = None,
    scope: Scope | None = None,
    what_if: WhatIf | None = None,
) -> list[str]:
    """Create the temporary views of a history, and the table function `replay`; views of the same names are replaced.

    The views: `events`; `facts`, which are the events that a replay reads; `transitions`; `state_intervals`; and one for
    each analysis, with underscores in its name. Tables from which several are computed are computed now, the rest when it
    is queried.

    Args:
        paths, transitions, scope: as of read_history.
        analyses: names of analyses, as `kcsim spark analyse --list` shows them.
        what_if: what the table function changes; None: nothing.

    Returns: the names of the views.

    Raises: what read_history raises; KeyError for an unknown analysis.
    """
    chosen = [ANALYSES[name] for name in analyses]
    given = [paths] if isinstance(paths, str) or not isinstance(paths, Iterable) else list(paths)
    replayed = None if transitions is None else location(transitions)
    history, _ = read_history([location(path) for path in given], replayed, scope)
    tables = {
        "events": history.events,
        "facts": facts_of(history.events),
        "transitions": history.all_transitions,
        "state_intervals": history.state_intervals,
        **{analysis.name.replace("-", "_"): analysis.table(history) for analysis in chosen},
    }
    for name, table in tables.items():
        table.createOrReplaceTempView(name)
    register_replay(spark, what_if)
    return list(tables)


def register_replay(spark: SparkSession, what_if: WhatIf | None = None) -> None:
    """Register the replay as a table function, REPLAY: its argument are the facts, partitioned by batch and run.

    Its rows are transitions and mismatches, as replay.replayed returns them. It holds the facts of one run in memory.
    """
    function: Any = F.arrow_udtf(_replay_of(what_if), returnType=spark_schema(replayed_arrow_schema()))
    spark.udtf.register(REPLAY, function)


def _replay_of(what_if: WhatIf | None) -> type:
    class Replay:
        """Takes the facts of a run in record batches, in any order, and replays them at the end."""

        def __init__(self) -> None:
            self._batches: list[Any] = []

        def eval(self, facts: Any) -> Iterator[Any]:
            self._batches.append(facts)
            return iter(())

        def terminate(self) -> Iterator[Any]:
            if not self._batches:  # a task without a run
                return iter(())
            return batches_of(fold_facts(facts_in(_in_order(self._batches)), fold_for(what_if)))

    return Replay


def _in_order(batches: Sequence[Any]) -> Iterator[Any]:
    """Yield the facts of a run as replay.replayed orders them: first those of the cluster, then partition by partition."""
    import pyarrow as pa
    import pyarrow.compute as pc

    facts = pa.Table.from_batches(batches)
    has_partition = facts["partition"].is_valid()
    yield from facts.filter(pc.invert(has_partition)).sort_by("seq").to_batches()
    by_partition = [("topic", "ascending"), ("partition", "ascending"), ("seq", "ascending")]
    yield from facts.filter(has_partition).sort_by(by_partition).to_batches()
