"""Incidents on real Kafka brokers, made anew: the fault found is the fault made."""

from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from kcsim.scenarios.incidents.incident_logs import read_incident_logs
from kcsim.scenarios.incidents.investigation import investigate
from tests.requirements import KAFKA_3_9_1, require
from tests.scenarios.incidents.incidents_on_kafka import INCIDENTS, make_incident
from tests.scenarios.incidents.test_recorded_incidents import FAULTS


def test_every_incident_is_recorded() -> None:
    """What the script can make is what the fast tests read."""
    assert set(INCIDENTS) == set(FAULTS)


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.nightly
@pytest.mark.parametrize("name", INCIDENTS)
def test_the_fault_found_is_the_fault_made(tmp_path: Path, name: str) -> None:
    """The reproduction runs to its end; in what it differs, if a race went another way, is in its list."""
    require("java", "kafka")
    _check(find_kafka(None), name, tmp_path / name)


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.nightly
@pytest.mark.parametrize("name", ["broker-killed", "broker-paused"])
def test_the_newest_kafka_with_zookeeper_words_it_so_too(tmp_path: Path, name: str) -> None:
    """Its client of ZooKeeper is of another version, and its logs have other loggers."""
    require("java", "kafka-3.9.1")
    _check(find_kafka(KAFKA_3_9_1), name, tmp_path / name)


def _check(kafka: KafkaInstallation, name: str, directory: Path) -> None:
    make_incident(kafka, name, directory)
    found = investigate(read_incident_logs([directory]), {})
    first = found.diagnosis.first
    assert first is not None
    assert (first.subject, first.fault) == FAULTS[name]
    assert found.run is not None
    assert found.run.failure is None
