"""Topic operations and failing disks on a running cluster: each takes effect, and the conditions on topics become true."""

from pathlib import Path

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.expectations.verdict import Verdict
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import load_scenario
from tests.scenarios.scenario_files import written

HEAD = """\
name: try-it
description: For a test.
cluster:
  brokers: 4
  settings: {zookeeper.session.timeout.ms: 2000, auto.leader.rebalance.enable: false, log.dirs: "/a,/b"}
  topics:
    orders: {assignment: {0: [2, 3], 1: [3, 2]}}
timetable:
  - start: broker-1
  - wait: {event: {kind: ControllerFailover, step: Ready to serve as the new controller}}
  - start: [broker-2, broker-3, broker-4]
  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 3, 4]}}
  - create-topic: orders
  - wait: {in-sync: all, events: {of: {kind: BecameLeader}, exactly: 2}}
"""
FIRST_LINE = HEAD.count("\n") + 1
LAST_MEMBER_LOST = """\
  - kill: broker-2
  - wait: {isr: {orders-0: [3], orders-1: [3]}}
  - kill: broker-3
  - wait: {leader: {orders-0: none, orders-1: none}}
  - start: broker-2
  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 4]}}
"""
"""Steps after which only broker-2 is back, which is in no ISR: there is no leader, at leader epoch 2."""


def run(directory: Path, steps: str) -> tuple[Verdict, EventLog]:
    """Run these steps in virtual time, on a cluster in which every broker knows the topic."""
    loaded = load_scenario(written(directory, f"{HEAD}{steps}expect:\n  - controller: broker-1\n"))
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


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            """\
  - reassign: {orders-0: [3, 4], orders-1: [4, 2]}
  - wait: {replicas: {orders-0: [3, 4], orders-1: [4, 2]}, reassigning: none, in-sync: all, leaders-preferred: all}
  - wait: {znode: {path: /admin/reassign_partitions, exists: false}}
""",
            id="reassign by znode",
        ),
        pytest.param(
            """\
  - reassign: {orders-0: [3, 4]}
    via: api
  - wait: {replicas: {orders-0: [3, 4]}, reassigning: none, in-sync: all, leader: {orders-0: broker-3}}
  - wait: {no-event: {kind: ZnodeCreated, path: /admin/reassign_partitions}}
""",
            id="reassign by api",
        ),
        pytest.param(
            """\
  - kill: broker-4
  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 3]}}
  - reassign: {orders-0: [4, 3], orders-1: [4, 2]}
  - wait: {reassigning: [orders-0, orders-1]}
  - cancel-reassignment: orders-0
  - wait: {reassigning: orders-1, replicas: {orders-0: [3, 2]}}
  - cancel-reassignment: all
  - wait: {reassigning: none, replicas: {orders-1: [2, 3]}}
""",
            id="cancel",
        ),
        pytest.param(
            """\
  - stop: leader-of orders-0
    as: restarted
  - wait: {leader: {orders-0: broker-3}}
  - start: restarted
  - wait: {in-sync: all}
  - elect-preferred: orders-0
  - wait: {leaders-preferred: all, leader: {orders-0: restarted}, leader-epoch: {orders-0: 2, orders-1: 1}}
""",
            id="elect the preferred leader by znode",
        ),
        pytest.param(
            """\
  - stop: preferred-of orders-0
  - wait: {leader: {orders-0: broker-3}}
  - start: preferred-of orders-0
  - wait: {in-sync: all}
  - elect-preferred: all
    via: api
  - wait: {leaders-preferred: all, leader-epoch: {orders-0: 2, orders-1: 1}}
  - wait: {no-event: {kind: ZnodeCreated, path: /admin/preferred_replica_election}}
""",
            id="elect the preferred leader by api",
        ),
        pytest.param(
            LAST_MEMBER_LOST
            + """\
  - elect-unclean: orders-0
  - wait: {leader: {orders-0: broker-2, orders-1: none}, isr: {orders-0: [2]}, leader-epoch: {orders-0: 3}}
  - wait: {isr: {orders-1: [3]}, as-recorded: true}
""",
            id="elect an unclean leader",
        ),
        pytest.param(
            LAST_MEMBER_LOST
            + """\
  - set-config: {topics: {orders: {unclean.leader.election.enable: true}}}
  - wait: {leader: {orders-0: broker-2, orders-1: broker-2}, leader-epoch: {orders-0: 3, orders-1: 3}}
""",
            id="a topic's setting changed",
        ),
        pytest.param(
            LAST_MEMBER_LOST
            + """\
  - set-config: {broker-defaults: {unclean.leader.election.enable: true}}
  - wait: {leader: {orders-0: broker-2, orders-1: broker-2}, leader-epoch: {orders-0: 3, orders-1: 3}}
""",
            id="the brokers' default changed",
        ),
        pytest.param(
            """\
  - delete-topic: all
  - wait: {topics: none, znode: {path: /admin/delete_topics, children: 0}}
  - create-topic: orders
  - wait: {in-sync: all, leader-epoch: {orders-0: 0, orders-1: 0}}
""",
            id="deleted and created anew",
        ),
        pytest.param(
            """\
  - add-partitions: {orders: {2: [4, 1], 3: [1, 4]}}
  - wait: {in-sync: all, leader: {orders-2: broker-4, orders-3: broker-1}, isr: {orders-3: [4, 1]}}
""",
            id="partitions added",
        ),
        pytest.param(
            """\
  - fail-log-dir: leader-of orders-0
    partitions: orders-0
    as: sick
  - wait: {leader: {orders-0: broker-3, orders-1: broker-3}, isr: {orders-0: [3]}, in-sync: orders-1, running: sick}
""",
            id="a log directory lost with one replica",
        ),
        pytest.param(
            """\
  - zk-create: {path: /brokers/topics/odd, data: {version: 1, partitions: {"7": [4, 2]}}}
  - wait: {leader: {odd-7: broker-4}, in-sync: all, topics: [orders, odd]}
  - kill: follower-of odd-7
  - wait: {isr: {odd-7: [4]}}
""",
            id="a topic made by hand whose partitions begin at 7",
        ),
    ],
)
def test_it_is_done_and_leads_to_what_it_should(tmp_path: Path, steps: str) -> None:
    verdict, _ = run(tmp_path, steps)
    assert (failure(verdict), verdict.exit_status) == ("", 0)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            "  - kill: broker-4\n  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 3]}}\n"
            "  - reassign: {orders-0: [4, 2], orders-1: [1]}\n    via: api\n",
            "3: reassign: orders-0: INVALID_REPLICA_ASSIGNMENT",
        ),
        ("  - cancel-reassignment: [orders-0]\n", "1: cancel-reassignment: orders-0: NO_REASSIGNMENT_IN_PROGRESS"),
        (
            LAST_MEMBER_LOST + "  - elect-preferred: orders-0\n    via: api\n",
            "7: elect-preferred: orders-0: PREFERRED_LEADER_NOT_AVAILABLE",
        ),
        (
            "  - kill: all\n  - wait: {controller: none}\n  - elect-unclean: all\n",
            "3: elect-unclean: no broker is the controller",
        ),
        ("  - fail-log-dir: broker-4\n    partitions: orders-0\n", "1: fail-log-dir: broker-4 has no replica of orders-0"),
        (
            "  - wait: {leader: {orders-0: broker-3}, leader-epoch: {orders-1: 0}, within: 1s}\n",
            "1: wait: not within 1000 ms: orders-0 is led by broker-2 (leader epoch 0, ISR [2, 3])",
        ),
    ],
)
def test_what_the_cluster_refuses_leaves_everything_undecided(tmp_path: Path, steps: str, message: str) -> None:
    verdict, _ = run(tmp_path, steps)
    assert (failure(verdict), verdict.exit_status) == (message, 2)


