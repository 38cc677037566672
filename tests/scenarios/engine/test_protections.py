"""The purpose of each protection of Kafka, shown by a scenario of the library: it passes with it and fails without it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.brokers.invariants import AT_QUIESCENCE, NOT_PROMISED, violations
from kcsim.controller.capabilities import PROTOCOL_VERSIONS
from kcsim.controller.protections import ALL_ON, PROTECTION_NAMES, PROTECTIONS
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.differential_run import run_differential
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, Verdict
from kcsim.scenarios.engine.run_source import with_settings
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import LoadedScenario, find_scenario, load_scenario
from tests.brokers.cluster.environments import find
from tests.requirements import KAFKA_3_9_1, require
from tests.scenarios.long_timeouts import patient
from tests.scenarios.scenario_files import BASE, written
from tests.scenarios.scenario_library import of_library
from tests.tiers import tiered


@dataclass(frozen=True)
class Shown:
    """A scenario of the library that shows a protection.

    Attributes:
        breaks: names of invariants that hold with the protection and not without it.
        needs: other protections without which the scenario would not pass either.
        holds_without: how many claims, from the first on, hold also without the protection: that its situation has occurred.
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
    Shown("isr-shrinks-without-zookeeper", "alter-isr", ()),
    Shown("topic-recreated-while-a-broker-was-away", "topic-ids", ()),
    Shown("producer-ids-without-a-controller", "allocated-producer-ids", (), holds_without=2),
    Shown("topic-deleted-after-a-refused-replica", "refused-partitions-stay-online", (), ("topic-ids",)),
    Shown("broker-without-replicas-dies", "every-failure-is-announced", ()),
    Shown("follower-outlives-its-session", "replica-eligibility", ()),
    Shown("leader-asks-a-former-controller", "isr-version-checks", (), ("alter-isr",)),
    Shown("reassignment-waits-for-a-dead-broker", "rebalance-during-reassignments", ()),
    Shown("isr-below-min-insync-replicas", "min-isr-binds-high-watermark", (), holds_without=2),
)
BEFORE = {
    protection.name: PROTOCOL_VERSIONS[PROTOCOL_VERSIONS.index(protection.since) - 1]
    for protection in PROTECTIONS
    if protection.is_of_release and protection.since is not None
}
"""Protection that came with a release -> the release before."""
OF_RELEASES = [shown for shown in SHOWN if shown.protection in BEFORE]
SEEDS = tiered([1, 2, 3, 4], fast=4)
each_of_them = pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.protection)


def run(
    loaded: LoadedScenario, without: tuple[str, ...] = (), seed: int = 1, kind: ZooKeeperKind = ZooKeeperKind.SIMULATED
) -> tuple[Verdict, EventLog]:
    verdicts = []

    async def script(cluster: Cluster) -> None:
        verdicts.append(await run_scenario(loaded, cluster))

    choice = ZooKeeperChoice(kind, members=loaded.scenario.zookeeper.members)
    spec = cluster_spec(loaded.scenario, without)
    log = run_in_environment(choice, spec, RunInfo(loaded.scenario.name, seed, kind.value), script)
    return verdicts[0], log


def broken(log: EventLog) -> set[str]:
    return {violation.partition(":")[0] for violation in violations(log.events, (*AT_QUIESCENCE, *NOT_PROMISED))}


def assert_bad(shown: Shown, verdict: Verdict, log: EventLog) -> None:
    """Assert that the timetable was completed, the situation has occurred, and every promise is violated."""
    outcomes = [judged.outcome for judged in verdict.results]
    promised = len(outcomes) - shown.holds_without
    assert str(verdict.failure or "") == ""
    assert outcomes == [ExpectationOutcome.HELD] * shown.holds_without + [ExpectationOutcome.VIOLATED] * promised, (
        verdict.results
    )
    assert (verdict.exit_status, broken(log)) == (1, set(shown.breaks))


# --- passes with it, fails without it --------------------------------------------------------------------------------------


def test_every_protection_is_shown_once() -> None:
    assert sorted(shown.protection for shown in SHOWN) == sorted(PROTECTION_NAMES)


@each_of_them
def test_the_scenario_says_how_to_see_the_bad_run(shown: Shown) -> None:
    assert f"--without {shown.protection}" in of_library(shown.scenario).scenario.description


@pytest.mark.parametrize("seed", SEEDS)
@each_of_them
def test_it_is_good_with_the_protection(shown: Shown, seed: int) -> None:
    verdict, log = run(of_library(shown.scenario), seed=seed)
    assert [judged.claim for judged in verdict.results if judged.outcome is not ExpectationOutcome.HELD] == []
    assert (verdict.exit_status, broken(log)) == (0, set())


