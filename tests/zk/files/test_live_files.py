"""Files that a running server writes, compressed in each way and in the middle of its work, hold what it says it holds."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.snapshot import SNAPSHOT_NAME, SnapshotFile, snapshot_files
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper, JvmHost
from kcsim.zk.servers.managed import ManagedZooKeeper
from kcsim.zk.vocabulary import Zxid
from tests.requirements import require
from tests.zk.files.model_history import random_history
from tests.zk.files.snapshots import body_of, sealed, znodes_of
from tests.zk.files.test_live_log import client_of

pytestmark = pytest.mark.live
SNAP_COUNT = 100
SUFFIXES = {"CHECKED": None, "gz": ".gz", "snappy": ".snappy"}


@dataclass(frozen=True, slots=True)
class Compressing(ServerSettings):
    """Settings with snapshot.compression.method, which our own servers never need."""

    method: str = "CHECKED"

    def jvm_options(self) -> list[str]:
        return [*ServerSettings.jvm_options(self), f"-Dzookeeper.snapshot.compression.method={self.method}"]


def work(client: KazooClient) -> None:
    """Creations, changes and deletions, many at a time, so that snapshots are taken while there is more to do."""
    client.create("/large", b"0123456789" * 30_000)
    client.create("/mine", b"", ephemeral=True)
    pending = [client.create_async(f"/large/{n}", b'{"n":%d}' % n) for n in range(300)]
    pending += [client.set_async(f"/large/{n}", b"changed") for n in range(0, 300, 3)]
    pending += [client.delete_async(f"/large/{n}") for n in range(1, 300, 3)]
    for one in pending:
        one.get(timeout=30)


def told_by(client: KazooClient, path: str = "/") -> dict[str, tuple[bytes | None, int, int, int, int, int]]:
    data, s = client.get(path)
    found = {path: (data, s.czxid, s.mzxid, s.version, s.pzxid, s.ephemeralOwner)}
    for name in client.get_children(path):
        if name != "zookeeper":
            found |= told_by(client, f"{path.rstrip('/')}/{name}")
    return found


def told(tree: PastTree) -> dict[str, tuple[bytes | None, int, int, int, int, int]]:
    return {
        path: (z.data, z.czxid, z.mzxid, z.version, z.pzxid, z.ephemeral_owner)
        for path, z in tree.znodes.items()
        if not path.startswith("/zookeeper")
    }


@pytest.mark.parametrize("method", SUFFIXES)
def test_the_tree_of_the_files_is_the_server_s_own(tmp_path: Path, method: str) -> None:
    require("java")
    with (
        EmbeddedZooKeeper(settings=Compressing(snap_count=SNAP_COUNT, method=method)) as zk,
        client_of(zk.connect_string) as client,
    ):
        work(client)
        expected, last = told_by(client), client.last_zxid
        directory = zk.transaction_log_dir("member-1")
        assert directory is not None
        shutil.copytree(directory, tmp_path / "version-2")
    files = DataDirectory(tmp_path)
    assert {(SNAPSHOT_NAME.fullmatch(path.name) or [""] * 3)[2] for path in files.snapshots} == {SUFFIXES[method]}
    assert len(files.snapshots) > 2
    assert told(files.tree_at(Zxid(last))) == expected
    for path in snapshot_files(tmp_path / "version-2"):
        assert told(from_snapshot(files, path, Zxid(last))) == expected


def from_snapshot(files: DataDirectory, path: Path, last: Zxid) -> PastTree:
    """The tree as each of the snapshots, fuzzy as they are, and the logs after it make it."""
    with SnapshotFile(path) as snapshot:
        tree = PastTree.of(snapshot)
    for transaction in files.transactions(tree.zxid, last):
        tree.apply(transaction)
    return tree


class SeededHost(JvmHost):
    """Starts its server on files that were written before."""

    def __init__(self, files: Path) -> None:
        super().__init__(ServerSettings(), None)
        self._files = files

    def launch(self, name: str) -> None:
        directory = self.transaction_log_dir(name)
        assert directory is not None
        shutil.copytree(self._files, directory)
        super().launch(name)


def test_a_real_server_goes_on_from_the_model_s_files(tmp_path: Path) -> None:
    """It finds there the tree that the model had: nothing in the log is strange to it. Ephemerals may go at once."""
    require("java")
    history = random_history(3, 300)
    last = max(history.trees)
    with LogWriter(tmp_path, transactions_per_file=100) as log:
        for transaction in history.transactions:
            log.write(transaction)
    (log.directory / "snapshot.0").write_bytes(sealed(body_of(znodes_of(PastTree.empty()), {})))
    with ManagedZooKeeper(SeededHost(log.directory), 1, None, 30.0) as zk, client_of(zk.connect_string) as client:
        found = told_by(client)
    expected = {
        path: (data, s.czxid, s.mzxid, s.version, s.ephemeral_owner) for path, (data, s) in history.trees[last].items()
    }
    assert persistent(expected) == persistent({path: (*z[:4], z[5]) for path, z in found.items()})
    assert len(persistent(expected)) > 3


def persistent(tree: dict[str, tuple[bytes | None, int, int, int, int]]) -> dict[str, object]:
    return {path: znode for path, znode in tree.items() if not znode[4]}
