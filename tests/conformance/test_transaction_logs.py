"""The model's transaction log against a real server's: the same requests produce the same transactions in both."""

import random
from dataclasses import replace
from itertools import count

import pytest

from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import ZkVersion
from kcsim.zk.files.transaction_log import TransactionLogTail
from kcsim.zk.files.transactions import CloseSessionTxn, Transaction, Txn
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.settings import ModelSettings
from kcsim.zk.operations import Check, Create, Delete, Exists, Multi, NodeFound, Request, SetData, Sync
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.conformance.environment import SHORT_TIMEOUT_MS, Client, Environment, NoSink, run_on_server
from tests.conftest import TICK_MS

CHROOTS = count(1)
V0, V1, V9 = ZkVersion(0), ZkVersion(1), ZkVersion(9)

REQUESTS: list[Request] = [
    Create("/a", b'{"leader":1}'),
    Create("/a", b"again"),
    Create("/none/x"),
    Create("/a/null", None),
    Create("/a/e", b"", ephemeral=True),
    Create("/a/n-", b"1", sequential=True),
    Create("/a/n-", b"2", ephemeral=True, sequential=True),
    SetData("/a", b"two"),
    SetData("/a", b"three", V9),
    SetData("/none", b""),
    SetData("/a", None, V1),
    Delete("/a"),
    Delete("/a/null", V9),
    Delete("/a/null", V0),
    Sync("/"),
    Multi((Create("/b", None, ephemeral=True), SetData("/b", b"data", V0))),
    Multi(
        (Check("/a", ZkVersion(2)), SetData("/a", b"fenced"), Create("/c"), Create("/c/d"), Create("/c/e"), Delete("/c/d"))
    ),
    Multi((Create("/d"), SetData("/a", b"x"), Check("/a", V9), Create("/e"), Delete("/a/e"))),
    Multi((Check("/a", V9),)),
]
BY_NAME = {"expired": True, "closed": False}


async def play(environment: Environment, is_expired: bool) -> int:
    """Run everything in one session, which is then closed or expires. Returns its id."""
    client = await environment.open(SHORT_TIMEOUT_MS)
    for request in REQUESTS:
        await client.ask(request)
    if is_expired:
        client.session.freeze()
        other = await environment.open()
        await until_gone(other)
    else:
        await client.session.close()
    return client.session.session_id


async def until_gone(other: Client) -> None:
    """Wait until the ephemeral is gone: the session has expired by itself."""
    (reply,) = await other.ask(Exists("/b", watch=True))
    if isinstance(reply, NodeFound):
        await other.until_event("/b")


def on_model(is_expired: bool) -> list[Transaction]:
    kept: list[Transaction] = []
    runtime = SimulatedRuntime()
    zookeeper = MemoryZooKeeper(runtime, NoSink(), random.Random(1), ModelSettings(tick_time_ms=TICK_MS), keep=kept.append)
    session_id = runtime.run(play(Environment(runtime, zookeeper), is_expired))
    return [replace(t, ops=tuple(without("", op) for op in t.ops)) for t in kept if t.session_id == session_id]


def on_real_one(server: EmbeddedZooKeeper, is_expired: bool) -> list[Transaction]:
    chroot = f"/transaction-log-{next(CHROOTS)}"
    session_id = run_on_server(server.connect_string, chroot, lambda environment: play(environment, is_expired))
    directory = server.transaction_log_dir("member-1")
    assert directory is not None
    found = [t for t in TransactionLogTail(directory).read_to() if t.session_id == session_id]
    return [replace(t, ops=tuple(without(chroot, op) for op in t.ops)) for t in found]


def without(chroot: str, op: Txn) -> Txn:
    if isinstance(op, CloseSessionTxn):
        # Their order depends on their hashes, and so on the chroot that precedes them.
        return CloseSessionTxn(tuple(sorted(path.removeprefix(chroot) for path in op.deleted or ())))
    path = getattr(op, "path", None)
    return op if path is None else replace(op, path=path.removeprefix(chroot))


@pytest.mark.live
@pytest.mark.parametrize("is_expired", BY_NAME.values(), ids=BY_NAME.keys())
def test_the_model_writes_what_a_server_writes(server: EmbeddedZooKeeper, is_expired: bool) -> None:
    """Compared are kinds, contents and order, and whether a client or the server itself ended the session."""
    model, real = on_model(is_expired), on_real_one(server, is_expired)
    assert [(t.ops, t.is_multi, t.cxid == 0) for t in model] == [(t.ops, t.is_multi, t.cxid == 0) for t in real]
    assert (model[-1].cxid == 0) == is_expired


def test_every_zxid_of_the_model_is_in_its_log() -> None:
    zxids = [t.zxid for t in on_model(is_expired=False)]
    assert zxids == list(range(zxids[0], zxids[0] + len(zxids)))
