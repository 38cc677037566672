"""Writers of the records in a log, and differences of two logs of a partition: record by record, whatever the runs."""

from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.log.log_comparison import Divergence, divergence, records_of
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch, TopicPartition

ORDERS_0 = TopicPartition("orders", 0)
E0, E1 = LeaderEpoch(0), LeaderEpoch(1)
Piece = tuple[str, int, int]
"""Writer, first sequence, count."""


def log_of(*pieces: Piece, epoch: LeaderEpoch = E0, start: int = 0) -> ReplicaLog:
    log = ReplicaLog(ORDERS_0)
    log.truncate_fully_and_start_at(start)
    log.append_as_leader([Run(0, count, epoch, writer, first, -1, 1) for writer, first, count in pieces], epoch, 0)
    return log


def run(offset: int, count: int, writer: str, sequence: int) -> Run:
    return Run(offset, count, E0, writer, sequence, -1, 1)


# --- one log ---------------------------------------------------------------------------------------------------------------


def test_the_records_of_a_writer_are_ranges_of_its_sequence() -> None:
    log = log_of(("p", 0, 10), ("q", 0, 5), ("p", 10, 5), ("p", 20, 1))
    assert records_of(log, "p").ranges == ((0, 15), (20, 21))
    assert records_of(log, "nobody").count == 0


def test_what_is_below_the_log_start_is_not_there() -> None:
    log = log_of(("p", 0, 10))
    log.high_watermark = 10
    log.increment_log_start_offset(4)
    assert records_of(log, "p").ranges == ((4, 10),)


def test_a_billion_records_are_compared_at_once() -> None:
    last = 10**9 - 1
    one, other = log_of(("p", 0, 10**9)), log_of(("p", 0, last), ("q", 0, 1))
    assert divergence(one, other) == Divergence(last, (run(last, 1, "p", last),), (run(last, 1, "q", 0),))


# --- two logs --------------------------------------------------------------------------------------------------------------


def test_a_log_that_lags_does_not_disagree() -> None:
    assert divergence(log_of(("p", 0, 10)), log_of(("p", 0, 4))) is None
    assert divergence(log_of(("p", 0, 10)), log_of(("p", 4, 6), start=4)) is None
    assert divergence(log_of(("p", 0, 10)), ReplicaLog(ORDERS_0)) is None


def test_a_log_whose_leader_lost_records_disagrees_from_there_on() -> None:
    """One log has records that were never replicated, the other the records written in their place and more.

    Source: docs/kafka/requests.md 13.3.
    """
    a, b = log_of(("p", 0, 12), ("p", 12, 2)), log_of(("p", 0, 12), ("q", 0, 4))
    assert divergence(a, b) == Divergence(12, (run(12, 2, "p", 12),), (run(12, 4, "q", 0),))
    assert divergence(b, a) == Divergence(12, (run(12, 4, "q", 0),), (run(12, 2, "p", 12),))


def test_where_both_agree_again_is_not_reported() -> None:
    a, b = log_of(("p", 0, 10)), log_of(("p", 0, 3), ("q", 0, 2), ("p", 5, 5))
    assert divergence(a, b) == Divergence(3, (run(3, 2, "p", 3),), (run(3, 2, "q", 0),))


def test_runs_need_not_be_the_same_nor_the_epochs() -> None:
    """Kafka's own comparison of replicas ignores the leader epoch, too."""
    assert divergence(log_of(("p", 0, 10)), log_of(("p", 0, 4), ("p", 4, 6), epoch=E1)) is None


def test_payloads_are_compared() -> None:
    a, b = (ReplicaLog(ORDERS_0), ReplicaLog(ORDERS_0))
    for log, payloads in ((a, ("x", "y")), (b, ("x", "z"))):
        log.append_as_leader([Run(0, 2, E0, "coordinator", 0, -1, 1, payloads)], E0, 0)
    found = divergence(a, b)
    assert found is not None
    assert (found.offset, found.only_in_a[0].payloads, found.only_in_b[0].payloads) == (1, ("y",), ("z",))


PIECES = st.lists(st.tuples(st.sampled_from("pq"), st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=6)


def records(runs: tuple[Run, ...]) -> dict[int, tuple[str, int]]:
    return {r.base_offset + n: (r.writer, r.first_sequence + n) for r in runs for n in range(r.count)}


@given(PIECES, PIECES, st.integers(0, 5))
def test_what_is_reported_is_what_a_look_at_every_record_finds(a: list[Piece], b: list[Piece], start: int) -> None:
    one, other = log_of(*a), log_of(*b, start=start)
    here, there = ({o: r for o, r in records(log.runs).items() if o >= start} for log in (one, other))
    differing = [offset for offset in here.keys() & there.keys() if here[offset] != there[offset]]
    found = divergence(one, other)
    assert (found is None) == (not differing)
    if found is not None:
        beyond = min(one.log_end_offset, other.log_end_offset)
        assert found.offset == min(differing)
        assert records(found.only_in_a) == {o: r for o, r in here.items() if o in differing or o >= beyond}
        assert records(found.only_in_b) == {o: r for o, r in there.items() if o in differing or o >= beyond}


def test_batches_of_bytes_are_the_same_if_their_bytes_are() -> None:
    """Whatever their leader epochs, and whether the client that sent them is known."""

    def log_with(writer: str, content: bytes, epoch: LeaderEpoch = E0) -> ReplicaLog:
        log = ReplicaLog(ORDERS_0)
        log.append_as_leader([Run(0, 1, epoch, writer, 0, -1, 1, batch=bytes(16) + content)], epoch, 0)
        return log

    assert divergence(log_with("app#7", b"a"), log_with("#7", b"a")) is None
    assert divergence(log_with("app#7", b"a"), log_with("#7", b"a", E1)) is None
    for other in (log_with("#7", b"b"), log_with("#8", b"a"), log_of(("#7", 0, 1))):
        found = divergence(log_with("app#7", b"a"), other)
        assert found is not None
        assert found.offset == 0
