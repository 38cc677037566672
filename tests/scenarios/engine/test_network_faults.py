"""Network faults: the steps of a timetable, their effects on brokers and clients, and the recovery from them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.network.link_conditions import Links
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import load_scenario
from kcsim.scenarios.views.narration.story import story_of
from tests.brokers.cluster.environments import WITHIN_MS, find, until_found
from tests.brokers.cluster.topic_cluster import begin, play
from tests.requirements import require
from tests.scenarios.long_timeouts import patient
from tests.scenarios.scenario_files import written

HEAD = """\
name: try-it
description: For a test.
cluster:
  brokers: 4
  racks: 2
  settings: {zookeeper.session.timeout.ms: 2000, auto.leader.rebalance.enable: false, replica.lag.time.max.ms: 2000,
             replica.socket.timeout.ms: 2000}
  topics:
    orders: {assignment: {0: [2, 3], 1: [3, 2]}}
workload:
  producers:
    writer: {topics: orders, rate: 50, settings: {acks: all, enable.idempotence: true, request.timeout.ms: 1000}}
timetable:
  - start: broker-1
  - wait: {event: {kind: ControllerFailover, step: Ready to serve as the new controller}}
  - start: [broker-2, broker-3, broker-4]
  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 3, 4]}}
  - create-topic: orders
  - wait: {in-sync: all, events: {of: {kind: [BecameLeader, BecameFollower]}, exactly: 4}}
  - wait: {order: [{kind: BecameLeader, node: broker-3}, {kind: ResponseReceived, broker-id: 3, event: UpdateMetadata}]}
"""
FIRST_LINE = HEAD.count("\n") + 1
ALWAYS = "expect:\n  - controller: broker-1\n"
PATIENCE_S = 600
B1, B2, B3 = (frozenset({f"broker-{n}"}) for n in (1, 2, 3))


def run(
    directory: Path, steps: str, expect: str = ALWAYS, on: str = "simulated", head: str = HEAD
) -> tuple[Verdict, EventLog]:
    """Run these steps on a cluster in which every broker knows the topic; in real time no session expires by mistake."""
    loaded = load_scenario(written(directory, f"{head}{steps}{expect}"))
    if on != "simulated":
        loaded = patient(loaded)
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    log = run_in_environment(ZooKeeperChoice.parse(on), cluster_spec(loaded.scenario), RunInfo("try-it", 1, on), script)
    return verdicts[0], log


def failure(verdict: Verdict) -> str:
    if verdict.failure is None:
        return "; ".join(f"{one.claim}: {one.observed}" for one in verdict.results if one.outcome != "held")
    return f"{verdict.failure.line - FIRST_LINE + 1}: {verdict.failure.step}: {verdict.failure.reason}"


def of(log: EventLog, kind: EventKind, node: str) -> list[Event]:
    return [event for event in log.events if event.kind is kind and event.node == node]


# --- effects on brokers and clients ----------------------------------------------------------------------------------------

CUT_PRODUCER = """\
  - partition: {between: producer-writer, and: [leader-of orders-0, leader-of orders-1]}
  - start-workload: writer
  - wait: {event: {kind: NetworkStalled, node: producer-writer, target: broker-2}}
  - heal: {between: all, and: producer-writer}
  - wait: {acknowledged: '>= 20'}
  - stop-workload: writer
"""
NOTHING_LOST = "expect:\n  - {given-up: 0, lost: 0, duplicated: 0, divergent: 0, in-sync: all, within: 10s}\n"
CUT_OFF = (
    """\
  - partition: {between: broker-2, and: all}
  - disconnect: broker-2
  - wait: {leader: {orders-0: broker-3}, isr: {orders-0: [3], orders-1: [3]}, unregistered: broker-2}
  - reconnect: broker-2
  - heal: all
  - wait: {in-sync: all, re-registered: broker-2, within: 60s}
