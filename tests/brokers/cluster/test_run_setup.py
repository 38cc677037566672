"""The first event of a run, which says on what it ran."""

import pytest

from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.cluster.run_setup import RunInfo, begin_run
from kcsim.eventlog.event_log import EventLog


@pytest.mark.parametrize("brokers", [None, "Apache Kafka 2.8.2"])
def test_a_run_says_which_brokers_it_had_unless_they_were_simulated(brokers: str | None) -> None:
    log = EventLog(lambda: 0)
    begin_run(log, RunInfo("try-it", 1, "embedded", brokers), ClusterSpec((), {}), [])
    (begun,) = log.events
    assert begun.broker_software == brokers
    assert ("brokers: Apache Kafka 2.8.2" in (begun.detail or "")) is (brokers is not None)
