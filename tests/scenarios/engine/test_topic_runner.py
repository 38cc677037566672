"""A topic step writes the znodes that Kafka's tool writes, as one act that is the cause of all of them.

No broker runs here: its registration is made by hand, so that all znodes found afterwards are the tool's.
"""

import json
from pathlib import Path
from typing import Any

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
from tests.scenarios.scenario_files import written

PARENTS = (
    *("/brokers", "/brokers/ids", "/brokers/topics", "/admin", "/admin/delete_topics"),
    *("/config", "/config/topics", "/config/brokers", "/config/changes"),
)
HEAD = """\
name: try-it
description: For a test.
cluster:
  brokers: [{id: 1, rack: a}, {id: 2, rack: a}, {id: 3, rack: b}, {id: 4, rack: b}]
  topics:
    orders: {assignment: {0: [1, 2, 3], 1: [2, 3, 1]}, config: {unclean.leader.election.enable: true}}
    aware: {partitions: 2, replication-factor: 2, start-index: 0, shift: 0}
    unaware: {partitions: 2, replication-factor: 2, start-index: 0, shift: 0, rack-aware: false}
    shifted: {partitions: 1, replication-factor: 2, start-index: 0, shift: 2, rack-aware: false}
    others: {partitions: 1, replication-factor: 1, rack-aware: false}
    drawn: {partitions: 4, replication-factor: 3, rack-aware: false}
timetable:
"""


def registration(broker: int, rack: str) -> str:
    shared = {"version": 4, "endpoints": [f"PLAINTEXT://h:{9092 + broker}"], "rack": rack, "jmx_port": -1, "timestamp": "0"}
    content = json.dumps(
        {**shared, "host": "h", "port": 9092 + broker, "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"}}
    )
    return f"  - zk-create: {{path: /brokers/ids/{broker}, data: '{content}'}}\n"


CLUSTER = "".join(f"  - zk-create: {{path: {path}}}\n" for path in PARENTS) + "".join(
    registration(broker, rack) for broker, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "b"))
)
FIRST_LINE = (HEAD + CLUSTER).count("\n") + 1


def run(directory: Path, steps: str, seed: int = 1) -> tuple[Verdict, EventLog]:
    """Run these steps in virtual time, where only the parents of Kafka's znodes and four registrations exist."""
    loaded = load_scenario(written(directory, f"{HEAD}{CLUSTER}{steps}expect:\n  - registered: all\n"))
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    choice = ZooKeeperChoice(ZooKeeperKind.SIMULATED)
    log = run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo("try-it", seed, "simulated"), script)
    return verdicts[0], log


def acts(log: EventLog) -> list[Event]:
    """Return the admin acts of the steps, without those that set up the cluster."""
    return [event for event in log.events if event.kind is EventKind.ADMIN_ACT][len(CLUSTER.splitlines()) :]


def written_by(log: EventLog, act: Event) -> list[tuple[str | None, Any]]:
    """Return the znodes that an act created or changed, and the data that it wrote there, in order."""
    chain: dict[int, int] = {act.seq: act.seq}
    found = []
    for event in log.events:
        if event.cause in chain:
            chain[event.seq] = act.seq
            if event.kind in (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED):
                found.append((event.path, json.loads(event.data) if event.data else event.data))
    return found


def done(directory: Path, steps: str, seed: int = 1) -> list[tuple[str | None, Any]]:
    """Return the writes of the last of these steps."""
    verdict, log = run(directory, steps, seed)
    assert str(verdict.failure or "") == ""
    return written_by(log, acts(log)[-1])


def placed(directory: Path, topic: str, seed: int = 1) -> dict[str, list[int]]:
    (_, (_, content)) = done(directory, f"  - create-topic: {topic}\n", seed)
    partitions: dict[str, list[int]] = content["partitions"]
    return partitions


def failure(verdict: Verdict) -> str:
    assert verdict.failure is not None
    return f"{verdict.failure.line - FIRST_LINE + 1}: {verdict.failure.step}: {verdict.failure.reason}"


# --- topics ----------------------------------------------------------------------------------------------------------------


