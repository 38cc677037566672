"""The events that a filter by node, partition or znode selects."""

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.terminal.event_filter import EventFilter, NamesSeen
from kcsim.scenarios.views.trace.event_importance import NOTABLE, ORDINARY, RankedEvent
from kcsim.scenarios.views.trace.time_point import parse_time_point
from kcsim.vocabulary import TopicPartition

EVENTS = {
    "election": Event(1, 100, "broker-1", EventKind.LEADER_ELECTION, topic="orders", partition=0),
    "state": Event(2, 200, "zookeeper", EventKind.ZNODE_CHANGED, path="/brokers/topics/orders/partitions/0/state"),
    "other state": Event(3, 300, "zookeeper", EventKind.ZNODE_CHANGED, path="/brokers/topics/orders/partitions/1/state"),
    "topic": Event(4, 400, "zookeeper", EventKind.ZNODE_CREATED, path="/brokers/topics/orders"),
    "longer name": Event(5, 500, "zookeeper", EventKind.ZNODE_CREATED, path="/brokers/topics/orders2"),
    "deletion": Event(6, 600, "zookeeper", EventKind.ZNODE_CREATED, path="/admin/delete_topics/orders"),
    "settings": Event(7, 700, "zookeeper", EventKind.ZNODE_CHANGED, path="/config/topics/orders"),
    "consumed": Event(8, 800, "consumer-c", EventKind.PARTITIONS_ASSIGNED, partitions=("orders-0", "stock-1")),
    "kill": Event(9, 900, "scenario", EventKind.FAULT, fault="kill", target="broker-1"),
    "start": Event(10, 1000, "scenario", EventKind.ADMIN_ACT, op="start", target="broker-2, broker-1"),
}
ORDERS_0 = TopicPartition("orders", 0)


def meant(wanted: EventFilter) -> list[str]:
    return [name for name, event in EVENTS.items() if wanted.wants(RankedEvent(event, "told", NOTABLE))]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (EventFilter(partitions=(ORDERS_0,)), ["election", "state", "consumed"]),
        (
            EventFilter(topics=("orders",)),
            ["election", "state", "other state", "topic", "deletion", "settings", "consumed"],
        ),
        (EventFilter(nodes=("broker-1",)), ["election", "kill", "start"]),
        (EventFilter(nodes=("broker-2", "consumer-c")), ["consumed", "start"]),
        (EventFilter(paths=("/brokers/topics/orders",)), ["state", "other state", "topic"]),
        (EventFilter(paths=("/",)), ["state", "other state", "topic", "longer name", "deletion", "settings"]),
        (EventFilter(kinds=frozenset({EventKind.FAULT})), ["kill"]),
        (EventFilter(faults=True), ["kill", "start"]),
        (EventFilter(nodes=("broker-1",), topics=("orders",)), ["election"]),
        (EventFilter(begin=parse_time_point("0.9s")), ["kill", "start"]),
    ],
    ids=str,
)
def test_values_of_an_option_are_alternatives_and_options_add_up(wanted: EventFilter, names: list[str]) -> None:
    assert meant(wanted) == names


def test_what_is_not_of_note_is_left_out_unless_all_is_wanted_or_it_is_a_fault() -> None:
    ordinary, fault = RankedEvent(EVENTS["state"], None, ORDINARY), RankedEvent(EVENTS["kill"], None, ORDINARY)
    assert not EventFilter().wants(ordinary)
    assert EventFilter(notable_only=False).wants(ordinary)
    assert EventFilter(faults=True).wants(fault)


def test_a_name_that_never_came_is_reported_with_the_nearest() -> None:
    names = NamesSeen()
    for event in EVENTS.values():
        names.see(event)
    wanted = EventFilter(nodes=("brokr-2",), topics=("order",))
    assert list(names.unknown(wanted)) == [
        "the trace has no node 'brokr-2'; did you mean broker-2?",
        "the trace has no topic 'order'; did you mean orders?",
    ]
    assert list(names.unknown(EventFilter(nodes=("broker-1",), partitions=(ORDERS_0,)))) == []
