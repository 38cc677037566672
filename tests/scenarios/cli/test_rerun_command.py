"""A trace stands alone: what it holds of its run, and kcsim rerun, kcsim run --setting and --repeat as a user sees them."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.run_record import RunRecord, run_record
from kcsim.scenarios.cli.app import app
from kcsim.scenarios.cli.repeat import RepeatedRuns, count_lines
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, ExpectationResult, StepFailure, Verdict
from kcsim.scenarios.engine.python_api import cluster, expect, run, scenario, start, wait
from tests.scenarios.scenario_files import BASE, written

SESSION = "zookeeper.session.timeout.ms"
LAST_OF_SCHEMA_2 = Path(__file__).parents[2] / "eventlog" / "schema_2" / "events.jsonl"


def kcsim(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def recorded(trace: Path, *arguments: str) -> Path:
    done = kcsim("run", *arguments, "--zookeeper", "simulated", "--trace", str(trace))
    assert done.exit_code in (0, 1), done.output
    return trace


def record_in(trace: Path) -> RunRecord:
    found = run_record(next(iter(read_trace(trace))))
    assert found is not None
    return found


# --- what the trace holds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_trace_holds_the_scenario_the_settings_and_the_command(tmp_path: Path, suffix: str) -> None:
    file = written(tmp_path, BASE)
    trace = recorded(
        tmp_path / f"run.{suffix}", str(file), "--setting", f"{SESSION}=9000", "--without", "controller-epoch-fence"
    )
    record = record_in(trace)
    assert record.source is not None
    assert (record.source.file, record.source.text) == ("try-it.yaml", file.read_text())
    assert (record.settings[SESSION], record.session_timeout_ms) == (9000, 9000)
    assert record.settings["replica.lag.time.max.ms"] == 30_000  # a default
    assert record.protections_off == ("controller-epoch-fence",)
    assert record.source.command == (
        f"kcsim run try-it.yaml --zookeeper simulated --seed 1 --setting {SESSION}=9000 --without controller-epoch-fence"
    )


def test_the_same_run_from_another_directory_has_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the directory nor the names of the results are part of a trace."""
    traces = []
    for folder in (tmp_path / "here", tmp_path / "there"):
        folder.mkdir()
        written(folder, BASE)
        monkeypatch.chdir(folder)
        traces.append(recorded(folder / f"{folder.name}.jsonl", "try-it.yaml" if folder.name == "here" else "./try-it.yaml"))
    assert traces[0].read_bytes() == traces[1].read_bytes()
    assert str(tmp_path) not in traces[0].read_text()


def test_a_run_made_in_python_holds_its_scenario_as_yaml() -> None:
    made = scenario(
        "made", "A controller is elected.", cluster=cluster(3), timetable=[start("all"), wait(controller="any")],
        expect=[expect(controller="any")],
    )  # fmt: skip
    record = run_record(run(made, without=["controller-epoch-fence"]).events[0])
    assert record is not None
    assert record.source is not None
    assert (record.source.text, record.source.command) == (made.to_yaml(), None)
    assert record.source.without == ("controller-epoch-fence",)


def test_a_trace_says_that_its_run_was_hardened_and_is_run_again_so(tmp_path: Path) -> None:
    """Else the same command would show something else."""
    trace, again = recorded(tmp_path / "run.jsonl", "controller-failover", "--hardening"), tmp_path / "again.jsonl"
    assert record_in(trace).hardening
    assert kcsim("rerun", str(trace), "--trace", str(again)).exit_code == 0
    assert again.read_bytes() == trace.read_bytes()


def test_a_run_that_is_not_hardened_says_nothing_of_it(tmp_path: Path) -> None:
    """Traces of runs without hardening are what they were before there was any."""
    first = recorded(tmp_path / "run.jsonl", "controller-failover").read_text().splitlines()[0]
    assert "hardening" not in first


# --- rerun -----------------------------------------------------------------------------------------------------------------


def test_a_copied_trace_runs_again_with_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, BASE)
    trace = recorded(tmp_path / "run.jsonl", str(file), "--seed", "7", "--setting", f"{SESSION}=9000")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(trace, elsewhere / "copy.jsonl")
    file.unlink()
    monkeypatch.chdir(elsewhere)
    assert kcsim("rerun", "copy.jsonl", "--trace", "again.jsonl").exit_code == 0
    assert (elsewhere / "again.jsonl").read_bytes() == (elsewhere / "copy.jsonl").read_bytes()


def test_diff_names_the_setting_with_which_a_trace_was_run_again_first(tmp_path: Path) -> None:
    trace, slow = recorded(tmp_path / "run.jsonl", "controller-failover"), tmp_path / "slow.jsonl"
    assert kcsim("rerun", str(trace), "--setting", f"{SESSION}=18000", "--trace", str(slow)).exit_code == 0
    lines = kcsim("diff", str(trace), str(slow)).stdout.splitlines()
    assert lines[2:7] == ["", "Settings", f"  ~ {SESSION}", "      - 2000", "      + 18000"]
    durations = lines[lines.index("Durations and counts") :]
    assert durations[1] == "  ~ without a working controller"
    assert lines.index("Durations and counts") < next(n for n, line in enumerate(lines) if line.startswith("They part at"))


