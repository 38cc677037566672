"""A running server's log is read in step with its replies: when a reply arrives, its transaction is in the log."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, RolledBackError

from kcsim.vocabulary import ZkVersion
from kcsim.zk.files.ensemble_log import EnsembleLogTail
from kcsim.zk.files.transaction_log import TransactionLogTail, log_files
from kcsim.zk.files.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    SetDataTxn,
    Txn,
)
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.requirements import require

pytestmark = pytest.mark.live
SNAP_COUNT = 300


SESSION_MS = 60_000  # no session may expire, however busy the machine is
BOUND_S = 120.0


def lasting(snap_count: int | None = None) -> ServerSettings:
    """Return settings of servers that grant such sessions, and of members that wait long for each other."""
    return ServerSettings(snap_count=snap_count, max_session_timeout_ms=SESSION_MS, init_limit=600, sync_limit=300)


@contextmanager
def client_of(address: str) -> Iterator[KazooClient]:
    client = KazooClient(address, timeout=SESSION_MS / 1000, command_retry={"max_tries": -1})
    client.start(BOUND_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def test_every_kind_of_transaction_is_read_as_the_server_writes_it() -> None:
    require("java")
    with EmbeddedZooKeeper(settings=lasting()) as zk:
        directory = zk.transaction_log_dir("member-1")
        assert directory is not None
        with client_of(zk.connect_string) as client:
            session_id = client.client_id[0]
            client.create("/a", b"one")
            client.create("/a/e", b"", ephemeral=True, include_data=True)
            client.set("/a", b"two")
            with pytest.raises(BadVersionError):
                client.set("/a", b"three", version=7)
            done = client.transaction()
            done.check("/a", 1)
            done.create("/b")
            done.commit()
            refused = client.transaction()
            refused.create("/c")
            refused.check("/a", 9)
            assert isinstance(refused.commit()[0], RolledBackError)
            client.delete("/b")
        transactions = TransactionLogTail(directory).read_to()
    ops: list[tuple[Txn, ...]] = [transaction.ops for transaction in transactions]
    assert ops == [
        (CreateSessionTxn(SESSION_MS),),
        (CreateTxn("/a", b"one", False, 1),),
        (CreateTxn("/a/e", b"", True, 1),),
        (SetDataTxn("/a", b"two", ZkVersion(1)),),
        (ErrorTxn(-103),),
        (CheckVersionTxn("/a", ZkVersion(1)), CreateTxn("/b", b"", False, 2)),
        (ErrorTxn(0), ErrorTxn(-103)),
        (DeleteTxn("/b"),),
        (CloseSessionTxn(("/a/e",)),),
    ]
    assert [t.zxid for t in transactions] == list(range(1, 10))
    assert {t.session_id for t in transactions} == {session_id}
    assert [t.is_multi for t in transactions] == [False] * 5 + [True] * 2 + [False] * 2
    assert [t.is_refused for t in transactions] == [False] * 4 + [True, False, True, False, False]


@pytest.mark.slow
def test_a_reply_finds_its_transaction_in_the_log_of_a_busy_server() -> None:
    """This holds without waiting, although the log is not forced to disk, and across the log files that snapshots begin."""
    require("java")
    with EmbeddedZooKeeper(settings=lasting(SNAP_COUNT)) as zk, client_of(zk.connect_string) as client:
        directory = zk.transaction_log_dir("member-1")
        assert directory is not None
        tail = TransactionLogTail(directory)
        zxids: list[int] = []
        pending = [client.create_async(f"/{n}", b"d" * 300, include_data=True) for n in range(2_000)]
        for reply in pending:
            zxid = reply.get(timeout=BOUND_S)[1].czxid
            zxids += [t.zxid for t in tail.read_to(zxid)]
            assert tail.has_reached(zxid)
        assert zxids == list(range(1, 2_002))
        assert len(log_files(directory)) > 2


@pytest.mark.slow
def test_a_reply_finds_its_transaction_in_the_logs_of_a_busy_ensemble() -> None:
    """The transaction is in one of the logs: the member that replied may not have written it itself.

    A change of leader is included.
    """
    require("java")
    with EmbeddedZooKeeper(3, lasting(SNAP_COUNT)) as zk, client_of(zk.connect_string) as client:
        directories = [directory for name in zk.member_names if (directory := zk.transaction_log_dir(name))]
        tail = EnsembleLogTail(directories)
        found = []
        for _ in range(2):
            pending = [client.create_async("/n-", b"d" * 300, sequence=True, include_data=True) for _ in range(600)]
            for reply in pending:
                zxid = reply.get(timeout=BOUND_S)[1].czxid
                found += tail.read_to(zxid)
                assert tail.has_reached(zxid)
            kill_the_leader(zk, client)
        created = [t for t in found if isinstance(t.ops[0], CreateTxn)]
        assert [t.ops[0].path for t in created if isinstance(t.ops[0], CreateTxn)] == [f"/n-{n:010}" for n in range(1_200)]
        assert sorted({t.zxid for t in found}) == [t.zxid for t in found]
        assert len({t.zxid >> 32 for t in found}) >= 2  # the members of a busy machine may elect once more
        tail.close()


def kill_the_leader(zk: EmbeddedZooKeeper, client: KazooClient) -> None:
    async def kill() -> None:
        leader = await zk.wait_for_leader()
        await zk.restart(leader)
        await zk.wait_for_leader()

    asyncio.run(kill())
    client.retry(client.exists, "/")
