"""Batches: no broker copies more replicas at a time than asked for, and the throttle leaves room to catch up."""

import random
from collections import Counter

import pytest

from kcsim.scenarios.planning.batches import BatchLimits, in_batches
from kcsim.scenarios.planning.goals import PlanError
from kcsim.scenarios.planning.reassignment_plan import PartitionMove
from kcsim.vocabulary import TopicPartition


def move(number: int, before: tuple[int, ...], after: tuple[int, ...], size: int = 10, rate: float = 0.0) -> PartitionMove:
    return PartitionMove(TopicPartition("orders", number), before, after, size, before[0], rate, ())


def drawn_moves(seed: int) -> list[PartitionMove]:
    numbers = random.Random(seed)
    moves = []
    for number in range(60):
        old, new, kept = numbers.sample(range(1, 9), 3)
        moves.append(move(number, (kept, old), (kept, new), numbers.randint(1, 99), numbers.randint(0, 40)))
    return moves


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_each_move_is_in_one_batch_and_no_broker_copies_more_than_the_limit(copies: int) -> None:
    moves = drawn_moves(copies)
    batches = in_batches(moves, BatchLimits(copies))
    assert sorted(m.partition for batch in batches for m in batch.moves) == sorted(m.partition for m in moves)
    for batch in batches:
        received = Counter(broker for m in batch.moves for broker in m.added)
        sent = Counter(m.source for m in batch.moves for _ in m.added)
        assert max(*received.values(), *sent.values()) <= copies


def test_a_partition_with_more_new_replicas_than_the_limit_is_moved_all_the_same() -> None:
    batches = in_batches([move(0, (1,), (1, 2, 3)), move(1, (1,), (1, 4))], BatchLimits(1))
    assert [[m.partition.partition for m in batch.moves] for batch in batches] == [[0], [1]]


def test_followers_can_catch_up_under_the_throttle_in_every_batch() -> None:
    """What producers write to the moved partitions of a batch takes a part of the throttle, and must leave some."""
    moves = drawn_moves(7)
    batches = in_batches(moves, BatchLimits(throttle=100))
    assert len(batches) > 1
    for batch in batches:
        for broker in range(1, 9):
            assert sum(m.bytes_in_per_s for m in batch.moves if broker in m.added) < 100
            assert sum(m.bytes_in_per_s for m in batch.moves if broker == m.source) < 100


def test_a_partition_that_is_written_to_as_fast_as_the_throttle_is_refused() -> None:
    with pytest.raises(PlanError, match=r"^--throttle: orders-0 gets 50 bytes/s, for 2 new replicas: with 100 bytes/s they"):
        in_batches([move(0, (1,), (1, 2, 3), rate=50)], BatchLimits(throttle=100))


def test_a_batch_takes_as_long_as_its_busiest_broker() -> None:
    (batch,) = in_batches([move(0, (1,), (3,), 300), move(1, (2,), (3,), 200, rate=50)], BatchLimits(throttle=100))
    assert batch.duration_ms(100) == 10_000  # 500 bytes to broker 3, at what 50 bytes/s of producers leave


def test_what_copies_nothing_is_in_the_last_batch() -> None:
    moves = [move(0, (1, 2), (2, 1)), move(1, (1,), (3,)), move(2, (1,), (4,))]
    batches = in_batches(moves, BatchLimits(1))
    assert [[m.partition.partition for m in batch.moves] for batch in batches] == [[1], [0, 2]]


def test_a_plan_of_other_orders_alone_is_one_batch() -> None:
    (batch,) = in_batches([move(0, (1, 2), (2, 1))], BatchLimits(1, 100))
    assert (batch.most_copies, batch.duration_ms(100)) == (0, 0)
