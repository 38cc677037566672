"""The ids of topics in logs: which request gives a log its id, and which is refused."""

import pytest

from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.log_topic_ids import LogTopicIds
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.vocabulary import TopicPartition

TP = TopicPartition("orders", 0)
EARLIER, LATER = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


def disk_with_log(topic_id: str | None = None) -> tuple[Disk, ReplicaLog]:
    disk = Disk(("a",))
    log = disk.create(TP)
    log.topic_id = topic_id
    return disk, log


@pytest.mark.parametrize("from_the_first", [False, True])
def test_an_opened_log_takes_the_id_of_the_next_request_and_keeps_it(from_the_first: bool) -> None:
    disk, log = disk_with_log()
    ids = LogTopicIds(disk, from_the_first)
    assert ids.is_same_topic(TP, log, EARLIER)
    assert log.topic_id == EARLIER
    assert ids.is_same_topic(TP, log, EARLIER)
    assert not ids.is_same_topic(TP, log, LATER)
    assert log.topic_id == EARLIER


def test_a_new_log_has_an_id_from_its_first_request_on_since_3_0_only() -> None:
    for from_the_first, topic_id in ((False, None), (True, EARLIER)):
        disk, log = disk_with_log()
        LogTopicIds(disk, from_the_first).keep({TP: EARLIER, TopicPartition("bills", 0): LATER})
        assert log.topic_id == topic_id


def test_an_id_is_not_replaced() -> None:
    disk, log = disk_with_log(EARLIER)
    LogTopicIds(disk, True).keep({TP: LATER})
    assert log.topic_id == EARLIER


def test_a_log_that_is_not_opened_yet_is_compared_since_3_0_only() -> None:
    disk, log = disk_with_log(EARLIER)
    assert LogTopicIds(disk, False).is_same_topic(TP, None, LATER)
    assert not LogTopicIds(disk, True).is_same_topic(TP, None, LATER)
    assert log.topic_id == EARLIER


def test_a_request_without_ids_and_a_missing_log_are_of_no_other_topic() -> None:
    disk, log = disk_with_log(EARLIER)
    ids = LogTopicIds(disk, True)
    assert ids.is_same_topic(TP, log, None)
    assert ids.is_same_topic(TopicPartition("bills", 0), None, LATER)
