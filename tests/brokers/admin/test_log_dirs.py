"""The log directories of a broker. That a topic is named without partitions is what a Kafka 2.8.2 answers."""

from kcsim.brokers.admin.log_dirs import describe_log_dirs
from kcsim.brokers.admin.requests import DescribedLogDir, DescribeLogDirsRequest
from kcsim.brokers.log.disk import Disk
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition

ORDERS_0, ORDERS_1, CLICKS_0 = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("clicks", 0)


def a_disk() -> Disk:
    """Return two log directories: orders-0 and clicks-0 in the first, orders-1 in the second."""
    disk = Disk(("/a", "/b"))
    for tp in (ORDERS_0, ORDERS_1, CLICKS_0):
        disk.create(tp)
    return disk


def test_every_directory_is_described_with_its_replicas() -> None:
    found = describe_log_dirs(DescribeLogDirsRequest(), a_disk())
    assert found.log_dirs == (
        DescribedLogDir("/a", sizes={"orders": {0: 0}, "clicks": {0: 0}}),
        DescribedLogDir("/b", sizes={"orders": {1: 0}}),
    )


def test_topics_that_were_not_asked_for_are_named_without_partitions() -> None:
    found = describe_log_dirs(DescribeLogDirsRequest(frozenset({ORDERS_0})), a_disk())
    assert [log_dir.sizes for log_dir in found.log_dirs] == [{"orders": {0: 0}, "clicks": {}}, {"orders": {}}]


def test_a_failed_directory_is_described_by_its_error() -> None:
    disk = a_disk()
    disk.fail("/a")
    failed, other = describe_log_dirs(DescribeLogDirsRequest(), disk).log_dirs
    assert failed == DescribedLogDir("/a", ErrorCode.KAFKA_STORAGE_ERROR)
    assert other.error is ErrorCode.NONE
