"""Which files are traces, how their runs are named, and which task reads which part."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.scenarios.analysis.tables.trace_files import NoTraceError, Split, Trace, find, group_splits, run_name, splits_of


def touched(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_folders_are_looked_through_for_traces(tmp_path: Path) -> None:
    touched(
        *(
            tmp_path / name
            for name in ("b.jsonl", "deep/er/a.parquet", "c.jsonl.gz", "README.md", ".hidden/d.jsonl", "_x.jsonl")
        )
    )
    datasets, traces = find([tmp_path], "b")
    assert (datasets, [t.run for t in traces]) == ([], ["b", "c", "a"])


def test_a_folder_with_a_table_of_events_is_a_dataset(tmp_path: Path) -> None:
    touched(tmp_path / "runs/events/batch=x/part-0.parquet")
    datasets, traces = find([tmp_path / "runs"])
    assert ([d.path for d in datasets], traces) == ([tmp_path / "runs"], [])
    assert datasets[0].batches() == ["x"]


def test_patterns_are_the_shell_s_and_nothing_is_read_twice(tmp_path: Path) -> None:
    touched(tmp_path / "one/a.jsonl", tmp_path / "two/b.jsonl")
    _, traces = find([str(tmp_path / "*/*.jsonl"), tmp_path / "one/a.jsonl"], "b")
    assert [t.run for t in traces] == ["a", "b"]


def test_runs_of_the_same_name_are_distinguished(tmp_path: Path) -> None:
    touched(*(tmp_path / name for name in ("a/run-2.jsonl", "b/run.jsonl", "c/run.parquet", "d/run.jsonl.zst")))
    _, traces = find([tmp_path], "b")
    assert {Path(t.path).parent.name: t.run for t in traces} == {"a": "run-2", "b": "run", "c": "run-3", "d": "run-4"}


def test_the_batch_is_the_day_that_a_trace_was_written_on_unless_it_is_given(tmp_path: Path) -> None:
    touched(tmp_path / "a.jsonl")
    os.utime(tmp_path / "a.jsonl", (0, 1_767_225_599))  # one second before 2026, UTC
    assert [t.batch for t in find([tmp_path])[1]] == ["2025-12-31"]
    assert [t.batch for t in find([tmp_path], "nightly")[1]] == ["nightly"]


@pytest.mark.parametrize("path", ["missing.jsonl", "missing/*.jsonl", "empty"])
def test_a_path_where_nothing_is_is_an_error(tmp_path: Path, path: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoTraceError, match=path.partition("*")[0]):
        find([tmp_path / path])


@pytest.mark.parametrize(
    ("name", "run"), [("a.jsonl", "a"), ("a.jsonl.gz", "a"), ("a.parquet", "a"), ("a.b.jsonl", "a.b"), ("a", "a")]
)
def test_a_run_is_called_as_its_file(name: str, run: str) -> None:
    assert run_name(Path("/x", name)) == run


def test_only_what_can_be_read_from_the_middle_is_split() -> None:
    sizes = {name: len(list(splits_of(Trace(name, "b", "r", 100), 30))) for name in ("a.jsonl", "a.jsonl.gz", "a.parquet")}
    assert sizes == {"a.jsonl": 4, "a.jsonl.gz": 1, "a.parquet": 1}


@given(st.lists(st.integers(0, 50)), st.integers(1, 60))
def test_splits_are_shared_out_in_their_order_and_to_about_the_same_size(sizes: list[int], target: int) -> None:
    splits = [Split(Trace(f"{place}.jsonl", "b", "r", size)) for place, size in enumerate(sizes)]
    groups = group_splits(splits, target)
    assert [split for group in groups for split in group] == splits
    assert all(len(group) == 1 or sum(split.trace.size for split in group) <= target for group in groups)
    assert all(sum(s.trace.size for s in one) + two[0].trace.size > target for one, two in pairwise(groups))
