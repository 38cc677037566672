"""The quarantine of a hardened controller: what it reports, and when."""

from kcsim.controller.quarantine import Quarantine
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import TopicPartition
from kcsim.znodes import BadZnodeError

STATE = "/brokers/topics/t/partitions/3/state"


def new_quarantine(is_on: bool = True) -> tuple[Quarantine, EventLog]:
    log = EventLog(lambda: 0)
    return Quarantine(log.sink("broker-1"), is_on), log


def test_a_quarantined_znode_is_reported_with_its_subject() -> None:
    """A reader looks for the partition, not for a path."""
    quarantine, log = new_quarantine()
    quarantine.add(STATE, "not JSON", "no leader is elected", None)
    (event,) = log.events
    assert (event.kind, event.topic, event.partition, event.rule) == (EventKind.ZNODE_QUARANTINED, "t", 3, "not JSON")
    assert event.detail == "not JSON; no leader is elected"
    assert quarantine.has_state_of(TopicPartition("t", 3))


def test_the_same_fault_is_reported_once() -> None:
    """A znode that is read again and again is no news."""
    quarantine, log = new_quarantine()
    for reason in ("not JSON", "not JSON", "no object"):
        quarantine.add(STATE, reason, "", None)
    assert [event.rule for event in log.events] == ["not JSON", "no object"]


def test_a_read_releases_what_it_has_read_without_fault() -> None:
    quarantine, log = new_quarantine()
    for path in ("/a", "/b", "/c"):
        quarantine.add(path, "wrong", "", None)
    reading = quarantine.reading("", None)
    assert reading is not None
    reading(BadZnodeError("/a", "wrong"))
    quarantine.release_read(["/a", "/b", "/c", "/d"], reading, found=["/b"])
    released = [(event.path, event.detail) for event in log.events if event.kind is EventKind.ZNODE_RELEASED]
    assert released == [("/b", "its content is right now"), ("/c", "it was deleted")]
    assert "/a" in quarantine


def test_a_znode_is_to_be_watched_once() -> None:
    quarantine, _ = new_quarantine()
    quarantine.add("/a", "wrong", "", None)
    quarantine.add("/b", "wrong", "", None)
    quarantine.release("/b", "", None)
    assert quarantine.take_unwatched() == ["/a"]
    assert quarantine.take_unwatched() == []


def test_without_hardening_a_read_has_no_handler() -> None:
    """A gateway raises then, as Kafka does."""
    quarantine, _ = new_quarantine(is_on=False)
    assert quarantine.reading("", None) is None
