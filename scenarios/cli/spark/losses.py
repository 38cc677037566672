"""kcsim spark losses: every loss of brokers or racks, tried on many clusters."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.cli.setting_option import SettingsOfAllBrokers, parse_settings
from kcsim.scenarios.cli.snapshot_argument import read_simulated_snapshot
from kcsim.scenarios.cli.spark.options import (
    DEFAULT_MASTER,
    Conf,
    Master,
    Place,
    local_path,
    place,
    refuse_existing,
    session,
)

LOSSES = "losses"
SHOWN = 20


def losses(
    snapshots: Annotated[
        list[Path],
        typer.Argument(
            parser=local_path, metavar="CLUSTER.JSON|DIR...", help="What `kcsim snapshot` has written; or folders of it."
        ),
    ],
    out: Annotated[
        Place, typer.Option("--out", "-o", parser=place, metavar="DATASET", help="The folder to write; must not exist.")
    ],
    at_once: Annotated[int, typer.Option(min=1, max=2, help="How many brokers, or racks, are lost at once.")] = 1,
    setting: SettingsOfAllBrokers = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Try only so many losses of each cluster, drawn at random.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn.")] = 0,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
) -> None:
    """Try every loss of brokers or racks on many clusters, in Spark's executors, and rank all of them.

    Each loss is answered as by kcsim what-if --lose any-1. DATASET gets a table `losses`, with a row for each cluster and
    loss: the partitions that are offline, below min.insync.replicas, or have lost records, and for how long some are
    unavailable.

    \b
    kcsim spark losses snapshots/ -o fleet
    kcsim spark losses east.json west.json --at-once 2 --sample 100 -o fleet

    Exit status: 0 written, 2 a job has failed, or a cluster did not come to rest, 4 KRaft controls a cluster, 64 wrong
    input.
    """
    from kcsim.scenarios.what_if.what_if_run import WhatIfQuestion

    question = WhatIfQuestion(settings=parse_settings(setting))
    refuse_existing(out)
    clusters = {str(file): read_simulated_snapshot(file) for file in _files(snapshots)}
    with session(master, conf, out, reads=()) as spark:
        from kcsim.scenarios.analysis.campaigns.fleet_losses import losses_of_fleet, ranked_losses
        from kcsim.scenarios.analysis.campaigns.gathering import run_once
        from kcsim.scenarios.analysis.tables.dataset import Dataset, being_written
        from kcsim.scenarios.analysis.tables.hadoop import hadoop_name
        from kcsim.scenarios.cli.spark.progress import progress

        with being_written(out) as where, progress(spark, "losses"):
            tried = run_once(losses_of_fleet(spark, clusters, at_once, question, sample, seed))
            by_cluster = tried.coalesce(1).sortWithinPartitions("cluster", "lost")
            by_cluster.write.parquet(hadoop_name(spark, Dataset(where).table(LOSSES)))
            total, failed = tried.count(), tried.where("error IS NOT NULL").collect()
            worst = [row.asDict() for row in ranked_losses(tried).limit(SHOWN).collect()]
    for line in _lines(worst):
        print(line)
    for row in failed:
        print(f"{row.cluster}: {row.lost}: {row.error}", file=sys.stderr)
    print(f"written: {out}, {total} losses of {len(clusters)} clusters", file=sys.stderr)
    if failed:
        raise CommandExit(ExitStatus.UNDECIDED)


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files of snapshots: those given, and those named *.json in folders."""
    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    if not files:
        fail(f"no file named *.json in {', '.join(map(str, paths))}", ExitStatus.USAGE)
    return files


def _lines(worst: Sequence[dict[str, Any]]) -> Iterator[str]:
    from kcsim.scenarios.analysis.campaigns.fleet_losses import PARTITIONS
    from kcsim.scenarios.views.narration.story_words import duration
    from kcsim.scenarios.views.terminal.table import table

    header = ("cluster", "lost", "offline", "unclean", "below min ISR", "unavailable", "longest")
    rows = []
    for row in worst:
        longest = duration(row["longest_unavailable_ms"]) if row["longest_unavailable_ms"] else "-"
        counts = [len(row[name]) for name in PARTITIONS]
        rows.append((row["cluster"], row["lost"], *counts, row["unavailable"], longest))
    yield from table(header, rows)
