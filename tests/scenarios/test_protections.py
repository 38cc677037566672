"""What each protection of Kafka is good for: the library shows it, good with it on and bad with it off."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from kcsim.controller.protections import ALL_ON, PROTECTION_NAMES
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.invariants import NOT_PROMISED, ONCE_QUIET, violations
from kcsim.scenarios.judging.verdict import Outcome, Verdict
from kcsim.scenarios.language.scenario_file import LoadedScenario, find_scenario, load_scenario
from kcsim.scenarios.runner import cluster_spec, run_scenario
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.zk.events import EventKind
from tests.requirements import require
from tests.scenarios.files import BASE, written
from tests.worlds import find


@dataclass(frozen=True)
class Shown:
    """A scenario of the library that shows a protection.

    Attributes:
        breaks: names of invariants that hold with it and not without it.
        needs: other protections without which it would not be good either.
        holds_without: how many claims hold without it as well, the first ones: that what it is about has happened.
    """

    scenario: str
    protection: str
    breaks: tuple[str, ...]
    needs: tuple[str, ...] = ()
    holds_without: int = 1


SHOWN = (
    Shown("zombie-deletes-topic", "controller-epoch-fence", ("no-stray-leads",)),
    Shown("restart-unseen", "broker-epoch", ("leaders-know-that-they-lead",)),
    Shown("follower-leads-before-it-hears", "leader-epoch-truncation", ("no-acknowledged-record-is-lost",)),
    Shown("stale-event-after-expiry", "expiry-clears-queue", ("no-other-replica-leads",), ("isr-shrink-at-failover",)),
    Shown("controller-lost-with-its-replicas", "isr-shrink-at-failover", ("isrs-hold-live-replicas-only",)),
)
each_of_them = pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.protection)


def run(
    loaded: LoadedScenario, without: tuple[str, ...] = (), seed: int = 1, kind: ZooKeeperKind = ZooKeeperKind.SIMULATED
) -> tuple[Verdict, EventLog]:
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    choice = ZooKeeperChoice(kind, members=loaded.scenario.zookeeper.members)
    spec = cluster_spec(loaded.scenario, without)
    log = run_in_world(choice, spec, RunInfo(loaded.scenario.name, seed, kind.value), script)
    return verdicts[0], log


def of_library(name: str) -> LoadedScenario:
    return load_scenario(find_scenario(name))


def broken(log: EventLog) -> set[str]:
    return {told.partition(":")[0] for told in violations(log.events, (*ONCE_QUIET, *NOT_PROMISED))}


def assert_bad(shown: Shown, verdict: Verdict, log: EventLog) -> None:
    """The timetable was done to its end, what it is about has happened, and everything that was promised is violated."""
    outcomes = [judged.outcome for judged in verdict.judged]
    promised = len(outcomes) - shown.holds_without
    assert str(verdict.failure or "") == ""
    assert outcomes == [Outcome.HELD] * shown.holds_without + [Outcome.VIOLATED] * promised, verdict.judged
    assert (verdict.exit_status, broken(log)) == (1, set(shown.breaks))


# --- good with it, bad without ---------------------------------------------------------------------------------------------


def test_every_protection_is_shown_once() -> None:
    assert sorted(shown.protection for shown in SHOWN) == sorted(PROTECTION_NAMES)


@each_of_them
def test_the_scenario_says_how_to_see_the_bad_run(shown: Shown) -> None:
    assert f"--without {shown.protection}" in of_library(shown.scenario).scenario.description


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@each_of_them
def test_it_is_good_with_the_protection(shown: Shown, seed: int) -> None:
    verdict, log = run(of_library(shown.scenario), seed=seed)
    assert [judged.claim for judged in verdict.judged if judged.outcome is not Outcome.HELD] == []
    assert (verdict.exit_status, broken(log)) == (0, set())


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@each_of_them
def test_it_is_bad_without(shown: Shown, seed: int) -> None:
    assert_bad(shown, *run(of_library(shown.scenario), (shown.protection,), seed))


@pytest.mark.live
@each_of_them
def test_it_is_bad_without_on_a_real_zookeeper(shown: Shown) -> None:
    require("java")
    verdict, log = run(of_library(shown.scenario), (shown.protection,), kind=ZooKeeperKind.EMBEDDED)
    assert_bad(shown, verdict, log)


@each_of_them
def test_no_other_protection_is_what_it_takes(shown: Shown) -> None:
    """With the others off it is as good as with them."""
    others = tuple(name for name in PROTECTION_NAMES if name not in (shown.protection, *shown.needs))
    verdict, _ = run(of_library(shown.scenario), others)
    assert [judged.claim for judged in verdict.judged if judged.outcome is not Outcome.HELD] == []


# --- what exactly is lost --------------------------------------------------------------------------------------------------


def test_truncation_at_the_high_watermark_loses_just_the_records_behind_it() -> None:
    verdict, log = run(of_library("follower-leads-before-it-hears"), ("leader-epoch-truncation",))
    (cut,) = find(log, EventKind.RECORDS_TRUNCATED, node="broker-3")
    assert (cut.count, cut.rule, cut.high_watermark, cut.offset) == (50, "high watermark", 100, 100)
    expected = [judged.seen for judged in verdict.judged if judged.invariant is None]
    assert expected[-1] == "50 records lost; 50 records incomplete; 50 records divergent"
    spoken = {judged.invariant: judged.seen for judged in verdict.judged if judged.invariant is not None}
    assert list(spoken) == ["logs-agree-below-the-high-watermark", "no-acknowledged-record-is-lost"]
    assert spoken["no-acknowledged-record-is-lost"] == "50 of 250 acknowledged records of orders-0 are lost"


def test_without_the_fence_no_write_of_the_controller_is_fenced() -> None:
    _, log = run(of_library("zombie-deletes-topic"), ("controller-epoch-fence",))
    writes = find(log, EventKind.ZK_WRITE)
    assert [write for write in writes if write.controller_epoch_zk_version is not None] == []
    assert [write for write in writes if (write.inputs or "").endswith("if version 0")] != []  # of states, as before


def test_without_the_broker_epoch_no_request_names_a_life() -> None:
    """KIP-380 brought it to the requests of the controller, and to those of brokers that are about to stop."""
    _, log = run(of_library("rolling-restart"), ("broker-epoch",))
    sent = find(log, EventKind.REQUEST_SENT)
    assert {event.event for event in sent} >= {"LeaderAndIsr", "UpdateMetadata", "StopReplica", "ControlledShutdown"}
    assert {event.broker_epoch for event in sent} == {-1}


# --- the switches ----------------------------------------------------------------------------------------------------------


def lines(log: EventLog) -> list[str]:
    return [repr(event) for event in log.events]


@each_of_them
def test_a_file_can_switch_it_off_as_the_command_line_does(tmp_path: Path, shown: Shown) -> None:
    text = find_scenario(shown.scenario).read_text(encoding="utf-8")
    switched = f"protections: {{{shown.protection}: off}}\n\ntimetable:"
    loaded = load_scenario(written(tmp_path, text.replace("\ntimetable:", f"\n{switched}", 1)))
    assert lines(run(loaded)[1]) == lines(run(of_library(shown.scenario), (shown.protection,))[1])


def test_all_on_is_what_there_is_anyway(tmp_path: Path) -> None:
    everything = "".join(f"  {name}: on\n" for name in PROTECTION_NAMES)
    named = load_scenario(written(tmp_path, BASE.replace("timetable:", f"protections:\n{everything}timetable:", 1)))
    assert named.scenario.protections == ALL_ON
    assert lines(run(named)[1]) == lines(run(load_scenario(written(tmp_path, BASE)))[1])


def test_a_run_says_first_what_it_does_without(tmp_path: Path) -> None:
    without = ("broker-epoch", "controller-epoch-fence")
    _, log = run(load_scenario(written(tmp_path, BASE)), without)
    told = find(log, EventKind.PROTECTION_OFF, node="scenario", cause=0)
    assert [event.rule for event in told] == ["controller-epoch-fence", "broker-epoch"]
    assert told[0].detail == (
        "KAFKA-6082: What a former controller still has in hand is written, whoever is in office by then."
    )
    assert told[1].seq < find(log, EventKind.PROCESS_STATE)[0].seq
