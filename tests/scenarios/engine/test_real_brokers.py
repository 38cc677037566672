"""What a scenario may request of real brokers: the actions that they can perform, and the events that they report."""

from typing import Any

import pytest

from kcsim.brokers.apache_kafka.log_feed.log_causes import CAUSES
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.real_brokers import MAX_RECORDS, OBSERVABLE, refusals, why_unobservable
from kcsim.scenarios.language.conditions_model import Expectation, WaitFor
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.scenario_file import load_text
from tests.scenarios.scenario_library import of_library
from tests.tiers import tiered


def why_not(kind: EventKind, **fields: Any) -> str | None:
    return why_unobservable(WaitFor.model_construct(event=EventPattern((kind,), fields)))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (EventKind.CONTROLLER_FAILOVER, {"step": "Ready to serve as the new controller", "controller_epoch": 1}),
        (EventKind.CONTROLLER_FAILOVER, {"step": "Starting the controller scheduler", "node": "broker-1"}),
        (EventKind.BROKER_CHANGE, {"bounced": [2]}),
        (EventKind.REQUEST_SENT, {"event": "UpdateMetadata", "live_broker_count": 3}),
        (EventKind.RESPONSE_RECEIVED, {"refused_partitions": ["orders-0"], "errors": ["STALE_CONTROLLER_EPOCH"]}),
        (EventKind.REPLICA_STOPPED, {"deleted": True}),
        (EventKind.ZK_WRITE_REFUSED, {"path": "/controller_epoch", "error": "BADVERSION"}),
        (EventKind.RECORDS_ACKNOWLEDGED, {"node": "producer-clerk", "topic": "orders"}),
    ],
)
def test_what_the_logs_show_may_be_asked_for(kind: EventKind, fields: dict[str, Any]) -> None:
    assert why_not(kind, **fields) is None


@pytest.mark.parametrize(
    ("kind", "fields", "missing"),
    [
        (EventKind.ZK_WRITE, {}, "ZkWrite"),
        (EventKind.ZK_WRITE_REFUSED, {"path": "/controller_epoch"}, "ZkWriteRefused"),
        (EventKind.RECORDS_ACKNOWLEDGED, {"count": 3}, "count of RecordsAcknowledged"),
        (EventKind.RECORDS_TRUNCATED, {"count": 3}, "count of RecordsTruncated"),
        (EventKind.CONTROLLER_FAILOVER, {"step": "Resuming reassignments"}, "step 'Resuming reassignments'"),
        (EventKind.REQUEST_SENT, {"event": "ControlledShutdown"}, "event 'ControlledShutdown'"),
        (EventKind.LEADER_ELECTION, {"live_replicas": [1]}, "live-replicas of LeaderElection"),
        (EventKind.LEADER_ELECTION, {"leader": None}, "LeaderElection without leader"),
    ],
)
def test_what_no_log_shows_is_reported_missing(kind: EventKind, fields: dict[str, Any], missing: str) -> None:
    """A wait for it would last until the time-out; an expectation of it would be judged as if Kafka behaved differently."""
    assert missing in (why_not(kind, **fields) or "")


# --- the library ----------------------------------------------------------------------------------------------------------

NOT_RUN = {
    "consumer-crash-cooperative-sticky",
    "consumer-crash-range",
    "consumer-crash-round-robin",
    "consumer-crash-sticky",
    "leader-crash-acks-all",
    "leader-cut-off-from-followers",
    "lost-answer-duplicates",
    "protocol-version-lowered",
    "regex-subscription-meets-new-topic",
    "rolling-upgrade",
    "segments-rolled",
    "two-racks-lost",
}
"""Scenarios with a step that needs consumers, broken links, another release for one broker, or many records."""