""",
    "expect:\n  - {leader: {orders-0: broker-3, orders-1: broker-3}, leader-epoch: {orders-0: 1, orders-1: 1}}\n",
)
"""Steps and expectations: both leader epochs rise if broker-2's session ends before its leader removes it from the ISR."""
STEPS = [
    pytest.param(CUT_PRODUCER, NOTHING_LOST, id="a client cut off from leaders, and not the leaders from each other"),
    pytest.param(
        """\
  - start-workload: writer
  - wait: {acknowledged: '>= 5'}
  - break-connections: {between: broker-2, and: broker-3}
  - wait: {acknowledged: '>= 30'}
  - stop-workload: writer
""",
        NOTHING_LOST,
        id="connections broken between replicas, which fetch on others",
    ),
    pytest.param(
        """\
  - break-connections: {from: producer-writer, to: all, once-delivered: Produce}
  - start-workload: writer
  - wait: {event: {kind: NetworkConnectionBroken, node: producer-writer, event: Produce}}
  - wait: {acknowledged: '>= 20'}
  - stop-workload: writer
""",
        NOTHING_LOST,
        id="a batch sent twice and known by its sequence",
    ),
    pytest.param(
        """\
  - partition: {between: rack rack-1, and: rack rack-2, refuse: true}
  - start-workload: writer
  - wait: {event: {kind: NetworkConnectionBroken, rule: refused}}
  - wait: {isr: {orders-0: [2, 3], orders-1: [3]}}
  - heal: all
  - wait: {in-sync: all, within: 20s}
  - stop-workload: writer
""",
        "expect:\n  - {given-up: 0, lost: 0, divergent: 0, leader-epoch: {orders-0: 0, orders-1: 0}}\n",
        id="two racks apart until the ISR of the leader that reaches the controller has shrunk, with refusals",
    ),
    pytest.param(
        """\
  - slow-link: {between: all, and: all, delay: 30ms, jitter: 20ms}
  - lossy-link: {between: all, and: all, loss: 5%, break: 2%}
  - start-workload: writer
  - wait: {acknowledged: '>= 100', within: 60s}
  - stop-workload: writer
""",
        "expect:\n  - {given-up: 0, lost: 0, duplicated: 0, divergent: 0}\n",
        id="everything late, some of it lost, some connections broken",
    ),
]


@pytest.mark.parametrize(
    ("steps", "expect"), [*STEPS, pytest.param(*CUT_OFF, id="a broker cut off from everything, ZooKeeper included")]
)
def test_it_is_done_and_the_cluster_gets_over_it(tmp_path: Path, steps: str, expect: str) -> None:
    verdict, _ = run(tmp_path, steps, expect)
    assert (failure(verdict), verdict.exit_status) == ("", 0)


TWO_RACKS_FOR_A_WHILE = """\
  - partition: {between: rack rack-1, and: rack rack-2, refuse: true}
    for: 3s
  - wait: {isr: {orders-0: [2], orders-1: [3]}}
  - wait: {in-sync: all, within: 20s}
"""


def test_a_partition_ends_by_itself_when_its_time_is_over(tmp_path: Path) -> None:
    verdict, log = run(tmp_path, TWO_RACKS_FOR_A_WHILE)
    assert (failure(verdict), verdict.exit_status) == ("", 0)
    assert len(find(log, EventKind.FAULT, fault="partition")) == 1


@pytest.mark.live
@pytest.mark.parametrize(
    ("steps", "expect"), [STEPS[0], *(pytest.param(*s.values, id=s.id, marks=pytest.mark.slow) for s in STEPS[1:])]
)
def test_the_same_on_a_real_zookeeper_and_the_wall_clock(tmp_path: Path, steps: str, expect: str) -> None:
    require("java")
    verdict, _ = run(tmp_path, steps, expect, on="embedded")
    assert (failure(verdict), verdict.exit_status) == ("", 0)


@pytest.mark.slow
@pytest.mark.live
def test_a_broker_is_cut_off_from_everything_on_a_real_zookeeper(tmp_path: Path) -> None:
    require("java")
    head = HEAD.replace("replica.lag.time.max.ms: 2000", "replica.lag.time.max.ms: 120000")
    verdict, _ = run(tmp_path, *CUT_OFF, on="embedded", head=head)
    assert (failure(verdict), verdict.exit_status) == ("", 0)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("  - heal: all\n", "1: heal: heal has no effect: nothing is wrong between all and all"),
        (
            "  - partition: {between: broker-1, and: broker-4}\n  - partition: {from: broker-4, to: controller}\n",
            "2: partition: partition has no effect: it is so already from broker-4 to broker-1",
        ),
        (
            "  - break-connections: {between: broker-3, and: broker-4}\n",
            "1: break-connections: break-connections has no effect: no connection is open between broker-3 and broker-4",
        ),
        (
            "  - break-connections: {from: broker-1, to: broker-2, once-delivered: StopReplica}\n",
            "1: break-connections: had no effect: no StopReplica was delivered from broker-1 to broker-2 before",
        ),
        ("  - partition: {between: controller, and: broker-1}\n", "1: partition: there is no link between broker-1 and"),
        ("  - kill: all\n  - slow-link: {from: leader-of orders-0, to: all, delay: 1s}\n", ""),
        (
            "  - kill: all\n  - wait: {controller: none}\n  - partition: {between: controller, and: all}\n",
            "3: partition: no broker is the controller",
        ),
    ],
)
def test_what_would_have_no_effect_leaves_everything_undecided(tmp_path: Path, steps: str, message: str) -> None:
    verdict, _ = run(tmp_path, steps)
    assert failure(verdict).startswith(message)
    assert (verdict.failure is not None) == bool(message)


