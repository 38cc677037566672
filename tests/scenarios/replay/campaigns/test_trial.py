"""One seed of a campaign: what is kept of it, and that nothing that goes wrong with it leaves it as an exception."""

import hashlib
from dataclasses import dataclass

import msgspec
import pytest

from kcsim.scenarios.exploring.profile import load_profile
from kcsim.scenarios.exploring.trying import try_seed
from kcsim.scenarios.language.scenario_file import LIBRARY
from kcsim.scenarios.replay.campaigns import trial
from kcsim.scenarios.replay.campaigns.trial import Chosen, Drawn, Records, Written, tried_of, try_out
from kcsim.scenarios.replay.campaigns.vocabulary import Traces, TrialOutcome

SMALL = Drawn(load_profile("small"))


def library(name: str) -> Written:
    file = LIBRARY / f"{name}.yaml"
    return Written(name, file.read_text(encoding="utf-8"), str(file))


@pytest.mark.parametrize("seed", [0, 3, 8])
def test_a_seed_comes_to_what_kcsim_explore_makes_of_it(seed: int) -> None:
    assert tried_of(try_out(SMALL, seed)) == try_seed(SMALL.profile, seed)


def test_a_trace_is_the_run_to_the_byte() -> None:
    tried = try_out(SMALL, 8, traces=Traces.ALL)
    assert tried.trace is not None
    lines = b"".join(msgspec.json.encode(event) + b"\n" for event in tried.trace)

    assert hashlib.sha256(lines).hexdigest() == tried.trace_digest
    assert len(tried.trace) == tried.events


def test_traces_are_kept_of_those_runs_that_they_were_asked_of() -> None:
    assert [try_out(SMALL, 0, traces=traces).trace is None for traces in Traces] == [True, True, False]


def test_records_are_counted_by_the_ledger_of_the_run() -> None:
    """The scenario's own expectation: exactly the two records that the leader alone had are lost."""
    tried = try_out(library("leader-crash-acks-one"), 1)

    assert tried.outcome is TrialOutcome.HELD
    assert tried.records.sent == tried.records.acknowledged + tried.records.given_up
    assert tried.records.lost > 0
    assert try_out(library("leader-crash-acks-all"), 1).records.lost == 0


def test_a_run_without_producers_has_no_records() -> None:
    assert try_out(library("controller-race"), 1).records == Records()


def test_an_expectation_that_does_not_hold_is_a_violation() -> None:
    race = library("controller-race")
    wrong = Written(race.name, race.text.replace("children: 5", "children: 7"), race.file)
    assert wrong.text != race.text

    tried = try_out(wrong, 1)

    assert (tried.outcome, tried.exit_status) == (TrialOutcome.VIOLATED, 1)
    assert [found.invariant for found in tried.violations] == ["expectation"]


# --- what goes wrong -------------------------------------------------------------------------------------------------------


def test_a_run_that_hangs_is_given_up() -> None:
    @dataclass(frozen=True)
    class Endless:
        name: str = "endless"

        def scenario(self, seed: int) -> Chosen:
            while True:
                try:
                    while True:
                        pass
                except Exception as error:
                    raise AssertionError("an alarm is none of those that a run may catch") from error

    tried = try_out(Endless(), 7, limit_seconds=0.05)

    assert (tried.seed, tried.run, tried.outcome) == (7, "endless-7", TrialOutcome.LOST)
    assert tried.error == "TooLongError: it was not done within 0.05 s by the wall clock"


def test_whoever_drops_the_alarm_is_given_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is raised in the middle of a simulation may be handed to a task that nobody waits for."""
    monkeypatch.setattr("kcsim.scenarios.replay.campaigns.alarm.AGAIN_AFTER_SECONDS", 0.05)
    dropped = 0

    @dataclass(frozen=True)
    class Careless:
        name: str = "careless"

        def scenario(self, seed: int) -> Chosen:
            nonlocal dropped
            while dropped < 2:
                try:
                    while True:
                        pass
                except BaseException:
                    dropped += 1
            while True:
                pass

    assert try_out(Careless(), 1, limit_seconds=0.05).outcome is TrialOutcome.LOST
    assert dropped == 2


def test_a_failure_outside_the_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("made up\nand more")

    monkeypatch.setattr(trial, "served_in", fail)

    tried = try_out(SMALL, 1)

    assert (tried.outcome, tried.error) == (TrialOutcome.LOST, "ZeroDivisionError: made up")


def test_a_crash_of_the_simulator_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr("kcsim.scenarios.exploring.playing.run_scenario", fail)

    tried = try_out(SMALL, 1)

    assert (tried.outcome, tried.exit_status) == (TrialOutcome.CRASHED, None)
    assert [found.sentence for found in tried.violations] == ["ZeroDivisionError: made up"]
