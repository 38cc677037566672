"""What one log file holds, seen as a whole: how much, which transactions, and when time went back in it.

Pure but for reading the file. Surveys of many files, overlapping ones and those of several members too, add up to the same
as if all had been one file: each transaction counts once.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from kcsim.scenarios.replay.importing.zookeeper.operation import Op, Operation, TooLongError, operations_of
from kcsim.zk.files.ensemble_log import follows
from kcsim.zk.files.transaction_log import BadLogError, LogFile
from kcsim.zk.files.transactions import Transaction
from kcsim.zk.vocabulary import Zxid


class Span(msgspec.Struct, frozen=True):
    """Transactions of one epoch without a hole between them. Bounds are included; the time is that of the first, in ms."""

    first: int
    last: int
    first_ms: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1


class Peak(msgspec.Struct, frozen=True, order=True):
    """No transaction up to this one is later than it, but one that follows may be earlier."""

    zxid: int
    time_ms: int


class Failure(msgspec.Struct, frozen=True):
    """Where in a file, and why."""

    offset: int
    reason: str


class FileSurvey(msgspec.Struct):
    """Of one file.

    Attributes:
        size: bytes that were read.
        transactions: how many are in it; `untold` of them change nothing that concerns Kafka, refused ones included.
        spans: in order.
        peaks: at each hole, before each step back in time, and at the end.
        torn_end: where and how it breaks off, as LogFile says.
        failure: why it is no log, or cannot be read; then nothing else counts.
    """

    path: str
    size: int = 0
    transactions: int = 0
    untold: int = 0
    spans: list[Span] = []
    peaks: list[Peak] = []
    torn_end: str | None = None
    failure: Failure | None = None

    def take(self, transaction: Transaction) -> None:
        """The next one in order."""
        zxid, time_ms = transaction.zxid, transaction.time_ms
        self.transactions += 1
        last = self.spans[-1] if self.spans else None
        latest = self.peaks[-1].time_ms if self.peaks else None
        is_next = last is not None and follows(Zxid(last.last), zxid)
        if last is not None and zxid == last.last + 1:
            self.spans[-1] = Span(last.first, zxid, last.first_ms)
        else:
            self.spans.append(Span(zxid, zxid, time_ms))
        if latest is None or time_ms >= latest:
            # What came before is no peak if this one follows it at once and is no earlier.
            if self.peaks and is_next and last is not None and self.peaks[-1].zxid == last.last:
                self.peaks.pop()
            self.peaks.append(Peak(zxid, time_ms))


def operations_of_file(run: str, path: Path, chroot: str, after: Zxid, to: Zxid) -> Iterator[Operation]:
    """Yield what is to be told of a log file's transactions after one and up to another, which counts; its survey last."""
    survey = FileSurvey(str(path))
    try:
        survey.size = path.stat().st_size
        with LogFile(path) as log:
            last = after
            for transaction in log.read(to):
                if transaction.zxid <= last:
                    continue
                last = transaction.zxid
                survey.take(transaction)
                told = list(operations_of(run, transaction, chroot))
                survey.untold += not told
                yield from told
            survey.torn_end = log.torn_end
    except BadLogError as error:
        survey.failure = Failure(error.offset, error.reason)
    except TooLongError as error:
        survey.failure = Failure(0, str(error))
    except OSError as error:
        survey.failure = Failure(0, error.strerror or str(error))
    yield Operation(run, "", 0, 0, Op.FILE, str(path), msgspec.msgpack.encode(survey))


class Clock:
    """The time of each transaction as a history has it: never earlier than that of any before it.

    Attributes:
        latest_ms: the time of all that comes after the last transaction.
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
        """That of one transaction whose own is `time_ms`."""
        place = bisect_left(self._zxids, zxid)
        return max(time_ms, self._times_ms[place - 1]) if place else time_ms


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans of many files, of which some may overlap, as those of one."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.first, -one.last)):
        last = found[-1] if found else None
        if last is not None and span.first <= last.last + 1:
            found[-1] = Span(last.first, max(last.last, span.last), last.first_ms)
        else:
            found.append(span)
    return found


def holes(after: int, spans: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Between which transactions something is missing; `after` is the last known before the first span, 0 if none is."""
    last = after
    for span in spans:
        if last and not follows(Zxid(last), Zxid(span.first)):
            yield last, span.first
        last = span.last