# --- the controller --------------------------------------------------------------------------------------------------------


def test_a_controller_waits_30_seconds_for_an_answer_and_30_more_for_a_connection() -> None:
    """It waits request.timeout.ms, closes the connection, then waits controller.socket.timeout.ms, and never gives up.

    Source: docs/kafka/requests.md 3.
    """

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        cut = cluster.network_faults.partition(Links(B1, B3, both_ways=True))
        await cluster.kill("broker-2")
        failed = until_found(cluster.log, EventKind.REQUEST_FAILED, 3, broker_id=3)
        await cluster.wait_until(failed, 100_000)
        assert not [e for e in find(cluster.log, EventKind.BECAME_LEADER, node="broker-3") if e.seq > cut]
        cluster.network_faults.heal()
        await cluster.wait_until(until_found(cluster.log, EventKind.BECAME_LEADER, 2, node="broker-3"), 100_000)

    log = play(script)
    asked = ("UpdateMetadata", "LeaderAndIsr")
    sent = next(e for e in of(log, EventKind.NETWORK_STALLED, "broker-1") if e.target == "broker-3" and e.event in asked)
    failed = [event.t_ms for event in find(log, EventKind.REQUEST_FAILED, broker_id=3)]
    assert [round((at_ms - sent.t_ms) / 100) for at_ms in failed] == [300, 601, 902]


def test_a_request_delivered_on_a_connection_that_breaks_is_sent_again_and_known_to_the_broker(tmp_path: Path) -> None:
    """The second request is a duplicate: the broker refuses it by its leader epoch, and answers."""
    steps = """\
  - break-connections: {from: controller, to: broker-3, once-delivered: LeaderAndIsr}
  - kill: broker-2
  - wait: {event: {kind: RequestRefused, node: broker-3, event: LeaderAndIsr, error: STALE_CONTROLLER_EPOCH}}
  - wait: {leader: {orders-0: broker-3}, isr: {orders-1: [3]}}
"""
    verdict, log = run(tmp_path, steps)
    assert failure(verdict) == ""
    (broken,) = of(log, EventKind.NETWORK_CONNECTION_BROKEN, "broker-1")
    (confirmed,) = find(log, EventKind.FAULT_CONFIRMED, fault="break-connections")
    (failed,) = find(log, EventKind.REQUEST_FAILED, broker_id=3)
    assert broken.cause == confirmed.cause
    assert (failed.event, failed.error, failed.seq > broken.seq) == ("LeaderAndIsr", "NETWORK_EXCEPTION", True)


def test_a_broker_that_cannot_reach_the_controller_asks_as_often_as_it_may_and_then_stops_uncleanly() -> None:
    """It tries three times, and each time it waits for a connection until its time-out.

    Source: docs/kafka/requests.md 10.
    """

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        cluster.network_faults.partition(Links(B2, B1))
        await cluster.stop("broker-2")
        await cluster.wait_until(until_found(cluster.log, EventKind.BROKER_CHANGE, brokers=[1, 3]), WITHIN_MS)

    log = play(script, controller_socket_timeout_ms=3_000)
    steps = [event.step for event in of(log, EventKind.CONTROLLED_SHUTDOWN, "broker-2")]
    assert steps == [*(f"attempt {n} of 3 failed" for n in (1, 2, 3)), "proceeding with an unclean shutdown"]
    assert len(of(log, EventKind.NETWORK_STALLED, "broker-2")) >= 3


# --- the same seed gives the same bytes ------------------------------------------------------------------------------------

