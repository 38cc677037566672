"""Time from nothing to the answer of "what does the loss of broker 2 do?": on real brokers, live, simulated.

Each measurement is the whole command `kcsim run FILE`, process start and verdict included. The scenario is the same file.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.zk.servers.errors import ServerError
from tests.bench.report import Measured, measure, print_table

SCENARIO = """\
name: loss-of-broker-2
description: Broker 2 dies. Who leads what it led, and what is left of the ISRs?
cluster:
  brokers: 3
  settings: {zookeeper.session.timeout.ms: 6000, auto.leader.rebalance.enable: false}
  topics:
    orders: {assignment: {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}}
zookeeper: {tick-time: 500ms}
timetable:
  - start: broker-1
  - wait: {controller: broker-1, within: 20s}
  - start: [broker-2, broker-3]
  - create-topic: orders
  - wait: {in-sync: all, leaders-preferred: all}
  - kill: broker-2
  - wait: {unregistered: broker-2, isr: {orders-0: [1, 3], orders-1: [1, 3], orders-2: [1, 3]}, within: 30s}
expect:
  - leader: {orders-0: broker-1, orders-1: broker-3, orders-2: broker-3}
    leader-epoch: {orders-0: 1, orders-1: 1, orders-2: 1}
"""
SESSION_TIMEOUT_S = 6


def main() -> None:
    """Print the time of each environment, and how many times as fast as real brokers it is."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "loss.yaml"
        file.write_text(SCENARIO, encoding="utf-8")
        live = _measured("simulated brokers on a real ZooKeeper", file, "--zookeeper", "embedded")
        simulated = _measured("simulated brokers on the model, in virtual time", file, "--zookeeper", "simulated")
        title = f"What does the loss of broker 2 do? From nothing; {SESSION_TIMEOUT_S} s of it are its session's time-out"
        try:
            kafka = find_kafka(None)
        except ServerError as error:
            print_table(title, live, simulated)
            print(f"  not on real brokers: {error}")
            return
        real = _measured(f"Apache Kafka {kafka.version} on a real ZooKeeper", file, "--brokers", "kafka")
        print_table(title, real, live, simulated)


def _measured(name: str, file: Path, *words: str) -> Measured:
    command = [sys.executable, "-m", "kcsim.scenarios", "run", str(file), *words]

    def ask() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return measure(name, 1, ask)
