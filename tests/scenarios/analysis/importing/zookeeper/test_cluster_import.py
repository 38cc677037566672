"""The logs of one cluster, from any number of members: each transaction counts once, and what is missing is reported."""

import pickle
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind, data_text
from kcsim.vocabulary import Zxid
from kcsim.zk.capture.transaction_events import path_of_kafka
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.member_directories import MixedLogsError
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.transaction_log import BadLogError
from kcsim.zk.files.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from tests.brokers.cluster.histories import random_run
from tests.scenarios.analysis.importing.event_log_comparison import differences
from tests.scenarios.analysis.importing.zookeeper.logs import imported_together, in_one_go, rewritten, written
from tests.scenarios.analysis.importing.zookeeper.random_histories import histories
from tests.zk.capture.purged import purged

SEED = 7
CHROOT = "/kafka"
EPOCH = 2**32


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log of a cluster with many random actions."""
    directory = tmp_path_factory.mktemp("source")
    random_run(directory, SEED, actions=25)
    return directory


def differ(directories: Sequence[Path], alone: Path) -> list[object]:
    """Return the differences between the import of several directories and that of one.

    The first event is left out: it names the directory that the history is from.
    """
    _, found = imported_together(directories)
    return [*differences(found[1:], in_one_go(alone)[1:])]


# --- one server ------------------------------------------------------------------------------------------------------------


@given(histories())
@settings(max_examples=60)
def test_the_events_of_any_history_lead_to_its_tree(
    tmp_path_factory: pytest.TempPathFactory, history: list[Transaction]
) -> None:
    """Tested with multis across partitions, ephemerals of other clients, and session ends with and without deletions."""
    directory = written(tmp_path_factory.mktemp("zk"), history, per_file=3)
    _, found = imported_together([directory])
    state, tree = ClusterState(), PastTree.empty()
    for event in found:
        assert event.cause is None or event.cause < event.seq
        state.apply(event)
    for transaction in history:
        tree.apply(transaction)
    wanted = {
        path: (data_text(znode.data), znode.version)
        for path, znode in tree.znodes.items()
        if path_of_kafka(path, "") is not None
    }
    assert {path: (znode.data, znode.zk_version) for path, znode in state.znodes.items()} == wanted


def test_a_history_that_begins_with_a_snapshot(source: Path, tmp_path: Path) -> None:
    rest = purged(source, tmp_path)
    run, found = imported_together([rest])
    assert differences(found, in_one_go(rest)) == []
    assert run.summary.first > 1


def test_below_a_chroot_and_nothing_beside_it(source: Path, tmp_path: Path) -> None:
    def moved(transaction: Transaction) -> Transaction:
        return replace(transaction, ops=tuple(_below(op) for op in transaction.ops))

    below = rewritten(source, tmp_path, change=moved)
    run, found = imported_together([below], CHROOT)
    assert differences(found[1:], in_one_go(source)[1:]) == []
    assert run.summary.ignored == imported_together([source])[0].summary.ignored
    assert imported_together([below], "/other")[0].summary.ignored > run.summary.ignored


def _below(op: Txn) -> Txn:
    match op:
        case CreateTxn() | SetDataTxn() | DeleteTxn() | CheckVersionTxn():
            return replace(op, path=f"{CHROOT}{op.path}")
        case CloseSessionTxn(tuple(deleted)):
            return CloseSessionTxn(tuple(f"{CHROOT}{path}" for path in deleted))
        case _:
            return op


def test_a_server_that_does_not_log_what_goes_with_a_session(source: Path, tmp_path: Path) -> None:
    """Up to ZooKeeper 3.5: the deletion of the ephemeral znodes is recorded all the same, where the session ends."""

    def without_deletions(transaction: Transaction) -> Transaction:
        is_close = isinstance(transaction.ops[0], CloseSessionTxn)
        return replace(transaction, ops=(CloseSessionTxn(None),)) if is_close else transaction

    _, found = imported_together([rewritten(source, tmp_path, change=without_deletions)])
    assert deletions(found) == deletions(in_one_go(source))


def deletions(events: Sequence[Event]) -> set[tuple[int | None, str | None]]:
    return {(event.zxid, event.path) for event in events if event.kind is EventKind.ZNODE_DELETED}


def test_clocks_that_go_back_and_epochs_that_begin_anew(source: Path, tmp_path: Path) -> None:
    """Another server leads from the middle on: its zxids are of the next epoch, and its clock is behind."""
    middle = DataDirectory(source).last_zxid() // 2

    def led(transaction: Transaction) -> Transaction:
        if transaction.zxid <= middle:
            return transaction
        return replace(transaction, zxid=Zxid(EPOCH + transaction.zxid - middle), time_ms=transaction.time_ms - 9_000)

    run, found = imported_together([rewritten(source, tmp_path, change=led)])
    assert [event.t_ms for event in found] == sorted(event.t_ms for event in found)
    assert [event.kind for event in found] == [event.kind for event in in_one_go(source)]
    assert run.summary.remarks == []


# --- several members, copies, holes ----------------------------------------------------------------------------------------


def test_copies_that_overlap_count_once(source: Path, tmp_path: Path) -> None:
    copies = [rewritten(source, tmp_path / str(length), length) for length in (7, 11, 1_000)]
    assert differ(copies, source) == []
    run, _ = imported_together(copies)
    assert run.summary.transactions == DataDirectory(source).last_zxid()


def test_what_one_member_missed_the_other_has(source: Path, tmp_path: Path) -> None:
    """Each member was away for a while, and went on in the same file."""
    east = rewritten(source, tmp_path / "east", change=lambda one: None if 20 <= one.zxid < 40 else one)
    west = rewritten(source, tmp_path / "west", change=lambda one: None if 50 <= one.zxid < 70 else one)
    assert differ([east, west], source) == []
    assert imported_together([east, west])[0].summary.remarks == []


def test_the_member_that_goes_back_furthest_is_where_the_history_begins(source: Path, tmp_path: Path) -> None:
    """The other one's old logs were purged."""
    assert differ([purged(source, tmp_path), source], source) == []


def test_a_hole_is_reported(source: Path, tmp_path: Path) -> None:
    torn = rewritten(source, tmp_path, change=lambda one: None if 20 <= one.zxid < 40 else one)
    run, found = imported_together([torn])
    assert differences(found, in_one_go(torn)) == []
    assert run.summary.remarks == [f"{tmp_path}: what happened between 0x13 and 0x28 is not in the logs"]


def test_logs_of_different_clusters_are_not_taken_for_one(source: Path, tmp_path: Path) -> None:
    random_run(tmp_path, SEED + 1)
    with pytest.raises(MixedLogsError, match="not of one ensemble; give each cluster a name, as east=DIR west=DIR"):
        imported_together([source, tmp_path])


def test_a_torn_end_is_reported_and_rejected(source: Path, tmp_path: Path) -> None:
    shutil.copytree(source, tmp_path, dirs_exist_ok=True)
    (log,) = (tmp_path / "version-2").iterdir()
    log.write_bytes(log.read_bytes()[:-20])
    run, found = imported_together([tmp_path])
    assert differences(found, in_one_go(tmp_path)) == []
    (remark,) = run.summary.remarks
    assert remark.startswith(f"{log}, offset ")
    assert remark.endswith("record cut short; all before it counts")
    (reject,) = run.rejects
    assert (reject.file, reject.reason, reject.line) == (str(log), "torn end", None)


@pytest.mark.parametrize("error", [MixedLogsError(Zxid(0x1F)), BadLogError(Path("log.1"), 16, "no record")])
def test_errors_of_a_task_reach_the_driver(error: Exception) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
