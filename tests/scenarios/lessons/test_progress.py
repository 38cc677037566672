"""The progress of a reader: where it is kept, and what survives."""

from pathlib import Path

import pytest

from kcsim.scenarios.lessons.progress import LessonProgress, keep_progress, progress_file, read_progress

DONE, BEGUN = LessonProgress(questions=6, asked=6, right=4), LessonProgress(questions=6, asked=2, right=2)


def test_it_is_kept_in_the_state_directory(state_home: Path) -> None:
    assert progress_file() == state_home / "kcsim" / "lessons.json"


@pytest.mark.parametrize("given", [None, "", "relative/state"])
def test_without_a_state_directory_it_is_kept_in_the_home(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The XDG specification has relative paths ignored."""
    if given is None:
        monkeypatch.delenv("XDG_STATE_HOME")
    else:
        monkeypatch.setenv("XDG_STATE_HOME", given)
    monkeypatch.setenv("HOME", "/home/reader")
    assert progress_file() == Path("/home/reader/.local/state/kcsim/lessons.json")


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "lessons.json"
    keep_progress(file, "watches", DONE)
    keep_progress(file, "deletion", BEGUN)
    assert read_progress(file) == {"deletion": BEGUN, "watches": DONE}
    assert [path.name for path in file.parent.iterdir()] == ["lessons.json"]


def test_a_lesson_that_is_begun_again_stays_done(tmp_path: Path) -> None:
    keep_progress(tmp_path / "p.json", "watches", DONE)
    keep_progress(tmp_path / "p.json", "watches", BEGUN)
    assert read_progress(tmp_path / "p.json") == {"watches": DONE}


def test_a_lesson_without_an_answer_is_not_begun(tmp_path: Path) -> None:
    keep_progress(tmp_path / "p.json", "watches", LessonProgress(questions=6, asked=0, right=0))
    assert not (tmp_path / "p.json").exists()


@pytest.mark.parametrize("content", ["", "no JSON", "[]", '{"watches": 3}', '{"watches": {"asked": 1}}'])
def test_a_file_of_another_format_is_no_progress(tmp_path: Path, content: str) -> None:
    file = tmp_path / "p.json"
    file.write_text(content)
    assert read_progress(file) == {}
