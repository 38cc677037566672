"""Clients of a real ZooKeeper that asks for SASL or TLS, and of a member that only reads."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.zk.errors import (
    ConnectionLossError,
    NoAuthError,
    NotReadOnlyError,
    SaslRequiredError,
    ZooKeeperUnavailableError,
)
from kcsim.zk.live import LiveSession, LiveZooKeeper
from kcsim.zk.operations import Create, Created, DataRead, DataSet, GetData, ReplyOrError, Request, SetData
from kcsim.zk.proxy import ZooKeeperProxy
from kcsim.zk.security import ClientSecurity, SecurityError, Tls
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.errors import UnreachableError
from kcsim.zk.servers.external import ExternalZooKeeper
from kcsim.zk.servers.free_ports import free_ports
from tests.requirements import require
from tests.zk.security.certificates import Stores, made_stores

pytestmark = pytest.mark.live

TIMEOUT_MS = 20_000
BOUND_MS = 60_000
ALICE = ClientSecurity.digest("alice", "it's a \"secret\\")


@pytest.fixture(autouse=True)
def _java() -> None:
    require("java")


async def opened(connect: str, security: ClientSecurity, *, accepts_read_only: bool = False) -> LiveSession:
    zookeeper = LiveZooKeeper(connect, security=security, accepts_read_only=accepts_read_only)
    return await zookeeper.open_session(TIMEOUT_MS, lambda _: None, BOUND_MS)


async def answer_at_last(session: LiveSession, request: Request) -> ReplyOrError:
    """Return the answer of the next connection after a cut."""
    while True:
        reply = await answer(session, request)
        if not isinstance(reply, ConnectionLossError):
            return reply
        await asyncio.sleep(0.01)


async def answer(session: LiveSession, request: Request) -> ReplyOrError:
    (reply,) = await session.call([request])
    return reply


# --- SASL ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sasl_server() -> Iterator[str]:
    require("java")
    settings = ServerSettings(sasl_users={"alice": "it's a \"secret\\", "bob": "other"})
    with EmbeddedZooKeeper(settings=settings) as server:
        yield server.connect_string


def test_a_client_with_sasl_is_authenticated(sasl_server: str) -> None:
    """The server tells who its client is by a znode's ACL `auth`, which becomes the ids of its creator."""
    import kazoo.client
    from kazoo.security import ACL, Id

    alice = kazoo.client.KazooClient(sasl_server, sasl_options={**ALICE.sasl})
    alice.start(60)
    try:
        alice.create("/hers", b"1", acl=[ACL(31, Id("sasl", "alice"))])
    finally:
        alice.stop()
        alice.close()

    async def main() -> None:
        hers, plain = await opened(sasl_server, ALICE), await opened(sasl_server, ClientSecurity())
        other = await opened(sasl_server, ClientSecurity.digest("bob", "other"))
        try:
            assert isinstance(await answer(hers, GetData("/hers")), DataRead)
            assert isinstance(await answer(plain, GetData("/hers")), NoAuthError)
            assert isinstance(await answer(other, SetData("/hers", b"2")), NoAuthError)
            await hers.cut()  # it authenticates again on its next connection
            assert isinstance(await answer_at_last(hers, GetData("/hers")), DataRead)
        finally:
            for session in (hers, plain, other):
                await session.close()

    WallClockRuntime().run(main())


def test_a_wrong_password_is_refused_at_once(sasl_server: str) -> None:
    with pytest.raises(ZooKeeperUnavailableError, match=r"rejects the name or the password \(SASL\)") as refused:
        WallClockRuntime().run(opened(sasl_server, ClientSecurity.digest("alice", "guessed")))
    assert "within" not in str(refused.value)


def test_a_server_that_requires_sasl_closes_other_sessions() -> None:
    entries = {"sessionRequireClientSASLAuth": "true"}
    settings = ServerSettings(sasl_users={"alice": ALICE.sasl["password"]}, entries=entries)

    async def main() -> None:
        async with EmbeddedZooKeeper(settings=settings) as server:
            plain = await opened(server.connect_string, ClientSecurity())
            assert isinstance(await answer(plain, GetData("/")), SaslRequiredError)
            plain.abandon()
            hers = await opened(server.connect_string, ALICE)
            assert isinstance(await answer(hers, GetData("/")), DataRead)
            await hers.close()

    WallClockRuntime().run(main())


