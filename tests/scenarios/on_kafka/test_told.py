"""What a scenario may ask of real brokers: what they can be made to do, and what they tell."""

from typing import Any

import pytest

from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.scenario_file import find_scenario, library_names, load_scenario
from kcsim.scenarios.on_kafka.told import refusals, untold
from kcsim.zk.events import EventKind


class Asked:
    """A condition with one pattern in it."""

    def __init__(self, kind: EventKind, **fields: Any) -> None:
        self.pattern = EventPattern((kind,), fields)

    def parts(self) -> list[tuple[str, object]]:
        return [("event", self.pattern)]


def why_not(kind: EventKind, **fields: Any) -> str | None:
    condition: Any = Asked(kind, **fields)
    return untold(condition)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (EventKind.CONTROLLER_FAILOVER, {"step": "Ready to serve as the new controller", "controller_epoch": 1}),
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

RUN_IN_FULL = {
    "bounced-broker",
    "broker-crash-and-return",
    "controller-race",
    "deletion-with-dead-broker",
    "partition-expansion",
    "preferred-election-after-rolling-restart",
    "rack-loss",
    "reassignment-cancelled",
    "reassignment-controller-killed",
    "rolling-restart",
    "rolling-restart-without-controlled-shutdown",
    "session-expiry",
    "zookeeper-leader-loss",
    "zombie-deletes-topic",
    "zookeeper-quorum-loss",
}
"""Every step can be done, and every expectation seen."""

REFUSED = "ZkWriteRefused but for BADVERSION of /controller_epoch"
RUN_IN_PART = {
    "controller-and-leader-lost": ["ZkWrite"],
    "controller-failover": [REFUSED, "ZkWriteApplied"],
    "last-isr-member-lost": ["detail of LeaderElection", "detail of LeaderElection"],
    "zombie-controller": ["ZkWriteApplied"],
}
"""Every step can be done; what some expectations ask for is not told."""


def missing_in(name: str) -> list[str]:
    expectations = load_scenario(find_scenario(name)).scenario.expect
    found = [why for expectation in expectations if (why := untold(expectation)) is not None]
    return [why.rpartition("do not tell ")[2] for why in found]


def test_these_scenarios_of_the_library_can_be_run_on_real_brokers() -> None:
    run = {name for name in library_names() if not refusals(load_scenario(find_scenario(name)))}
    assert run == RUN_IN_FULL | RUN_IN_PART.keys()


@pytest.mark.parametrize("name", sorted(RUN_IN_FULL | RUN_IN_PART.keys()))
def test_so_much_of_them_can_be_seen(name: str) -> None:
    assert missing_in(name) == RUN_IN_PART.get(name, [])
