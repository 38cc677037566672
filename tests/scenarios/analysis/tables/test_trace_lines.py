"""JSONL is read as strictly as everywhere else, and reading goes on after a line that is no event."""

import gzip
import re
import tempfile
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.eventlog.event_log import BadTraceError, read_trace
from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.tables.rejects_table import TEXT_LENGTH, Reject
from kcsim.scenarios.analysis.tables.trace_files import Split, Trace, splits_of
from kcsim.scenarios.analysis.tables.trace_lines import has_long_number, read_lines
from tests.scenarios.analysis.synthetic_traces import BROKEN, NEWER, event, line, started


def a_trace(path: Path, content: bytes) -> Trace:
    path.write_bytes(content)
    return Trace(str(path), "b", "r", len(content))


def all_of(*splits: Split) -> tuple[list[Event], list[Reject]]:
    events: list[Event] = []
    rejects: list[Reject] = []
    for split in splits:
        for portion in read_lines(split):
            events += [msgspec.convert(row, Event) for row in portion.events.to_pylist()] if portion.events else []
            rejects += portion.rejects
    return events, rejects


@pytest.mark.parametrize(("broken", "reason"), BROKEN.items(), ids=lambda value: str(value)[:40])
def test_a_line_that_is_no_event_is_rejected_with_its_number_and_reason(tmp_path: Path, broken: bytes, reason: str) -> None:
    trace = a_trace(tmp_path / "r.jsonl", line(started()) + line(event(1)) + broken + line(event(4)))
    events, rejects = all_of(Split(trace))
    assert [e.seq for e in events] == [0, 1, 4]
    assert [(r.batch, r.run, r.file, r.line, r.reason) for r in rejects] == [("b", "r", trace.path, 3, reason)]
    assert rejects[0].text == broken.decode(errors="replace").rstrip("\n")


@pytest.mark.parametrize("broken", [b for b, reason in BROKEN.items() if reason != "out of range"])
def test_what_is_rejected_here_is_refused_everywhere_in_the_same_words(tmp_path: Path, broken: bytes) -> None:
    """A negative seq and a number beyond 64 bits are the exceptions: JSON can hold them, and no column of a table can."""
    trace = a_trace(tmp_path / "r.jsonl", broken)
    with pytest.raises(BadTraceError) as refused:
        list(read_trace(Path(trace.path)))
    assert str(refused.value).endswith(all_of(Split(trace))[1][0].detail)


def test_a_trace_that_breaks_off_says_so(tmp_path: Path) -> None:
    events, rejects = all_of(Split(a_trace(tmp_path / "r.jsonl", line(event(1)) + line(event(2))[:20])))
    assert ([e.seq for e in events], [(r.line, r.reason) for r in rejects]) == ([1], [(2, "broken off")])


def test_of_a_newer_version_nothing_is_taken(tmp_path: Path) -> None:
    """A newer version may have unknown columns that change the meaning of the known ones."""
    events, rejects = all_of(Split(a_trace(tmp_path / "r.jsonl", NEWER + line(event(1)) + b'{"seq":2,"new":1}\n')))
    assert events == []
    assert {(r.line, r.reason) for r in rejects} == {(1, "newer version"), (2, "newer version"), (3, "newer version")}
    assert "version 99" in rejects[1].detail


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    _, rejects = all_of(Split(a_trace(tmp_path / "r.jsonl", b"x" * 5_000 + b"\n")))
    assert rejects[0].text == "x" * TEXT_LENGTH


LINES = st.lists(st.sampled_from([line(event(1)), line(event(22, detail="ü\u2028")), *BROKEN]), min_size=1, max_size=12)


@given(LINES, st.integers(1, 300), st.booleans())
def test_a_trace_that_is_read_in_parts_gives_what_it_gives_in_one(lines: list[bytes], split_bytes: int, ends: bool) -> None:
    """Each line is read by the part in which it begins, and has the line number that it has in the whole file."""
    content = b"".join(lines) if ends else b"".join(lines)[:-1]
    with tempfile.TemporaryDirectory() as directory:
        trace = a_trace(Path(directory, "r.jsonl"), content)
        if content:
            assert all_of(*splits_of(trace, split_bytes)) == all_of(Split(trace))


def test_a_part_of_a_newer_version_is_known_by_the_beginning_of_the_file(tmp_path: Path) -> None:
    trace = a_trace(tmp_path / "r.jsonl", NEWER + line(event(1)) * 9)
    events, rejects = all_of(*list(splits_of(trace, 100))[1:])
    assert events == []
    assert {r.reason for r in rejects} == {"newer version"}


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_traces_are_read_as_they_are(tmp_path: Path, suffix: str) -> None:
    content = line(started()) + b"garbage\n" + line(event(7))
    packed = gzip.compress(content) if suffix == ".gz" else pa.compress(content, "zstd", asbytes=True)
    events, rejects = all_of(*splits_of(a_trace(tmp_path / f"r.jsonl{suffix}", packed), 1))
    assert ([e.seq for e in events], [r.line for r in rejects]) == ([0, 7], [2])


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_compressed_trace_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path, suffix: str) -> None:
    content = b"".join(line(event(seq, detail=str(seq**9))) for seq in range(6_000))
    packed = gzip.compress(content) if suffix == ".gz" else pa.compress(content, "zstd", asbytes=True)
    events, rejects = all_of(Split(a_trace(tmp_path / f"r.jsonl{suffix}", packed[: len(packed) // 2])))
    assert [e.seq for e in events] == list(range(len(events)))
    assert 0 < len(events) < 6_000
    assert [(r.line, r.reason) for r in rejects] == [(None, "unreadable file")]


def test_a_file_that_is_not_what_its_name_says_is_a_reject(tmp_path: Path) -> None:
    events, rejects = all_of(Split(a_trace(tmp_path / "r.jsonl.gz", b"no gzip at all")))
    assert (events, [r.reason for r in rejects]) == ([], ["unreadable file"])


@given(st.lists(st.sampled_from([b"x", b"7", b"0" * 16, b"1" * 18, b"9" * 19, b":/-\xff"]), max_size=6).map(b"".join))
def test_a_long_number_is_found_wherever_it_is(text: bytes) -> None:
    assert has_long_number(text) == (re.search(rb"[0-9]{19}", text) is not None)
