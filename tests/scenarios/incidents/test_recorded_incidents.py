"""Incidents that were made with real Kafka brokers: the fault found is the fault made, and its reproduction agrees."""

import json
from functools import lru_cache
from pathlib import Path

import pytest

from kcsim.scenarios.incidents.diagnosis import diagnose
from kcsim.scenarios.incidents.findings import FaultKind, IncidentFinding
from kcsim.scenarios.incidents.incident_logs import IncidentLogs, read_incident_logs
from kcsim.scenarios.incidents.incident_text import incident_lines, not_shown
from kcsim.scenarios.incidents.incident_timetable import FIRST_FAULT_MS
from kcsim.scenarios.incidents.investigation import Investigation, investigate
from kcsim.scenarios.incidents.outcome import differences, simulated_outcome

VECTORS = Path(__file__).parents[2] / "vectors"
MADE = VECTORS / "kafka-incidents"
RECORDED = VECTORS / "kafka-logs"
PINGS_MS = 2_000
"""A client of a session of 6 s writes to ZooKeeper as often: the time of a fault is known to within that."""
CHECKPOINTS_MS = 5_000
"""A broker notices that a directory is lost when it writes to it next: replica.high.watermark.checkpoint.interval.ms."""

FAULTS = {
    "broker-killed": ("broker-1", FaultKind.KILLED),
    "broker-paused": ("broker-1", FaultKind.FROZEN),
    "broker-cut-off": ("broker-2", FaultKind.CUT_OFF),
    "controlled-shutdown": ("broker-2", FaultKind.STOPPED),
    "controller-deleted": ("/controller", FaultKind.CONTROLLER_DELETED),
    "log-dir-lost": ("broker-2", FaultKind.DISK_LOST),
    "state-overwritten": ("/brokers/topics/orders/partitions/0/state", FaultKind.WRITTEN),
    "zookeeper-away": ("ZooKeeper", FaultKind.ZOOKEEPER_AWAY),
}
FAULTS_OF_RECORDINGS = {
    "auto-balance": ("broker-2", FaultKind.KILLED),
    "delete-dead-replica": ("broker-2", FaultKind.KILLED),
    "kill-controller": ("broker-1", FaultKind.KILLED),
    "kill-leader": ("broker-2", FaultKind.KILLED),
    "kill-one-by-one-unclean": ("broker-2", FaultKind.KILLED),
    "reassign-leader-out": ("orders-0", FaultKind.REASSIGNED),
    "shutdown-leader": ("broker-2", FaultKind.STOPPED),
}
ALL = {f"kafka-incidents/{name}": of for name, of in FAULTS.items()} | {
    f"kafka-logs/{name}": of for name, of in FAULTS_OF_RECORDINGS.items()
}


@lru_cache
def read(name: str, of_zookeeper: bool = True, of_brokers: bool = True) -> IncidentLogs:
    """Read a set of logs, or a part of it."""
    folder = VECTORS / name
    if of_zookeeper and of_brokers:
        return read_incident_logs([folder])
    return read_incident_logs([folder / "zookeeper"] if of_zookeeper else sorted(folder.glob("broker-*")))


@lru_cache
def investigated(name: str) -> Investigation:
    return investigate(read(name), {})


def first_of(logs: IncidentLogs) -> IncidentFinding:
    first = diagnose(logs).first
    assert first is not None
    return first


@pytest.mark.parametrize("name", ALL)
def test_the_fault_found_is_the_fault_made(name: str) -> None:
    first = first_of(read(name))
    assert (first.subject, first.fault) == ALL[name]
    assert first.possible[0].speaks_for


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "state-overwritten"])
def test_the_logs_of_the_brokers_alone_show_it_as_well(name: str) -> None:
    first = first_of(read(f"kafka-incidents/{name}", of_zookeeper=False))
    assert (first.subject, first.fault) == FAULTS[name]


def test_a_write_by_hand_is_seen_by_zookeeper_only() -> None:
    """No broker logs it: the brokers' logs are as if nothing had happened, and the text says what they cannot show."""
    found = investigate(read("kafka-incidents/state-overwritten", of_zookeeper=False), {})
    assert found.diagnosis.findings == ()
    assert any("by hand" in text for text in not_shown(found))
    assert "Nothing departed from normal in these logs." in list(incident_lines(found, everything=True))


