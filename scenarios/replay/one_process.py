"""The replay in one Python process, without Spark: for histories of ordinary size, and to hold Spark's against.

The files are as laid_out.py has them: `DIR/events/batch=NAME/part-*.parquet` of a generated dataset. They are read twice,
first for the timelines; one partition is in memory.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from kcsim.scenarios.replay.collector import collector_at_rest
from kcsim.scenarios.replay.folding.folding_runs import Rows, fold_of_many
from kcsim.scenarios.replay.folding.folds import fold_for
from kcsim.scenarios.replay.folding.timeline import Run, Timeline
from kcsim.scenarios.replay.folding.timeline_builder import timelines_of
from kcsim.scenarios.replay.folding.what_if import WhatIf
from kcsim.scenarios.replay.laid_out import Replayed, replay_file, rows_of_files, summed


def replay_in_one_process(files: Iterable[Path | str], what_if: WhatIf | None = None) -> Iterator[Rows]:
    """What comes of one partition after the other."""
    paths = list(files)
    return fold_of_many(rows_of_files(paths, of_partitions=True), _timelines(paths), fold_for(what_if))


def replay_to_in_one_process(files: Iterable[Path | str], to: Path | str, what_if: WhatIf | None = None) -> Replayed:
    """The same, written into the dataset `to`."""
    paths = list(files)
    timelines = _timelines(paths)
    return summed([replay_file(path, number, to, timelines, fold_for(what_if)) for number, path in enumerate(paths)])


def _timelines(paths: Iterable[Path | str]) -> dict[Run, Timeline]:
    with collector_at_rest():
        return timelines_of(rows_of_files(paths, of_partitions=False))
