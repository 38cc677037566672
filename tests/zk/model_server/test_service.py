"""The service behind the sockets takes any bytes: each frame is answered, or its connection is closed."""

import asyncio
from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from kcsim.vocabulary import SessionId
from kcsim.zk.live.wire import encode, encode_connect
from kcsim.zk.memory.members import Members
from kcsim.zk.memory.server import MemoryServer
from kcsim.zk.memory.watches import ConnectionId
from kcsim.zk.model_server.client_connection import ClientConnection
from kcsim.zk.model_server.service import ModelService
from kcsim.zk.operations import Acl, Check, Create, Delete, Exists, GetChildren, GetData, Multi, Request, SetData

CODES = [*range(-12, 25), 100, 101, 102, 103, 104, 105, 106, 107, 2**31 - 1]
TEXTS = ["", "/", "/a", "/a/b", "a", "/\0", "/ä", "//", "/zookeeper/config", "digest", "world", "x" * 300]

strings = st.sampled_from(TEXTS).map(lambda text: pack("!i", len(text.encode())) + text.encode())
numbers = st.sampled_from([-(2**31), -1, 0, 1, 2, 5, 100, 2**31 - 1]).map(lambda number: pack("!i", number))
plausible = st.lists(strings | numbers | st.binary(max_size=3), max_size=8).map(b"".join)
paths = st.sampled_from(TEXTS)
acls = st.lists(st.builds(Acl, st.integers(0, 31), st.sampled_from(["world", "ip", "auth", "no"]), paths), max_size=2)
times_to_live = st.sampled_from([None, 0, -1, 1, 2**40, 2**62])
requests: st.SearchStrategy[Request] = st.one_of(
    st.builds(Create, paths, st.none() | st.binary(max_size=3), acl=acls.map(tuple), ttl_ms=times_to_live),
    st.builds(Multi, st.lists(st.builds(Delete, paths) | st.builds(Check, paths, st.just(0)), max_size=3).map(tuple)),
    st.builds(SetData, paths, st.none()),
    st.builds(Exists, paths, st.booleans()),
    st.builds(GetData, paths, st.booleans()),
    st.builds(GetChildren, paths, st.booleans()),
)
encoded = requests.map(lambda request: encode(request, ""))


class Client(ClientConnection):
    """A connection without a socket, which keeps what is sent."""

    def __init__(self, service: ModelService) -> None:
        super().__init__(ConnectionId(1), "member-1", service)
        self.frames: list[bytes] = []
        self.is_closed = False

    def send(self, frame: bytes) -> None:
        self.frames.append(frame)

    def close(self) -> None:
        self.is_closed = True

    break_off = close


@given(st.lists(st.tuples(st.sampled_from(CODES), plausible) | encoded, max_size=6))
def test_any_frame_is_answered_or_ends_the_connection(sent: list[tuple[int, bytes]]) -> None:
    async def main() -> None:
        service = ModelService(MemoryServer(), Members(1))
        client = Client(service)
        service.opened(client)
        service.frame(client, encode_connect(SessionId(0), b"", 4_000)[4:])
        for xid, (code, body) in enumerate(sent, start=1):
            before = len(client.frames)
            service.frame(client, pack("!ii", xid, code) + body)
            assert len(client.frames) > before or client.is_closed
            if client.is_closed:
                return

    asyncio.run(main())


@given(st.binary(max_size=60))
def test_any_opening_is_answered_or_ends_the_connection(body: bytes) -> None:
    async def main() -> None:
        service = ModelService(MemoryServer(), Members(1))
        client = Client(service)
        service.opened(client)
        service.frame(client, body)
        assert client.frames or client.is_closed

    asyncio.run(main())
