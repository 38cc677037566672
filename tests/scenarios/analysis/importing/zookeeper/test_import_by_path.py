"""A history imported path by path, from any number of files, equals event by event the one that one process imports."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.analysis.importing.zookeeper.cluster_events import MixedLogsError
from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.files.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from tests.brokers.cluster.histories import random_run
from tests.scenarios.analysis.importing.event_log_comparison import differences
from tests.scenarios.analysis.importing.zookeeper.import_by_path import imported_by_path, in_one_go, rewritten, written
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


def differ(directories: Sequence[Path], alone: Path, chroot: str = "") -> list[object]:
    """Return the differences between the import of several directories and that of one by one process.

    The first event is left out: it names the directory that the history is from.
    """
    _, found = imported_by_path(directories, chroot)
    wanted = in_one_go(alone, chroot)
    return [*differences(found[1:], wanted[1:])]


# --- the same history ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=5)
def test_a_random_run_is_imported_as_by_one_process(
    tmp_path_factory: pytest.TempPathFactory, seed: int, per_file: int
) -> None:
    directory = tmp_path_factory.mktemp("zk")
    random_run(directory / "run", seed)
    copy = rewritten(directory / "run", directory / "copy", per_file)
    _, found = imported_by_path([copy])
    assert differences(found, in_one_go(copy)) == []


@pytest.mark.slow
@given(histories())
@settings(max_examples=60)
def test_any_history_of_any_client_is_imported_as_by_one_process(
    tmp_path_factory: pytest.TempPathFactory, history: list[Transaction]
) -> None:
    """Tested with multis across partitions, ephemerals of other clients, and session ends with and without deletions."""
    directory = written(tmp_path_factory.mktemp("zk"), history, per_file=3)
    _, found = imported_by_path([directory])
    assert differences(found, in_one_go(directory)) == []


def test_a_history_that_begins_with_a_snapshot(source: Path, tmp_path: Path) -> None:
    """The znodes of the snapshot come first, whichever path's importer later needs them."""
    rest = purged(source, tmp_path)
    run, found = imported_by_path([rest])
    assert differences(found, in_one_go(rest)) == []
    assert run.read.first > 1


def test_below_a_chroot_and_nothing_beside_it(source: Path, tmp_path: Path) -> None:
    def moved(transaction: Transaction) -> Transaction:
        return replace(transaction, ops=tuple(_below(op) for op in transaction.ops))

    below = rewritten(source, tmp_path, change=moved)
    _, found = imported_by_path([below], CHROOT)
    assert differences(found, in_one_go(below, CHROOT)) == []
    assert differences(found[1:], in_one_go(source)[1:]) == []


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

    old = rewritten(source, tmp_path, change=without_deletions)
    _, found = imported_by_path([old])
    assert differences(found, in_one_go(old)) == []
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

    later = rewritten(source, tmp_path, change=led)
    run, found = imported_by_path([later])
    assert differences(found, in_one_go(later)) == []
    assert [event.t_ms for event in found] == sorted(event.t_ms for event in found)
    assert run.read.remarks == []


# --- several members, copies, holes ----------------------------------------------------------------------------------------


def test_copies_that_overlap_count_once(source: Path, tmp_path: Path) -> None:
    copies = [rewritten(source, tmp_path / str(length), length) for length in (7, 11, 1_000)]
    assert differ(copies, source) == []
    run, _ = imported_by_path(copies)
    assert run.read.transactions == DataDirectory(source).last_zxid()


def test_what_one_member_missed_the_other_has(source: Path, tmp_path: Path) -> None:
    """Each member was away for a while, and went on in the same file."""
    east = rewritten(source, tmp_path / "east", change=lambda one: None if 20 <= one.zxid < 40 else one)
    west = rewritten(source, tmp_path / "west", change=lambda one: None if 50 <= one.zxid < 70 else one)
    assert differ([east, west], source) == []
    assert imported_by_path([east, west])[0].read.remarks == []


def test_a_hole_is_reported_and_what_is_left_is_the_same(source: Path, tmp_path: Path) -> None:
    torn = rewritten(source, tmp_path, change=lambda one: None if 20 <= one.zxid < 40 else one)
    run, found = imported_by_path([torn])
    assert differences(found, in_one_go(torn)) == []
    assert run.read.remarks == [f"{tmp_path}: what happened between 0x13 and 0x28 is not in the logs"]


def test_logs_of_different_clusters_are_not_taken_for_one(source: Path, tmp_path: Path) -> None:
    random_run(tmp_path, SEED + 1)
    with pytest.raises(MixedLogsError, match="not of one ensemble; give each cluster a name, as east=DIR west=DIR"):
        imported_by_path([source, tmp_path])


def test_a_torn_end_is_reported_and_rejected(source: Path, tmp_path: Path) -> None:
    shutil.copytree(source, tmp_path, dirs_exist_ok=True)
    (log,) = (tmp_path / "version-2").iterdir()
    log.write_bytes(log.read_bytes()[:-20])
    run, found = imported_by_path([tmp_path])
    assert differences(found, in_one_go(tmp_path)) == []
    (remark,) = run.read.remarks
    assert remark.startswith(f"{log}, offset ")
    assert remark.endswith("record cut short; all before it counts")
    (reject,) = run.rejects
    assert (reject.file, reject.reason, reject.line) == (str(log), "torn end", None)


# --- numbers and causes ----------------------------------------------------------------------------------------------------


def test_an_admin_act_is_recorded_although_its_first_operation_changes_nothing(tmp_path: Path) -> None:
    """The log has a hole: the events that follow from the action need a cause that exists."""
    admin = SessionId(5)
    history = [
        Transaction(Zxid(1), admin, 1, 1_000, (CreateSessionTxn(6_000),)),
        Transaction(
            Zxid(2),
            admin,
            2,
            1_001,
            (SetDataTxn("/config/topics/a", b"{}", ZkVersion(3)), CreateTxn("/config/topics/b", b"{}", False, 1)),
            is_multi=True,
        ),
    ]
    _, found = imported_by_path([written(tmp_path, history)])
    (act,) = (event for event in found if event.kind is EventKind.ADMIN_ACT)
    assert [event.path for event in found if event.cause == act.seq] == ["/config/topics/b"]
