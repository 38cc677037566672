"""The groups' records in the broker's own log of __consumer_offsets, appended and committed like all other records.

Source: Kafka 2.8, GroupMetadataManager.appendForGroup and doLoadGroupsAndOffsets; docs/kafka/consumer_groups.md 10.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from kcsim.brokers.api.produce_handler import ProduceHandler
from kcsim.brokers.groups.coordinator import GroupCoordinator
from kcsim.brokers.groups.group_metadata import StoredRecord
from kcsim.brokers.groups.offsets_topic_records import EncodedRecord, key_and_value, stored_record
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.record_batches import header_of, keys_of, values_of
from kcsim.brokers.records import Run
from kcsim.brokers.replication.hosted_partitions import HostedPartitions
from kcsim.brokers.requests import ACKS_ALL, ProduceBatch, ProduceRequest
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import OFFSETS_TOPIC, TopicPartition

WRITER = "group-coordinator"
RECORD_BYTES = 200
"""Approximate size of a record of a small group, or of an offset."""


class ReplicatedGroupLog:
    """The GroupLog port on the broker's own replica of __consumer_offsets.

    Args:
        timeout_ms: offsets.commit.timeout.ms: how long the in-sync replicas may take to replicate a record.
        wall_clock_ms: returns the wall-clock time, in ms since 1970, which is stored with a record.
        is_encoded: whether records are stored as bytes, because followers get them over TCP.
    """

    def __init__(
        self,
        produce: ProduceHandler,
        disk: Disk,
        timeout_ms: int,
        wall_clock_ms: Callable[[], int],
        *,
        is_encoded: bool = False,
    ) -> None:
        self._produce = produce
        self._disk = disk
        self._timeout_ms = timeout_ms
        self._wall_clock_ms = wall_clock_ms
        self._is_encoded = is_encoded

    async def append(self, tp: TopicPartition, records: tuple[StoredRecord, ...], cause: int) -> ErrorCode:
        first = self._disk.log(tp).log_end_offset if tp in self._disk else 0
        now_ms = self._wall_clock_ms()
        payloads = tuple(key_and_value(record, now_ms) for record in records) if self._is_encoded else records
        batch = ProduceBatch(WRITER, first, len(records), RECORD_BYTES, now_ms, is_idempotent=False, payloads=payloads)
        answer = await self._produce.handle(ProduceRequest(WRITER, ACKS_ALL, self._timeout_ms, {tp: batch}), cause)
        return answer.results[tp].error

    def read(self, tp: TopicPartition) -> Iterable[StoredRecord]:
        return _stored(self._disk, tp)


def _stored(disk: Disk, tp: TopicPartition) -> Iterator[StoredRecord]:
    for run in disk.log(tp).runs if tp in disk else ():
        for payload in run.payloads if run.batch is None else _encoded(run, run.batch):
            if isinstance(payload, EncodedRecord):
                record = stored_record(*payload)
                if record is not None:
                    yield record
                continue
            assert isinstance(payload, StoredRecord), f"{tp} has a record that is none of a group: {payload}"
            yield payload


def _encoded(run: Run, batch: bytes) -> Iterator[EncodedRecord]:
    """Yield the records of a batch from a coordinator that is none of ours."""
    first = run.base_offset - header_of(batch).base_offset
    for key, value in islice(zip(keys_of(batch), values_of(batch), strict=True), first, first + run.count):
        if key is not None:
            yield EncodedRecord(key, value)


def follow_roles(groups: GroupCoordinator, hosted: HostedPartitions, changed: Sequence[TopicPartition], cause: int) -> None:
    """Coordinate the groups of those changed partitions of __consumer_offsets that this broker leads, and of no others."""
    for tp in changed:
        if tp.topic == OFFSETS_TOPIC:
            partition = hosted.get(tp)
            if partition is not None and partition.is_leader:
                groups.on_election(tp.partition, cause)
            else:
                groups.on_resignation(tp.partition, cause)
