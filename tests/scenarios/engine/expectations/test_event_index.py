"""Looking up events by kind and path, in a log that grows and forgets."""

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.scenarios.engine.expectations.evaluation_context import EventIndex

PATH = "/controller"


def changed(log: EventLog) -> int:
    return log.append("zookeeper", EventKind.ZNODE_CHANGED, None, EventFields(path=PATH))


def test_what_the_log_has_forgotten_is_not_found_any_more() -> None:
    log = EventLog(lambda: 0)
    log.keep_latest(10)
    index = EventIndex(log.events)
    for count in range(1, 60):
        changed(log)
        kept = [event.seq for event in log.events]
        assert kept[-1] == count - 1
        assert [event.seq for event in index.of_kind(EventKind.ZNODE_CHANGED)] == kept
        assert [event.seq for event in index.changes_of(PATH)] == kept


def test_new_events_are_found_after_many_were_forgotten_at_once() -> None:
    log = EventLog(lambda: 0)
    log.keep_latest(10)
    index = EventIndex(log.events)
    changed(log)
    assert len(index.changes_of(PATH)) == 1
    last = [changed(log) for _ in range(100)][-1]
    assert index.changes_of(PATH)[-1].seq == last
    assert len(index.changes_of(PATH)) == len(list(log.events))
