"""Which seq an event gets that is told apart from all others: by its transaction, and its place in that.

Pure. Whoever tells of one path numbers its events without knowing those of other paths; all of them together are in order,
with gaps. Up to 2^33 transactions give numbers that a program which counts in floating point still tells apart.
"""

from collections.abc import Iterable

from kcsim.scenarios.replay.importing.zookeeper.log_file import Span
from kcsim.scenarios.replay.importing.zookeeper.operation import PLACES

COUNTER_BITS = 32


class Numbering:
    """The seqs of one run.

    Args:
        beginning: how many events may come before the first transaction.
        spans: where the transactions are.
    """

    def __init__(self, beginning: int, spans: Iterable[Span]) -> None:
        self._beginning = beginning
        last: dict[int, int] = {}
        first: dict[int, int] = {}
        for span in spans:
            epoch = span.first >> COUNTER_BITS
            last[epoch] = max(last.get(epoch, 0), span.last)
            first[epoch] = min(first.get(epoch, span.first), span.first)
        self._before: dict[int, int] = {}  # epoch -> what a zxid of it is more than its rank
        rank = 0
        for epoch in sorted(last):
            self._before[epoch] = first[epoch] - rank
            rank += last[epoch] - first[epoch] + 1
        self.end = beginning + rank * PLACES

    def seq(self, zxid: int, place: int) -> int:
        """The seq of an event at this place of a transaction."""
        return self._beginning + (zxid - self._before[zxid >> COUNTER_BITS]) * PLACES + place