def test_a_topic_is_created_as_kafkas_tool_does_it_the_settings_first(tmp_path: Path) -> None:
    """Source: docs/kafka/znodes.md 7.2; recorded in traces/command-create-zookeeper.json."""
    assert done(tmp_path, "  - create-topic: orders\n") == [
        ("/config/topics/orders", {"version": 1, "config": {"unclean.leader.election.enable": "true"}}),
        (
            "/brokers/topics/orders",
            {"partitions": {"0": [1, 2, 3], "1": [2, 3, 1]}, "adding_replicas": {}, "removing_replicas": {}, "version": 3},
        ),
    ]


def test_a_placed_topic_goes_by_racks_unless_it_is_not_to(tmp_path: Path) -> None:
    """The ring of brokers is 1, 3, 2, 4 with racks and 1, 2, 3, 4 without. Source: docs/kafka/assignment.md 3 and 4."""
    assert placed(tmp_path, "aware") == {"0": [1, 3], "1": [3, 2]}
    assert placed(tmp_path, "unaware") == {"0": [1, 2], "1": [2, 3]}


def test_a_shift_of_its_own_displaces_the_followers(tmp_path: Path) -> None:
    assert placed(tmp_path, "shifted") == {"0": [1, 4]}


def test_what_is_not_given_is_drawn_by_the_runs_seed(tmp_path: Path) -> None:
    first = placed(tmp_path, "drawn", seed=1)
    assert placed(tmp_path, "drawn", seed=1) == first
    assert [placed(tmp_path, "drawn", seed=seed) for seed in range(2, 6)] != [first] * 4


def test_seed_0_draws_other_placements_than_seed_1(tmp_path: Path) -> None:
    """It is a seed like any other, and not the absence of one."""
    assert placed(tmp_path, "others", seed=0) != placed(tmp_path, "others", seed=1)


def test_what_one_topic_draws_does_not_depend_on_the_others(tmp_path: Path) -> None:
    alone = placed(tmp_path, "drawn")
    last = done(tmp_path, "  - create-topic: all\n")
    assert last[1] == ("/brokers/topics/drawn", {**last[1][1], "partitions": alone})


def test_each_topic_is_an_act_of_its_own(tmp_path: Path) -> None:
    _, log = run(tmp_path, "  - create-topic: [orders, aware]\n  - delete-topic: all\n")
    assert [(act.op, act.topic, act.detail) for act in acts(log)] == [
        ("create-topic", "orders", "2 partitions, as assigned"),
        ("create-topic", "aware", "2 partitions, replication factor 2"),
        ("delete-topic", "aware", None),
        ("delete-topic", "orders", None),
    ]


def test_a_deletion_is_a_mark(tmp_path: Path) -> None:
    steps = "  - create-topic: orders\n  - delete-topic: orders\n"
    assert done(tmp_path, steps) == [("/admin/delete_topics/orders", None)]


# --- partitions ------------------------------------------------------------------------------------------------------------


def test_added_partitions_go_on_where_the_topic_began(tmp_path: Path) -> None:
    """They are placed by racks even if the topic was not. Existing partitions stay. Source: docs/kafka/assignment.md 7."""
    (change,) = done(tmp_path, "  - create-topic: unaware\n  - add-partitions: {unaware: 4}\n")
    assert change[1]["partitions"] == {"0": [1, 2], "1": [2, 3], "2": [2, 4], "3": [4, 1]}


def test_added_partitions_go_where_they_are_sent(tmp_path: Path) -> None:
    (change,) = done(tmp_path, "  - create-topic: unaware\n  - add-partitions: {unaware: {2: [4, 1], 3: [3, 4]}}\n")
    assert change[1]["partitions"] == {"0": [1, 2], "1": [2, 3], "2": [4, 1], "3": [3, 4]}


def test_a_reassignment_is_a_znode(tmp_path: Path) -> None:
    (change,) = done(tmp_path, "  - create-topic: orders\n  - reassign: {orders-1: [3, 4], orders-0: [4]}\n")
    assert change == (
        "/admin/reassign_partitions",
        {
            "version": 1,
            "partitions": [
                {"topic": "orders", "partition": 1, "replicas": [3, 4]},
                {"topic": "orders", "partition": 0, "replicas": [4]},
            ],
        },
    )


