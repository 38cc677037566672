"""What many log files contain together, and the numbering of their transactions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.scenarios.analysis.importing.zookeeper.log_file import Clock, TransactionLogSurvey, ZxidRange, holes, merge_ranges
from kcsim.scenarios.analysis.importing.zookeeper.numbering import Numbering
from kcsim.scenarios.analysis.importing.zookeeper.operation import PLACES, TransactionTooLongError, key_of, operations_of
from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.transactions import CheckVersionTxn, CreateTxn, SetDataTxn, Transaction

EPOCH = 2**32
ZXIDS = st.builds(lambda epoch, counter: epoch * EPOCH + counter, st.integers(0, 2), st.integers(1, 12))
HISTORIES = st.dictionaries(ZXIDS, st.integers(1_000, 1_020), min_size=1)
"""zxid -> time; each file has a part of the history."""


def survey(times: dict[int, int]) -> TransactionLogSurvey:
    found = TransactionLogSurvey("log.1")
    for zxid in sorted(times):
        found.take(Transaction(Zxid(zxid), SessionId(1), 1, times[zxid], (CheckVersionTxn("/", ZkVersion(0)),)))
    return found


@st.composite
def files(draw: st.DrawFn) -> tuple[dict[int, int], list[TransactionLogSurvey]]:
    """Draw a history, and files that contain all of it together, some of it twice."""
    history = draw(HISTORIES)
    parts: list[dict[int, int]] = [{}, {}, {}]
    for zxid, time_ms in history.items():
        for part in draw(st.sets(st.integers(0, 2), min_size=1)):
            parts[part][zxid] = time_ms
    return history, [survey(part) for part in parts]


@given(files())
def test_the_clock_of_many_files_never_goes_back(given: tuple[dict[int, int], list[TransactionLogSurvey]]) -> None:
    """The clock is the latest time so far, in whichever file that time is."""
    history, surveys = given
    clock = Clock(peak for one in surveys for peak in one.peaks)
    latest = 0
    for zxid in sorted(history):
        latest = max(latest, history[zxid])
        assert clock.time_ms(zxid, history[zxid]) == latest
    assert clock.latest_ms == latest


@given(files())
def test_the_spans_of_many_files_have_each_transaction_once(
    given: tuple[dict[int, int], list[TransactionLogSurvey]],
) -> None:
    history, surveys = given
    spans = merge_ranges(span for one in surveys for span in one.spans)
    assert [zxid for span in spans for zxid in range(span.first, span.last + 1)] == sorted(history)
    assert sum(span.count for span in spans) == len(history)
    assert spans[0].first_ms == history[min(history)]


def test_a_hole_is_what_lies_between_two_spans_of_an_epoch() -> None:
    """The first transaction of a later epoch follows the last one of the epoch before, whatever that was."""
    spans = [
        ZxidRange(3, 5, 0),
        ZxidRange(9, 12, 0),
        ZxidRange(EPOCH + 1, EPOCH + 4, 0),
        ZxidRange(2 * EPOCH + 3, 2 * EPOCH + 3, 0),
    ]
    assert list(holes(0, spans)) == [(5, 9), (EPOCH + 4, 2 * EPOCH + 3)]
    assert next(holes(1, spans)) == (1, 3)
    assert next(holes(2, spans)) == (5, 9)


@given(files(), st.integers(1, 1_000))
def test_seqs_are_in_the_order_of_transactions_and_places(
    given: tuple[dict[int, int], list[TransactionLogSurvey]], beginning: int
) -> None:
    history, surveys = given
    numbering = Numbering(beginning, [span for one in surveys for span in one.spans])
    seqs = [numbering.seq(zxid, place) for zxid in sorted(history) for place in (0, 1, PLACES - 1)]
    assert seqs == sorted(set(seqs))
    assert seqs[0] == beginning
    assert seqs[-1] < numbering.end <= beginning + 3 * 12 * PLACES


# --- operations ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/brokers/topics/a/partitions/3/state", "a 3"),
        ("/brokers/topics/a/partitions/3", "a 3"),
        ("/brokers/topics/a/partitions", "/brokers/topics/a/partitions"),
        ("/brokers/topics/a", "/brokers/topics/a"),
        ("/brokers/ids/1", ""),
        ("/brokers/ids", "/brokers/ids"),
        ("/controller", ""),
        ("/controller_epoch", ""),
        ("/admin/delete_topics/a", ""),
        ("/config/topics/a", "/config/topics/a"),
    ],
)
def test_a_partition_has_one_key_and_what_others_look_to_has_the_first(path: str, key: str) -> None:
    assert key_of(path) == key


def test_places_of_one_transaction_do_not_overlap() -> None:
    """A topic's write may be preceded by a decision about each of its partitions."""
    data = b'{"partitions":{"0":[1],"1":[2]}}'
    ops = (
        SetDataTxn("/brokers/topics/a", data, ZkVersion(1)),
        CreateTxn("/x", b"", False, 1),
        CreateTxn("/y", b"", False, 1),
    )
    found = list(operations_of("east", Transaction(Zxid(1), SessionId(1), 1, 1, ops, is_multi=True), ""))
    ends = [one.place + one.room + 3 for one in found]
    assert [one.place for one in found[1:]] == [end + 1 for end in ends[:-1]]
    assert found[0].room >= len(["0", "1"])


def test_a_transaction_with_too_much_in_it_is_refused() -> None:
    huge = CreateTxn("/brokers/topics/a", b" " * 8 * PLACES, False, 1)
    with pytest.raises(TransactionTooLongError, match="transaction 0x9 is too long"):
        list(operations_of("east", Transaction(Zxid(9), SessionId(1), 1, 1, (huge,)), ""))
