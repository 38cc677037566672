"""The log directories of one broker in a folder. Source: Kafka 2.8, LogManager, BrokerMetadataCheckpoint."""

from pathlib import Path

import pytest

from kcsim.brokers.log.disk import StorageError
from kcsim.brokers.log.replica_log import NO_RANDOM_NUMBERS
from kcsim.brokers.records import Run
from kcsim.brokers.stored_logs.stored_disk import StoredDisk
from kcsim.vocabulary import BrokerId, LeaderEpoch, TopicPartition

ORDERS_0, ORDERS_1 = (TopicPartition("orders", number) for number in range(2))
NOW_MS = 1_700_000_000_000


def disk_in(folder: Path, *log_dirs: str, broker_id: int = 1) -> StoredDisk:
    return StoredDisk(folder, BrokerId(broker_id), log_dirs or ("/tmp/kafka-logs",), NO_RANDOM_NUMBERS)


def test_a_new_process_finds_the_logs_with_their_high_watermarks(tmp_path: Path) -> None:
    disk = disk_in(tmp_path / "data")
    disk.join("the-cluster")
    log = disk.create(ORDERS_0)
    log.append_as_leader([Run(0, 10, LeaderEpoch(0), "writer", 0, NOW_MS, 20)], LeaderEpoch(0), NOW_MS)
    log.checkpointed_high_watermark = 7
    disk.close()
    again = disk_in(tmp_path / "data")
    again.join("the-cluster")
    again.mount()
    assert (again.log(ORDERS_0).runs, again.log(ORDERS_0).high_watermark) == (log.runs, 7)
    assert again.cut_off == []
    assert (tmp_path / "data" / "meta.properties").read_text() == "version=0\nbroker.id=1\ncluster.id=the-cluster\n"
    assert (tmp_path / "data" / "replication-offset-checkpoint").read_text() == "0\n1\norders 0 7\n"


def test_a_deleted_replica_is_gone_for_a_new_process(tmp_path: Path) -> None:
    disk = disk_in(tmp_path)
    for tp in (ORDERS_0, ORDERS_1):
        disk.create(tp)
    disk.delete(ORDERS_0)
    disk.join("the-cluster")
    disk.close()
    again = disk_in(tmp_path)
    assert (ORDERS_0 in again, ORDERS_1 in again) == (False, True)


def test_several_log_directories_are_folders_in_it(tmp_path: Path) -> None:
    disk = disk_in(tmp_path, "/mnt/a", "/mnt/b")
    for tp in (ORDERS_0, ORDERS_1):
        disk.create(tp)
    disk.join("the-cluster")
    disk.close()
    assert (tmp_path / "a" / "orders-0").is_dir()
    assert (tmp_path / "b" / "orders-1").is_dir()
    assert disk_in(tmp_path, "/mnt/a", "/mnt/b").dir_of(ORDERS_1) == "/mnt/b"
    with pytest.raises(StorageError, match="several log directories have one name"):
        disk_in(tmp_path, "/x/a", "/y/a")


def test_a_folder_is_used_by_one_broker_at_a_time(tmp_path: Path) -> None:
    disk = disk_in(tmp_path)
    disk.join("the-cluster")
    with pytest.raises(StorageError, match="is in use by another broker"):
        disk_in(tmp_path)
    disk.close()
    disk_in(tmp_path).close()


def test_a_folder_belongs_to_one_broker_of_one_cluster(tmp_path: Path) -> None:
    disk = disk_in(tmp_path)
    disk.join("the-cluster")
    disk.close()
    with pytest.raises(StorageError, match=r"meta\.properties is of broker 1, not of broker 2"):
        disk_in(tmp_path, broker_id=2)
    with pytest.raises(StorageError, match=r"is of cluster the-cluster, and ZooKeeper has cluster another"):
        disk_in(tmp_path).join("another")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"file/data/meta\.properties: Not a directory"):
        disk_in(tmp_path / "file" / "data")
