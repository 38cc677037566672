"""Producers on a simulated cluster: the steps that start and stop them, and a ledger whose counts lead to their causes."""

import json
from pathlib import Path

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import load_scenario
from tests.brokers.cluster.environments import find
from tests.scenarios.scenario_files import written
from tests.sinks import chain

HEAD = """\
name: try-it
description: For a test.
cluster:
  brokers: 3
  settings: {zookeeper.session.timeout.ms: 2000, auto.leader.rebalance.enable: false}
  topics:
    orders: {assignment: {0: [2, 3], 1: [3, 2]}}
    audit: {assignment: {0: [1]}}
workload:
  producers:
    writer: {topics: orders, records: 100, record-bytes: 100, settings: {acks: all}}
    steady: {topics: orders, rate: 100, record-bytes: 100, settings: {acks: all, linger.ms: 50}}
    eager: {topics: audit, records: 1000000000, record-bytes: 1, settings: {batch.size: 1000000, buffer.memory: 50000000}}
    slow: {topics: orders, rate: 1}
    heedless: {topics: orders, records: 60, settings: {acks: 0}}
    patient: {topics: audit, settings: {max.block.ms: 3000}}
timetable:
  - start: broker-1
  - wait: {event: {kind: ControllerFailover, step: Ready to serve as the new controller}}
  - start: [broker-2, broker-3]
  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 3]}}
  - create-topic: orders
  - wait: {in-sync: all, events: {of: {kind: BecameLeader}, exactly: 2}}
"""
FIRST_LINE = HEAD.count("\n") + 1


def run(directory: Path, steps: str, expect: str = "{controller: any}") -> tuple[Verdict, EventLog]:
    """Run these steps in virtual time, on a cluster with a topic of two in-sync partitions."""
    loaded = load_scenario(written(directory, f"{HEAD}{steps}expect:\n  - {expect}\n"))
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED)
    log = run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo("try-it", 1, "simulated"), script)
    return verdicts[0], log


def failure(verdict: Verdict) -> str:
    if verdict.failure is None:
        return ""
    return f"{verdict.failure.line - FIRST_LINE + 1}: {verdict.failure.step}: {verdict.failure.reason}"


def held(verdict: Verdict) -> list[str]:
    """Return the observations of the expectations that did not hold, after the failure if there was one."""
    return [failure(verdict)] * (verdict.failure is not None) + [j.observed for j in verdict.results if j.outcome != "held"]


def count_of(event: Event, name: str) -> int:
    return int(json.loads(event.data or "{}")[name])


def test_produce_goes_on_when_everything_is_acknowledged(tmp_path: Path) -> None:
    verdict, log = run(
        tmp_path, "  - produce: writer\n", "{acknowledged: {orders-0: 50, orders-1: 50}, lost: 0, incomplete: 0}"
    )
    assert held(verdict) == []
    (stopped,) = find(log, EventKind.WORKLOAD_STOPPED)
    assert stopped.count == 100


def test_the_step_may_say_how_many(tmp_path: Path) -> None:
    steps = "  - produce: writer\n    records: 30\n  - produce: writer\n    records: 7\n"
    verdict, _ = run(tmp_path, steps, "{acknowledged: 37, given-up: 0, duplicated: 0}")
    assert held(verdict) == []


def test_two_producers_write_side_by_side(tmp_path: Path) -> None:
    verdict, log = run(tmp_path, "  - produce: [writer, steady]\n    records: 200\n", "{acknowledged: 400, lost: 0}")
    assert held(verdict) == []
    begun = [event.t_ms for event in find(log, EventKind.WORKLOAD_STARTED)]
    ended = {event.node: event.t_ms for event in find(log, EventKind.WORKLOAD_STOPPED)}
    assert begun[1] - begun[0] < 100
    assert 2_000 <= ended["producer-steady"] - begun[1] <= 2_200  # 200 records, 100 per second


def test_a_workload_goes_on_beside_the_timetable_until_it_is_stopped(tmp_path: Path) -> None:
    steps = """\
  - start-workload: steady
  - wait: {acknowledged: '>= 300'}
  - stop-workload: steady
"""
    verdict, log = run(tmp_path, steps, "{acknowledged: '>= 300', given-up: 0, lost: 0}")
    assert held(verdict) == []
    began, ended = find(log, EventKind.WORKLOAD_STARTED)[0], find(log, EventKind.WORKLOAD_STOPPED)[0]
    assert 3_000 <= ended.t_ms - began.t_ms <= 4_200  # at 100 per second, reported once per second
    assert sum(event.count or 0 for event in find(log, EventKind.RECORDS_ACKNOWLEDGED)) == ended.count


