"""What a scenario may ask of real brokers: what they can be made to do, and what they tell."""

from typing import Any

import pytest

from kcsim.scenarios.language.claims import WaitFor
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.scenario_file import find_scenario, library_names, load_scenario, load_text
from kcsim.scenarios.on_kafka.told import refusals, untold
from kcsim.zk.events import EventKind


def why_not(kind: EventKind, **fields: Any) -> str | None:
    return untold(WaitFor.model_construct(event=EventPattern((kind,), fields)))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (EventKind.CONTROLLER_FAILOVER, {"step": "Ready to serve as the new controller", "controller_epoch": 1}),
        (EventKind.CONTROLLER_FAILOVER, {"step": "Starting the controller scheduler", "node": "broker-1"}),
        (EventKind.BROKER_CHANGE, {"detail": "bounced [2]"}),
        (EventKind.REQUEST_SENT, {"event": "UpdateMetadata", "detail": "3 brokers are alive"}),
        (EventKind.REQUEST_SENT, {"event": "LeaderAndIsr", "detail": "orders-0: leader 2"}),
        (EventKind.REPLICA_STOPPED, {"detail": "deleted"}),
        (EventKind.ZK_WRITE_REFUSED, {"path": "/controller_epoch", "error": "BADVERSION"}),
    ],
)
def test_what_the_logs_tell_may_be_asked_for(kind: EventKind, fields: dict[str, Any]) -> None:
    assert why_not(kind, **fields) is None


@pytest.mark.parametrize(
    ("kind", "fields", "missing"),
    [
        (EventKind.ZK_WRITE, {}, "ZkWrite"),
        (EventKind.ZK_WRITE_REFUSED, {"path": "/controller_epoch"}, "ZkWriteRefused"),
        (EventKind.RECORDS_TRUNCATED, {"count": 3}, "count of RecordsTruncated"),
        (EventKind.CONTROLLER_FAILOVER, {"step": "Resuming reassignments"}, "step 'Resuming reassignments'"),
        (EventKind.REQUEST_SENT, {"event": "ControlledShutdown"}, "event 'ControlledShutdown'"),
        (EventKind.REQUEST_SENT, {"event": "UpdateMetadata", "detail": "orders-0: leader 2"}, "detail 'orders-0: leader 2'"),
        (EventKind.BROKER_CHANGE, {"detail": "now listens at"}, "detail 'now listens at'"),
    ],
)
def test_what_no_log_tells_is_said_to_be_missing(kind: EventKind, fields: dict[str, Any], missing: str) -> None:
    """To wait for it would last until the time-out; to expect it would be judged as if Kafka did otherwise."""
    assert missing in (why_not(kind, **fields) or "")


# --- the library ----------------------------------------------------------------------------------------------------------

NOT_RUN = {
    "consumer-crash-cooperative-sticky",
    "consumer-crash-range",
    "consumer-crash-round-robin",
    "consumer-crash-sticky",
    "controller-lost-with-its-replicas",
    "follower-leads-before-it-hears",
    "leader-crash-acks-all",
    "leader-crash-acks-one",
    "leader-cut-off-from-followers",
    "leader-cut-off-from-zookeeper",
    "lost-answer-duplicates",
    "min-insync-replicas-refuse",
    "one-way-partition",
    "regex-subscription-meets-new-topic",
    "restart-unseen",
    "rolling-restart-of-twelve",
    "segments-rolled",
    "slow-follower-leaves-and-rejoins",
    "stale-event-after-expiry",
    "two-racks-lost",
    "unclean-election-loses-counted-records",
}
"""Some step needs producers, consumers or a network between brokers."""

REFUSED = "ZkWriteRefused but for BADVERSION of /controller_epoch"
RUN_IN_PART = {
    "controller-and-leader-lost": ["ZkWrite"],
    "controller-failover": [REFUSED, "ZkWriteApplied"],
    "fault-isr-names-no-replica": ["IsrChangeFailed"],
    "last-isr-member-lost": ["detail of LeaderElection", "detail of LeaderElection"],
    "zombie-controller": ["ZkWriteApplied"],
}
"""Every step can be done; what some expectations ask for is not told."""


def missing_in(name: str) -> list[str]:
    expectations = load_scenario(find_scenario(name)).scenario.expect
    found = [why for expectation in expectations if (why := untold(expectation)) is not None]
    return [why.rpartition("do not tell ")[2] for why in found]


def test_these_scenarios_of_the_library_cannot_be_run_on_real_brokers() -> None:
    assert {name for name in library_names() if refusals(load_scenario(find_scenario(name)))} == NOT_RUN


@pytest.mark.parametrize("name", sorted(set(library_names()) - NOT_RUN))
def test_so_much_of_the_others_can_be_seen(name: str) -> None:
    """All of it, but for what is said above."""
    assert missing_in(name) == RUN_IN_PART.get(name, [])


def test_metrics_and_the_moments_that_steps_wait_for_are_looked_at_too() -> None:
    metrics = WaitFor.model_validate({"metrics": {"OfflinePartitionsCount": 0}})
    assert untold(metrics) == "metrics: those of real brokers are not read"
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
        "later.yaml:6: kill: RecordsAppended: real brokers do not tell RecordsAppended"
    ]
    (expectation,) = loaded.scenario.expect
    assert untold(expectation) == "RecordsAppended: real brokers do not tell RecordsAppended"
