"""Which batches of real clients a log has because they were sent again."""

from kcsim.brokers.clients.acknowledged_records import AcknowledgedRecords
from kcsim.brokers.clients.batch_copies import batch_copies
from kcsim.brokers.log.intervals import IntervalSet
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.record_batches import HEADER
from kcsim.brokers.records import UNKNOWN_CLIENT, Run
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition

TP = TopicPartition("orders", 0)
FIRST_PORT, NEXT_PORT = "shop@127.0.0.1:4711", "shop@127.0.0.1:4712"
OTHER_CLIENT, OTHER_HOST = "bank@127.0.0.1:4712", "shop@127.0.0.2:4711"
IDEMPOTENT = "shop#7"


def batch(checksum: int, timestamp_ms: int = 1_000, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytes:
    """Return the header of a batch of two records."""
    return HEADER.pack(0, 49, 0, 2, checksum, 0, 1, timestamp_ms, timestamp_ms, *producer, 2)


def runs_of(*batches: tuple[str, bytes]) -> tuple[Run, ...]:
    """Return a log of these batches, of two records each: (writer, bytes), …"""
    log = ReplicaLog(TP)
    for writer, content in batches:
        run = Run(0, 2, LeaderEpoch(0), writer, log.log_end_offset, 1_000, 25, batch=content)
        log.append_as_leader([run], LeaderEpoch(3), 0)
    return log.runs


def copied(*batches: tuple[str, bytes], final: tuple[tuple[int, int], ...] = ()) -> list[tuple[int, int]]:
    """Return the offsets of the copies, with those of what they are copies of."""
    found = batch_copies(runs_of(*batches), {LeaderEpoch(3): IntervalSet.of(final)})
    return [(copy.first.base_offset, copy.again.base_offset) for copy in found]


def test_the_same_bytes_over_another_connection_of_the_client_are_a_copy() -> None:
    assert copied((FIRST_PORT, batch(1)), (FIRST_PORT, batch(2)), (NEXT_PORT, batch(1)), final=((0, 4),)) == [(0, 4)]


def test_the_same_bytes_of_another_client_or_host_are_other_records() -> None:
    assert copied((FIRST_PORT, batch(1)), (OTHER_CLIENT, batch(1)), (OTHER_HOST, batch(1))) == []


def test_other_bytes_or_times_are_other_records() -> None:
    assert copied((FIRST_PORT, batch(1)), (NEXT_PORT, batch(2)), (NEXT_PORT, batch(1, timestamp_ms=1_001))) == []


def test_the_same_bytes_over_one_connection_are_a_copy_if_the_first_were_not_acknowledged() -> None:
    """A producer that wrote the same value twice within a millisecond has written two records."""
    assert copied((FIRST_PORT, batch(1)), (FIRST_PORT, batch(1))) == [(0, 2)]
    assert copied((FIRST_PORT, batch(1)), (FIRST_PORT, batch(1)), final=((0, 2),)) == []


def test_what_is_there_three_times_has_two_copies() -> None:
    assert copied((FIRST_PORT, batch(1)), (FIRST_PORT, batch(1)), (NEXT_PORT, batch(1))) == [(0, 2), (2, 4)]


def test_a_batch_of_an_idempotent_producer_is_known_by_its_sequence() -> None:
    first, next_one = batch(1, producer=(7, 0, 0)), batch(2, producer=(7, 0, 2))
    assert copied((IDEMPOTENT, first), (IDEMPOTENT, next_one), final=((0, 4),)) == []
    assert copied((IDEMPOTENT, first), (IDEMPOTENT, first), final=((0, 4),)) == [(0, 2)]


def test_a_batch_whose_client_is_not_known_may_be_any_clients() -> None:
    """A follower gets it without the client; the producer sends it again when this broker leads, or led."""
    assert copied((UNKNOWN_CLIENT, batch(1)), (NEXT_PORT, batch(1)), final=((0, 2),)) == [(0, 2)]
    assert copied((FIRST_PORT, batch(1)), (UNKNOWN_CLIENT, batch(1)), final=((0, 2),)) == [(0, 2)]
    assert copied((UNKNOWN_CLIENT, batch(1)), (UNKNOWN_CLIENT, batch(1))) == [(0, 2)]
    assert copied((UNKNOWN_CLIENT, batch(1)), (UNKNOWN_CLIENT, batch(1)), final=((0, 2),)) == []
    idempotent = batch(1, producer=(7, 0, 0))
    assert copied(("#7", idempotent), (IDEMPOTENT, idempotent), final=((0, 2),)) == [(0, 2)]


def test_records_without_bytes_are_never_copies() -> None:
    run = Run(0, 2, LeaderEpoch(0), "simulated", 0, 1_000, 25)
    assert batch_copies((run, run), {}) == []


def test_what_was_sent_without_asking_for_an_answer_is_not_sent_again() -> None:
    log = ReplicaLog(TP)
    for _ in range(2):
        run = Run(0, 2, LeaderEpoch(0), FIRST_PORT, log.log_end_offset, 1_000, 25, batch=batch(1))
        log.append_as_leader([run], LeaderEpoch(3), 0)
    records, logs, leader = AcknowledgedRecords(), {BrokerId(1): log}, BrokerId(1)
    assert records.count(TP, logs, leader, [leader]).duplicated == 2
    records.note_without_answer(TP, LeaderEpoch(3), 0, 2)
    assert records.count(TP, logs, leader, [leader]).duplicated == 0
    assert records.partitions == []
