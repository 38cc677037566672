"""Frames are found however the stream is cut into chunks, and the stream stays unchanged."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.zk.proxy.frames import FrameInspection, FrameScanner, Piece

HEAD = 8
HANDSHAKE = b"\0\0\0\x14" + b"h" * 20


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def look_by_first_byte(length: int, head: bytes) -> FrameInspection:
    return (
        [FrameInspection.NOTHING, FrameInspection.HEAD, FrameInspection.WHOLE][head[0] % 3]
        if head
        else FrameInspection.NOTHING
    )


def expected_of(body: bytes) -> list[bytes]:
    look = look_by_first_byte(len(body), body[:HEAD])
    return [] if look is FrameInspection.NOTHING else [body[:HEAD] if look is FrameInspection.HEAD else body]


def scanned(scanner: FrameScanner, stream: bytes, cuts: list[int]) -> list[Piece]:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    return [piece for begin, end in pairwise(edges) for piece in scanner.feed(stream[begin:end])]


@given(bodies=st.lists(st.binary(max_size=30), max_size=8), cuts=st.lists(st.integers(0, 300), max_size=20))
def test_any_chunks_give_the_same_frames_and_the_same_bytes(bodies: list[bytes], cuts: list[int]) -> None:
    stream = HANDSHAKE + b"".join(map(framed, bodies))
    scanner = FrameScanner(HEAD, look_by_first_byte)
    pieces = scanned(scanner, stream, cuts)
    assert [seen for _, seen in pieces if seen is not None] == [b"h" * 20, *(s for b in bodies for s in expected_of(b))]
    assert b"".join(raw for raw, _ in pieces) == stream
    assert scanner.rest() == b""


@given(stream=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=20))
def test_no_bytes_whatever_are_lost_doubled_or_moved(stream: bytes, cuts: list[int]) -> None:
    """Most of these streams do not follow the protocol, or end in the middle of a frame."""
    for begin in (b"", HANDSHAKE):
        scanner = FrameScanner(HEAD, look_by_first_byte)
        pieces = scanned(scanner, begin + stream, cuts)
        assert b"".join(raw for raw, _ in pieces) + scanner.rest() == begin + stream


def test_a_frame_that_is_seen_begins_a_piece() -> None:
    """The observer of the frame can therefore hold it back."""
    scanner = FrameScanner(2, look_by_first_byte)
    before, head, whole = framed(b"\x00abc"), framed(b"\x01abc"), framed(b"\x02abc")
    assert list(scanner.feed(HANDSHAKE + before + before + head + whole + before)) == [
        (HANDSHAKE, b"h" * 20),
        (before + before, None),
        (head, b"\x01a"),
        (whole, b"\x02abc"),
        (before, None),
    ]


def test_what_nobody_wants_to_see_goes_on_before_it_is_whole() -> None:
    """A frame may be longer than memory."""
    scanner = FrameScanner(2, look_by_first_byte)
    list(scanner.feed(HANDSHAKE))
    begin = b"\x40\0\0\0" + b"\0x"
    assert list(scanner.feed(begin)) == [(begin, None)]
    assert list(scanner.feed(b"more")) == [(b"more", None)]


def test_what_is_to_be_seen_whole_is_kept_back_until_it_is() -> None:
    scanner = FrameScanner(2, look_by_first_byte)
    list(scanner.feed(HANDSHAKE))
    frame = framed(b"\x02abc")
    assert [list(scanner.feed(frame[at : at + 1])) for at in range(len(frame))] == [[]] * 7 + [[(frame, b"\x02abc")]]


def test_it_is_asked_anew_for_each_frame() -> None:
    """Whether a frame is of interest may depend on the processing of the previous one."""
    asked = iter([FrameInspection.NOTHING, FrameInspection.WHOLE])
    scanner = FrameScanner(1, lambda *_: next(asked))
    assert [seen for _, seen in scanner.feed(HANDSHAKE + framed(b"a") + framed(b"b"))] == [b"h" * 20, None, b"b"]


@pytest.mark.parametrize(
    "word", [b"ruok", b"srvr", b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01", b"\0\0\0\0", b"\xff" * 9]
)
def test_a_stream_that_begins_with_no_handshake_has_no_frames(word: bytes) -> None:
    """A four-letter word is four bytes and then silence: it must not be held back."""
    scanner = FrameScanner(HEAD, look_by_first_byte)
    assert list(scanner.feed(word)) == [(word, None)]
    assert scanner.is_raw


def test_a_frame_of_negative_length_ends_all_understanding_and_not_the_stream() -> None:
    scanner = FrameScanner(HEAD, look_by_first_byte)
    garbage = b"\xff\xff\xff\xfe" + framed(b"\x02abc")
    assert list(scanner.feed(HANDSHAKE + garbage)) == [(HANDSHAKE, b"h" * 20), (garbage, None)]
    assert list(scanner.feed(framed(b"\x02abc"))) == [(framed(b"\x02abc"), None)]


def test_once_given_up_nothing_is_kept_back() -> None:
    scanner = FrameScanner(HEAD, look_by_first_byte)
    assert list(scanner.feed(b"\0\0")) == []
    scanner.give_up()
    assert list(scanner.feed(b"x")) == [(b"\0\0x", None)]
