"""Scenarios of the library on brokers of a real Apache Kafka, beside ours: the same file, the same writes, the same end.

Each runs twice, so these are a few that differ much; `kcsim compare NAME` does the same for any other.
"""

import json
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.scenarios.history import read_trace
from kcsim.scenarios.judging.verdict import Outcome
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from kcsim.scenarios.on_kafka.side_by_side import run_side_by_side
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk.events import Event, EventKind
from tests.requirements import require
from tests.scenarios.files import written
from tests.scenarios.live_cluster import kcsim

pytestmark = [pytest.mark.kafka, pytest.mark.live]

CRASH = """\
name: broker-2-crashes
description: It comes back.
cluster:
  brokers: 2
  settings: {zookeeper.session.timeout.ms: 2000, auto.leader.rebalance.enable: false, replica.fetch.wait.max.ms: 200}
  topics:
    orders: {assignment: {0: [1, 2], 1: [2, 1]}}
timetable:
  - start: broker-1
  - wait: {controller: broker-1, within: 30s}
  - start: broker-2
  - create-topic: orders
  - wait: {in-sync: all, leaders-preferred: all}
  - kill: broker-2
  - wait: {leader: {orders-1: broker-1}, isr: {orders-0: [1], orders-1: [1]}}
expect:
  - isr: {orders-0: [1], orders-1: [1]}
    leader-epoch: {orders-0: 1, orders-1: 1}
"""


@pytest.fixture(autouse=True)
def _kafka() -> None:
    require("java", "kafka")


@pytest.mark.parametrize("name", ["broker-crash-and-return", "controller-failover", "reassignment-controller-killed"])
def test_a_scenario_of_the_library_goes_on_real_brokers_as_it_does_on_ours(name: str) -> None:
    loaded = load_scenario(find_scenario(name))
    embedded, simulated = ZooKeeperChoice.parse("embedded"), ZooKeeperChoice.parse("simulated")
    both = run_side_by_side(loaded, find_kafka(None), embedded, simulated, seed=1)
    assert both.kafka.verdict.failure is None
    assert {judged.outcome for judged in both.kafka.verdict.judged} <= {Outcome.HELD, Outcome.UNTOLD}
    assert {judged.outcome for judged in both.ours.verdict.judged} == {Outcome.HELD}
    assert list(both.differences) == []
    assert both.kafka.writes == both.ours.writes > 20


def test_what_real_brokers_wrote_to_zookeeper_is_imported_as_their_run_told_it(tmp_path: Path) -> None:
    run_trace, imported_trace, zk_log = tmp_path / "run.jsonl", tmp_path / "imported.jsonl", tmp_path / "zk"
    file = written(tmp_path, CRASH)
    run = kcsim("run", str(file), "--brokers", "kafka", "--trace", str(run_trace), "--zk-log", str(zk_log))
    assert run.exit_code == 0, run.output
    assert "brokers: Apache Kafka" in run.stdout
    assert kcsim("import", "zookeeper", str(zk_log), "-o", str(imported_trace)).exit_code == 0
    told, imported = ([*map(_essence, _of_znodes(trace))] for trace in (run_trace, imported_trace))
    assert told == imported
    assert len([change for change in told if str(change[1]).endswith("/state")]) >= 4


def _of_znodes(trace: Path) -> list[Event]:
    kinds = (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED)
    return [event for event in read_trace(trace) if event.kind in kinds]


def _essence(event: Event) -> tuple[object, ...]:
    return (event.kind, event.path, event.data, event.zk_version, event.zxid, event.session_id)


def test_compare_shows_deed_by_deed_that_both_agree(tmp_path: Path) -> None:
    result = kcsim("compare", str(written(tmp_path, CRASH)), "--output", "json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["differences"], told["compared"], told["deeds"]) == (0, [], 4, 4)
    assert told["writes"]["kafka"] == told["writes"]["ours"] > 10
    assert told["verdict"] == {"kafka": "the expectation held", "ours": "the expectation held"}