def test_a_seed_and_a_protection_given_to_rerun_are_in_the_new_trace(tmp_path: Path) -> None:
    trace, other = recorded(tmp_path / "run.jsonl", "controller-failover"), tmp_path / "other.jsonl"
    kcsim("rerun", str(trace), "--seed", "5", "--without", "controller-epoch-fence", "--trace", str(other))
    assert next(iter(read_trace(other))).seed == 5
    assert record_in(other).protections_off == ("controller-epoch-fence",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--setting", "zookeeper.session.timeout=1"), "unknown setting 'zookeeper.session.timeout'; did you mean"),
        (("--setting", SESSION), "has no value; write"),
        (("--setting", f"{SESSION}=long"), f"'long' is no value of {SESSION}"),
        (("--zookeeper", "simualted"), "did you mean simulated?"),
        (("--without", "controller-epoch"), "unknown protection 'controller-epoch'"),
    ],
)
def test_an_invalid_option_of_rerun_is_named(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = kcsim("rerun", str(recorded(tmp_path / "run.jsonl", "controller-race")), *options)
    assert done.exit_code == 64
    assert message in done.stderr


def test_a_rerun_does_not_overwrite_its_own_trace(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "run.jsonl", "controller-race")
    before = trace.read_bytes()
    done = kcsim("rerun", str(trace), "--trace", str(trace))
    assert (done.exit_code, trace.read_bytes()) == (64, before)
    assert "name another file" in done.stderr


def test_traces_without_a_scenario_are_refused_with_the_reason(tmp_path: Path) -> None:
    imported = tmp_path / "imported.jsonl"
    imported.write_text('{"seq":0,"t_ms":0,"node":"scenario","kind":"RunStarted","data":"{\\"epoch_ms\\": 1}"}\n')
    for trace, why in ((LAST_OF_SCHEMA_2, "an older version of kcsim recorded it"), (imported, "it was imported, not run")):
        done = kcsim("rerun", str(trace))
        assert done.exit_code == 64
        assert why in done.stderr
    assert kcsim("rerun", str(tmp_path / "none.jsonl")).exit_code == 64


# --- run --setting and --repeat --------------------------------------------------------------------------------------------


def test_a_setting_of_the_command_overrides_that_of_the_scenario(tmp_path: Path) -> None:
    assert record_in(recorded(tmp_path / "given.jsonl", "controller-failover")).settings[SESSION] == 2_000
    changed = recorded(tmp_path / "changed.jsonl", "controller-failover", "--setting", f"{SESSION}=5000")
    assert record_in(changed).settings[SESSION] == 5_000


def test_repeat_counts_how_often_each_expectation_held() -> None:
    done = kcsim("run", "controller-race", "--zookeeper", "simulated", "--repeat", "3", "--seed", "4")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "controller-race: 3 runs, seeds 4 to 6"
    assert lines[3].split() == ["3", "0", "0", *["One", "broker", "wins,", "and", "its", "controller", "epoch", "is", "1."]]


def test_repeat_names_the_seeds_with_which_an_expectation_did_not_hold(tmp_path: Path) -> None:
    """Which of three brokers wins the race depends on the seed."""
    file = written(tmp_path, BASE.partition("expect:")[0] + "expect:\n  - {controller: broker-1}\n")
    single = {
        seed: kcsim("run", str(file), "--zookeeper", "simulated", "--seed", str(seed)).exit_code for seed in range(1, 9)
    }
    violated = [seed for seed, status in single.items() if status == 1]
    assert 0 < len(violated) < 8
    done = kcsim("run", str(file), "--zookeeper", "simulated", "--repeat", "8", "--output", "json")
    document = json.loads(done.stdout)
    (count,) = document["expectations"]
    assert (done.exit_code, document["runs"]) == (1, 8)
    assert (count["held"], count["seeds"]) == (8 - len(violated), {"violated": violated})


def test_repeat_refuses_a_trace() -> None:
    done = kcsim("run", "controller-race", "--zookeeper", "simulated", "--repeat", "3", "--trace", "x.jsonl")
    assert done.exit_code == 64
    assert "--trace: not with --repeat" in done.stderr


def test_runs_in_which_a_step_failed_are_counted_as_undecided_with_the_step() -> None:
    counted = RepeatedRuns()
    counted.add(1, Verdict("s", (ExpectationResult("It holds.", ExpectationOutcome.HELD, "yes"),)))
    failure = StepFailure("s.yaml", 9, "wait", "not within 10 ms")
    counted.add(2, Verdict("s", (ExpectationResult("It holds.", ExpectationOutcome.UNDECIDED, "unknown"),), failure))
    lines = list(count_lines("s", 1, counted))
    assert counted.exit_status == 2
    assert lines[3].split() == ["1", "0", "1", "It", "holds."]
    assert lines[-2:] == ["A step could not be done with seed 2", "  seed 2: s.yaml:9: wait: not within 10 ms"]