RANDOM = """\
  - slow-link: {between: all, and: all, delay: 30ms, jitter: 30ms}
  - lossy-link: {between: all, and: all, loss: 10%}
  - lossy-link: {between: [producer-writer, broker-1], and: [broker-2, broker-3], break: 30%}
  - start-workload: writer
  - wait: {acknowledged: '>= 20', within: 120s}
  - stop-workload: writer
  - kill: broker-2
  - wait: {leader: {orders-0: broker-3}, isr: {orders-1: [3]}, within: 60s}
"""


def trace_of(scenario: Path, seed: int, hash_seed: int, trace: Path) -> bytes:
    command = [sys.executable, "-m", "kcsim.scenarios", "run", str(scenario), "--zookeeper", "simulated"]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [*command, "--seed", str(seed), "--trace", str(trace)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return trace.read_bytes()


def trace_made_here(scenario: Path, seed: int, trace: Path) -> bytes:
    ended = CliRunner().invoke(
        app, ["run", str(scenario), "--zookeeper", "simulated", "--seed", str(seed), "--trace", str(trace)]
    )
    assert ended.exit_code == 0, ended.output
    return trace.read_bytes()


@pytest.mark.slow
def test_losses_breaks_and_jitter_are_the_same_for_one_seed_under_any_hash_seed(tmp_path: Path) -> None:
    scenario = written(tmp_path, f"{HEAD}{RANDOM}{ALWAYS}")
    first = trace_made_here(scenario, 7, tmp_path / "first.jsonl")
    assert b"NetworkStalled" in first
    assert b"NetworkConnectionBroken" in first
    assert trace_of(scenario, 7, 2, tmp_path / "second.jsonl") == first
    assert trace_made_here(scenario, 8, tmp_path / "third.jsonl") != first


def test_faults_with_probability_0_leave_the_run_byte_for_byte_as_it_is(tmp_path: Path) -> None:
    nothing = """\
  - lossy-link: {between: all, and: all, loss: 0%, break: 0%}
  - slow-link: {between: all, and: all, delay: 0ms}
"""
    what_happens = (
        "  - start-workload: writer\n  - wait: {acknowledged: '>= 20'}\n  - stop-workload: writer\n  - kill: broker-2\n"
    )
    _, faulted = run(tmp_path, nothing + what_happens)
    _, plain = run(tmp_path, what_happens)
    assert faulted.events == plain.events


def test_clients_repeat_what_was_answered_with_an_injected_error(tmp_path: Path) -> None:
    steps = """\
  - start-workload: writer
  - inject-error: {request: Produce, error: NOT_ENOUGH_REPLICAS, to: producer-writer, topic: orders, partition: 0, count: 3}
    after: 500ms
  - inject-error: {request: Produce, error: REQUEST_TIMED_OUT, from: broker-3, carried-out: true}
    after: 500ms
  - stop-workload: writer
    after: 3s
"""
    expect = "expect:\n  - {lost: 0, duplicated: 0, unacknowledged: 0}\n"
    verdict, log = run(tmp_path, steps, expect)
    assert failure(verdict) == ""
    assert [event.detail for event in find(log, EventKind.FAULT_CONFIRMED, fault="inject-error")] == [
        *(f"broker-2 answers Produce of producer-writer with NOT_ENOUGH_REPLICAS, {n} of 3" for n in (1, 2, 3)),
        "broker-3 answers Produce of producer-writer with REQUEST_TIMED_OUT, 1 of 1",
    ]
    assert story_of(log.events).sentences[0].startswith("broker-2 answered clients with an injected error at ")


def test_an_injected_error_that_no_answer_carried_is_a_failure(tmp_path: Path) -> None:
    verdict, _ = run(tmp_path, "  - inject-error: {request: DeleteGroups, error: NOT_COORDINATOR}\n")
    why = "had no effect: no DeleteGroups was answered from all to all before the timetable was done"
    assert failure(verdict) == f"1: inject-error: {why}"


def test_heal_all_drops_injected_errors(tmp_path: Path) -> None:
    steps = """\
  - inject-error: {request: Produce, error: NOT_COORDINATOR, count: 1000}
    if-possible: true
  - heal: all
"""
    _, log = run(tmp_path, steps)
    assert [event.detail for event in find(log, EventKind.ADMIN_ACT, op="heal")] == ["1000 injected errors are dropped"]
