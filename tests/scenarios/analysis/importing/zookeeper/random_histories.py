"""Histories of a ZooKeeper that Kafka and other clients use, for hypothesis: any writes of clients to a few znodes."""

import json
from collections.abc import Sequence

from hypothesis import strategies as st

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    SetDataTxn,
    Transaction,
    Txn,
)

STATES = "/brokers/topics/a/partitions/{}/state"
PATHS = (
    "/controller",
    "/controller_epoch",
    "/brokers/ids/1",
    "/brokers/ids/2",
    "/brokers/topics/a",
    "/brokers/topics/b",
    "/brokers/topics/a/partitions/0",
    STATES.format(0),
    STATES.format(1),
    "/admin/delete_topics/a",
    "/admin/reassign_partitions",
    "/admin/preferred_replica_election",
    "/config/topics/a",
    "/consumers/g/ids/c",
    "/zookeeper/quota",
)
BEGAN_MS = 1_700_000_000_000
BROKERS = st.integers(1, 3)


@st.composite
def _data(draw: st.DrawFn, path: str) -> bytes | None:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([None, b"", b"no JSON", b"\xff"]))
    replicas = draw(st.lists(BROKERS, min_size=1, max_size=3, unique=True))
    if path == "/controller_epoch":
        return str(draw(BROKERS)).encode()
    if path.endswith("/state"):
        content: object = {
            "controller_epoch": draw(BROKERS),
            "leader": draw(st.sampled_from([-1, *replicas])),
            "version": 1,
            "leader_epoch": draw(st.integers(0, 2)),
            "isr": replicas,
        }
    elif path in ("/brokers/topics/a", "/brokers/topics/b"):
        adding = draw(st.sampled_from([{}, {"0": replicas[:1]}]))
        lists = {"0": replicas, "1": draw(st.lists(BROKERS, min_size=1, max_size=3, unique=True))}
        content = {"version": 2, "partitions": lists, "adding_replicas": adding, "removing_replicas": {}}
    else:
        content = {"version": 1, "brokerid": draw(BROKERS)}
    return json.dumps(content).encode()


@st.composite
def _write(draw: st.DrawFn, tree: PastTree) -> Txn:
    """Draw a write that the tree allows."""
    path = draw(st.sampled_from(PATHS))
    known = tree.znodes.get(path)
    if known is None:
        return CreateTxn(path, draw(_data(path)), draw(st.booleans()), 1)
    if draw(st.integers(0, 2)) == 0:
        return DeleteTxn(path)
    return SetDataTxn(path, draw(_data(path)), ZkVersion(known.version + 1))


def _applied(tree: PastTree, transaction: Transaction) -> Transaction:
    tree.apply(transaction)
    return transaction


@st.composite
def histories(draw: st.DrawFn, longest: int = 25) -> list[Transaction]:
    """Draw transactions that a server may have logged, in order, from the first on."""
    tree, found = PastTree.empty(), []
    opened: list[SessionId] = []
    ids = iter(range(-3, longest))  # each id is used once
    for number in range(1, draw(st.integers(1, longest)) + 1):
        time_ms = BEGAN_MS + draw(st.integers(0, 1_000))
        session = draw(st.sampled_from(opened)) if opened else SessionId(0)
        ops: Sequence[Txn]
        if not opened or draw(st.integers(0, 5)) == 0:
            session = SessionId(next(ids) or next(ids))
            opened.append(session)
            ops = [CreateSessionTxn(6_000)]
        elif draw(st.integers(0, 5)) == 0:
            opened.remove(session)
            owned = [path for path, znode in tree.znodes.items() if znode.ephemeral_owner == session]
            ops = [CloseSessionTxn(draw(st.sampled_from([None, tuple(sorted(owned))])))]
        else:
            ops = draw(_several(tree))
        cxid = draw(st.integers(0, 1))
        one = Transaction(Zxid(number), session, cxid, time_ms, tuple(ops), is_multi=len(ops) != 1)
        found.append(_applied(tree, one))
    return found


@st.composite
def _several(draw: st.DrawFn, tree: PastTree) -> list[Txn]:
    """Draw the content of one transaction: one operation, a refusal, or several operations on different znodes."""
    if draw(st.integers(0, 9)) == 0:
        return [ErrorTxn(-101)]
    several = draw(st.lists(_write(tree), min_size=1, max_size=3, unique_by=lambda op: getattr(op, "path", "")))
    if draw(st.booleans()):
        return [CheckVersionTxn("/controller_epoch", ZkVersion(0)), *several]
    return several
