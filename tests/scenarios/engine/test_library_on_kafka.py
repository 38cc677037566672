"""Scenarios of the library on real Apache Kafka brokers and on simulated ones: the same file, writes and final state.

Each scenario runs twice, so these are a few that differ much; `kcsim compare NAME` does the same for any other.
"""

import json
import re
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.config import PROTOCOL_VERSION, Value
from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.differential_run import DifferentialRun, run_differential
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome
from kcsim.scenarios.engine.run_source import with_settings
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from tests.requirements import KAFKA_3_9_1, require
from tests.scenarios.cli.live_cluster import kcsim
from tests.scenarios.scenario_files import written

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]

SESSION_TIMEOUT = re.compile(r"(zookeeper\.session\.timeout\.ms: )[0-9]+")
CRASH = """\
name: broker-2-crashes
description: It comes back.
cluster:
  brokers: 2
  settings: {zookeeper.session.timeout.ms: 10000, auto.leader.rebalance.enable: false, replica.fetch.wait.max.ms: 200}
  topics:
    orders: {assignment: {0: [1, 2], 1: [2, 1]}}
timetable:
  - start: broker-1
  - wait: {controller: broker-1, within: 5m}
  - start: broker-2
  - create-topic: orders
  - wait: {in-sync: all, leaders-preferred: all, within: 5m}
  - kill: broker-2
  - wait: {leader: {orders-1: broker-1}, isr: {orders-0: [1], orders-1: [1]}, within: 5m}
expect:
  - isr: {orders-0: [1], orders-1: [1]}
    leader-epoch: {orders-0: 1, orders-1: 1}
"""


@pytest.fixture(autouse=True)
def _kafka() -> None:
    require("java", "kafka")


@pytest.mark.parametrize(
    ("name", "zookeeper"),
    [
        ("controller-failover", "embedded"),
        ("broker-crash-and-return", "model"),  # Kafka's own ZooKeeper client on the model behind a socket
        pytest.param("broker-crash-and-return", "embedded", marks=pytest.mark.nightly),
        pytest.param("reassignment-controller-killed", "embedded", marks=pytest.mark.nightly),
        pytest.param("controller-failover", "model", marks=pytest.mark.nightly),
    ],
)
def test_a_scenario_of_the_library_goes_on_real_brokers_as_it_does_on_ours(
    name: str, zookeeper: str, tmp_path: Path
) -> None:
    """With a session time-out that a JVM keeps which starts on a busy machine; the library's is for those who watch."""
    text, changed = SESSION_TIMEOUT.subn(r"\g<1>6000", find_scenario(name).read_text(encoding="utf-8"))
    assert changed == 1
    loaded = load_scenario(written(tmp_path, text))
    theirs, simulated = ZooKeeperChoice.parse(zookeeper), ZooKeeperChoice.parse("simulated")
    both = run_differential(loaded, find_kafka(None), theirs, simulated, seed=1)
    assert_agrees(both)


def test_kafka_3_9_at_its_own_protocol_version_goes_as_ours_does_at_that_version() -> None:
    """The controller writes the ISRs that leaders ask for; the events about them are the leaders' all the same."""
    require("kafka-3.9.1")
    settings: dict[str, Value] = {PROTOCOL_VERSION: "3.9", "zookeeper.session.timeout.ms": 6_000}
    loaded = with_settings(load_scenario(find_scenario("broker-crash-and-return")), settings)
    theirs, simulated = ZooKeeperChoice.parse("embedded"), ZooKeeperChoice.parse("simulated")
    assert_agrees(run_differential(loaded, find_kafka(KAFKA_3_9_1), theirs, simulated, seed=1))


def assert_agrees(both: DifferentialRun) -> None:
    assert both.kafka.verdict.failure is None
    assert {judged.outcome for judged in both.kafka.verdict.results} <= {
        ExpectationOutcome.HELD,
        ExpectationOutcome.NOT_OBSERVABLE,
    }
    assert {judged.outcome for judged in both.ours.verdict.results} == {ExpectationOutcome.HELD}
    assert list(both.differences) == []
    assert both.kafka.writes == both.ours.writes > 20


def test_what_real_brokers_wrote_to_zookeeper_is_imported_as_their_run_recorded_it(tmp_path: Path) -> None:
    run_trace, imported_trace, zk_log = tmp_path / "run.jsonl", tmp_path / "imported.jsonl", tmp_path / "zk"
    file = written(tmp_path, CRASH)
    run = kcsim("run", str(file), "--brokers", "kafka", "--trace", str(run_trace), "--zk-log", str(zk_log))
    assert run.exit_code == 0, run.output
    assert "brokers: Apache Kafka" in run.stdout
    assert kcsim("import", "zookeeper", str(zk_log), "-o", str(imported_trace)).exit_code == 0
    recorded, imported = ([*map(_essence, _of_znodes(trace))] for trace in (run_trace, imported_trace))
    assert recorded == imported
    assert len([change for change in recorded if str(change[1]).endswith("/state")]) >= 4


def _of_znodes(trace: Path) -> list[Event]:
    kinds = (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED)
    return [event for event in read_trace(trace) if event.kind in kinds]


def _essence(event: Event) -> tuple[object, ...]:
    return (event.kind, event.path, event.data, event.zk_version, event.zxid, event.session_id)


def test_compare_shows_action_by_action_that_both_agree(tmp_path: Path) -> None:
    result = kcsim("compare", str(written(tmp_path, CRASH)), "--output", "json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["differences"], document["compared"], document["actions"]) == (0, [], 4, 4)
    assert document["writes"]["kafka"] == document["writes"]["ours"] > 10
    assert document["verdict"] == {"kafka": "the expectation held", "ours": "the expectation held"}
