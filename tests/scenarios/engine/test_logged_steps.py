"""Each step is found in the event log under the name that the narration and the readers of the log know it by."""

from itertools import groupby

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.python_api import run
from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.language.step_words import STEP_WORDS
from kcsim.scenarios.language.steps import VERBS

EVERY_STEP = """\
name: every-step
description: Every step once, with effect.
cluster:
  brokers: 4
  settings: {zookeeper.session.timeout.ms: 2000}
  topics:
    orders: {assignment: {0: [1, 2], 1: [2, 3]}}
    gone: {assignment: {0: [1, 2]}}
    moved: {assignment: {0: [1, 2]}}
workload:
  producers:
    writer: {topics: orders, rate: 20}
    hasty: {topics: orders, records: 5}
  groups:
    billing: {members: [c1, c2, c3], topics: orders}
zookeeper: {members: 3}
timetable:
  - start: all
  - wait: {controller: any}
  - create-topic: all
  - wait: {in-sync: all}
  - start-workload: writer
  - start-consumers: all
  - wait: {event: {kind: PartitionsAssigned, node: consumer-c2}, within: 30s}
  - slow-link: {from: broker-3, to: broker-4, delay: 20ms}
  - heal: all
  - lossy-link: {from: broker-3, to: broker-4, loss: 1%}
  - heal: all
  - partition: {between: broker-3, and: broker-4}
  - heal: all
  - break-connections: {from: producer-writer, to: all}
  - inject-error: {request: Produce, error: NOT_LEADER_OR_FOLLOWER}
  - stall-consumers: c1
    for: 1s
  - pause-consumers: c1
  - resume-consumers: c1
  - crash-consumers: c2
  - stop-consumers: c3
  - stop-workload: writer
  - produce: hasty
  - slow-follower: broker-2
    rate: 1
  - add-partitions: {orders: 3}
  - delete-topic: gone
  - wait: {event: {kind: ZnodeDeleted, path: /brokers/topics/gone}}
  - set-config: {topics: {orders: {unclean.leader.election.enable: true}}}
  - zk-create: {path: /mine, data: x}
  - zk-set: {path: /mine, data: y}
  - zk-recreate: {path: /mine, data: z}
  - zk-delete: /mine
  - disconnect: broker-4
  - reconnect: broker-4
  - expire: broker-4
  - wait: {re-registered: broker-4}
  - pause: broker-4
  - resume: broker-4
  - kill: broker-4
  - wait: {unregistered: broker-4}
  - reassign: {moved-0: [1, 4]}
  - wait: {reassigning: moved-0}
  - cancel-reassignment: moved-0
  - wait: {reassigning: none}
  - elect-preferred: orders-1
  - elect-unclean: orders-1
  - zookeeper: {pause: member-3}
  - restart: broker-1
  - rolling-restart: [broker-1]
  - stop: broker-2
  - fail-log-dir: broker-3
expect:
  - controller: any
"""


LOGGED = {"zookeeper": ["pause"], "restart": ["stop", "start"], "rolling-restart": ["stop", "start"]}
"""The step `zookeeper` names in its options what it does to a server; a restart consists of two actions."""


def test_each_step_is_logged_under_the_name_that_its_words_give() -> None:
    """The narration looks words up by the event's name: under another name the step has no line, or a wrong one."""
    scenario = load_text(EVERY_STEP, "every-step.yaml").scenario
    result = run(scenario)
    assert result.verdict.failure is None, str(result)
    verbs = [step.verb() for step in scenario.timetable if step.verb() != "wait"]
    logged = [
        event.fault or event.op
        for event in result.events
        if event.kind in (EventKind.FAULT, EventKind.ADMIN_ACT) and event.node == "scenario"
    ]
    expected = [name for verb in verbs for name in LOGGED.get(verb, [STEP_WORDS[verb].logged_as or verb])]
    assert [name for name, _ in groupby(logged)] == [name for name, _ in groupby(expected)]
    assert {*verbs, "wait"} == set(VERBS)
