"""The log files of a real Kafka 2.8.2 yield the history that ZooKeeper has, or each gap is reported."""

from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.log_import.entries import RoleTaken, StateWrite, Visibility
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import LogSurvey
from kcsim.vocabulary import TopicPartition
from tests.brokers.apache_kafka.log_import.recordings import (
    NAMES,
    RECORDINGS,
    Fact,
    copied,
    facts,
    facts_only,
    recorded,
    true_places,
    truth,
)

STATE_WRITE_MS, OTHER_MS = 15, 40  # how late a line may be, according to the recordings' README
INFO_AND_UP = (" INFO ", " WARN ", " ERROR ")
ORDERS_0 = TopicPartition("orders", 0)
EIGHT = 8


def test_all_recordings_are_here() -> None:
    assert len(NAMES) == EIGHT


# --- all files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_of_the_true_history_is_found_and_nothing_else(name: str) -> None:
    found = facts(recorded(name).history)
    assert {path: facts_only(entries) for path, entries in found.items()} == truth(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_has_the_line_that_shows_it_at_its_time(name: str) -> None:
    """The line is the recording's own, or an equivalent one; the end of the controller's session has no line."""
    found = facts(recorded(name).history)
    for path, true in true_places(name).items():
        for (entry, fact), one in zip(found[path], true, strict=True):
            bound = STATE_WRITE_MS if isinstance(entry, StateWrite) else OTHER_MS
            assert 0 <= entry.t_ms - one["t_ms"] <= bound, fact
            if one["shown_by"] is None:
                assert entry.shown is Visibility.NOT, fact
            else:
                assert entry.shown is Visibility.AT_ONCE, fact
                named = one["shown_by"]
                there = RECORDINGS / name / named["file"]
                assert (Path(entry.place.file), entry.place.line) in [(there, named["line"]), *same(name, entry.place)], fact


def same(name: str, place: tuple[str, int]) -> list[tuple[Path, int]]:
    """Return the place of a line about a raised leader epoch, of which two files have one each; empty for any other line."""
    path, line = Path(place[0]), place[1]
    text = path.read_text().splitlines()[line - 1]
    return [(path, line)] if "Updated leader epoch for partition" in text else []


@pytest.mark.parametrize("name", NAMES)
def test_no_record_of_the_controller_is_unknown_and_none_is_broken(name: str) -> None:
    tally = recorded(name).statistics
    assert [logger for logger in tally.unknown if logger.startswith(("kafka.controller", "state.change"))] == []
    assert tally.broken == 0
    assert tally.history > 0 < tally.no_history


@pytest.mark.parametrize("name", NAMES)
def test_the_files_give_their_zone_away(name: str) -> None:
    assert list(recorded(name).zones) == ["+00:00"]


def test_what_nobody_logs_of_a_killed_controller_is_reported() -> None:
    seen = recorded("kill-controller")
    place = RECORDINGS / "kill-controller" / "broker-3" / "controller.log"
    assert [str(one) for one in seen.not_shown] == [
        f"{place}:3: the end of broker-1 as controller with epoch 1: no file logs it; it follows from the election of "
        "broker-3",
        f"{place}:8: when the session of broker-1 ended: no line shows it; the controller that was elected next did not "
        "find it",
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "kill-controller"])
def test_nothing_else_is_missing(name: str) -> None:
    assert recorded(name).not_shown == ()


def test_an_unclean_election_is_shown_by_the_isr_alone() -> None:
    """The controller does not log that the election is unclean."""
    found = [e for e in recorded("kill-one-by-one-unclean").history.entries if isinstance(e, StateWrite)]
    assert [write.zk_version for write in found if write.is_unclean] == [3]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("auto-balance", "PREFERRED election, AutoTriggered"),
        ("reassign-leader-out", "reassigned away from broker-1"),
        ("shutdown-leader", "broker-2 shuts down"),
    ],
)
def test_elections_that_look_alike_have_the_reason_that_stands_before_them(name: str, why: str) -> None:
    found = [e for e in recorded(name).history.entries if isinstance(e, StateWrite)]
    assert [write.why for write in found if write.why] == [why]


def test_brokers_that_take_over_a_decision_are_reported() -> None:
    found = [e for e in recorded("kill-leader").history.entries if isinstance(e, RoleTaken) and e.tp == ORDERS_0]
    assert {(e.broker, e.is_leader, e.leader_epoch) for e in found} == {
        (1, True, 0),
        (2, False, 0),
        (3, False, 0),
        (1, True, 1),
        (3, False, 1),
    }


# --- fewer files, fewer levels ---------------------------------------------------------------------------------------------


def without_server_logs(name: str, to: Path, only_info: bool = False) -> LogSurvey:
    def is_kept(path: Path, line: str) -> bool:
        return path.name != "server.log" and (not only_info or any(level in line[:35] for level in INFO_AND_UP))

    return recorded(name, copied(name, to, is_kept))


@pytest.mark.parametrize("name", NAMES)
def test_usual_levels_show_the_whole_history_too(name: str, tmp_path: Path) -> None:
    seen = recorded(name, copied(name, tmp_path, lambda _, line: any(level in line[:35] for level in INFO_AND_UP)))
    assert {path: facts_only(entries) for path, entries in facts(seen.history).items()} == truth(name)
    assert any("no lines below INFO" in str(one) for one in seen.not_shown)


@pytest.mark.parametrize("only_info", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_without_server_logs_only_what_leaders_wrote_is_missing_and_is_named(
    name: str, only_info: bool, tmp_path: Path
) -> None:
    """At TRACE some of these writes are seen when brokers receive them: later, and marked as later."""
    seen = without_server_logs(name, tmp_path, only_info)
    found = facts(seen.history)
    for path, true in truth(name).items():
        shown = facts_only(found[path])
        missing = [one for one in true if one not in shown]
        assert [one for one in shown if one not in true] == [], "a write that did not happen"
        assert [one for one in missing if one.get("as") != "leader"] == []
        assert shown == [one for one in true if one in shown], "in order"
        names = [str(one) for one in seen.not_shown]
        for write in missing:
            leader = f"of {write['by']}, the ISR changes that it made as a leader"
            assert any(leader in one for one in names), write
    late = [e for e in seen.history.entries if isinstance(e, StateWrite) and e.role == "leader"]
    assert {e.shown for e in late} <= {Visibility.LATER}


def test_a_write_that_is_missing_between_two_others_is_named_where_that_shows(tmp_path: Path) -> None:
    """The reassignment's fourth write directly follows the leader's, which at INFO is only in the leader's server.log."""
    seen = without_server_logs("reassign-leader-out", tmp_path, only_info=True)
    place = tmp_path / "broker-1" / "state-change.log"
    named = [str(one) for one in seen.not_shown if one.place is not None]
    assert len(named) == 1
    assert named[0].startswith(f"{place}:")
    assert "version 2 of orders-0" in named[0]


@pytest.mark.parametrize("name", NAMES)
def test_one_broker_s_files_claim_nothing_that_was_not(name: str) -> None:
    """The states that a broker has received are history as well, only later."""
    for broker in sorted((RECORDINGS / name).glob("broker-*")):
        found = facts(recorded(name, broker).history)
        for path, entries in found.items():
            if path.endswith("/state"):
                true = [known(one) for one in truth(name)[path]]
                assert [one for one in map(known, facts_only(entries)) if one not in true] == [], broker


def known(fact: Fact) -> list[object]:
    """Return the content of a state znode."""
    return [fact.get(key) for key in ("leader", "isr", "leader_epoch", "controller_epoch", "zk_version", "deleted")]
