"""Times and zxids as users write them, and a write's change of a znode, in words."""

import pytest

from kcsim.zk.capture.data_difference import change_text, shown
from kcsim.zk.capture.zxid_or_time import BadZxidOrTimeError, parse_time, parse_zxid, time_text


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("2024-05-01T12:30:00Z", 1_714_566_600_000),
        ("2024-05-01T12:30:00", 1_714_566_600_000),
        ("2024-05-01 12:30:00.125", 1_714_566_600_125),
        ("2024-05-01T14:30:00+02:00", 1_714_566_600_000),
        ("2024-05-01", 1_714_521_600_000),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, time_ms: int) -> None:
    assert parse_time(text) == time_ms
    assert parse_time(time_text(time_ms)) == time_ms


@pytest.mark.parametrize("text", ["yesterday", "", "12", "2024-13-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadZxidOrTimeError, match="is not a time: as 2024-05-01T12:30:00Z"):
        parse_time(text)


def test_a_zxid_is_hexadecimal() -> None:
    assert (parse_zxid("0x1a"), parse_zxid("0X100000001")) == (26, 2**32 + 1)
    for text in ("1a", "26", "0x", "0xg"):
        with pytest.raises(BadZxidOrTimeError, match="is not a zxid: as 0x1a"):
            parse_zxid(text)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (b'{"leader":1,"isr":[1,2],"v":1}', b'{"leader":2,"isr":[2],"v":1}', "leader 1 → 2, isr [1, 2] → [2]"),
        (b'{"partitions":{"0":[1],"1":[2]}}', b'{"partitions":{"0":[1],"1":[3]}}', "partitions.1 [2] → [3]"),
        (b'{"a":1}', b'{"b":"x"}', "b x is new, a 1 → gone"),
        (b'{"a":{"b":1}}', b'{"a":[]}', 'a {"b": 1} → []'),
        (b'{"a":1}', b'{ "a": 1 }', "(the same data)"),
        (b"1", b"2", "1 → 2"),
        (b"x", b"x", "(the same data)"),
        (None, b"", 'null → ""'),
        (b"\xff", b"line\nline", 'base64:/w== → "line\\nline"'),
        (b'{"a":1}', b"no json", '{"a":1} → no json'),
    ],
)
def test_a_change_is_described_field_by_field_where_it_has_fields(
    before: bytes | None, after: bytes | None, text: str
) -> None:
    assert change_text(before, after) == text


def test_data_stays_on_one_line() -> None:
    assert [shown(data) for data in (None, b"", b"a\nb", b"plain")] == ["null", '""', '"a\\nb"', "plain"]
