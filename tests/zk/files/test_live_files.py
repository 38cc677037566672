"""Files of a running server, compressed in each way and in the middle of its work, hold what the server reports."""

import shutil
import time
from collections import deque
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kcsim.vocabulary import Zxid
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.snapshot import SNAPSHOT_NAME, BadSnapshotError, SnapshotFile, snapshot_files
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper, JvmHost
from kcsim.zk.servers.managed import ManagedZooKeeper
from tests.requirements import require
from tests.tiers import chosen
from tests.zk.files.model_history import random_history
from tests.zk.files.snapshots import body_of, sealed, znodes_of
from tests.zk.files.test_live_log import BOUND_S, SESSION_MS, client_of
from tests.zk.servers.processes import until

pytestmark = pytest.mark.live
SNAP_COUNT, SNAPSHOTS, PORTION = 100, 3, 300
SUFFIXES = {"CHECKED": None, "gz": ".gz", "snappy": ".snappy"}


@dataclass(frozen=True, slots=True)
class Compressing(ServerSettings):
    """Settings with snapshot.compression.method, which our own servers never need."""

    method: str = "CHECKED"

    def jvm_options(self) -> list[str]:
        return [*ServerSettings.jvm_options(self), f"-Dzookeeper.snapshot.compression.method={self.method}"]


def work(client: KazooClient, directory: Path) -> None:
    """Write until the server has taken several snapshots.

    The server skips a snapshot while it is still taking the previous one.
    """
    client.create("/large", b"0123456789" * 30_000)
    client.create("/mine", b"", ephemeral=True)
    end = time.monotonic() + BOUND_S
    for first in count(0, PORTION):
        write(client, first)
        if len(seen := whole_snapshots(directory)) >= SNAPSHOTS:
            break
        assert time.monotonic() < end, f"wrote for {BOUND_S} s; last seen: {seen}"
    # A snapshot that is still being taken cannot be copied.
    until(lambda: snapshot_files(directory), lambda files: files == whole_snapshots(directory), "snapshots to be whole")


def write(client: KazooClient, first: int) -> None:
    """Create, change and delete znodes, many at a time, so that snapshots are taken while requests are pending."""
    pending = [client.create_async(f"/large/{n}", b'{"n":%d}' % n) for n in range(first, first + PORTION)]
    pending += [client.set_async(f"/large/{n}", b"changed") for n in range(first, first + PORTION, 3)]
    pending += [client.delete_async(f"/large/{n}") for n in range(first + 1, first + PORTION, 3)]
    for one in pending:
        one.get(timeout=BOUND_S)


def whole_snapshots(directory: Path) -> list[Path]:
    return [path for path in snapshot_files(directory) if is_whole(path)]


def is_whole(path: Path) -> bool:
    try:
        with SnapshotFile(path) as snapshot:
            deque(snapshot.znodes(), maxlen=0)
    except BadSnapshotError:
        return False
    return True


def server_tree(client: KazooClient, path: str = "/") -> dict[str, tuple[bytes | None, int, int, int, int, int]]:
    """Return the server's content from a path on.

    An ephemeral may disappear during the reads; a missing znode is then left out.
    """
    try:
        (data, s), names = client.get(path), client.get_children(path)
    except NoNodeError:
        return {}
    found = {path: (data, s.czxid, s.mzxid, s.version, s.pzxid, s.ephemeralOwner)}
    for name in names:
        if name != "zookeeper":
            found |= server_tree(client, f"{path.rstrip('/')}/{name}")
    return found


def file_tree(tree: PastTree) -> dict[str, tuple[bytes | None, int, int, int, int, int]]:
    return {
        path: (z.data, z.czxid, z.mzxid, z.version, z.pzxid, z.ephemeral_owner)
        for path, z in tree.znodes.items()
        if not path.startswith("/zookeeper")
    }


@pytest.mark.parametrize("method", chosen(SUFFIXES, fast=["CHECKED"]))
def test_the_tree_of_the_files_is_the_server_s_own(tmp_path: Path, method: str) -> None:
    require("java")
    with (
        EmbeddedZooKeeper(
            settings=Compressing(snap_count=SNAP_COUNT, max_session_timeout_ms=SESSION_MS, method=method)
        ) as zk,
        client_of(zk.connect_string) as client,
    ):
        directory = zk.transaction_log_dir("member-1")
        assert directory is not None
        work(client, directory)
        expected, last = server_tree(client), client.last_zxid
        shutil.copytree(directory, tmp_path / "version-2")
    files = DataDirectory(tmp_path)
    assert {(SNAPSHOT_NAME.fullmatch(path.name) or [""] * 3)[2] for path in files.snapshots} == {SUFFIXES[method]}
    assert len(files.snapshots) >= SNAPSHOTS
    assert file_tree(files.tree_at(Zxid(last))) == expected
    for path in snapshot_files(tmp_path / "version-2"):
        assert file_tree(from_snapshot(files, path, Zxid(last))) == expected


def from_snapshot(files: DataDirectory, path: Path, last: Zxid) -> PastTree:
    """Return the tree that a snapshot, which is fuzzy, and the later transactions give."""
    with SnapshotFile(path) as snapshot:
        tree = PastTree.of(snapshot)
    for transaction in files.transactions(tree.zxid, last):
        tree.apply(transaction)
    return tree


class SeededHost(JvmHost):
    """Host that starts its server on files that were written before."""

    def __init__(self, files: Path) -> None:
        super().__init__(ServerSettings(), None)
        self._files = files

    def launch(self, name: str) -> None:
        directory = self.transaction_log_dir(name)
        assert directory is not None
        shutil.copytree(self._files, directory)
        super().launch(name)


def test_a_real_server_goes_on_from_the_model_s_files(tmp_path: Path) -> None:
    """The server finds the tree that the model had: it can read all of the log. Ephemerals may be deleted at once."""
    require("java")
    history = random_history(3, 300)
    last = max(history.trees)
    with LogWriter(tmp_path, transactions_per_file=100) as log:
        for transaction in history.transactions:
            log.write(transaction)
    (log.directory / "snapshot.0").write_bytes(sealed(body_of(znodes_of(PastTree.empty()), {})))
    with ManagedZooKeeper(SeededHost(log.directory), 1) as zk, client_of(zk.connect_string) as client:
        found = server_tree(client)
    expected = {
        path: (data, s.czxid, s.mzxid, s.version, s.ephemeral_owner) for path, (data, s) in history.trees[last].items()
    }
    assert persistent(expected) == persistent({path: (*z[:4], z[5]) for path, z in found.items()})
    assert len(persistent(expected)) > 3


def persistent(tree: dict[str, tuple[bytes | None, int, int, int, int]]) -> dict[str, object]:
    return {path: znode for path, znode in tree.items() if not znode[4]}
