"""Older and newer versions write other lines; the resulting history still equals ZooKeeper's."""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import LogSurvey, import_kafka_logs, survey
from kcsim.brokers.apache_kafka.log_import.log_files import log_files
from kcsim.brokers.apache_kafka.log_import.zone import zone_named
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from tests.brokers.apache_kafka.log_import.recordings import Fact, copied_from, facts, facts_only

RECORDINGS = Path(__file__).parents[3] / "vectors" / "kafka-logs-of-versions"
OLD, USUAL, NEW = "2.4.1", "2.8.2", "3.9.1"
NEWER = ("3.4.1", NEW, "3.9.1-session-expiry", "3.9.1-unclean")
UNCLEAN = ("3.4.1", "3.9.1-unclean")
NOT_COMPARED = ("as", "because")
INFO_AND_UP = (" INFO ", " WARN ", " ERROR ")


def recorded(version: str) -> LogSurvey:
    return survey(log_files([RECORDINGS / version]))


def imported(version: str) -> list[Event]:
    found: list[Event] = []
    import_kafka_logs(recorded(version), zone_named("UTC"), found.append, version)
    return found


def truth(version: str) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = defaultdict(list)
    for fact in json.loads((RECORDINGS / version / "expected.json").read_text())["history"]:
        of_path = found[fact["path"]]
        # The controller of newer versions writes a topic's znode again to add a topic id, which the log lines do not show.
        if not (of_path and "assignment" in fact and of_path[-1].get("assignment") == fact["assignment"]):
            of_path.append({key: value for key, value in fact.items() if key not in ("t_ms", "zxid")})
    return found


def facts_by_path(seen: LogSurvey) -> dict[str, list[Fact]]:
    return {path: [bare(fact) for fact in facts_only(entries)] for path, entries in facts(seen.history).items()}


def bare(fact: Fact) -> Fact:
    return {key: value for key, value in fact.items() if key not in NOT_COMPARED}


def while_deleting(truth_of_one: Iterable[Fact]) -> list[Fact]:
    """Return the writes that end without a leader, just before the state znode is deleted."""
    writes = list(truth_of_one)
    gone = next((place for place, fact in enumerate(writes) if fact.get("deleted")), 0)
    return [
        fact for fact in writes[max(gone - 3, 0) : gone] if fact["controller_epoch"] == writes[gone - 1]["controller_epoch"]
    ]


@pytest.mark.parametrize("version", [USUAL, *NEWER])
def test_newer_versions_show_their_whole_history(version: str) -> None:
    """From 2.7 on, with that protocol version, the controller writes the ISRs, on behalf of the leaders."""
    assert facts_by_path(recorded(version)) == truth(version)


@pytest.mark.parametrize("version", NEWER)
def test_the_events_of_newer_versions_are_of_those_who_decided(version: str) -> None:
    """Each controller is elected once and is there in the end; ISRs are changed by the leaders, whoever writes them."""
    events = imported(version)
    won = [(event.controller_id, event.controller_epoch) for event in events if event.kind is EventKind.ELECTION_WON]
    roles = [fact for fact in truth(version)["/controller"] if fact["controller"] is not None]
    assert won == [(fact["controller"], fact["controller_epoch"]) for fact in roles]
    state = ClusterState()
    for event in events:
        state.apply(event)
    assert state.controller_id == won[-1][0]
    changed = [event for event in events if event.kind in (EventKind.ISR_EXPANDED, EventKind.ISR_SHRUNK)]
    assert [event.node for event in changed] == [f"broker-{event.leader}" for event in changed]
    assert bool(changed) == (version != "3.9.1-session-expiry")


@pytest.mark.parametrize("version", UNCLEAN)
def test_the_state_after_an_unclean_election_says_so(version: str) -> None:
    """At protocol version 3.2 and newer the state itself has that, until the ISR changes."""
    states = [e.data or "" for e in imported(version) if e.path == "/brokers/topics/clicks/partitions/0/state"]
    assert ['"leader_recovery_state":1' in data for data in states].count(True) == 1
    assert '"leader":2' in next(data for data in states if "leader_recovery_state" in data)


def test_a_controller_that_was_paused_too_long_is_a_zombie_and_is_named() -> None:
    (name,) = [str(one) for one in recorded(USUAL).not_shown if "zombie" in str(one)]
    assert name.startswith(f"{RECORDINGS / USUAL / 'broker-1' / 'state-change.log'}:")
    assert "broker-1 still did with controller epoch 1" in name


def test_before_2_6_only_the_end_of_a_topic_is_missing_and_that_is_reported() -> None:
    """The writes that the controller makes while it deletes a topic are not sent to brokers and not logged."""
    seen = recorded(OLD)
    names = [str(one) for one in seen.not_shown]
    for path, true in truth(OLD).items():
        found = facts_by_path(seen)[path]
        missing = [fact for fact in true if fact not in found]
        assert [fact for fact in found if fact not in true] == []
        assert found == [fact for fact in true if fact in found]
        assert [fact for fact in missing if fact not in while_deleting(true)] == []
        if missing:
            number = path.split("/")[-2]
            assert any(f"how orders-{number} lost its leader" in one for one in names), path


@pytest.mark.parametrize("version", [OLD, USUAL, *NEWER])
def test_nothing_of_the_controller_is_unknown(version: str) -> None:
    tally = recorded(version).statistics
    assert [name for name in tally.unknown if name.startswith(("kafka.controller", "state.change", "kafka.cluster"))] == []
    assert tally.broken == 0


def test_before_2_6_usual_levels_show_no_decision_and_claim_none(tmp_path: Path) -> None:
    """In these versions the whole state-change log is at TRACE, so only the leaders' writes of states remain visible."""
    directory = copied_from(RECORDINGS / OLD, tmp_path, lambda _, line: any(level in line[:35] for level in INFO_AND_UP))
    found = facts_by_path(survey(log_files([directory])))
    for path, facts_of_one in found.items():
        if path.endswith("/state"):
            for fact in facts_of_one:
                same = [one for one in truth(OLD)[path] if one.get("zk_version") == fact.get("zk_version")]
                known = {key: value for key, value in fact.items() if value is not None}
                assert any(known.items() <= one.items() for one in map(dict, same)), fact