@pytest.mark.parametrize("name", ["broker-killed", "broker-paused", "broker-cut-off"])
def test_in_zookeepers_log_alone_dead_frozen_and_cut_off_are_alike(name: str) -> None:
    """An expired session looks the same in all three cases; the text names them, and what would tell."""
    found = investigate(read(f"kafka-incidents/{name}", of_brokers=False), {})
    first = first_of(found.logs)
    assert first.fault is None
    assert {candidate.kind for candidate in first.possible} == {FaultKind.KILLED, FaultKind.FROZEN, FaultKind.CUT_OFF}
    text = "\n".join(incident_lines(found, everything=True))
    assert "These logs cannot tell which" in text
    assert FaultKind.FROZEN.decided_by in text
    assert "its server.log tells" in text


def test_whether_a_follower_was_frozen_or_slow_is_not_shown() -> None:
    """It was suspended for less than its session lasts, and logged nothing that tells."""
    first = first_of(read("kafka-logs/isr-shrinks-under-load"))
    assert first.subject == "broker-3"
    assert first.fault is None
    assert {candidate.kind for candidate in first.possible} == {FaultKind.FROZEN, FaultKind.BEHIND}


@pytest.mark.parametrize("name", FAULTS)
def test_the_time_of_the_fault_is_that_at_which_it_was_made(name: str) -> None:
    done = json.loads((MADE / name / "done.json").read_text())
    logs = read(f"kafka-incidents/{name}")
    known_to_ms = CHECKPOINTS_MS if name == "log-dir-lost" else PINGS_MS
    assert abs(logs.began_ms + first_of(logs).began_ms - done[0]["t_ms"]) <= known_to_ms


@pytest.mark.parametrize("name", [*ALL, "kafka-logs/isr-shrinks-under-load"])
def test_the_reproduced_scenario_has_the_outcome_of_the_logs(name: str) -> None:
    """Registrations, controllers, epochs, and all leaders and ISRs in their order."""
    found = investigated(name)
    assert found.run is not None
    assert found.run.failure is None
    assert found.run.differences == ()
    assert found.run.held


def test_the_scenario_says_what_the_logs_do_not() -> None:
    found = investigated("kafka-logs/isr-shrinks-under-load")
    assert found.reproduction is not None
    assert any(text.startswith("replica.lag.time.max.ms is ") for text in found.reproduction.assumed)
    assert any(text.startswith("producers wrote") for text in found.reproduction.assumed)


def test_the_story_has_times_and_causes() -> None:
    found = investigated("kafka-incidents/broker-paused")
    texts = {line.text.partition(":")[0]: line for line in found.story}
    elected = next(line for line in found.story if "wins the election" in line.text)
    assert elected.because is not None
    assert elected.because[1] == "/controller was deleted"
    assert elected.because[0] <= elected.t_ms
    assert "broker-1 was frozen" in texts
    assert [line.t_ms for line in found.story] == sorted(line.t_ms for line in found.story)
    assert "broker-1, leader of orders-0, lost its registration" in found.summary[0]


def test_a_longer_session_would_have_prevented_the_failover_of_a_frozen_broker() -> None:
    """It stood still for 13 s, and its session expired after 6 s."""
    found = investigate(read("kafka-incidents/broker-paused"), {"zookeeper.session.timeout.ms": 18_000})
    assert found.changed is not None
    assert found.changed.run.outcome.failovers == ()
    text = "\n".join(incident_lines(found, everything=True))
    assert "With zookeeper.session.timeout.ms=18000" in text
    assert "there would have been no fail-over" in text


def test_of_a_dead_broker_it_would_only_have_delayed_the_failover() -> None:
    """A partition that it led had no leader all the longer."""
    found = investigate(read("kafka-incidents/broker-killed"), {"zookeeper.session.timeout.ms": 18_000})
    assert found.changed is not None
    assert found.run is not None
    (later,), (sooner,) = found.changed.run.outcome.failovers, found.run.outcome.failovers
    assert later.after_ms > sooner.after_ms + 6_000
    assert max(found.changed.run.outcome.outages_ms.values()) > max(found.run.outcome.outages_ms.values())
    assert "there would still have been a fail-over" in "\n".join(incident_lines(found, everything=True))


def test_a_scenario_of_another_fault_differs_from_the_logs_point_by_point() -> None:
    """The comparison finds what is different: here the outcome of one incident beside the scenario of another."""
    killed, deleted = investigated("kafka-incidents/broker-killed"), investigated("kafka-incidents/controller-deleted")
    assert killed.in_logs is not None
    assert deleted.reproduction is not None
    run = simulated_outcome(deleted.reproduction.loaded(), killed.in_logs, FIRST_FAULT_MS, seed=1)
    assert "broker-1 loses its registration: once in the logs, never simulated" in run.differences
    assert any(
        line.startswith("orders-0: no leader [2, 3] → 2 [2, 3] → 2 [2, 3, 1] in the logs") for line in run.differences
    )
    assert differences(killed.in_logs, killed.in_logs) == []
