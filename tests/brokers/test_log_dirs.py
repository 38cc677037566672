"""The directories of a broker's logs, and their failure.

Source: docs/kafka/requests.md 4.4, 4.5, docs/kafka/controller.md 11.
"""

import pytest

from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.replica_manager import in_map_order
from kcsim.controller.requests import EPOCH_DURING_DELETE, ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import TopicPartition
from tests.brokers.broker_bench import B1, B2, B3, ORDERS_0, ORDERS_1, ORDERS_2, BrokerBench, requested_state

TWO_DIRS = BrokerConfig(log_dirs="/a,/b")


def test_logs_are_spread_over_the_directories_as_recorded() -> None:
    """Recording log-dir-breaks: broker 2 leads orders-1; of orders-0 to 2 it has 0 and 1 in its first directory."""
    bench = BrokerBench(TWO_DIRS)

    async def script() -> None:
        await bench.update_metadata()
        await bench.lead_or_follow(
            {ORDERS_0: requested_state(B2), ORDERS_1: requested_state(B1), ORDERS_2: requested_state(B3)}
        )

    bench.play(script)
    assert {tp: bench.disk.dir_of(tp) for tp in (ORDERS_0, ORDERS_1, ORDERS_2)} == {
        ORDERS_0: "/a",
        ORDERS_1: "/a",
        ORDERS_2: "/b",
    }


def test_partitions_are_taken_up_in_the_order_of_a_hash_map() -> None:
    assert in_map_order([ORDERS_0, ORDERS_1, ORDERS_2]) == [ORDERS_2, ORDERS_1, ORDERS_0]


def test_replicas_of_a_failed_directory_are_offline_until_the_process_starts_anew() -> None:
    bench = BrokerBench(TWO_DIRS)

    async def script() -> None:
        await bench.update_metadata()
        await bench.lead_or_follow(
            {ORDERS_0: requested_state(B2), ORDERS_1: requested_state(B1), ORDERS_2: requested_state(B3)}
        )
        bench.replicas.fail_log_dir("/a", cause=0)
        assert bench.fetched() == {ORDERS_2: (B3, 0)}
        led = await bench.lead_or_follow(dict.fromkeys((ORDERS_0, ORDERS_1, ORDERS_2), requested_state(B2, 1)))
        assert led.partition_errors == {
            ORDERS_0: ErrorCode.KAFKA_STORAGE_ERROR,
            ORDERS_1: ErrorCode.KAFKA_STORAGE_ERROR,
            ORDERS_2: ErrorCode.NONE,
        }
        stopped = await bench.stop({ORDERS_0: (EPOCH_DURING_DELETE, True)})
        assert stopped.partition_errors == {ORDERS_0: ErrorCode.KAFKA_STORAGE_ERROR}

    bench.play(script)
    (failed,) = bench.events(EventKind.LOG_DIR_FAILED)
    assert (failed.path, failed.count) == ("/a", 2)


@pytest.mark.parametrize(("is_new", "error"), [(True, ErrorCode.NONE), (False, ErrorCode.KAFKA_STORAGE_ERROR)])
def test_a_missing_log_may_lie_in_the_failed_directory_unless_it_is_new(is_new: bool, error: ErrorCode) -> None:
    bench = BrokerBench(TWO_DIRS)

    async def script() -> None:
        bench.replicas.fail_log_dir("/a", cause=0)
        response = await bench.lead_or_follow({ORDERS_0: requested_state(B1, is_new=is_new)})
        assert response.partition_errors == {ORDERS_0: error}

    bench.play(script)
    assert bench.disk.dir_of(ORDERS_0) == ("/b" if is_new else None)
    assert bench.hosted.offline == (set() if is_new else {ORDERS_0})


def test_a_topic_with_a_blank_makes_the_checkpoint_of_its_directory_unreadable() -> None:
    """Recording topic-with-a-blank: the brokers do not start again. One other directory is enough to start."""
    disk = Disk(("/a", "/b"))
    disk.create(TopicPartition("or ders", 0))
    assert disk.is_readable
    disk.create(TopicPartition("or ders", 1))
    assert not disk.is_readable
    disk.delete(TopicPartition("or ders", 0))
    assert disk.is_readable


def test_a_disk_counts_what_comes_and_goes() -> None:
    disk = Disk(("/a", "/b"))
    for tp in (ORDERS_0, ORDERS_1):
        disk.create(tp)
    disk.delete(ORDERS_0)
    disk.delete(ORDERS_0)
    disk.create(ORDERS_2)
    assert (disk.replicas("/a"), disk.replicas("/b")) == ([ORDERS_2], [ORDERS_1])


def test_a_directory_that_failed_is_back_and_empty_at_the_next_start() -> None:
    disk = Disk(("/a", "/b"))
    for tp in (ORDERS_0, ORDERS_1):
        disk.create(tp)
    assert disk.fail("/a") == [ORDERS_0]
    assert (disk.live_dirs, ORDERS_0 in disk) == (("/b",), False)
    disk.mount()
    disk.create(ORDERS_2)
    assert (disk.live_dirs, disk.replicas("/a")) == (("/a", "/b"), [ORDERS_2])


def test_replicas_set_apart_are_alone_in_their_directory() -> None:
    disk = Disk(("/a",))
    for tp in (ORDERS_0, ORDERS_1, ORDERS_2):
        disk.create(tp)
    name = disk.set_apart([ORDERS_0, ORDERS_2])
    assert (disk.log_dirs, disk.live_dirs) == (("/a", name), ("/a", name))
    assert disk.fail(name) == [ORDERS_0, ORDERS_2]
    assert (disk.live_dirs, disk.replicas("/a")) == (("/a",), [ORDERS_1])
