"""One seed of a campaign: what is kept of it, and that no failure of its run leaves the trial as an exception."""

import time
from dataclasses import dataclass

import pytest

from kcsim.scenarios.analysis.campaigns import trial
from kcsim.scenarios.analysis.campaigns.campaign_options import Traces, TrialOutcome
from kcsim.scenarios.analysis.campaigns.trial import (
    CampaignScenario,
    DrawnScenarios,
    Records,
    WrittenScenario,
    run_trial,
)
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.simulation import EventDigest
from kcsim.scenarios.explore.trial import TrialResult, run_seed
from kcsim.scenarios.language.library import library_file

SMALL = DrawnScenarios(load_profile("small"))


def library(name: str) -> WrittenScenario:
    file = library_file(name)
    return WrittenScenario(name, file.read_text(encoding="utf-8"), str(file))


@pytest.mark.parametrize("seed", [0, 3, 8])
def test_a_seed_comes_to_what_kcsim_explore_makes_of_it(seed: int) -> None:
    tried = run_trial(SMALL, seed)

    assert TrialResult(**{name: getattr(tried, name) for name in TrialResult.__struct_fields__}) == run_seed(
        SMALL.profile, seed
    )


def test_a_trace_has_every_event_of_the_run() -> None:
    tried = run_trial(SMALL, 8, traces=Traces.ALL)
    assert tried.trace is not None
    digest = EventDigest()
    for event in tried.trace:
        digest.add(event)

    assert str(digest) == tried.trace_digest
    assert len(tried.trace) == tried.events


def test_traces_are_kept_of_those_runs_that_they_were_asked_of() -> None:
    assert [run_trial(SMALL, 0, traces=traces).trace is None for traces in Traces] == [True, True, False]


def test_records_are_counted_by_the_ledger_of_the_run() -> None:
    """The ledger counts what the scenario itself expects: exactly the two records that only the leader had are lost."""
    tried = run_trial(library("leader-crash-acks-one"), 1)

    assert tried.outcome is TrialOutcome.HELD
    assert tried.records.sent == tried.records.acknowledged + tried.records.given_up
    assert tried.records.lost > 0
    assert run_trial(library("leader-crash-acks-all"), 1).records.lost == 0


def test_a_run_without_producers_has_no_records() -> None:
    assert run_trial(library("controller-race"), 1).records == Records()


def test_an_expectation_that_does_not_hold_is_a_violation() -> None:
    race = library("controller-race")
    wrong = WrittenScenario(race.name, race.text.replace("children: 5", "children: 7"), race.file)
    assert wrong.text != race.text

    tried = run_trial(wrong, 1)

    assert (tried.outcome, tried.exit_status) == (TrialOutcome.VIOLATED, 1)
    assert [found.invariant for found in tried.violations] == ["expectation"]


# --- failures --------------------------------------------------------------------------------------------------------------


def test_a_run_that_hangs_is_given_up() -> None:
    @dataclass(frozen=True)
    class Endless:
        name: str = "endless"

        def scenario(self, seed: int) -> CampaignScenario:
            while True:
                try:
                    while True:
                        pass
                except Exception as error:
                    raise AssertionError("an alarm is none of those that a run may catch") from error

    tried = run_trial(Endless(), 7, limit_seconds=0.05)

    assert (tried.seed, tried.run, tried.outcome) == (7, "endless-7", TrialOutcome.LOST)
    assert tried.error == "TooLongError: it was not done within 0.05 s by the wall clock"


def test_an_alarm_that_is_dropped_is_raised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error raised in the middle of a simulation may be delivered to a task that no other task awaits, and be lost."""
    monkeypatch.setattr("kcsim.scenarios.analysis.campaigns.alarm.AGAIN_AFTER_SECONDS", 0.5)
    dropped = 0

    @dataclass(frozen=True)
    class Careless:
        name: str = "careless"

        def scenario(self, seed: int) -> CampaignScenario:
            nonlocal dropped
            while dropped < 2:
                try:
                    while True:
                        time.sleep(1)
                except BaseException:
                    dropped += 1
            while True:
                time.sleep(1)

    assert run_trial(Careless(), 1, limit_seconds=0.05).outcome is TrialOutcome.LOST
    assert dropped == 2


def test_a_failure_outside_the_run_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("made up\nand more")

    monkeypatch.setattr(trial, "outages_in", fail)

    tried = run_trial(SMALL, 1)

    assert (tried.outcome, tried.error) == (TrialOutcome.LOST, "ZeroDivisionError: made up")


def test_a_crash_of_the_simulator_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr("kcsim.scenarios.explore.simulation.run_scenario", fail)

    tried = run_trial(SMALL, 1)

    assert (tried.outcome, tried.exit_status) == (TrialOutcome.CRASHED, None)
    assert [found.sentence for found in tried.violations] == ["ZeroDivisionError: made up"]
