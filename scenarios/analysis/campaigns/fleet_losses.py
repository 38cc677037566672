"""Trying every loss of brokers or racks on a fleet of clusters, in executors: one row for each cluster and loss."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import ClusterError
from kcsim.scenarios.analysis.tables.task_each import task_per_item
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.what_if.loss_ranking import effect_of
from kcsim.scenarios.what_if.losses import any_losses
from kcsim.scenarios.what_if.what_if_run import Loss, WhatIfQuestion

LOSSES_A_TASK = 8
PARTITIONS = ("offline", "unclean", "below_min_isr")
"""Columns with names of partitions, in the order in which losses are ranked."""
NUMBERS = ("unavailable", "longest_unavailable_ms")


@dataclass(frozen=True)
class ClusterLosses:
    """Losses of one cluster that one task tries."""

    cluster: str
    snapshot: ControlPlaneSnapshot
    losses: tuple[Loss, ...]


def losses_of_fleet(
    spark: SparkSession,
    clusters: Mapping[str, ControlPlaneSnapshot],
    count: int,
    question: WhatIfQuestion,
    sample: int | None = None,
    seed: int = 0,
) -> DataFrame:
    """Try every loss of so many brokers or racks on each cluster; the columns are those of LossEffect.

    A loss after which a cluster does not come to rest is a row with `error`. Nothing runs before rows are requested.

    Args:
        clusters: by name.
        question: what happens before each loss.
        sample: how many losses of each cluster to draw with the seed; None: all.
    """
    tried = [
        ClusterLosses(name, snapshot, chunk)
        for name, snapshot in clusters.items()
        for chunk in _chunks(any_losses(count, snapshot, (), sample, seed).losses)
    ]

    def work(_: int, item: ClusterLosses) -> Iterator[Any]:
        import pyarrow as pa

        yield pa.RecordBatch.from_pylist([_row(item, question, loss) for loss in item.losses], schema=_arrow_schema())

    return task_per_item(spark, tried, work, from_arrow_schema(_arrow_schema()))


def ranked_losses(losses: DataFrame) -> DataFrame:
    """Return the losses of all clusters, the worst first, as `kcsim what-if --lose any-1` ranks those of one."""
    worst = [*(F.size(name).desc() for name in PARTITIONS), *(F.desc(name) for name in NUMBERS)]
    return losses.where("error IS NULL").orderBy(*worst, "cluster", "lost")


def _chunks(losses: Sequence[Loss]) -> Iterator[tuple[Loss, ...]]:
    for start in range(0, len(losses), LOSSES_A_TASK):
        yield tuple(losses[start : start + LOSSES_A_TASK])


def _arrow_schema() -> Any:
    import pyarrow as pa

    texts = [(name, pa.string()) for name in ("cluster", "lost", "error")]
    partitions = [(name, pa.list_(pa.string())) for name in PARTITIONS]
    return pa.schema([*texts, *partitions, *((name, pa.int64()) for name in NUMBERS)])


def _row(item: ClusterLosses, question: WhatIfQuestion, loss: Loss) -> dict[str, Any]:
    row: dict[str, Any] = {"cluster": item.cluster, "lost": loss.what}
    try:
        effect = effect_of(item.snapshot, question, loss)
    except (ClusterError, TimedOutError) as error:  # one loss must not end the others
        return {**row, "error": str(error).partition("\n")[0]}
    return {**row, **{name: getattr(effect, name) for name in (*PARTITIONS, *NUMBERS)}}
