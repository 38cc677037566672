"""A connect string is parsed or refused with the reason; a foreign ZooKeeper is read and never changed."""

import asyncio
import socket
from typing import cast

import pytest

from kcsim.vocabulary import Zxid
from kcsim.zk.errors import NoAuthError, NoNodeError
from kcsim.zk.operations import ChildrenRead, GetChildren, ReplyOrError
from kcsim.zk.ports import Session
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.errors import (
    BadConnectStringError,
    NoChrootError,
    NoSuchMemberError,
    NotOursError,
    NotServingError,
    UnreachableError,
)
from kcsim.zk.servers.external import Address, ConnectString, ExternalZooKeeper, parse_connect_string, require_chroot
from kcsim.zk.servers.free_ports import free_ports


@pytest.mark.parametrize(
    ("text", "addresses", "chroot"),
    [
        ("zk1:2181", [("zk1", 2181)], ""),
        ("zk1", [("zk1", 2181)], ""),
        ("zk1:2181,zk2:2182, zk3:2183/kafka/test", [("zk1", 2181), ("zk2", 2182), ("zk3", 2183)], "/kafka/test"),
        ("127.0.0.1:1/", [("127.0.0.1", 1)], ""),
        ("[::1]:2181/kafka", [("::1", 2181)], "/kafka"),
    ],
)
def test_a_connect_string_is_taken_apart(text: str, addresses: list[tuple[str, int]], chroot: str) -> None:
    assert parse_connect_string(text) == ConnectString(tuple(Address(*a) for a in addresses), chroot)


@pytest.mark.parametrize("text", ["zk1:2181,zk2:2182/kafka", "[::1]:2181"])
def test_and_put_together_again(text: str) -> None:
    assert str(parse_connect_string(text)) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it names no host"),
        ("/kafka", "it names no host"),
        ("zk1:2181,", "an address is empty"),
        ("zk1:port", "'zk1:port' is no host:port"),
        ("zk1:", "'zk1:' is no host:port"),
        ("::1:2181", "'::1:2181' is no host:port"),
        ("zk1:0", "port 0 is not between 1 and 65535"),
        ("zk1:70000/kafka", "port 70000 is not between 1 and 65535"),
        ("zk1:2181/kafka/", "the chroot /kafka/ has a component ''"),
        ("zk1:2181//kafka", "the chroot //kafka has a component ''"),
        ("zk1:2181/a/../b", "the chroot /a/../b has a component '..'"),
        ("zk1:2181/kafka,zk2:2181", "the chroot /kafka,zk2:2181 has a character that no path should have"),
    ],
)
def test_what_is_none_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadConnectStringError) as caught:
        parse_connect_string(text)
    assert str(caught.value) == f"{text!r} is no ZooKeeper connect string: {reason}; write host:port,host:port/chroot"


TREE = {"/": ["kafka", "zookeeper"], "/kafka": ["prod", "test"], "/kafka/test": []}


class SessionOnTree:
    """A session that answers GetChildren from TREE, and of /secret that it may not be read."""

    async def call(self, requests: list[GetChildren]) -> list[ReplyOrError]:
        return [self._reply(request.path) for request in requests]

    def _reply(self, path: str) -> ReplyOrError:
        if path == "/secret":
            return NoAuthError(path)
        return ChildrenRead(path, tuple(TREE[path]), None, Zxid(1)) if path in TREE else NoNodeError(path)


ON_TREE = cast(Session, SessionOnTree())


@pytest.mark.parametrize("chroot", ["", "/kafka", "/kafka/test"])
def test_a_chroot_that_exists_is_let_pass(chroot: str) -> None:
    asyncio.run(require_chroot(chroot, ON_TREE))


@pytest.mark.parametrize(
    ("chroot", "message"),
    [
        ("/kafak", "chroot /kafak does not exist: there is no znode /kafak; did you mean /kafka?"),
        ("/kafka/tset/x", "chroot /kafka/tset/x does not exist: there is no znode /kafka/tset; did you mean /kafka/test?"),
        ("/kafka/test/x", "chroot /kafka/test/x does not exist: there is no znode /kafka/test/x"),
    ],
)
def test_a_chroot_that_does_not_exist_is_reported_with_the_nearest_that_does(chroot: str, message: str) -> None:
    with pytest.raises(NoChrootError) as caught:
        asyncio.run(require_chroot(chroot, ON_TREE))
    assert str(caught.value) == message


def test_a_chroot_that_may_not_be_read_is_not_reported_as_missing() -> None:
    with pytest.raises(NoAuthError):
        asyncio.run(require_chroot("/secret", ON_TREE))


def test_when_nobody_listens_the_message_says_so_of_each_address() -> None:
    one, two = free_ports(2)
    with pytest.raises(UnreachableError) as caught:
        asyncio.run(ExternalZooKeeper(f"127.0.0.1:{one},127.0.0.1:{two}/kafka").start())
    assert f"no ZooKeeper reachable at 127.0.0.1:{one},127.0.0.1:{two}/kafka: 127.0.0.1:{one}: " in str(caught.value)
    assert len(caught.value.tried) == 2


def test_who_accepts_and_never_answers_is_no_leader() -> None:
    async def look(port: int) -> None:
        await ExternalZooKeeper(f"127.0.0.1:{port}", timeout_s=60).start()
        there = ExternalZooKeeper(f"127.0.0.1:{port}", timeout_s=0.05)
        assert await there.leader_name() is None
        with pytest.raises(NotServingError, match="no member answers srvr"):
            await there.version()
        with pytest.raises(NotServingError, match=r"waited 0 s for a leader of 127\.0\.0\.1"):
            await there.wait_for_leader(timeout_s=0)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        asyncio.run(look(silent.getsockname()[1]))


@pytest.mark.parametrize("verb", ["kill", "pause", "resume", "restart", "start_member"])
def test_what_is_not_ours_is_not_touched(verb: str) -> None:
    there = ExternalZooKeeper("zk1:2181")
    with pytest.raises(NotOursError, match="a member of zk1:2181: this ZooKeeper was not started here"):
        asyncio.run(getattr(there, verb)("zk1:2181"))


def test_its_files_are_none_of_our_business() -> None:
    there = ExternalZooKeeper("zk1:2181,zk2:2181")
    assert (there.log_path("zk1:2181"), there.transaction_log_dir("zk2:2181")) == (None, None)
    with pytest.raises(NoSuchMemberError, match="there are zk1:2181, zk2:2181"):
        there.log_path("member-1")


@pytest.mark.live
def test_a_server_that_runs_is_reached_and_leads(server: EmbeddedZooKeeper) -> None:
    async def look() -> None:
        gone = free_ports(1)[0]
        there = ExternalZooKeeper(f"127.0.0.1:{gone},{server.connect_string}/kafka", timeout_s=60)
        await there.start()
        assert await there.leader_name() == await there.wait_for_leader() == server.connect_string
        assert await there.version() == await server.version()
        states = await there.states()
        assert states[server.connect_string] == "up"
        assert states[f"127.0.0.1:{gone}"] != "up"
        await there.stop()
        assert await server.states() == {"member-1": "up"}

    asyncio.run(look())
