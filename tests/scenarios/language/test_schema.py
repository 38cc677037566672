"""The published JSON Schema accepts what the loader accepts, and refuses what it refuses, as far as a schema can."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from kcsim.scenarios.language.conditions_model import Condition
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.scenario_file import ScenarioFileError, find_scenario, load_scenario
from kcsim.scenarios.language.schema import json_schema
from kcsim.scenarios.language.steps import VERBS
from tests.scenarios.language.json_schema import accepts
from tests.scenarios.scenario_files import BASE, WITH_TOPICS, WITH_WORKLOAD, written
from tests.tiers import tiered


@cache
def published() -> dict[str, Any]:
    return json_schema()


def plain(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text())


def loads(path: Path) -> bool:
    try:
        load_scenario(path)
    except ScenarioFileError:
        return False
    return True


@pytest.mark.parametrize("name", tiered(library_names(), fast=10))
def test_the_schema_accepts_the_library(name: str) -> None:
    assert accepts(published(), plain(find_scenario(name)))


STEPS = [
    "start: all",
    "start: [broker-1, controller]",
    "stop: broker-1",
    "restart: controller\n    as: restarted",
    "rolling-restart: all\n    within: 90s",
    "wait: {controller: any}\n    within: 20s",
    "pause: broker-1\n    for: 10s",
    "kill: controller\n    as: lost\n    at: 5s",
    "kill: broker-1\n    at-write: after\n    nth: 2",
    "pause: broker-1\n    at-write: before\n    path: /brokers",
    "resume: broker-1\n    after: 1.5m",
    "resume: broker-1\n    when: {paused: broker-1, within: 5s}\n    if-possible: true",
    "zk-create: {path: /x, sequential: true}\n    times: 3\n    every: 2s",
    "expire: broker-1",
    "disconnect: broker-1\n    for: 100ms",
    "reconnect: all",
    "zookeeper: {pause: [leader]}",
    "kill: leader-of orders-0\n    as: lost",
    "fail-log-dir: [follower-of orders-0, preferred-of clicks-3]",
    "fail-log-dir: broker-1\n    partitions: [orders-0, orders-1]",
    "create-topic: all",
    "create-topic: [orders, clicks]",
    "delete-topic: orders",
    "add-partitions: {orders: 6, clicks: {4: [1, 2], 5: [3, 1]}}",
    "reassign: {orders-0: [3, 1], orders-1: [2]}",
    "reassign: {orders-0: [3, 1]}\n    via: api",
    "cancel-reassignment: all",
    "elect-preferred: [orders-0, orders-1]\n    via: znode",
    "elect-unclean: orders-0",
    "set-config: {topics: {orders: {unclean.leader.election.enable: true, retention.ms: null}}}",
    "set-config: {broker-defaults: {unclean.leader.election.enable: true}}",
    "partition: {between: controller, and: [broker-1, leader-of orders-0]}",
    "partition: {from: broker-1, to: all, refuse: true}\n    for: 5s",
    "slow-follower: broker-1\n    rate: 10",
    "slow-follower: [broker-1, follower-of orders-0]",
    "slow-link: {between: all, and: all, delay: 200ms, jitter: 50ms}",
    "slow-link: {from: follower-of orders-0, to: broker-1, delay: 1s}\n    for: 1m",
    "lossy-link: {from: broker-1, to: broker-2, loss: 5%, break: 0.1%}",
    "lossy-link: {between: broker-1, and: broker-2, break: 100%}\n    for: 1s",
    "slow-link: {between: clients, and: client order service, bytes-per-second: 1000}",
    "break-connections: {from: clients, to: all, once-delivered: Produce, let-through: 3}",
    "inject-error: {request: Produce, error: NOT_LEADER_OR_FOLLOWER}",
    "inject-error: {request: Fetch, error: REQUEST_TIMED_OUT, from: broker-1, to: [clients, client a], topic: orders,\n"
    "      partition: 0, count: 3, carried-out: true}",
    "break-connections: {between: [broker-1, broker-2], and: broker-3}",
    "break-connections: {from: controller, to: broker-3, once-delivered: LeaderAndIsr}",
    "heal: all",
    "heal: {between: broker-1, and: all}",
    "produce: [writer, endless]\n    records: 120",
    "produce: writer",
    "start-workload: all",
    "stop-workload: endless",
    "start-consumers: all",
    "stop-consumers: c1",
    "crash-consumers: [c1, c2]",
    "pause-consumers: c1",
    "resume-consumers: c1\n    after: 1s",
    "stall-consumers: c2\n    for: 6m",
    "zk-create: {path: /x, data: {a: [1, null]}, ephemeral: true}",
    "zk-create: {path: /x}",
    "zk-recreate: {path: /x, data: {a: [1, null]}, ephemeral: true}",
    "zk-set: {path: /x, data: text}",
    "zk-delete: /x",
    "wait: {controller: not broker-1}",
    "wait: {controller-epoch: 1, controller-epochs: [1], registered: all, unregistered: [broker-1], within: 1s}",
    "wait: {re-registered: broker-1, running: all, paused: all, stopped: all, dead: all, session-expired: all}",
    "wait: {topics: [orders, clicks], leader: {orders-0: not broker-1, orders-1: [broker-2, none]}}",
    "wait: {topics: none, leader: {orders-0: leader-of clicks-0}, leader-epoch: {orders-0: 0}, isr: {orders-0: [1]}}",
    "wait: {replicas: {orders-0: [3, 1, 2]}, reassigning: none, in-sync: all, leaders-preferred: [orders-0]}",
    "wait: {leader: {orders-0: broker-1}, as-recorded: true}",
    "wait: {reassigning: [orders-0], offline-partitions: 0, under-replicated: 2}",
    "wait: {acknowledged: {orders: '>= 100', clicks-0: 5}, given-up: 0}",
    "wait: {groups: {billing: {state: Stable, generation: 1}}, assignment: {c1: [orders-0, orders-1], c2: none}}",
    "wait: {moved: {billing: orders-0}, unconsumed: {billing: {orders-0: {exactly: 0ms}, orders-1: {at-most: 5s}}}}",
    "wait: {znode: {path: /controller, data: {brokerid: 1}, children: 0}}",
    "wait: {event: {kind: ElectionWon, node: broker-1, controller-id: broker-2}, no-event: {kind: Fault, target: broker-1}}",
    "wait: {events: {of: {kind: ElectionWon}, at-least: 1, at-most: 2}, order: [{kind: Fault}, {kind: ElectionWon}]}",
    "wait: {metrics: {OfflinePartitionsCount: 0, ActiveControllerCount: {highest: '<= 1'}, GlobalTopicCount: '> 1'}}",
    "wait: {time-between: {from: {kind: Fault}, to: {kind: ElectionWon}, at-least: 1s, at-most: 1m, each: true}}",
]
"""Steps with every verb, every option, and every condition that a wait can have."""

EXPECTATIONS = [
    "lost: 0",
    "lost: {orders: 120, clicks-1: '< 5'}\n    lost-everywhere: '<=100'",
    "controller: any\n    at: 12s\n    within: 3s",
    "incomplete: 0\n    unacknowledged: '> 0'\n    duplicated: {orders-0: 3}\n    divergent: {orders: 0}",
]
"""Expectations with every condition that a wait cannot have."""


@pytest.mark.parametrize("step", tiered(STEPS, fast=2))
def test_both_accept_every_kind_of_step(tmp_path: Path, step: str) -> None:
    path = written(tmp_path, WITH_WORKLOAD.replace("expect:", f"  - {step}\nexpect:"))
    load_scenario(path)
    assert accepts(published(), plain(path))


WHOLE = [
    "afterwards: {}",
    "afterwards: {heal: true, within: 2m}",
    "invariants: all",
    "invariants: none",
    "invariants: epochs-never-go-back",
    "invariants: [epochs-never-go-back, there-is-one-controller]",
    "invariants: {except: [epochs-never-go-back]}",
    "invariants: {except: epochs-never-go-back}",
    "protections: {controller-epoch-fence: off}",
    "zookeeper: {members: 3, tick-time: 100ms}",
]


@pytest.mark.parametrize("part", WHOLE)
def test_both_accept_the_settings_of_the_whole_scenario(tmp_path: Path, part: str) -> None:
    path = written(tmp_path, f"{BASE}{part}\n")
    load_scenario(path)
    assert accepts(published(), plain(path))


@pytest.mark.parametrize("expectation", EXPECTATIONS)
def test_both_accept_every_kind_of_expectation(tmp_path: Path, expectation: str) -> None:
    path = written(tmp_path, WITH_WORKLOAD.replace("  - controller: any\n", f"  - {expectation}\n"))
    load_scenario(path)
    assert accepts(published(), plain(path))


def test_those_steps_are_all_that_there_are() -> None:
    text = "\n".join([*STEPS, *EXPECTATIONS])
    conditions = [name.replace("_", "-") for name in Condition.model_fields]
    assert [word for word in (*VERBS, *conditions) if f"{word}:" not in text] == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("name: try-it", "name: Try It"),
        ("name: try-it", "nam: try-it"),
        ("description: For a test.", "description: ''"),
        ("brokers: 3", "brokers: 0"),
        ("brokers: 3", "brokers: '3'"),
        ("brokers: 3", "brokers: true"),
        ("brokers: 3", "brokers: null"),
        ("brokers: 3", "brokers: []"),
        ("brokers: 3", "brokers: [{id: 1, rak: a}]"),
        ("brokers: 3", "brokers: 3\n  settings: {zookeeper.session.timeout.ms: 0}"),
        ("brokers: 3", "brokers: 3\n  settings: {zookeper.session.timeout.ms: 1}"),
        ("brokers: 3", "brokers: 3\nzookeeper: {members: 2}"),
        ("brokers: 3", "brokers: 3\nzookeeper: {tick-time: 100}"),
        ("start: all", "begin: all"),
        ("start: all", "start: null"),
        ("start: all", "start: []"),
        ("start: all", "start: [broker-1, broker-1]"),
        ("start: all", "{}"),
        ("start: all", "{start: all, stop: all}"),
        ("start: all", "zookeeper: {}"),
        ("start: all", "zookeeper: {kill: leader, start: leader}"),
        ("start: all", "kill: broker-1\n    as: controller"),
        ("start: all", "kill: broker-1\n    as: Old"),
        ("start: all", "pause: broker-1\n    at-write: during"),
        ("start: all", "partition: {between: broker-1}"),
        ("start: all", "partition: {between: broker-1, to: broker-2}"),
        ("start: all", "partition: {between: broker-1, and: broker-2, from: broker-1, to: broker-2}"),
        ("start: all", "partition: {from: broker-1, to: []}"),
        ("start: all", "slow-link: {from: broker-1, to: broker-2}"),
        ("start: all", "slow-link: {from: broker-1, to: broker-2, delay: 5}"),
        ("start: all", "lossy-link: {from: broker-1, to: broker-2}"),
        ("start: all", "lossy-link: {from: broker-1, to: broker-2, loss: 0.05}"),
        ("start: all", "break-connections: {from: broker-1, to: broker-2, once-delivered: Leader}"),
        ("start: all", "heal: everything"),
        ("start: all", "zk-create: {path: x}"),
        ("start: all", "zk-set: {path: /x}"),
        ("start: all", "zk-delete: /x/"),
        ("start: all", "wait: {order: [{kind: Fault}]}"),
        ("start: all", "wait: {event: {node: broker-1}}"),
        ("start: all", "wait: {event: {kind: ElectionWon, seq: 1}}"),
        ("start: all", "wait: {event: {kind: ElectionWon, ephemeral: 1}}"),
        ("start: all", "wait: {event: {kind: ElectionWon, isr: [a]}}"),
        ("start: all", "start: all\n    when: {}"),
        ("start: all", "start: all\n    when: {controller: any, lost: 0}"),
        ("start: all", "start: all\n    times: 0"),
        ("start: all", "start: all\n    times: 2\n    every: 2"),
        ("start: all", "start: all\n    if-possible: maybe"),
        ("start: all", "wait: {metrics: {OfflinePartitionCount: 0}}"),
        ("start: all", "wait: {metrics: {OfflinePartitionsCount: -1}}"),
        ("start: all", "wait: {metrics: {OfflinePartitionsCount: {lowest: 1}}}"),
        ("start: all", "wait: {metrics: {}}"),
        ("start: all", "wait: {time-between: {from: {kind: Fault}, at-most: 1s}}"),
        ("brokers: 3", "brokers: 3\nafterwards: {heal: false}"),
        ("brokers: 3", "brokers: 3\nafterwards: {within: 60}"),
        ("brokers: 3", "brokers: 3\ninvariants: some"),
        ("brokers: 3", "brokers: 3\ninvariants: []"),
        ("brokers: 3", "brokers: 3\ninvariants: {but: [epochs-never-go-back]}"),
        ("brokers: 3", "brokers: 3\ninvariants: [epochs-never-go-bakc]"),
        ("within: 10s", "within: 10"),
        ("within: 10s", "within: 10h"),
        ("wait: {controller: any, within: 10s}", "wait: {within: 10s}"),
        ("controller: any\n", "claim: Nothing is claimed.\n"),
    ],
)
def test_both_refuse_the_same(tmp_path: Path, right: str, wrong: str) -> None:
    path = written(tmp_path, BASE[::-1].replace(right[::-1], wrong[::-1], 1)[::-1])
    assert (loads(path), accepts(published(), plain(path))) == (False, False)


TOPICS = [
    "{assignment: {0: [1]}}",
    "{assignment: {0: [1, 2], 1: [2, 1]}, config: {unclean.leader.election.enable: true}}",
    "{partitions: 3, replication-factor: 2}",
    "{partitions: 3, replication-factor: 2, rack-aware: false, start-index: 0, shift: 4, config: {retention.ms: 1}}",
]


@pytest.mark.parametrize("topic", TOPICS)
def test_both_accept_every_kind_of_topic(tmp_path: Path, topic: str) -> None:
    path = written(tmp_path, BASE.replace("brokers: 3", f"brokers: 3\n  topics: {{payments: {topic}}}"))
    load_scenario(path)
    assert accepts(published(), plain(path))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("clicks:", "cli cks:"),
        ("0: [1, 2, 3]", "zero: [1, 2, 3]"),
        ("0: [1, 2, 3]", "0: [1, 2, 2]"),
        ("0: [1, 2, 3]", "0: []"),
        ("0: [1, 2, 3]", "0: 1"),
        ("partitions: 4", "partitions: 0"),
        ("partitions: 4, replication-factor: 2", "partitions: 4"),
        ("partitions: 4, ", ""),
        ("partitions: 4, ", "partitions: 4, assignment: {0: [1, 2]}, "),
        ("partitions: 4, ", "partitions: 4, start-index: -1, "),
        ("partitions: 4, ", "partitions: 4, rack-aware: maybe, "),
        ("partitions: 4, ", "partitions: 4, config: {retention: 1}, "),
        ("partitions: 4, ", "partitions: 4, config: {retention.ms: [1]}, "),
        ("start: all", "create-topic: []"),
        ("start: all", "delete-topic: or ders"),
        ("start: all", "add-partitions: {orders: 0}"),
        ("start: all", "add-partitions: {}"),
        ("start: all", "reassign: {orders-0: []}"),
        ("start: all", "reassign: {orders: [1]}"),
        ("start: all", "reassign: {orders-0: [1]}\n    via: letter"),
        ("start: all", "cancel-reassignment: orders"),
        ("start: all", "elect-preferred: [all]"),
        ("start: all", "set-config: {}"),
        ("start: all", "set-config: {topics: {}}"),
        ("start: all", "set-config: {topics: {orders: {}}}"),
        ("start: all", "set-config: {broker-defaults: {port: 1}}"),
        ("start: all", "fail-log-dir: broker-1\n    partitions: []"),
        ("controller: any,", "leader: {orders-0: Nobody},"),
        ("controller: any,", "leader: {},"),
        ("controller: any,", "leader-epoch: {orders-0: -1},"),
        ("controller: any,", "isr: {orders-0: [a]},"),
        ("controller: any,", "offline-partitions: -1,"),
        ("controller: any,", "reassigning: all,"),
    ],
)
def test_both_refuse_the_same_about_topics(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in WITH_TOPICS
    path = written(tmp_path, WITH_TOPICS.replace(right, wrong, 1))
    assert (loads(path), accepts(published(), plain(path))) == (False, False)
