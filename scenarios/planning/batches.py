"""Divides a plan into batches, so that no broker copies too much at a time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kcsim.scenarios.planning.goals import PlanError
from kcsim.scenarios.planning.reassignment_plan import PartitionMove


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What limits a batch.

    Attributes:
        copies: the most replicas that are copied to a broker, or from a broker, in one batch; None: any number.
        throttle: bytes per s that a broker may receive, and send, for reassignments; None: any number.
    """

    copies: int | None = None
    throttle: int | None = None


@dataclass
class Batch:
    """Moves that are made at the same time.

    Attributes:
        received, sent: broker -> replicas that are copied to it, and from it.
        rates_in, rates_out: broker -> bytes per s that producers write to those partitions meanwhile.
    """

    moves: list[PartitionMove] = field(default_factory=list)
    received: Counter[int] = field(default_factory=Counter)
    sent: Counter[int] = field(default_factory=Counter)
    rates_in: dict[int, float] = field(default_factory=dict)
    rates_out: dict[int, float] = field(default_factory=dict)

    @property
    def bytes_moved(self) -> int:
        return sum(move.bytes_moved for move in self.moves)

    @property
    def replicas_moved(self) -> int:
        return sum(len(move.added) for move in self.moves)

    @property
    def most_copies(self) -> int:
        """The replicas copied to, or from, the broker with most of them."""
        return max((*self.received.values(), *self.sent.values()), default=0)

    def add(self, move: PartitionMove) -> None:
        self.moves.append(move)
        self.received.update(move.added)
        self.sent[move.source] += len(move.added)
        for broker in move.added:
            self.rates_in[broker] = self.rates_in.get(broker, 0.0) + move.bytes_in_per_s
        self.rates_out[move.source] = self.rates_out.get(move.source, 0.0) + move.bytes_in_per_s * len(move.added)

    def has_room(self, move: PartitionMove, limits: BatchLimits) -> bool:
        """Return whether the limits hold with one more move. A move that alone exceeds `copies` needs unused brokers."""
        if limits.copies is not None:
            if any(self.received[broker] + 1 > limits.copies for broker in move.added):
                return False
            sent = self.sent[move.source]
            if sent and sent + len(move.added) > limits.copies:
                return False
        if limits.throttle is None:
            return True
        rate = move.bytes_in_per_s
        is_slow_enough = all(self.rates_in.get(broker, 0.0) + rate < limits.throttle for broker in move.added)
        return is_slow_enough and self.rates_out.get(move.source, 0.0) + rate * len(move.added) < limits.throttle

    def duration_ms(self, throttle: int) -> int:
        """Return how long the copies take with a throttle in bytes per s, if the network and the disks are fast enough."""
        received, sent = Counter[int](), Counter[int]()
        for move in self.moves:
            sent[move.source] += move.bytes_moved
            received.update(dict.fromkeys(move.added, move.size_bytes))
        times = [count / (throttle - self.rates_in.get(broker, 0.0)) for broker, count in received.items()]
        times += [count / (throttle - self.rates_out.get(broker, 0.0)) for broker, count in sent.items()]
        return round(max(times, default=0.0) * 1000)


def in_batches(moves: Iterable[PartitionMove], limits: BatchLimits) -> Sequence[Batch]:
    """Return the batches: the largest partitions first, each in the first batch that has room for it.

    Partitions that copy nothing are in the last batch: what only changes the preferred leader comes last.

    Raises: PlanError if producers write to a partition as fast as the throttle: its new replicas would never be in sync.
    """
    batches: list[Batch] = []
    order = sorted(moves, key=lambda move: (-move.bytes_moved, move.partition))
    for move in (move for move in order if move.added):
        rate = move.bytes_in_per_s * len(move.added)
        if limits.throttle is not None and rate >= limits.throttle:
            what = f"{move.partition} gets {move.bytes_in_per_s:.0f} bytes/s, for {len(move.added)} new replicas"
            raise PlanError(f"--throttle: {what}: with {limits.throttle} bytes/s they never catch up")
        batch = next((batch for batch in batches if batch.has_room(move, limits)), None)
        if batch is None:
            batches.append(batch := Batch())
        batch.add(move)
    copied_nothing = [move for move in order if not move.added]
    if copied_nothing and not batches:
        batches.append(Batch())
    for move in copied_nothing:
        batches[-1].add(move)
    for batch in batches:
        batch.moves.sort(key=lambda move: move.partition)
    return batches
