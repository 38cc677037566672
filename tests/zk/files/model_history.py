"""Random histories of a ZooKeeper, made by the model: its transactions, and its tree after each of them."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kcsim.vocabulary import ANY_VERSION, SessionId, ZkVersion, Zxid
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.snapshot import StoredZnode
from kcsim.zk.files.transactions import Transaction
from kcsim.zk.memory.journal import Journal
from kcsim.zk.memory.server import MemoryServer, ServerStep, SessionEnded, SessionOpened
from kcsim.zk.memory.watches import ConnectionId
from kcsim.zk.operations import (
    Check,
    ChildrenRead,
    Create,
    DataRead,
    Delete,
    GetChildren,
    GetData,
    Multi,
    Request,
    SetData,
    Stat,
    WriteOp,
)
from kcsim.znodes.paths import child

EPOCH_MS = 1_700_000_000_000
STEP_MS = 10
PATHS = ("/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/deep")
Tree = Mapping[str, Any]
"""Path -> (data, stat) of each znode except ZooKeeper's own."""


@dataclass
class History:
    """A history. `trees` has the tree after each transaction, by zxid; `sessions` the sessions that lived then."""

    transactions: list[Transaction] = field(default_factory=list)
    trees: dict[Zxid, Tree] = field(default_factory=dict)
    sessions: dict[Zxid, dict[SessionId, int]] = field(default_factory=dict)


def random_history(seed: int, steps: int) -> History:
    """Return the history of random requests by a few clients, including refusals and expiries."""
    rng = random.Random(seed)
    history = History()
    server = MemoryServer(tick_time_ms=100, epoch_ms=EPOCH_MS)
    journal = Journal(history.transactions.append, EPOCH_MS)
    open_now: dict[ConnectionId, SessionId] = {}
    timeouts: dict[SessionId, int] = {}
    for place in range(steps):
        now_ms = place * STEP_MS
        step = _random_step(rng, server, journal, open_now, place, now_ms)
        for fact in step.facts:
            if isinstance(fact, SessionOpened):
                timeouts[fact.session_id] = fact.timeout_ms
                journal.session_opened(fact, now_ms)
            elif isinstance(fact, SessionEnded):
                del timeouts[fact.session_id]
                journal.session_ended(fact, now_ms)
        history.trees[server.zxid] = tree_of(server)
        history.sessions[server.zxid] = dict(timeouts)
    return history


def _random_step(
    rng: random.Random,
    server: MemoryServer,
    journal: Journal,
    open_now: dict[ConnectionId, SessionId],
    place: int,
    now_ms: int,
) -> ServerStep:
    if not open_now or (len(open_now) < 4 and rng.random() < 0.1):
        step = server.connect(ConnectionId(place), 10_000, now_ms)
        assert step.granted is not None
        open_now[ConnectionId(place)] = step.granted.session_id
        return step
    connection = rng.choice(sorted(open_now))
    if rng.random() < 0.1:
        session = open_now.pop(connection)
        return server.expire(session) if rng.random() < 0.5 else server.close_session(connection, now_ms)
    request: Request = Multi(_several(rng)) if rng.random() < 0.3 else _write(rng)
    step = server.request(connection, request, now_ms)
    journal.requested(open_now[connection], request, step, now_ms)
    return step


def _write(rng: random.Random) -> Create | Delete | SetData:
    path, data = rng.choice(PATHS), rng.choice([None, b"", b"1", b'{"leader":1}'])
    version = rng.choice([ANY_VERSION, ANY_VERSION, ZkVersion(0), ZkVersion(1)])
    if rng.random() < 0.2:
        return Create(rng.choice(("/a", "/b")))
    makers: list[Callable[[], Create | Delete | SetData]] = [
        lambda: Create(path, data, ephemeral=rng.random() < 0.4),
        lambda: Create("/a/n-", data, ephemeral=rng.random() < 0.4, sequential=True),
        lambda: SetData(path, data, version),
        lambda: Delete(path, version),
    ]
    return rng.choice(makers)()


def _several(rng: random.Random) -> tuple[WriteOp, ...]:
    return tuple(Check("/a", ZkVersion(0)) if rng.random() < 0.2 else _write(rng) for _ in range(rng.randint(1, 3)))


def tree_of(server: MemoryServer) -> Tree:
    """Return every znode of a server except ZooKeeper's own, with the stored part of its stat."""
    found = {}
    paths = ["/"]
    while paths:
        path = paths.pop()
        read = server.tree.get_data(GetData(path), server.zxid)
        below = server.tree.get_children(GetChildren(path), server.zxid)
        assert isinstance(read, DataRead)
        assert isinstance(below, ChildrenRead)
        stat = read.stat
        # A stat counts deletions too; stored is the number of children ever created.
        created = (stat.cversion + stat.num_children) // 2
        found[path] = (read.data, stat._replace(cversion=created, data_length=0, num_children=0))
        paths += [child(path, name) for name in below.children if child(path, name) != "/zookeeper"]
    return found


def seen(tree: PastTree) -> Tree:
    """Return a past tree in the same form."""
    return {
        path: (
            z.data,
            Stat(
                z.czxid,
                z.mzxid,
                z.ctime_ms,
                z.mtime_ms,
                z.version,
                z.cversion,
                z.aversion,
                z.ephemeral_owner,
                0,
                0,
                z.pzxid,
            ),
        )
        for path, z in tree.znodes.items()
        if not path.startswith("/zookeeper")
    }


def stored(history: History, zxid: Zxid) -> list[StoredZnode]:
    """Return the tree after a transaction as a snapshot has it, parents first."""
    return [
        StoredZnode(
            path,
            data,
            s.czxid,
            s.mzxid,
            s.ctime_ms,
            s.mtime_ms,
            s.version,
            s.cversion,
            s.aversion,
            s.ephemeral_owner,
            s.pzxid,
        )
        for path, (data, s) in sorted(history.trees[zxid].items())
    ]