REFUSED = "ZkWriteRefused but for BADVERSION of /controller_epoch"
DIVERGENT = "divergent: high watermarks of real replicas are not read"
RUN_IN_PART = {
    "controller-and-leader-lost": ["ZkWrite"],
    "controller-failover": [REFUSED, "ZkWriteApplied"],
    "fault-isr-change-is-not-repeated": ["IsrChangeFailed"],
    "fault-isr-change-is-refused-after-a-lost-answer": ["IsrChangeFailed"],
    "fault-isr-change-stays-pending": ["IsrChangeFailed"],
    "fault-isr-names-no-replica": ["IsrChangeFailed"],
    "fault-log-of-a-deleted-topic": ["RecordsAppended"],
    "follower-leads-before-it-hears": ["count of RecordsAcknowledged", DIVERGENT],
    "isr-change-asked-of-a-frozen-broker": ["event 'AlterIsr' of RequestSent"],
    "last-isr-member-lost": ["previous-isr of LeaderElection", "live-replicas of LeaderElection"],
    "leader-crash-acks-one": [DIVERGENT, "rule of LeaderElection"],
    "leader-cut-off-from-zookeeper": ["count of RecordsAcknowledged", "RecordsRefused", DIVERGENT],
    "min-insync-replicas-refuse": ["count of RecordsGivenUp", "RecordsRefused"],
    "one-way-partition": ["NetworkStalled", "count of RequestFailed", "RequestRefused", "count of RequestFailed"],
    "rolling-restart-of-twelve": ["rule of LeaderElection", DIVERGENT],
    "slow-follower-leaves-and-rejoins": ["count of RecordsAcknowledged", DIVERGENT],
    "stale-event-after-expiry": ["ControllerEventQueued", "ControllerEventPreempted"],
    "topic-recreated-while-a-broker-was-away": ["RequestRefused", DIVERGENT],
    "unclean-election-loses-counted-records": ["rule of LeaderElection", DIVERGENT],
    "zombie-controller": ["ZkWriteApplied"],
}
"""Scenarios whose steps can all be performed, with the events that some of their expectations need and no log shows."""


def missing_in(name: str) -> list[str]:
    expectations = of_library(name).scenario.expect
    found = [why for expectation in expectations if (why := why_unobservable(expectation)) is not None]
    return [why.rpartition("do not report ")[2] for why in found]


@pytest.mark.slow
def test_these_scenarios_of_the_library_cannot_be_run_on_real_brokers() -> None:
    assert {name for name in library_names() if refusals(of_library(name))} == NOT_RUN


@pytest.mark.parametrize("name", tiered(sorted(set(library_names()) - NOT_RUN), fast=4))
def test_so_much_of_the_others_can_be_seen(name: str) -> None:
    """All expectations can be evaluated, except for those in RUN_IN_PART."""
    assert missing_in(name) == RUN_IN_PART.get(name, [])


def test_metrics_and_the_moments_that_steps_wait_for_are_looked_at_too() -> None:
    metrics = WaitFor.model_validate({"metrics": {"OfflinePartitionsCount": 0}})
    assert why_unobservable(metrics) == "metrics: those of real brokers are not read"
    file = """\
name: later
description: A fault that waits for what nobody tells.
cluster: {brokers: 1}
timetable:
  - start: all
  - kill: broker-1
    when: {event: {kind: RecordsAppended}}
expect:
  - time-between: {from: {kind: ProcessState}, to: {kind: RecordsAppended}, at-most: 1s}
"""
    loaded = load_text(file, "later.yaml")
    assert [str(problem) for problem in refusals(loaded)] == [
        "later.yaml:6: kill: RecordsAppended: real brokers do not report RecordsAppended"
    ]
    (expectation,) = loaded.scenario.expect
    assert why_unobservable(expectation) == "RecordsAppended: real brokers do not report RecordsAppended"


def test_records_are_counted_as_far_as_segment_files_have_them() -> None:
    assert why_unobservable(Expectation.model_validate({"acknowledged": {"orders": 3}, "lost": {"orders": 0}})) is None
    assert why_unobservable(Expectation.model_validate({"divergent": 0})) == DIVERGENT


def test_a_real_producer_is_not_asked_for_more_records_than_it_can_make_one_by_one() -> None:
    for records, count in ((MAX_RECORDS, 0), (MAX_RECORDS + 1, 1)):
        assert len(refusals(load_text(PRODUCED.format(records=records), "produced.yaml"))) == count


PRODUCED = """\
name: produced
description: A producer and many records.
cluster: {{brokers: 1, topics: {{orders: {{assignment: {{0: [1]}}}}}}}}
workload: {{producers: {{clerk: {{topics: orders}}}}}}
timetable:
  - produce: clerk
    records: {records}
expect:
  - lost: 0
"""


def test_every_kind_with_a_cause_counts_as_observable() -> None:
    assert CAUSES.keys() <= OBSERVABLE.keys()


def test_every_column_that_counts_as_observable_is_one_that_events_have() -> None:
    columns = set(Event.__struct_fields__)
    assert {kind: observable - columns for kind, observable in OBSERVABLE.items() if observable - columns} == {}
