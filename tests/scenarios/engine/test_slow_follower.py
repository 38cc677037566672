"""A follower that replicates slowly leaves the ISR because of its lag, and rejoins when it replicates at full speed."""

from pathlib import Path

from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
from tests.scenarios.engine.test_library import assert_held, verdict_on

SCENARIO = """\
name: tired-disk
description: The follower takes ten records a second of the hundred that are written.
cluster:
  brokers: 3
  settings: {zookeeper.session.timeout.ms: 2000, replica.lag.time.max.ms: 3000}
  topics:
    orders: {assignment: {0: [2, 3]}}
workload:
  producers:
    writer: {topics: orders, rate: 100, settings: {acks: 1}}
timetable:
  - start: broker-1
  - wait: {event: {kind: ControllerFailover, controller-epoch: 1, step: Ready to serve as the new controller}, within: 20s}
  - start: [broker-2, broker-3]
  - wait: {event: {kind: BrokerChange, brokers: [1, 2, 3]}}
  - create-topic: all
  - wait: {in-sync: all}
  - start-workload: writer
  - slow-follower: broker-3
    rate: 10
  - wait: {event: {kind: IsrShrunk, isr: [2]}, within: 30s}
  - slow-follower: broker-3
  - wait: {event: {kind: IsrExpanded, broker-id: 3}, in-sync: all, within: 30s}
  - stop-workload: writer
expect:
  - claim: It left by its lag and came back by catching up; nobody died for it.
    order:
      - {kind: Fault, fault: slow-follower, target: broker-3}
      - {kind: IsrShrunk, isr: [2]}
      - {kind: AdminAct, op: slow-follower, target: broker-3}
      - {kind: IsrExpanded, broker-id: 3}
    no-event: {kind: ProcessState, state: dead}
"""


def test_the_step_slows_a_follower_until_it_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "tired-disk.yaml"
    path.write_text(SCENARIO)
    assert_held(verdict_on(path, ZooKeeperKind.SIMULATED))
