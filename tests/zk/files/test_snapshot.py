"""A snapshot whose seal is valid is read, and no other."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.snapshot import BadSnapshotError, SnapshotFile, StoredZnode, snapshot_files
from tests.examples import fewer
from tests.zk.files.random_transactions import DATA, INT, LONG, PATH
from tests.zk.files.snapshots import body_of, digest, sealed, write_snapshot

ZXID = LONG.map(Zxid)
ZNODE = st.builds(
    StoredZnode,
    PATH.filter(lambda path: path != "/"),
    DATA,
    ZXID,
    ZXID,
    LONG,
    LONG,
    INT.map(ZkVersion),
    INT,
    INT,
    LONG.map(SessionId),
    ZXID,
)
SESSIONS = st.dictionaries(LONG.map(SessionId), INT, max_size=5)
ROOT = StoredZnode("/", b"", Zxid(0), Zxid(0), 0, 0, ZkVersion(0), 1, 0, SessionId(0), Zxid(9))
A = StoredZnode("/a", b"one", Zxid(5), Zxid(7), 100, 200, ZkVersion(2), 3, 4, SessionId(6), Zxid(9))
NOTHING = StoredZnode("/a/null", None, Zxid(5), Zxid(5), 100, 100, ZkVersion(0), 0, 0, SessionId(0), Zxid(5))
TREE = [ROOT, A, NOTHING]
LIVING = {SessionId(6): 4000, SessionId(-3): 6000}


def read(path: Path) -> tuple[dict[SessionId, int], list[StoredZnode]]:
    with SnapshotFile(path) as snapshot:
        return dict(snapshot.sessions), list(snapshot.znodes())


def kept(directory: Path, content: bytes, name: str = "snapshot.1a") -> Path:
    (directory / name).write_bytes(content)
    return directory / name


@pytest.mark.parametrize("suffix", ["", ".gz", ".snappy"])
def test_sessions_and_znodes_are_read_however_it_is_compressed(tmp_path: Path, suffix: str) -> None:
    path = write_snapshot(tmp_path, 0x1A, TREE, LIVING, suffix)
    assert read(path) == (LIVING, TREE)
    with SnapshotFile(path) as snapshot:
        assert snapshot.zxid == 0x1A


@fewer(4)
@given(st.lists(ZNODE, max_size=8), SESSIONS)
def test_any_tree_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, znodes: list[StoredZnode], sessions: dict[SessionId, int]
) -> None:
    path = write_snapshot(tmp_path_factory.mktemp("zk"), 1, [ROOT, *znodes], sessions)
    assert read(path) == (sessions, [ROOT, *znodes])


def test_a_large_one_is_read_piece_by_piece(tmp_path: Path) -> None:
    """The snapshot is longer than one read from the file, and so is one of its znodes."""
    znodes = [A._replace(path=f"/{n}", data=b"d" * size) for n, size in enumerate([1, 300_000, 7, 1_000_000, *[90] * 5_000])]
    assert read(write_snapshot(tmp_path, 1, [ROOT, *znodes], suffix=".gz")) == ({}, [ROOT, *znodes])


@pytest.mark.parametrize("more", [b"", digest(0x1A)])
def test_what_follows_the_seal_is_not_read(tmp_path: Path, more: bytes) -> None:
    """3.5 ends with the seal, 3.9 appends a digest."""
    assert read(kept(tmp_path, sealed(body_of(TREE, LIVING), more))) == (LIVING, TREE)


def test_one_without_a_seal_counts_when_its_tree_is_complete(tmp_path: Path) -> None:
    assert read(kept(tmp_path, body_of(TREE, LIVING))) == (LIVING, TREE)


def test_one_cut_anywhere_before_that_does_not_count(tmp_path: Path) -> None:
    body = body_of(TREE, LIVING)
    for cut in range(len(body)):
        with pytest.raises(BadSnapshotError, match=r"snapshot\.1a: "):
            read(kept(tmp_path, body[:cut]))


def test_nor_does_one_cut_within_the_seal(tmp_path: Path) -> None:
    body = body_of(TREE, LIVING)
    for cut in range(len(body) + 1, len(body) + 8):
        with pytest.raises(BadSnapshotError, match="cut short"):
            read(kept(tmp_path, sealed(body)[:cut]))


@pytest.mark.parametrize("suffix", [".gz", ".snappy"])
def test_nor_one_cut_while_compressed(tmp_path: Path, suffix: str) -> None:
    """It may be cut anywhere within the tree; a loss after the tree has no effect."""
    path = write_snapshot(tmp_path, 0x1A, TREE, LIVING, suffix)
    whole = path.read_bytes()
    for cut in range(len(whole) // 2):
        path.write_bytes(whole[:cut])
        with pytest.raises(BadSnapshotError):
            read(path)


@fewer(4)
@given(st.data())
def test_a_changed_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, draw: st.DataObject) -> None:
    content = bytearray(sealed(body_of(TREE, LIVING)))
    where = draw.draw(st.integers(0, len(content) - 6))  # the "/" after the checksum is not covered
    content[where] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(BadSnapshotError):
        read(kept(tmp_path_factory.mktemp("zk"), bytes(content)))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("snapshot.1", b"ZKLG" + bytes(12), r"snapshot\.1: no snapshot of version 2, it begins 5a4b4c4700000000"),
        ("snapshot.1", b"", "it is cut short"),
        ("snapshot.1.gz", b"ZKSN" + bytes(12), "cannot be uncompressed: Not a gzipped file"),
        ("snapshot.1.snappy", b"ZKSN" + bytes(12), "cannot be uncompressed: no Snappy stream, it begins 5a4b534e"),
    ],
)
def test_what_is_no_snapshot_is_refused(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    with pytest.raises(BadSnapshotError, match=reason):
        read(kept(tmp_path, content, name))


def test_snapshots_are_ordered_by_number_not_by_name(tmp_path: Path) -> None:
    for name in ("snapshot.9", "snapshot.10.gz", "snapshot.a.snappy", "snapshot.b.tmp", "log.1"):
        (tmp_path / name).touch()
    assert [path.name for path in snapshot_files(tmp_path)] == ["snapshot.9", "snapshot.a.snappy", "snapshot.10.gz"]
