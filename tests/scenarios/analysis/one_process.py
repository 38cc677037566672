"""The replay of partitioned files in this process, without Spark, to compare Spark's replay with."""

from collections.abc import Iterable, Iterator

from kcsim.scenarios.analysis.folding.folding_runs import Rows, fold_of_many
from kcsim.scenarios.analysis.folding.folds import fold_for
from kcsim.scenarios.analysis.folding.timeline import Run, Timeline
from kcsim.scenarios.analysis.folding.timeline_builder import timelines_of
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.analysis.partitioned_files import rows_of_files
from kcsim.scenarios.analysis.replay_files import ReplayCounts, replay_file, sum_counts
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.location import Location


def replay_in_one_process(files: Iterable[Location | str], what_if: WhatIf | None = None) -> Iterator[Rows]:
    """Yield the transitions and mismatches of one partition after the other."""
    paths = list(files)
    return fold_of_many(rows_of_files(paths, of_partitions=True), _timelines(paths), fold_for(what_if))


def replay_to_in_one_process(files: Iterable[Location | str], to: Dataset, what_if: WhatIf | None = None) -> ReplayCounts:
    """Replay the files and write the transitions and mismatches into the dataset `to`."""
    paths = list(files)
    timelines = _timelines(paths)
    return sum_counts([replay_file(path, number, to, timelines, fold_for(what_if)) for number, path in enumerate(paths)])


def _timelines(paths: Iterable[Location | str]) -> dict[Run, Timeline]:
    return timelines_of(rows_of_files(paths, of_partitions=False))
