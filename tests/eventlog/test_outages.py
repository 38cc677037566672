"""Partition outages, derived from the events of a run."""

import json

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.outage_view import OutageView
from kcsim.eventlog.outages import Outage, OutageTotals, RunOutages, outage_totals, outages_in

STATE = "/brokers/topics/orders/partitions/0/state"
TOPIC = "/brokers/topics/orders"


class Story:
    """A run under construction: its events, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def at(self, t_ms: int, kind: EventKind, path: str, data: object = None) -> "Story":
        text = None if data is None else json.dumps(data)
        self.events.append(Event(len(self.events), t_ms, "zookeeper", kind, path=path, data=text))
        return self

    def registers(self, t_ms: int, *brokers: int) -> "Story":
        for broker in brokers:
            self.at(t_ms, EventKind.ZNODE_CREATED, f"/brokers/ids/{broker}", {})
        return self

    def unregisters(self, t_ms: int, broker: int) -> "Story":
        return self.at(t_ms, EventKind.ZNODE_DELETED, f"/brokers/ids/{broker}")

    def leads(self, t_ms: int, leader: int, kind: EventKind = EventKind.ZNODE_CHANGED) -> "Story":
        state = {"controller_epoch": 1, "leader": leader, "version": 1, "leader_epoch": 0, "isr": [1, 2]}
        return self.at(t_ms, kind, STATE, state)

    def is_now(self, t_ms: int, broker: int, state: str) -> "Story":
        self.events.append(Event(len(self.events), t_ms, f"broker-{broker}", EventKind.PROCESS_STATE, state=state))
        return self

    def ends(self, t_ms: int) -> RunOutages:
        return outages_in([*self.events, Event(len(self.events), t_ms, "scenario", EventKind.RUN_ENDED)])


@pytest.fixture
def led() -> Story:
    """Return a run with brokers 1 and 2; broker 1 leads orders-0 from 100 ms on."""
    story = Story().registers(0, 1, 2).at(50, EventKind.ZNODE_CREATED, TOPIC, {"version": 1, "partitions": {"0": [1, 2]}})
    return story.leads(100, 1, EventKind.ZNODE_CREATED)


def outages(served: RunOutages, view: OutageView) -> list[tuple[int, int, bool]]:
    return [(o.from_ms, o.until_ms, o.is_over) for o in served.outages if o.view == view]


def test_a_leader_that_dies_in_the_millisecond_of_its_election_is_missed() -> None:
    """Many partitions of a large cluster are created and killed in one millisecond of virtual time."""
    log = Story().registers(0, 1, 2).at(50, EventKind.ZNODE_CREATED, TOPIC, {"version": 1, "partitions": {"0": [1, 2]}})
    served = log.leads(100, 1, EventKind.ZNODE_CREATED).is_now(100, 1, "dead").leads(400, 2).ends(1_000)
    assert outages(served, OutageView.CLIENTS) == [(100, 400, True)]


def test_a_partition_that_was_never_led_is_not_missed(led: Story) -> None:
    """Between 50 and 100 ms the partition is being created, as every partition is at first: that is no outage."""
    assert led.ends(1_000) == RunOutages(1, ())


def test_clients_miss_a_dead_leader_at_once_and_zookeeper_when_its_session_is_over(led: Story) -> None:
    served = led.is_now(1_000, 1, "dead").unregisters(7_000, 1).leads(7_040, 2).ends(9_000)

    assert outages(served, OutageView.CLIENTS) == [(1_000, 7_040, True)]
    assert outages(served, OutageView.ZOOKEEPER) == [(7_000, 7_040, True)]


def test_a_leader_that_pauses_serves_again_when_it_goes_on(led: Story) -> None:
    served = led.is_now(1_000, 1, "paused").is_now(1_400, 1, "running").ends(9_000)

    assert outages(served, OutageView.CLIENTS) == [(1_000, 1_400, True)]
    assert outages(served, OutageView.ZOOKEEPER) == []


def test_an_outage_at_the_end_of_the_run_is_not_over(led: Story) -> None:
    assert outages(led.leads(2_000, -1).ends(5_000), OutageView.ZOOKEEPER) == [(2_000, 5_000, False)]


def test_what_does_not_last_a_millisecond_is_none(led: Story) -> None:
    assert led.unregisters(2_000, 1).leads(2_000, 2).ends(5_000).outages == ()


def test_nobody_misses_a_topic_whose_deletion_was_asked_for(led: Story) -> None:
    served = led.leads(2_000, -1).at(2_500, EventKind.ZNODE_CREATED, "/admin/delete_topics/orders").ends(5_000)

    assert outages(served, OutageView.CLIENTS) == [(2_000, 2_500, True)]


def test_a_registration_without_a_process_is_taken_for_one_that_runs(led: Story) -> None:
    """The history of a real cluster has no events about the brokers' processes."""
    assert led.ends(5_000).outages == ()


def test_the_time_of_a_run_counts_once_what_several_partitions_were_without() -> None:
    seen = [
        Outage(OutageView.CLIENTS, "orders", 0, 100, 300, True),
        Outage(OutageView.CLIENTS, "orders", 1, 200, 350, True),
        Outage(OutageView.CLIENTS, "clicks", 0, 250, 260, True),
        Outage(OutageView.CLIENTS, "clicks", 0, 900, 1_000, False),
        Outage(OutageView.ZOOKEEPER, "clicks", 0, 0, 10_000, True),
    ]

    assert outage_totals(seen, OutageView.CLIENTS) == OutageTotals(outages=4, ms=350, longest_ms=200)
    assert outage_totals([], OutageView.CLIENTS) == OutageTotals()
