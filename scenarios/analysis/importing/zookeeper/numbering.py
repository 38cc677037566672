"""The seq of an imported event: from its transaction, and its place in the transaction.

Pure. The import of one path numbers its events without knowing those of other paths; all of them together are in order, with
gaps. With up to 2^33 transactions, the numbers are exact in floating point, too.
"""

from collections.abc import Iterable

from kcsim.scenarios.analysis.importing.zookeeper.log_file import ZxidRange
from kcsim.scenarios.analysis.importing.zookeeper.operation import PLACES

COUNTER_BITS = 32


class Numbering:
    """The seqs of one run.

    Args:
        beginning: how many events may come before the first transaction.
        spans: the ranges of the transactions.
    """

    def __init__(self, beginning: int, spans: Iterable[ZxidRange]) -> None:
        self._beginning = beginning
        last: dict[int, int] = {}
        first: dict[int, int] = {}
        for span in spans:
            epoch = span.first >> COUNTER_BITS
            last[epoch] = max(last.get(epoch, 0), span.last)
            first[epoch] = min(first.get(epoch, span.first), span.first)
        self._before: dict[int, int] = {}  # epoch -> the difference between its zxids and their ranks
        rank = 0
        for epoch in sorted(last):
            self._before[epoch] = first[epoch] - rank
            rank += last[epoch] - first[epoch] + 1
        self.end = beginning + rank * PLACES

    def seq(self, zxid: int, place: int) -> int:
        """Return the seq of an event at this place of a transaction."""
        return self._beginning + (zxid - self._before[zxid >> COUNTER_BITS]) * PLACES + place