@pytest.mark.parametrize("seed", SEEDS)
@each_of_them
def test_it_is_bad_without(shown: Shown, seed: int) -> None:
    assert_bad(shown, *run(of_library(shown.scenario), (shown.protection,), seed))


@pytest.mark.parametrize("shown", OF_RELEASES, ids=lambda shown: shown.protection)
def test_the_release_before_is_bad_as_well(shown: Shown) -> None:
    """The release before lacks the protection, and nothing else that the situation of the scenario needs."""
    before = {PROTOCOL_VERSION: BEFORE[shown.protection]}
    assert_bad(shown, *run(with_settings(of_library(shown.scenario), before)))


@pytest.mark.kafka
@pytest.mark.live
@pytest.mark.parametrize("shown", tiered(OF_RELEASES, fast=0, slow=0), ids=lambda shown: shown.protection)
def test_kafka_3_9_1_has_the_protection(shown: Shown) -> None:
    """Real brokers of a later release do what the scenario promises, as they were seen to do in and from its release on."""
    require("java", "kafka", "kafka-3.9.1")
    embedded, simulated = ZooKeeperChoice.parse("embedded"), ZooKeeperChoice.parse("simulated")
    loaded = with_settings(of_library(shown.scenario), {PROTOCOL_VERSION: "3.9"})
    both = run_differential(loaded, find_kafka(KAFKA_3_9_1), embedded, simulated, seed=1)
    assert {judged.outcome for judged in both.kafka.verdict.results} == {ExpectationOutcome.HELD}


@pytest.mark.live
@pytest.mark.parametrize("shown", tiered(SHOWN, fast=len(SHOWN), slow=3), ids=lambda shown: shown.protection)
def test_it_is_bad_without_on_a_real_zookeeper(shown: Shown) -> None:
    """Sessions are so long that none expires by mistake on a busy machine. What is violated keeps its bound."""
    require("java")
    loaded = patient(of_library(shown.scenario), longer_claims=shown.holds_without)
    verdict, log = run(loaded, (shown.protection,), kind=ZooKeeperKind.EMBEDDED)
    assert_bad(shown, verdict, log)


@each_of_them
def test_no_other_protection_is_what_it_takes(shown: Shown) -> None:
    """With the other protections switched off, the scenario passes as well."""
    others = tuple(name for name in PROTECTION_NAMES if name not in (shown.protection, *shown.needs))
    verdict, _ = run(of_library(shown.scenario), others)
    assert [judged.claim for judged in verdict.results if judged.outcome is not ExpectationOutcome.HELD] == []


# --- the records that are lost ---------------------------------------------------------------------------------------------


def test_truncation_at_the_high_watermark_loses_just_the_records_behind_it() -> None:
    verdict, log = run(of_library("follower-leads-before-it-hears"), ("leader-epoch-truncation",))
    (cut,) = find(log, EventKind.RECORDS_TRUNCATED, node="broker-3")
    assert (cut.count, cut.rule, cut.high_watermark, cut.offset) == (50, "high watermark", 100, 100)
    expected = [judged.observed for judged in verdict.results if judged.invariant is None]
    assert expected[-1] == "50 records lost; 50 records incomplete; 50 records divergent"
    spoken = {judged.invariant: judged.observed for judged in verdict.results if judged.invariant is not None}
    assert list(spoken) == ["logs-agree-below-the-high-watermark", "no-acknowledged-record-is-lost"]
    assert spoken["no-acknowledged-record-is-lost"] == "50 of 250 acknowledged records of orders-0 are lost"


def test_without_the_fence_no_write_of_the_controller_is_fenced() -> None:
    _, log = run(of_library("zombie-deletes-topic"), ("controller-epoch-fence",))
    writes = find(log, EventKind.ZK_WRITE)
    assert [write for write in writes if write.controller_epoch_zk_version is not None] == []
    assert [write for write in writes if (write.inputs or "").endswith("if version 0")] != []  # but still conditional


def test_without_the_broker_epoch_no_request_names_a_life() -> None:
    """KIP-380 added the broker epoch to the requests of the controller, and to those of brokers that are about to stop."""
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
    switched_off = find(log, EventKind.PROTECTION_OFF, node="scenario", cause=0)
    assert [event.rule for event in switched_off] == ["controller-epoch-fence", "broker-epoch"]
    assert switched_off[0].detail == "KAFKA-6082: Writes of a former controller are applied, even after another was elected."
    assert switched_off[1].seq < find(log, EventKind.PROCESS_STATE)[0].seq
