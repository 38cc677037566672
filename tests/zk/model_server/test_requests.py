"""The model's decoding of requests: what the live client encodes is what the server reads."""

from struct import pack

import pytest

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.live.wire import encode, encode_connect
from kcsim.zk.model_server.requests import BadFrameError, Reader, connect_request
from kcsim.zk.operations import (
    Acl,
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Request,
    SetData,
    Sync,
)

PRIVATE = (Acl(31, "digest", "me:hash"), Acl(1, "world", "anyone"))
REQUESTS: list[Request] = [
    Create("/a", None),
    Create("/a", b"x", ephemeral=True, sequential=True),
    Create("/a", b"", sequential=True, acl=PRIVATE),
    Create("/a", is_container=True),
    Create("/a", ttl_ms=5_000),
    Create("/a", sequential=True, ttl_ms=5_000),
    Delete("/a", ZkVersion(3)),
    SetData("/ä", None, ZkVersion(0)),
    SetData("/a", b"x"),
    Exists("/a", watch=True),
    GetData("/a"),
    GetChildren("/a", watch=True),
    Sync("/a"),
    Multi((Create("/a", b"x", acl=PRIVATE), Check("/a", ZkVersion(0)), SetData("/a", b"y"), Delete("/a"))),
    Multi((Create("/a", is_container=True), Create("/b", ttl_ms=7))),
    Multi(()),
    MultiRead((GetData("/a"), GetChildren("/b"))),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=repr)
def test_a_request_is_read_as_it_was_encoded(request_: Request) -> None:
    code, body = encode(request_, "")
    reader = Reader(body)
    assert reader.request(code) == request_
    assert reader.left == 0


@pytest.mark.parametrize("request_", REQUESTS, ids=repr)
def test_a_request_that_breaks_off_is_refused(request_: Request) -> None:
    code, body = encode(request_, "")
    for length in range(len(body)):
        with pytest.raises(BadFrameError):
            Reader(body[:length]).request(code)


def test_the_opening_of_a_session_is_read() -> None:
    frame = encode_connect(SessionId(7), b"secret", 4_000)
    opening = connect_request(frame[4:])
    assert (opening.session_id, opening.password, opening.timeout_ms) == (7, b"secret", 4_000)
    assert (opening.seen, opening.names_read_only) == (Zxid(0), True)
    assert not connect_request(frame[4:-1]).names_read_only  # clients older than 3.4


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (1, pack("!i", 2) + b"/a" + pack("!iii", -1, 0, 9)),  # no such CreateMode
        (14, pack("!i?i", 99, False, -1)),  # no such operation in a multi
        (4, pack("!i", 2) + b"\xff\xfe" + b"\0"),  # no UTF-8
        (4, pack("!i", 2_000_000_000)),
    ],
)
def test_nonsense_is_refused(code: int, body: bytes) -> None:
    with pytest.raises(BadFrameError):
        Reader(body).request(code)


def test_a_code_of_no_request_of_the_port_is_left_to_the_caller() -> None:
    assert Reader(b"").request(103) is None
