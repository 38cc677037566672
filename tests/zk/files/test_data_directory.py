"""A whole data directory: one stream of transactions from its logs, and the tree at any time."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcsim.vocabulary import Zxid
from kcsim.zk.files.data_directory import DataDirectory, DataDirectoryError, NoSuchFilesError
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.transaction_log import BadLogError
from tests.zk.files.encoding import write_log
from tests.zk.files.model_history import EPOCH_MS, STEP_MS, History, random_history, seen, stored
from tests.zk.files.snapshots import write_snapshot
from tests.zk.files.test_transaction_log import transaction

PER_FILE = 20


def kept(directory: Path, history: History, snapshots: tuple[int, ...] = ()) -> Path:
    """Write a data directory with this history in files of 20 transactions, and snapshots at these zxids."""
    with LogWriter(directory, PER_FILE) as log:
        for one in history.transactions:
            log.write(one)
    for zxid in snapshots:
        write_snapshot(log.directory, zxid, stored(history, Zxid(zxid)), history.sessions[Zxid(zxid)])
    return directory


@given(st.integers(0, 2**32), st.sets(st.integers(1, 100), max_size=3))
@settings(max_examples=10)
def test_the_tree_is_exact_at_every_transaction(
    tmp_path_factory: pytest.TempPathFactory, seed: int, snapshots: set[int]
) -> None:
    history = random_history(seed, 100)
    files = DataDirectory(kept(tmp_path_factory.mktemp("zk"), history, tuple(snapshots)))
    for zxid in history.trees:
        tree = files.tree_at(zxid)
        assert (seen(tree), tree.sessions) == (history.trees[zxid], history.sessions[zxid])
    assert files.remarks == []


def test_it_is_begun_from_the_nearest_snapshot(tmp_path: Path) -> None:
    """This is the last snapshot that was surely complete: the next one had begun. The logs before it may even be missing."""
    history = random_history(1, 100)
    directory = kept(tmp_path, history, (30, 70))
    assert [DataDirectory(directory).tree_before(Zxid(zxid)).zxid for zxid in (30, 31, 70, 71, 90)] == [0, 0, 0, 30, 30]
    for name in ("log.1", "log.15", "log.29"):
        (directory / "version-2" / name).unlink()
    assert seen(DataDirectory(directory).tree_at(Zxid(90))) == history.trees[Zxid(90)]


def test_a_snapshot_that_knows_more_than_was_asked_for_is_not_used(tmp_path: Path) -> None:
    """The snapshot is named 30, but was still being written at 40: the tree at 31 cannot be derived from it."""
    history = random_history(1, 100)
    directory = kept(tmp_path, history)
    write_snapshot(directory / "version-2", 30, stored(history, Zxid(40)), history.sessions[Zxid(30)])
    newest = PastTree(stored(history, Zxid(40)), Zxid(30)).newest_zxid
    assert newest > 31
    assert seen(DataDirectory(directory).tree_at(Zxid(31))) == history.trees[Zxid(31)]
    (directory / "version-2" / "log.1").unlink()
    files = DataDirectory(directory)
    assert files.tree_before(Zxid(newest + 1)).zxid == 30
    with pytest.raises(DataDirectoryError, match="cannot be known"):
        files.tree_at(Zxid(31))


def test_a_damaged_snapshot_is_passed_over_and_reported(tmp_path: Path) -> None:
    history = random_history(1, 100)
    directory = kept(tmp_path, history, (30, 70, 80))
    damaged = directory / "version-2" / "snapshot.46"
    damaged.write_bytes(damaged.read_bytes()[:-60])
    files = DataDirectory(directory)
    assert seen(files.tree_at(Zxid(90))) == history.trees[Zxid(90)]
    assert files.remarks == [f"{damaged}: it is cut short; passed over"]


def test_a_moment_in_time_is_the_last_transaction_by_then(tmp_path: Path) -> None:
    history = random_history(1, 100)
    files = DataDirectory(kept(tmp_path, history))
    times = {one.time_ms: one.zxid for one in history.transactions}
    for time_ms, zxid in times.items():
        assert files.last_zxid_at(time_ms + STEP_MS - 1) == zxid
    with pytest.raises(DataDirectoryError, match="the logs begin after that time"):
        files.last_zxid_at(EPOCH_MS - 1)


@pytest.mark.parametrize("after", [0, 1, 19, 20, 21, 57, 100])
def test_transactions_are_read_from_anywhere_to_anywhere(tmp_path: Path, after: int) -> None:
    history = random_history(1, 100)
    files = DataDirectory(kept(tmp_path, history))
    assert list(files.transactions(Zxid(after), Zxid(58))) == [t for t in history.transactions if after < t.zxid <= 58]
    assert files.last_zxid() == 100


def test_a_hole_between_the_logs_is_reported(tmp_path: Path) -> None:
    directory = kept(tmp_path, random_history(1, 100))
    (directory / "version-2" / "log.15").unlink()
    files = DataDirectory(directory)
    assert [t.zxid for t in files.transactions()] == [*range(1, 21), *range(41, 101)]
    assert files.remarks == [f"{directory}/version-2/log.29: what happened between 0x14 and 0x29 is not in the logs"]


def test_a_torn_end_is_reported_and_does_not_hide_the_next_file(tmp_path: Path) -> None:
    directory = kept(tmp_path, random_history(1, 100))
    torn = directory / "version-2" / "log.15"
    torn.write_bytes(torn.read_bytes()[:-1])
    files = DataDirectory(directory)
    assert [t.zxid for t in files.transactions()] == [zxid for zxid in range(1, 101) if zxid != 40]
    assert "record cut short; all before it counts" in files.remarks[0]


def test_logs_and_snapshots_may_lie_apart_and_the_directory_may_be_version_2_itself(tmp_path: Path) -> None:
    history = random_history(1, 40)
    logs = kept(tmp_path / "logs", history)
    (tmp_path / "data" / "version-2").mkdir(parents=True)
    for zxid in (30, 35):
        write_snapshot(tmp_path / "data" / "version-2", zxid, stored(history, Zxid(zxid)))
    assert DataDirectory(tmp_path / "data", logs).tree_before(Zxid(40)).zxid == 30
    assert len(DataDirectory(logs / "version-2").logs) == 2


def test_a_single_log_can_be_read_as_well(tmp_path: Path) -> None:
    path = write_log(tmp_path, [transaction(5), transaction(6)])
    files = DataDirectory(path)
    assert ([t.zxid for t in files.transactions()], files.snapshots, files.remarks) == ([5, 6], [], [])


# --- unknown trees ---------------------------------------------------------------------------------------------------------


def test_a_directory_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoSuchFilesError, match=r"has no transaction log \(log\.…\) in it, nor has a version-2 below it"):
        DataDirectory(tmp_path)
    with pytest.raises(NoSuchFilesError, match="nowhere: no such directory"):
        DataDirectory(tmp_path / "nowhere")


def test_a_log_of_another_magic_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.1").write_bytes(b"ZKXX" + bytes(100))
    with pytest.raises(BadLogError, match=r"log\.1, offset 0: no transaction log of version 2"):
        list(DataDirectory(tmp_path).transactions())


def test_logs_that_begin_late_without_a_snapshot_have_no_tree(tmp_path: Path) -> None:
    directory = kept(tmp_path, random_history(1, 100))
    (directory / "version-2" / "log.1").unlink()
    with pytest.raises(DataDirectoryError, match=r"cannot be known: the logs begin with 0x15, and no snapshot is older$"):
        DataDirectory(directory).tree_at(Zxid(30))
    with pytest.raises(DataDirectoryError, match="cannot be known"):
        DataDirectory(directory).beginning()


def test_where_old_logs_were_purged_the_oldest_snapshot_is_the_beginning(tmp_path: Path) -> None:
    """The oldest log begins before it, but the tree at that time is unknown.

    The later transactions make the snapshot exact.
    """
    history = random_history(1, 100)
    directory = kept(tmp_path, history)
    write_snapshot(directory / "version-2", 30, stored(history, Zxid(40)), history.sessions[Zxid(30)])
    (directory / "version-2" / "log.1").unlink()
    beginning = DataDirectory(directory).beginning()
    assert seen(beginning) == history.trees[beginning.zxid]
    assert beginning.zxid == beginning.newest_zxid > 30


def test_a_snapshot_newer_than_every_log_is_refused_where_the_whole_history_is_wanted(tmp_path: Path) -> None:
    history = random_history(1, 100)
    directory = kept(tmp_path, history, (90,))
    (directory / "version-2" / "log.51").unlink()
    files = DataDirectory(directory)
    with pytest.raises(
        DataDirectoryError, match=r"snapshot\.5a is newer than every log: the last transaction there is 0x50"
    ):
        files.require_end(files.last_zxid())
    assert seen(files.tree_at(Zxid(80))) == history.trees[Zxid(80)]


def test_a_moment_after_the_end_is_refused(tmp_path: Path) -> None:
    files = DataDirectory(kept(tmp_path, random_history(1, 100)))
    with pytest.raises(DataDirectoryError, match="the logs end with transaction 0x64, before 0x65"):
        files.tree_at(Zxid(0x65))
