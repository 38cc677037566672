"""The survey of one log file: its size, its transactions, and where their time goes back.

Pure but for reading the file. Surveys of many files, also of overlapping files and of several members, add up as if all had
been one file: each transaction counts once.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from kcsim.scenarios.analysis.importing.zookeeper.operation import Op, Operation, TransactionTooLongError, operations_of
from kcsim.vocabulary import Zxid
from kcsim.zk.files.ensemble_log import follows
from kcsim.zk.files.transaction_log import BadLogError, LogFile
from kcsim.zk.files.transactions import Transaction


class ZxidRange(msgspec.Struct, frozen=True):
    """Transactions of one epoch without a hole between them. Bounds are included; first_ms is the time of the first."""

    first: int
    last: int
    first_ms: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1


class Peak(msgspec.Struct, frozen=True, order=True):
    """A transaction that no earlier transaction is later than; a following one may be earlier."""

    zxid: int
    time_ms: int


class Failure(msgspec.Struct, frozen=True):
    """Where in a file reading failed, and why."""

    offset: int
    reason: str


class TransactionLogSurvey(msgspec.Struct):
    """The survey of one file.

    Attributes:
        size: bytes of the file.
        transactions: how many are in it.
        ignored: how many of them change nothing that concerns Kafka, refused ones included.
        spans: in order.
        peaks: at each hole, before each step back in time, and at the end.
        torn_end: where and how it breaks off, as LogFile says.
        failure: why it is no log, or cannot be read; then nothing else counts.
    """

    path: str
    size: int = 0
    transactions: int = 0
    ignored: int = 0
    spans: list[ZxidRange] = []
    peaks: list[Peak] = []
    torn_end: str | None = None
    failure: Failure | None = None

    def take(self, transaction: Transaction) -> None:
        """Take the next transaction in order."""
        zxid, time_ms = transaction.zxid, transaction.time_ms
        self.transactions += 1
        last = self.spans[-1] if self.spans else None
        latest = self.peaks[-1].time_ms if self.peaks else None
        is_next = last is not None and follows(Zxid(last.last), zxid)
        if last is not None and zxid == last.last + 1:
            self.spans[-1] = ZxidRange(last.first, zxid, last.first_ms)
        else:
            self.spans.append(ZxidRange(zxid, zxid, time_ms))
        if latest is None or time_ms >= latest:
            # The transaction before is no peak if this one follows it without a hole and is not earlier.
            if self.peaks and is_next and last is not None and self.peaks[-1].zxid == last.last:
                self.peaks.pop()
            self.peaks.append(Peak(zxid, time_ms))


def operations_of_file(run: str, path: Path, chroot: str, after: Zxid, to: Zxid) -> Iterator[Operation]:
    """Yield the operations of a log file's transactions after `after`, up to and including `to`; its survey last."""
    survey = TransactionLogSurvey(str(path))
    try:
        survey.size = path.stat().st_size
        with LogFile(path) as log:
            last = after
            for transaction in log.read(to):
                if transaction.zxid <= last:
                    continue
                last = transaction.zxid
                survey.take(transaction)
                operations = list(operations_of(run, transaction, chroot))
                survey.ignored += not operations
                yield from operations
            survey.torn_end = log.torn_end
    except BadLogError as error:
        survey.failure = Failure(error.offset, error.reason)
    except TransactionTooLongError as error:
        survey.failure = Failure(0, str(error))
    except OSError as error:
        survey.failure = Failure(0, error.strerror or str(error))
    yield Operation(run, "", 0, 0, Op.FILE, str(path), msgspec.msgpack.encode(survey))


class Clock:
    """The time of each transaction in a history: never earlier than that of any transaction before it.

    Attributes:
        latest_ms: the time of all events after the last transaction.
    """

    def __init__(self, peaks: Iterable[Peak]) -> None:
        self._zxids: list[int] = []
        self._times_ms: list[int] = []
        latest = 0
        for peak in sorted(peaks):
            latest = max(latest, peak.time_ms)
            self._zxids.append(peak.zxid)
            self._times_ms.append(latest)
        self.latest_ms = latest

    def time_ms(self, zxid: int, time_ms: int) -> int:
        """Return the time of a transaction whose own time is `time_ms`."""
        place = bisect_left(self._zxids, zxid)
        return max(time_ms, self._times_ms[place - 1]) if place else time_ms


def merge_ranges(spans: Iterable[ZxidRange]) -> list[ZxidRange]:
    """Merge ranges of many files, of which some may overlap."""
    found: list[ZxidRange] = []
    for span in sorted(spans, key=lambda one: (one.first, -one.last)):
        last = found[-1] if found else None
        if last is not None and span.first <= last.last + 1:
            found[-1] = ZxidRange(last.first, max(last.last, span.last), last.first_ms)
        else:
            found.append(span)
    return found


def holes(after: int, spans: Sequence[ZxidRange]) -> Iterator[tuple[int, int]]:
    """Yield the transactions on both sides of each hole; `after`: the last one known before the first range, or 0."""
    last = after
    for span in spans:
        if last and not follows(Zxid(last), Zxid(span.first)):
            yield last, span.first
        last = span.last
