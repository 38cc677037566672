"""The members' logs, none of which need be complete, together give the one committed history."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kcsim.vocabulary import Zxid
from kcsim.zk.files.ensemble_log import EnsembleLogTail, follows
from kcsim.zk.files.transactions import Transaction
from tests.zk.files.encoding import write_log
from tests.zk.files.test_transaction_log import transaction


def zxid(epoch: int, counter: int) -> int:
    return epoch << 32 | counter


def written(directory: Path, name: str, zxids: Sequence[int]) -> Path:
    (directory / name).mkdir(exist_ok=True)
    if zxids:
        write_log(directory / name, [transaction(z) for z in zxids])
    return directory / name


def read_zxids(tail: EnsembleLogTail, to: int) -> list[int]:
    found: list[Transaction] = tail.read_to(Zxid(to))
    return [t.zxid for t in found]


def test_a_member_that_lags_is_passed_over(tmp_path: Path) -> None:
    tail = EnsembleLogTail([written(tmp_path, "a", [1]), written(tmp_path, "b", [1, 2, 3]), written(tmp_path, "c", [])])
    assert read_zxids(tail, 3) == [1, 2, 3]
    assert tail.has_reached(Zxid(3))


def test_nothing_is_returned_twice_when_another_member_is_ahead(tmp_path: Path) -> None:
    tail = EnsembleLogTail([written(tmp_path, "a", [1, 2]), written(tmp_path, "b", [1])])
    assert read_zxids(tail, 2) == [1, 2]
    written(tmp_path, "b", [1, 2, 3])
    assert read_zxids(tail, 3) == [3]


def test_what_nobody_has_yet_is_reported_as_missing(tmp_path: Path) -> None:
    tail = EnsembleLogTail([written(tmp_path, "a", [1]), written(tmp_path, "b", [1, 2])])
    assert read_zxids(tail, 3) == [1, 2]
    assert not tail.has_reached(Zxid(3))


def test_what_only_a_dead_leader_had_never_happened(tmp_path: Path) -> None:
    """The leader wrote 1:3 and died before any other member had it; the next epoch continued from 1:2."""
    dead = written(tmp_path, "dead", [zxid(1, 1), zxid(1, 2), zxid(1, 3)])
    living = written(tmp_path, "living", [zxid(1, 1), zxid(1, 2), zxid(2, 1)])
    tail = EnsembleLogTail([dead, living])
    assert read_zxids(tail, zxid(2, 1)) == [zxid(1, 1), zxid(1, 2), zxid(2, 1)]


def test_what_a_member_got_as_a_snapshot_is_taken_from_another(tmp_path: Path) -> None:
    """The member was down from 2 to 4, so its log lacks these transactions."""
    away = written(tmp_path, "away", [1])
    tail = EnsembleLogTail([away, written(tmp_path, "there", [1, 2, 3, 4, 5])])
    assert read_zxids(tail, 1) == [1]
    write_log(away, [transaction(5)])
    assert read_zxids(tail, 5) == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (zxid(1, 4), zxid(1, 5), True),
        (zxid(1, 4), zxid(1, 6), False),
        (zxid(1, 4), zxid(2, 1), True),
        (zxid(1, 4), zxid(3, 1), True),
        (zxid(1, 4), zxid(2, 2), False),
        (0, 1, True),
        (0, zxid(1, 1), True),
    ],
)
def test_zxids_have_no_gaps_within_an_epoch(before: int, after: int, expected: bool) -> None:
    assert follows(Zxid(before), Zxid(after)) is expected
