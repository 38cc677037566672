"""The batches that a consumer gets for runs of records, as kio reads them."""

from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch

from kcsim.brokers.record_batches import header_of
from kcsim.brokers.records import Run
from kcsim.brokers.wire.batches_of_runs import batches_of
from kcsim.vocabulary import LeaderEpoch
from tests.brokers.test_record_batches import sent_batches


@given(
    st.integers(0, 2**40),
    st.integers(1, 300),
    st.integers(0, 2**20),
    st.integers(0, 4_000_000_000_000),
    st.integers(1, 300),
)
def test_records_without_bytes_get_their_writer_and_number(
    base_offset: int, count: int, sequence: int, timestamp_ms: int, size: int
) -> None:
    run = Run(base_offset, count, LeaderEpoch(3), "producer-a", sequence, timestamp_ms, size)
    data = batches_of([run])
    batch, length = read_batch(data, 0)
    assert length == len(data)
    assert (batch.base_offset, batch.partition_leader_epoch, batch.max_timestamp) == (base_offset, 3, timestamp_ms)
    assert [record.offset for record in batch.records] == list(range(base_offset, base_offset + count))
    values = [record.value for record in batch.records]
    assert values == [f"producer-a {sequence + index}".encode().ljust(size) for index in range(count)]
    assert {(record.key, record.headers) for record in batch.records} == {(None, ())}


def test_batches_with_bytes_are_sent_whole_also_for_a_part_of_them() -> None:
    sent = max(sent_batches(), key=lambda batch: header_of(batch).record_count)
    count = header_of(sent).record_count
    run = Run(0, count, LeaderEpoch(0), "a", 0, 0, 1, batch=sent).appended_at(40, LeaderEpoch(2))
    after = Run(40 + count, 1, LeaderEpoch(2), "b", 0, 0, 10)
    data = batches_of([run.from_offset(41), after])
    assert header_of(data)[:3] == (40, len(sent) - 12, 2)
    assert header_of(data[len(sent) :]).base_offset == 40 + count