@pytest.mark.parametrize(("named", "partitions"), [("orders-1", [1]), ("all", [0, 1]), ("[orders-1, orders-0]", [1, 0])])
def test_a_preferred_election_is_a_znode(tmp_path: Path, named: str, partitions: list[int]) -> None:
    (change,) = done(tmp_path, f"  - create-topic: orders\n  - elect-preferred: {named}\n")
    assert change == (
        "/admin/preferred_replica_election",
        {"version": 1, "partitions": [{"topic": "orders", "partition": partition} for partition in partitions]},
    )


# --- settings --------------------------------------------------------------------------------------------------------------


def test_changed_settings_of_a_topic_are_written_and_then_announced(tmp_path: Path) -> None:
    """Settings that are not named stay as they are. Source: docs/kafka/znodes.md 8."""
    change = "{topics: {orders: {retention.ms: 60000, unclean.leader.election.enable: null}}}"
    assert done(tmp_path, f"  - create-topic: orders\n  - set-config: {change}\n") == [
        ("/config/topics/orders", {"version": 1, "config": {"retention.ms": "60000"}}),
        ("/config/changes/config_change_0000000000", {"version": 2, "entity_path": "topics/orders"}),
    ]


def test_changed_defaults_of_all_brokers_are_written_and_then_announced(tmp_path: Path) -> None:
    assert done(tmp_path, "  - set-config: {broker-defaults: {unclean.leader.election.enable: true}}\n") == [
        ("/config/brokers/<default>", {"version": 1, "config": {"unclean.leader.election.enable": "true"}}),
        ("/config/changes/config_change_0000000000", {"version": 2, "entity_path": "brokers/<default>"}),
    ]


# --- refusals --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            "  - create-topic: orders\n  - create-topic: orders\n",
            "2: create-topic: Topic 'orders' already exists.",
        ),
        (
            "  - zk-delete: /brokers/ids/1\n  - zk-delete: /brokers/ids/2\n  - create-topic: drawn\n",
            "3: create-topic: Replication factor: 3 larger than available brokers: 2.",
        ),
        ("  - delete-topic: orders\n", "1: delete-topic: topic orders does not exist"),
        (
            "  - create-topic: orders\n  - delete-topic: orders\n  - delete-topic: orders\n",
            "3: delete-topic: topic orders is marked for deletion already",
        ),
        (
            "  - create-topic: orders\n  - add-partitions: {orders: 2}\n",
            "2: add-partitions: The number of partitions for a topic can only be increased. Topic orders currently has 2",
        ),
        (
            "  - create-topic: orders\n  - add-partitions: {orders: {3: [1, 2, 3]}}\n",
            "2: add-partitions: orders has 2 partitions; new ones go on from 2, not [3]",
        ),
        (
            "  - add-partitions: {orders: {1: [1, 2, 3]}}\n",
            "1: add-partitions: orders has 0 partitions; new ones go on from 0, not [1]",
        ),
        (
            "  - create-topic: orders\n  - reassign: {orders-0: [4]}\n  - reassign: {orders-1: [4]}\n",
            "3: reassign: NODEEXISTS for /admin/reassign_partitions",
        ),
        ("  - create-topic: orders\n  - cancel-reassignment: all\n", "2: cancel-reassignment: nothing is being reassigned"),
        (
            "  - set-config: {topics: {orders: {retention.ms: 1}}}\n",
            "1: set-config: Topic 'orders' does not exist.",
        ),
        ("  - create-topic: orders\n  - kill: leader-of orders-0\n", "2: kill: no broker is leader-of orders-0"),
    ],
)
def test_what_kafkas_tool_refuses_leaves_everything_undecided(tmp_path: Path, steps: str, message: str) -> None:
    verdict, _ = run(tmp_path, steps)
    assert failure(verdict).startswith(message)
    assert verdict.exit_status == 2
