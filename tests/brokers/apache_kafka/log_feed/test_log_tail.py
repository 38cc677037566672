"""Growing files are read record by record: no record twice, no partial record, and in the order of time."""

from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.log_feed.log_tail import FILES, FollowedFile, LogTail
from kcsim.eventlog.events import EventKind
from tests.brokers.apache_kafka.log_feed.recorded import CONTROLLER, FOREVER_MS, RECORDINGS, STATE_CHANGE, of, recorded, text

TEN = 1_620_122_400_000
"""2021-05-04 10:00:00 UTC: ms 0 of a test's records."""

ELECTED = "[Controller id=1] 1 successfully elected as the controller. Epoch incremented to 7 and epoch zk version is now 7"


class Growing:
    """A broker's log file, to which the test writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.followed = FollowedFile(path)

    def write(self, more: str) -> None:
        with self.path.open("ab") as file:
            file.write(more.encode())

    def messages(self) -> list[str]:
        return [record.message for _, record in self.followed.read(FOREVER_MS)]


@pytest.fixture
def growing(tmp_path: Path) -> Growing:
    return Growing(tmp_path / "controller.log")


def test_a_file_that_is_not_there_yet_has_nothing(growing: Growing) -> None:
    assert growing.messages() == []


def test_what_is_new_is_returned_once(growing: Growing) -> None:
    growing.write(text(1, "first", CONTROLLER))
    assert growing.messages() == ["first"]
    growing.write(text(2, "second", CONTROLLER) + text(3, "third", CONTROLLER))
    assert growing.messages() == ["second", "third"]
    assert growing.messages() == []


def test_a_line_that_is_being_written_is_waited_for(growing: Growing) -> None:
    """This also holds in the middle of a character of two bytes."""
    whole = text(1, "topic grün", CONTROLLER).encode()
    for at in range(len(whole)):
        with growing.path.open("ab") as file:
            file.write(whole[at : at + 1])
        assert growing.messages() == (["topic grün"] if at == len(whole) - 1 else [])


def test_a_message_of_several_lines_ends_with_its_logger(growing: Growing) -> None:
    growing.write("[2021-05-04 10:00:00,001] INFO Stat of the created znode is: 26,26\n")
    assert growing.messages() == []
    growing.write(f" ({CONTROLLER})\n")
    assert growing.messages() == ["Stat of the created znode is: 26,26\n"]


def test_a_message_that_was_never_ended_does_not_spoil_the_next(growing: Growing) -> None:
    """The broker is killed in the middle of the message, and started again."""
    growing.write("[2021-05-04 10:00:00,001] INFO a message of\n" + text(2, "next", CONTROLLER))
    assert growing.messages() == ["next"]


def test_a_stack_trace_written_in_pieces_belongs_to_its_record(growing: Growing) -> None:
    growing.write(text(1, "failed", CONTROLLER) + "java.lang.Exception: why\n\tat kafka.")
    assert growing.messages() == []
    growing.write("Some(Some.scala)\n")
    ((_, record),) = growing.followed.read(FOREVER_MS)
    assert (record.message, record.continuation.splitlines()[0]) == ("failed", "java.lang.Exception: why")


def test_a_time_that_steps_back_does_not(growing: Growing) -> None:
    growing.write(text(9, "first", CONTROLLER) + text(8, "second", CONTROLLER))
    assert [time_ms - TEN for time_ms, _ in growing.followed.read(FOREVER_MS)] == [9, 9]


def test_what_is_later_than_asked_for_is_kept(growing: Growing) -> None:
    growing.write(text(1, "first", CONTROLLER) + text(2, "second", CONTROLLER))
    assert [record.message for _, record in growing.followed.read(TEN + 1)] == ["first"]
    assert growing.messages() == ["second"]


# --- several files --------------------------------------------------------------------------------------------------------


def test_what_a_controller_knows_comes_before_what_it_does(tmp_path: Path) -> None:
    """Both lines have the same time; the number of brokers is in one file, the request in another."""
    alive = "[Controller id=1] Currently active brokers in the cluster: Set(1, 2)"
    sends = "[Controller id=1 epoch=7] Sending UpdateMetadata request to brokers HashSet(2) for 0 partitions"
    (tmp_path / "controller.log").write_text(text(5, ELECTED, CONTROLLER) + text(5, alive, CONTROLLER))
    (tmp_path / "state-change.log").write_text(text(5, sends, STATE_CHANGE))
    events = LogTail([(1, tmp_path)]).read(TEN + 5)
    assert of(events, EventKind.REQUEST_SENT, "broker_id", "controller_epoch", "detail") == [
        (2, 7, "no partitions; 2 brokers are alive")
    ]


def test_brokers_are_merged_by_time(tmp_path: Path) -> None:
    lines = {1: (5, 30), 2: (10, 20)}
    for broker, times in lines.items():
        directory = tmp_path / str(broker)
        directory.mkdir()
        began = "[Controller id={}] Shutting down broker 9"
        let_go = "[Controller id={}] All leaders = "
        (directory / "controller.log").write_text(
            "".join(text(ms, line.format(broker), CONTROLLER) for ms in times for line in (began, let_go))
        )
    tail = LogTail((broker, tmp_path / str(broker)) for broker in lines)
    reads = [[(event.time_ms - TEN, event.node) for event in tail.read(TEN + until)] for until in (9, 20, 40)]
    assert reads == [[(5, "broker-1")], [(10, "broker-2"), (20, "broker-2")], [(30, "broker-1")]]


def test_a_stop_is_reported_when_nothing_has_refused_it_for_a_while(tmp_path: Path) -> None:
    asked = (
        "[Broker id=1] Received StopReplica request StopReplicaPartitionState(partitionIndex=0, leaderEpoch=4, "
        "deletePartition=true) correlation id 3 from controller 2 epoch 7 for partition orders-{}"
    )
    refused = (
        "[Broker id=1] Ignoring StopReplica request (delete=true) from controller 2 with correlation id 3 epoch 7 for "
        "partition orders-0 since its associated leader epoch 4 is smaller than the current leader epoch 5"
    )
    lines = [(1, asked.format(0)), (2, asked.format(1)), (9, refused)]
    (tmp_path / "state-change.log").write_text("".join(text(ms, line, STATE_CHANGE) for ms, line in lines))
    tail = LogTail([(1, tmp_path)])
    assert tail.read(TEN + 8) == []
    assert [(event.time_ms - TEN, event.fields["partition"]) for event in tail.read(TEN + 9)] == [(9, 1)]


@pytest.mark.parametrize("step_ms", [7, 500])
def test_a_recording_yields_the_same_events_however_often_it_is_read(step_ms: int) -> None:
    """Reading delete-dead-replica while it grows yields the same events as reading the complete recording."""
    whole = recorded("delete-dead-replica")
    directories = (RECORDINGS / "delete-dead-replica").glob("broker-*")
    tail = LogTail((int(one.name.removeprefix("broker-")), one) for one in directories)
    looks = range(whole[0].time_ms, whole[-1].time_ms + step_ms, step_ms)
    assert [event for until_ms in looks for event in tail.read(until_ms)] == list(whole)


def test_every_file_of_a_broker_is_followed() -> None:
    """Source: brokers/apache_kafka/log_files.py, which lists what is written to which file."""
    assert set(FILES) == {path.name for path in (RECORDINGS / "kill-leader" / "broker-1").iterdir()}