def test_what_is_under_way_when_the_run_ends_is_neither_acknowledged_nor_lost(tmp_path: Path) -> None:
    """The leader is gone; no broker has answered the producer yet."""
    steps = """\
  - kill: broker-2
  - start-workload: steady
  - wait: {isr: {orders-0: [3]}}
  - kill: broker-3
  - start-workload: writer
  - wait: {leader: {orders-0: none}}
"""
    verdict, log = run(tmp_path, steps, "{lost: 0, given-up: 0}")
    assert held(verdict) == []
    first = find(log, EventKind.LEDGER)[0]
    assert count_of(first, "sent") > count_of(first, "acknowledged")
    assert "under way" in (first.detail or "")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("  - stop-workload: steady\n", "1: stop-workload: producer steady was not started"),
        (
            "  - start-workload: steady\n  - wait: {acknowledged: '> 0'}\n  - start-workload: steady\n",
            "3: start-workload: producer steady is at work already",
        ),
        (
            "  - produce: patient\n    records: 1\n",
            "1: produce: producer-patient: no broker has metadata of topic audit within max.block.ms, 3000 ms",
        ),
    ],
)
def test_what_cannot_be_done_says_why(tmp_path: Path, steps: str, message: str) -> None:
    verdict, _ = run(tmp_path, steps)
    assert failure(verdict) == message


def test_a_billion_records_are_written_and_counted_and_make_a_short_log(tmp_path: Path) -> None:
    """A thousand batches are one run in the log, with one event per second."""
    verdict, log = run(tmp_path, "  - create-topic: audit\n  - produce: eager\n", "{acknowledged: 1000000000, lost: 0}")
    assert held(verdict) == []
    assert len([event for event in log.events if event.node == "producer-eager"]) < 10


def test_replicas_that_went_different_ways_are_divergent_until_one_of_them_gives_in(tmp_path: Path) -> None:
    """The old leader is dead, with 50 committed records of each partition where the new one has 10 others."""
    steps = """\
  - set-config: {topics: {orders: {unclean.leader.election.enable: true}}}
  - kill: broker-3
  - wait: {isr: {orders-0: [2], orders-1: [2]}}
  - produce: writer
  - kill: broker-2
  - wait: {leader: {orders-0: none, orders-1: none}}
  - start: broker-3
  - wait: {leader: {orders-0: broker-3, orders-1: broker-3}}
  - produce: writer
    records: 20
"""
    verdict, _ = run(tmp_path, steps, "{lost: {orders-0: 50, orders-1: 50}, lost-everywhere: 0, divergent: 20}")
    assert held(verdict) == []


def test_who_waits_for_no_answer_takes_everything_for_written(tmp_path: Path) -> None:
    verdict, _ = run(tmp_path, "  - produce: heedless\n", "{acknowledged: 60, given-up: 0, lost: 0}")
    assert held(verdict) == []


def test_what_was_lost_leads_back_to_what_was_done(tmp_path: Path) -> None:
    """The chain goes from the ledger over the truncation to the broker's start, which is an operator's action."""
    steps = """\
  - set-config: {topics: {orders: {unclean.leader.election.enable: true}}}
  - kill: broker-3
  - wait: {isr: {orders-0: [2], orders-1: [2]}}
  - produce: writer
  - kill: broker-2
  - wait: {leader: {orders-0: none, orders-1: none}}
  - start: broker-3
  - wait: {leader: {orders-0: broker-3, orders-1: broker-3}}
  - start: broker-2
  - wait: {in-sync: all, within: 30s}
"""
    verdict, log = run(tmp_path, steps, "{lost: {orders-0: 50, orders-1: 50}, lost-everywhere: 100, divergent: 0}")
    assert held(verdict) == []
    ledger = find(log, EventKind.LEDGER, partition=0)[0]
    kinds = chain(log, ledger)
    assert kinds[:2] == [EventKind.LEDGER, EventKind.RECORDS_TRUNCATED]
    assert kinds[-1] in (EventKind.ADMIN_ACT, EventKind.FAULT)


def test_everything_that_clients_do_has_a_cause(tmp_path: Path) -> None:
    _, log = run(tmp_path, "  - produce: writer\n")
    roots = {EventKind.RUN_STARTED, EventKind.FAULT, EventKind.ADMIN_ACT}
    assert [event.seq for event in log.events if event.cause is None and event.kind not in roots] == []
    (acknowledged, _) = find(log, EventKind.RECORDS_ACKNOWLEDGED)
    assert chain(log, acknowledged) == [
        EventKind.RECORDS_ACKNOWLEDGED,
        EventKind.WORKLOAD_STARTED,
        EventKind.ADMIN_ACT,
    ]


@pytest.mark.slow
def test_a_producer_that_takes_too_long_is_reported_with_what_it_has_done(tmp_path: Path) -> None:
    """The producer writes one record per second, and has more records than an hour has seconds."""
    verdict, _ = run(tmp_path, "  - produce: slow\n    records: 4000\n")
    message = "1: produce: producer slow was not done within 3600000 ms: 3599 records acknowledged, 0 given up"
    assert failure(verdict) == message
