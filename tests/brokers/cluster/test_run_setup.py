"""What a run begins with and leaves behind: the event that says on what it ran, and ZooKeeper's transaction log."""

from pathlib import Path

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo, begin_run
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.eventlog.event_log import EventLog
from tests.requirements import require


@pytest.mark.parametrize("brokers", [None, "Apache Kafka 2.8.2"])
def test_a_run_says_which_brokers_it_had_unless_they_were_simulated(brokers: str | None) -> None:
    log = EventLog(lambda: 0)
    begin_run(log, RunInfo("try-it", 1, "embedded", brokers), ClusterSpec((), {}), [])
    (begun,) = log.events
    assert begun.broker_software == brokers
    assert ("brokers: Apache Kafka 2.8.2" in (begun.detail or "")) is (brokers is not None)


@pytest.mark.live
def test_the_transaction_log_of_a_real_server_outlives_the_run(tmp_path: Path) -> None:
    require("java")

    async def script(cluster: Cluster) -> None:
        """Do nothing: ZooKeeper has the znodes that every cluster begins with."""

    choice, spec = ZooKeeperChoice.parse("embedded"), ClusterSpec((), {})
    run_in_environment(choice, spec, RunInfo("try-it", 1, "embedded"), script, zk_log=tmp_path)
    assert [file.name[:4] for file in tmp_path.rglob("log.*")] == ["log."]