def test_a_broker_named_by_its_role_is_the_one_that_has_it_when_the_step_is_done(tmp_path: Path) -> None:
    """`as` gives that broker a name."""
    steps = """\
  - kill: leader-of orders-0
    as: first
  - wait: {leader: {orders-0: not first}}
  - kill: leader-of orders-0
    as: second
  - wait: {leader: {orders-0: none}, dead: [first, second]}
"""
    verdict, log = run(tmp_path, steps)
    assert failure(verdict) == ""
    assert [event.target for event in log.events if event.kind is EventKind.FAULT] == ["broker-2", "broker-3"]


def test_everything_a_tool_does_follows_from_its_act(tmp_path: Path) -> None:
    """The beginning and the end of the tool's session follow from the act, too."""
    _, log = run(tmp_path, "  - elect-preferred: all\n")
    act = next(event for event in log.events if event.op == "elect-preferred")
    session = next(event.session_id for event in log.events if event.cause == act.seq and event.session_id)
    events = [event for event in log.events if event.session_id == session and event.kind is not EventKind.ZNODE_CREATED]
    assert [(event.kind.value, event.node) for event in events] == [
        ("SessionCreated", "zookeeper"),
        ("SessionState", "scenario"),
        ("SessionClosed", "zookeeper"),
        ("SessionState", "scenario"),
    ]
    assert {event.cause for event in events} == {act.seq}
