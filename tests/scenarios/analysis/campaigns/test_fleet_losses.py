"""kcsim spark losses: each cluster's losses are those of kcsim what-if, and all clusters are ranked together."""

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.snapshots.snapshot_format import encode_snapshot
from kcsim.scenarios.what_if.loss_ranking import effect_of, ranked
from kcsim.scenarios.what_if.losses import any_losses
from kcsim.scenarios.what_if.what_if_run import WhatIfQuestion
from tests.scenarios.cli.live_cluster import kcsim
from tests.scenarios.what_if.test_what_if_run import CLUSTER

CLICKS_ALONE = msgspec.structs.replace(CLUSTER, topics=CLUSTER.topics[1:])


@pytest.mark.slow
def test_the_losses_of_all_clusters_are_those_of_each_ranked_together(spark: SparkSession, tmp_path: Path) -> None:
    folder, out = tmp_path / "fleet", tmp_path / "losses"
    folder.mkdir()
    clusters = {str(folder / "east.json"): CLUSTER, str(folder / "west.json"): CLICKS_ALONE}
    for file, snapshot in clusters.items():
        Path(file).write_bytes(encode_snapshot(snapshot))

    result = kcsim("spark", "losses", str(folder), "-o", str(out))
    assert result.exit_code == 0, result.output

    effects = {
        file: [effect_of(snapshot, WhatIfQuestion(), loss) for loss in any_losses(1, snapshot).losses]
        for file, snapshot in clusters.items()
    }
    written = {(row.cluster, row.lost): row for row in spark.read.parquet(str(out / "losses")).collect()}
    assert written.keys() == {(file, effect.what) for file, of in effects.items() for effect in of}
    for file, of in effects.items():
        for effect in of:
            row = written[file, effect.what]
            assert (tuple(row.offline), tuple(row.below_min_isr)) == (effect.offline, effect.below_min_isr)
            assert (row.error, row.longest_unavailable_ms) == (None, effect.longest_unavailable_ms)
    worst = ranked([effect for of in effects.values() for effect in of])[0]
    _, first, *_ = result.stdout.splitlines()
    assert first.split()[:3] == [str(folder / "east.json"), *worst.what.split()]


def test_a_folder_without_snapshots_is_refused(tmp_path: Path) -> None:
    result = kcsim("spark", "losses", str(tmp_path), "-o", str(tmp_path / "out"))
    assert (result.exit_code, result.stdout) == (64, "")
    assert "no file named *.json in" in result.stderr
