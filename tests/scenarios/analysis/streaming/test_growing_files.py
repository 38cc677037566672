"""How far files that grow can be read: whole lines, at most so many bytes, and no file that is another than before."""

from pathlib import Path

import pytest

from kcsim.scenarios.analysis.streaming.growing_files import GrowingFiles, Places, ReplacedFileError

ALL = 1 << 40
LINES = b"".join(b'{"seq":%d}\n' % number for number in range(100))


def ends(places: Places) -> dict[str, int]:
    return {Path(path).name: place["end"] for path, place in places.items()}


def test_a_last_line_is_read_when_its_end_has_been_written(tmp_path: Path) -> None:
    log = tmp_path / "up.jsonl"
    log.write_bytes(LINES + b'{"seq":10')
    places = GrowingFiles(log).further({}, ALL)
    assert ends(places) == {"up.jsonl": len(LINES)}
    assert GrowingFiles(log).further(places, ALL) == places
    with log.open("ab") as file:
        file.write(b"0}\n")
    assert ends(GrowingFiles(log).further(places, ALL)) == {"up.jsonl": len(LINES) + len(b'{"seq":100}\n')}


def test_a_file_without_a_whole_line_does_not_exist_yet(tmp_path: Path) -> None:
    log = tmp_path / "up.jsonl"
    log.write_bytes(b'{"seq":0')
    assert GrowingFiles(log).further({}, ALL) == {}
    assert GrowingFiles(log).left({}) == 8


@pytest.mark.parametrize("most", [1, 10, 11, 500])
def test_so_many_bytes_are_read_at_a_time_and_never_half_a_line(tmp_path: Path, most: int) -> None:
    """A line that is longer than the limit is read whole."""
    log = tmp_path / "up.jsonl"
    log.write_bytes(LINES)
    places: Places = {}
    read, at = b"", 0
    while at < len(LINES):
        places = GrowingFiles(log).further(places, most)
        end = ends(places)["up.jsonl"]
        assert at < end <= max(at + most, LINES.index(b"\n", at) + 1)
        read, at = read + LINES[at:end], end
        assert LINES[end - 1 : end] == b"\n"
    assert read == LINES


def test_parts_of_a_file_leave_nothing_out(tmp_path: Path) -> None:
    log = tmp_path / "up.jsonl"
    log.write_bytes(LINES)
    start = GrowingFiles(log).further({}, 200)
    found = GrowingFiles(log).parts(start, GrowingFiles(log).further(start, ALL), "live", 100)
    edges = [(part.split.start, part.split.end) for part in found]
    assert len(edges) > 3
    assert edges[0][0] == ends(start)["up.jsonl"]
    assert edges[-1][1] == len(LINES)
    assert [end for _, end in edges[:-1]] == [begin for begin, _ in edges[1:]]


def test_files_appear_and_keep_the_names_of_their_runs(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "up.jsonl").write_bytes(LINES)
    places = GrowingFiles(tmp_path).further({}, ALL)
    (tmp_path / "a").mkdir()
    for name in ("a/up.jsonl", "a/other.jsonl", "a/.hidden.jsonl", "a/notes.txt"):
        (tmp_path / name).write_bytes(LINES)
    runs = {
        str(Path(path).relative_to(tmp_path)): place["run"]
        for path, place in GrowingFiles(tmp_path).further(places, ALL).items()
    }
    assert runs == {"b/up.jsonl": "up", "a/up.jsonl": "up-2", "a/other.jsonl": "other"}


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (LINES[:50], "has become shorter"),
        (b"another log\n" + LINES, "has been replaced"),
        (None, "is gone"),
    ],
)
def test_a_file_that_is_not_the_one_that_was_read_is_an_error(tmp_path: Path, content: bytes | None, what: str) -> None:
    log, other = tmp_path / "up.jsonl", tmp_path / "other.jsonl"
    log.write_bytes(LINES)
    other.write_bytes(LINES)
    places = GrowingFiles(tmp_path).further({}, ALL)
    if content is None:
        log.unlink()
    else:
        log.write_bytes(content)
    with pytest.raises(ReplacedFileError, match=what):
        GrowingFiles(tmp_path).further(places, ALL)
