"""The wire format, byte by byte, from ZooKeeper's own description of it (zookeeper.jute)."""

import pytest

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.errors import BadVersionError, NoNodeError, RolledBackError, RuntimeInconsistencyError, SessionExpiredError
from kcsim.zk.live import wire
from kcsim.zk.operations import (
    Check,
    Checked,
    ChildrenRead,
    Create,
    Created,
    DataRead,
    Delete,
    Deleted,
    GetChildren,
    GetData,
    Multi,
    MultiDone,
    MultiRead,
    MultiReadDone,
    SetData,
    Stat,
)

STAT = Stat(Zxid(1), Zxid(2), 3, 4, ZkVersion(5), 6, 7, SessionId(-8), 9, 10, Zxid(11))
STAT_BYTES = bytes.fromhex(
    "0000000000000001 0000000000000002 0000000000000003 0000000000000004"
    "00000005 00000006 00000007 fffffffffffffff8 00000009 0000000a 000000000000000b"
)
NULL = b"\xff\xff\xff\xff"
OPEN_ACL_UNSAFE = bytes.fromhex("00000001 0000001f 00000005") + b"world" + b"\0\0\0\6anyone"
END = bytes.fromhex("ffffffff 01 ffffffff")


def vector(*texts: bytes) -> bytes:
    return b"".join(len(text).to_bytes(4, "big") + text for text in texts)


@pytest.mark.parametrize(
    ("ephemeral", "sequential", "flags"), [(False, False, 0), (True, False, 1), (False, True, 2), (True, True, 3)]
)
def test_a_create_asks_for_the_stat(ephemeral: bool, sequential: bool, flags: int) -> None:
    """Operation 15; world:anyone has all permissions, Kafka's default."""
    code, body = wire.encode(Create("/a", b"x", ephemeral, sequential), "")
    assert (code, body) == (15, vector(b"/a", b"x") + OPEN_ACL_UNSAFE + bytes([0, 0, 0, flags]))


def test_null_data_has_length_minus_one_and_empty_data_length_zero() -> None:
    assert wire.encode(SetData("/a", None), "") == (5, vector(b"/a") + NULL + NULL)
    assert wire.encode(SetData("/a", b""), "") == (5, vector(b"/a", b"") + NULL)


def test_the_chroot_goes_before_every_path_and_in_place_of_the_root() -> None:
    assert wire.encode(Delete("/a", ZkVersion(3)), "/c") == (2, vector(b"/c/a") + b"\0\0\0\3")
    assert wire.encode(GetChildren("/", watch=True), "/c") == (12, vector(b"/c") + b"\1")


def test_a_multi_is_its_operations_each_with_a_head_and_an_end() -> None:
    code, body = wire.encode(Multi((Check("/a", ZkVersion(7)), Delete("/b"))), "")
    head = bytes.fromhex("00 ffffffff")
    assert code == 14
    assert body == b"\0\0\0\x0d" + head + vector(b"/a") + b"\0\0\0\7" + b"\0\0\0\2" + head + vector(b"/b") + NULL + END


def test_a_multi_read_never_asks_for_watches() -> None:
    code, body = wire.encode(MultiRead((GetData("/a", watch=True), GetChildren("/b", watch=True))), "")
    head = bytes.fromhex("00 ffffffff")
    assert code == 22
    assert body == b"\0\0\0\4" + head + vector(b"/a") + b"\0" + b"\0\0\0\x08" + head + vector(b"/b") + b"\0" + END


def test_an_error_names_the_path_that_was_asked_about() -> None:
    assert wire.decode(GetData("/a"), "/c", Zxid(1), -101, b"", 0) == NoNodeError("/a")
    assert wire.decode(Multi((Delete("/a"),)), "", Zxid(1), -112, b"", 0) == SessionExpiredError(None)


def test_a_created_path_comes_back_without_the_chroot() -> None:
    body = vector(b"/c/n-0000000007") + STAT_BYTES
    assert wire.decode(Create("/n-"), "/c", Zxid(9), 0, body, 0) == Created("/n-0000000007", STAT, Zxid(9))


def test_a_stat_is_read_field_by_field() -> None:
    body = NULL + STAT_BYTES
    assert wire.decode(GetData("/a"), "", Zxid(9), 0, body, 0) == DataRead("/a", None, STAT, Zxid(9))


def test_children_are_sorted() -> None:
    body = b"\0\0\0\2" + vector(b"b", b"a") + STAT_BYTES
    assert wire.decode(GetChildren("/"), "", Zxid(9), 0, body, 0) == ChildrenRead("/", ("a", "b"), STAT, Zxid(9))


def test_a_multi_s_results_stand_for_its_operations() -> None:
    head = bytes.fromhex("00 00000000")
    body = b"\0\0\0\x0d" + head + b"\0\0\0\1" + head + vector(b"/c/a") + b"\0\0\0\2" + head + END
    ops = (Check("/x", ZkVersion(1)), Create("/a"), Delete("/b"))
    done = wire.decode(Multi(ops), "/c", Zxid(9), 0, body, 0)
    assert done == MultiDone((Checked("/x", Zxid(9)), Created("/a", None, Zxid(9)), Deleted("/b", Zxid(9))), None, Zxid(9))


def test_a_refused_multi_s_error_is_that_of_the_operation_that_failed() -> None:
    """Codes 0 and -2 belong to the other operations."""
    results = b"".join(NULL + b"\0" + code * 2 for code in (b"\0\0\0\0", b"\xff\xff\xff\x99", b"\xff\xff\xff\xfe"))
    ops = (Delete("/a"), SetData("/b", b""), Delete("/c"))
    done = wire.decode(Multi(ops), "", Zxid(9), 0, results + END, 0)
    errors = RolledBackError("/a"), BadVersionError("/b"), RuntimeInconsistencyError("/c")
    assert done == MultiDone(errors, BadVersionError("/b"), Zxid(9))


def test_a_multi_read_mixes_data_children_and_errors() -> None:
    head = bytes.fromhex("00 00000000")
    missing = NULL + b"\0" + b"\xff\xff\xff\x9b" * 2
    body = (
        b"\0\0\0\4" + head + vector(b"xyz") + STAT_BYTES + missing + b"\0\0\0\x08" + head + b"\0\0\0\2" + vector(b"b", b"a")
    )
    done = wire.decode(MultiRead((GetData("/a"), GetData("/b"), GetChildren("/c"))), "", Zxid(9), 0, body + END, 0)
    results = DataRead("/a", b"xyz", STAT, Zxid(9)), NoNodeError("/b"), ChildrenRead("/c", ("a", "b"), None, Zxid(9))
    assert done == MultiReadDone(results, Zxid(9))


def test_a_frame_begins_with_its_length_xid_and_operation() -> None:
    assert wire.frame(5, wire.SYNC, b"body") == bytes.fromhex("0000000c 00000005 00000009") + b"body"


def test_a_watch_event_is_read_from_behind_the_reply_header() -> None:
    body = b"header.." + bytes.fromhex("00000003 00000003") + vector(b"/a")
    assert wire.decode_event(body, 8) == wire.WireWatchEvent(3, "/a")


def test_a_refused_take_up_grants_no_time() -> None:
    body = bytes.fromhex("00000000 00000000 0000000000000000") + vector(bytes(16))
    assert wire.decode_connected(body) == (0, 0)
