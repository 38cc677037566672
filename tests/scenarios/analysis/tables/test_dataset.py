"""A dataset is created completely or not at all, and no existing dataset is overwritten."""

from pathlib import Path

import pytest

from kcsim.scenarios.analysis.tables.dataset import (
    KEPT_TABLES,
    Dataset,
    NoDatasetError,
    PathExistsError,
    being_written,
    has_kept_tables,
    mark_kept_tables,
    refuse_existing,
)


def test_what_is_written_is_there_at_the_end_and_not_before(tmp_path: Path) -> None:
    with being_written(tmp_path / "deep" / "runs") as folder:
        (folder / "events").mkdir()
        assert not (tmp_path / "deep" / "runs").exists()
    assert Dataset(tmp_path / "deep" / "runs").has("events")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["runs"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_nothing_behind(tmp_path: Path, failure: type[BaseException]) -> None:
    def half_written() -> None:
        with being_written(tmp_path / "runs") as folder:
            (folder / "half").write_text("")
            raise failure

    with pytest.raises(failure):
        half_written()
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for path in (tmp_path, tmp_path / "file", tmp_path / "dangling"):
        with pytest.raises(PathExistsError, match="nothing is overwritten"), being_written(path):
            pytest.fail("it has begun")
    with pytest.raises(PathExistsError):
        refuse_existing(tmp_path)
    assert (tmp_path / "file").read_text() == "mine"


def test_what_another_process_wrote_first_is_kept(tmp_path: Path) -> None:
    with pytest.raises(PathExistsError), being_written(tmp_path / "runs"):
        (tmp_path / "runs").write_text("theirs")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"runs": "theirs"}


def test_the_names_of_batches_are_as_they_were_given(tmp_path: Path) -> None:
    (tmp_path / "events" / "batch=a%3Ab c").mkdir(parents=True)
    assert Dataset(tmp_path).batches() == ["a:b c"]


def test_a_table_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoDatasetError, match="no table of transitions"):
        Dataset(tmp_path).require("transitions")


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 1}', b"[]", b"\xff"])
def test_tables_kept_by_another_version_or_marked_by_a_broken_file_do_not_count(tmp_path: Path, content: bytes) -> None:
    dataset = Dataset(tmp_path)
    assert not has_kept_tables(dataset)
    mark_kept_tables(dataset)
    assert has_kept_tables(dataset)
    (tmp_path / KEPT_TABLES).write_bytes(content)
    assert not has_kept_tables(dataset)