# --- TLS -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return made_stores(tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module", params=[False, True], ids=["of the server", "of both"])
def tls_server(request: pytest.FixtureRequest, stores: Stores) -> Iterator[str]:
    """Yield the connect string of a server's TLS port; certificates of the server, or of both."""
    require("java")
    (port,) = free_ports(1)
    settings = ServerSettings(
        sasl_users={"alice": ALICE.sasl["password"]}, entries=stores.server_entries(port, asks_clients=request.param)
    )
    with EmbeddedZooKeeper(settings=settings):
        yield f"127.0.0.1:{port}"


def test_sessions_work_over_tls(tls_server: str, stores: Stores) -> None:
    """Znodes of some size are read and written, a cut connection is made again, and a session can be expired."""
    security = ClientSecurity.digest("alice", ALICE.sasl["password"], Tls(stores.authority, stores.client, stores.client))
    large = b"x" * 500_000

    async def main() -> None:
        session = await opened(tls_server, security)
        assert isinstance(await answer(session, Create("/large", large)), Created)
        read = await session.call([GetData("/large")] * 5)
        assert [len(reply.data or b"") for reply in read if isinstance(reply, DataRead)] == [500_000] * 5
        await session.cut()
        assert isinstance(await answer_at_last(session, GetData("/large")), DataRead)
        await session.expire()
        external = ExternalZooKeeper(tls_server, security=security)
        await external.start()
        assert await external.version() >= "3.5"
        assert await external.leader_name() == tls_server
        after = await opened(tls_server, security)
        await after.call([Create("/done", b"")])
        await after.close()

    WallClockRuntime().run(main())


def test_plain_clients_reach_a_tls_server_through_a_proxy(tls_server: str, stores: Stores) -> None:
    async def main() -> None:
        async with ZooKeeperProxy(tls_server, tls=Tls(stores.authority, stores.client, stores.client)) as proxy:
            session = await opened(proxy.connect_string, ClientSecurity())
            assert isinstance(await answer(session, GetData("/")), DataRead)
            await session.close()

    WallClockRuntime().run(main())


def test_a_server_with_a_certificate_of_somebody_else_is_not_trusted(tls_server: str, tmp_path: Path) -> None:
    foreign = made_stores(tmp_path)
    security = ClientSecurity(tls=Tls(foreign.authority, foreign.client, foreign.client))
    with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
        WallClockRuntime().run(ExternalZooKeeper(tls_server, security=security).start())
    with pytest.raises(ZooKeeperUnavailableError, match="certificate verify failed"):
        WallClockRuntime().run(LiveZooKeeper(tls_server, security=security).open_session(4000, lambda _: None, 2000))


def test_stores_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    with pytest.raises(SecurityError, match=r"empty\.pem"):
        Tls(tmp_path / "empty.pem").context()
    with pytest.raises(SecurityError, match=r"missing\.pem.*No such file"):
        Tls(certificate=tmp_path / "missing.pem", key=tmp_path / "missing.pem").context()


# --- members that only read ------------------------------------------------------------------------------------------------


def test_a_member_without_quorum_serves_sessions_that_accept_to_read_only() -> None:
    async def main() -> None:
        async with EmbeddedZooKeeper(3, ServerSettings(read_only_mode=True)) as servers:
            _, second, third = servers.member_names
            address = servers.connect_string.split(",")[0]
            writer = await opened(servers.connect_string, ClientSecurity())
            await writer.call([Create("/kept", b"old")])
            await writer.close()
            await servers.kill(second)
            await servers.kill(third)
            reader = await opened(address, ClientSecurity(), accepts_read_only=True)
            assert reader.is_read_only
            read = await answer(reader, GetData("/kept"))
            assert isinstance(read, DataRead)
            assert read.data == b"old"
            assert isinstance(await answer(reader, SetData("/kept", b"new")), NotReadOnlyError)
            await reader.close()
            await servers.start_member(second, third)
            writer = await opened(servers.connect_string, ClientSecurity(), accepts_read_only=True)
            assert isinstance(await answer(writer, SetData("/kept", b"new")), DataSet)
            assert not writer.is_read_only
            await writer.close()

    WallClockRuntime().run(main())
