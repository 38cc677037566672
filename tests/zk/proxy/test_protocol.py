"""The writes of a request, parsed from its bytes as zookeeper.jute describes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.vocabulary import SessionId, ZkVersion
from kcsim.zk.live import wire
from kcsim.zk.operations import Check, Create, Delete, Exists, GetData, Multi, MultiRead, Request, SetData, Sync
from kcsim.zk.proxy.protocol import ConnectResponse, ProxiedWrite, granted_session, requested_session, writes_of

NULL = b"\xff\xff\xff\xff"
PASSWORD = bytes(range(16))


def request(request: Request, chroot: str = "") -> bytes:
    code, body = wire.encode(request, chroot)
    return wire.frame(7, code, body)[4:]


def text(value: bytes) -> bytes:
    return len(value).to_bytes(4, "big") + value


def head(code: int) -> bytes:
    return (7).to_bytes(4, "big") + code.to_bytes(4, "big", signed=True)


EVERY_WRITE = Multi(
    (
        Check("/a", ZkVersion(3)),
        Create("/b", b"x", ephemeral=True),
        SetData("/c", None),
        Delete("/d", ZkVersion(0)),
        Create("/e"),
    )
)


@pytest.mark.parametrize(
    ("asked", "write"),
    [
        (Create("/a", b"x"), ProxiedWrite("create", "/a", b"x")),
        (Create("/a-", None, ephemeral=True, sequential=True), ProxiedWrite("create", "/a-", None)),
        (SetData("/a", b"", ZkVersion(4)), ProxiedWrite("set", "/a", b"", ZkVersion(4))),
        (SetData("/a", None), ProxiedWrite("set", "/a", None, ZkVersion(-1))),
        (Delete("/ä", ZkVersion(2)), ProxiedWrite("delete", "/ä", None, ZkVersion(2))),
    ],
)
def test_a_write_is_read_field_by_field(asked: Request, write: ProxiedWrite) -> None:
    assert writes_of(request(asked), "") == (write,)


def test_a_multi_has_all_its_writes_in_order_and_its_conditions() -> None:
    assert writes_of(request(EVERY_WRITE), "") == (
        ProxiedWrite("check", "/a", None, ZkVersion(3)),
        ProxiedWrite("create", "/b", b"x"),
        ProxiedWrite("set", "/c", None, ZkVersion(-1)),
        ProxiedWrite("delete", "/d", None, ZkVersion(0)),
        ProxiedWrite("create", "/e", None),
    )


ACL = bytes.fromhex("00000002 0000001f") + text(b"world") + text(b"anyone") + b"\0\0\0\1" + text(b"digest") + text(b"u:p")
END_OF_OPS = b"\xff\xff\xff\xff\x01\xff\xff\xff\xff"


@pytest.mark.parametrize("code", [1, 15, 19, 21])
def test_every_kind_of_create_is_one_alone_and_in_a_multi(code: int) -> None:
    """Plain, with the stat in its answer, of a container, with a time to live: only the last is longer."""
    body = text(b"/a") + text(b"x") + ACL + b"\0\0\0\5" + (b"\0" * 8 if code == 21 else b"")
    delete = b"\0\0\0\2\0" + NULL + text(b"/b") + NULL
    multi = code.to_bytes(4, "big") + b"\0" + NULL + body + delete + END_OF_OPS
    assert writes_of(head(code) + body, "") == (ProxiedWrite("create", "/a", b"x"),)
    assert [write.path for write in writes_of(head(14) + multi, "")] == ["/a", "/b"]


@pytest.mark.parametrize(
    "asked", [Exists("/a"), GetData("/a", watch=True), Sync("/a"), MultiRead((GetData("/a"),)), Multi(())]
)
def test_what_writes_nothing_has_no_writes(asked: Request) -> None:
    assert writes_of(request(asked), "") == ()


@pytest.mark.parametrize(("on_the_wire", "path"), [("/c/a", "/a"), ("/c", "/"), ("/ca", "/ca"), ("/b", "/b"), ("/", "/")])
def test_paths_are_below_the_chroot_unless_they_are_outside_it(on_the_wire: str, path: str) -> None:
    """A client may connect without the chroot, as Kafka does to create it."""
    assert [write.path for write in writes_of(request(Delete(on_the_wire)), "/c")] == [path]


def test_an_unknown_operation_in_a_multi_leaves_nothing_understood() -> None:
    delete = b"\0\0\0\2\0" + NULL + text(b"/b") + NULL
    assert writes_of(head(14) + delete + b"\0\0\0\x63\0" + NULL + delete + END_OF_OPS, "") == ()


def test_a_request_that_ends_too_soon_is_not_understood_and_no_error() -> None:
    whole = request(EVERY_WRITE)
    assert [end for end in range(len(whole)) if writes_of(whole[:end], "") != ()] == []


@given(code=st.sampled_from([1, 2, 5, 14, 15, 19, 21, 99]), body=st.binary(max_size=60))
def test_no_bytes_make_it_fail(code: int, body: bytes) -> None:
    assert isinstance(writes_of(head(code) + body, "/c"), tuple)
    assert requested_session(body) is None or len(body) >= 24
    assert granted_session(body) is None or len(body) >= 20


def test_who_takes_up_a_session_names_it_and_who_opens_one_does_not() -> None:
    assert requested_session(wire.encode_connect(SessionId(-5), PASSWORD, 4_000)[4:]) == -5
    assert requested_session(wire.encode_connect(SessionId(0), PASSWORD, 4_000)[4:]) is None


def test_the_server_s_answer_has_session_password_and_time_out() -> None:
    """Old servers send it without the byte for "read only", others with it."""
    answer = bytes.fromhex("00000000 00000fa0 0100000000000002") + text(PASSWORD)
    assert (
        granted_session(answer)
        == granted_session(answer + b"\0")
        == ConnectResponse(SessionId(0x0100000000000002), PASSWORD, 4_000)
    )
