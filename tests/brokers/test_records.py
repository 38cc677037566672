"""Runs of records: their parts, and merging of two runs."""

import pytest
from msgspec.structs import replace

from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch

TEN = Run(100, 10, LeaderEpoch(3), "checkout", 40, timestamp_ms=1_000, record_bytes=8)


def test_a_run_goes_from_its_base_offset_to_the_one_before_its_end() -> None:
    assert (TEN.end_offset, TEN.last_sequence, TEN.size) == (110, 49, 80)


def test_a_tail_and_a_head_keep_offsets_and_sequences_together() -> None:
    tail, head = TEN.from_offset(104), TEN.until(104)
    assert (tail.base_offset, tail.count, tail.first_sequence) == (104, 6, 44)
    assert (head.base_offset, head.count, head.first_sequence) == (100, 4, 40)


def test_the_whole_run_is_a_part_of_itself() -> None:
    assert TEN.from_offset(100) == TEN == TEN.until(110)


def test_payloads_are_divided_with_their_records() -> None:
    run = Run(0, 3, LeaderEpoch(0), "coordinator", 0, -1, 1, ("a", "b", "c"))
    assert (run.until(1).payloads, run.from_offset(1).payloads) == (("a",), ("b", "c"))


@pytest.mark.parametrize("offset", [99, 110])
def test_there_is_no_tail_from_outside(offset: int) -> None:
    with pytest.raises(AssertionError, match=f"{offset} is not in 100..109"):
        TEN.from_offset(offset)


@pytest.mark.parametrize("offset", [100, 111])
def test_there_is_no_head_without_records_or_beyond_the_run(offset: int) -> None:
    with pytest.raises(AssertionError, match=f"{offset} leaves nothing or too much"):
        TEN.until(offset)


@pytest.mark.parametrize("wrong", [{"count": 0}, {"record_bytes": 0}, {"payloads": ("one",)}])
def test_a_run_has_records_and_each_has_bytes_and_its_payload(wrong: dict[str, object]) -> None:
    with pytest.raises(AssertionError):
        replace(TEN, **wrong)


NEXT = Run(110, 5, LeaderEpoch(3), "checkout", 50, timestamp_ms=900, record_bytes=8)


def test_runs_that_follow_each_other_are_one_with_the_larger_timestamp() -> None:
    assert TEN.followed_by(NEXT) == replace(TEN, count=15)


@pytest.mark.parametrize(
    "other",
    [
        {"base_offset": 111},
        {"writer": "returns"},
        {"first_sequence": 51},
        {"leader_epoch": LeaderEpoch(4)},
        {"record_bytes": 9},
        {"payloads": (1, 2, 3, 4, 5)},
    ],
)
def test_runs_stay_apart_that_differ_in_anything_but_the_timestamp(other: dict[str, object]) -> None:
    assert not TEN.can_be_followed_by(replace(NEXT, **other))
