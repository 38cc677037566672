"""What commands import: a command pays, in time and in required installations, only for what it uses."""

import subprocess
import sys
from collections.abc import Sequence

import pytest
from typer.testing import CliRunner

from kcsim.scenarios.cli.app import app

PATIENCE_S = 600
ONLY_SPARK = ("pyspark", "pyarrow", "pandas", "numpy", "scipy")
ONLY_LIVE = ("docker", "kazoo", "kcsim.brokers.apache_kafka", "kcsim.zk.live", "kcsim.zk.servers.external")
ONLY_SCENARIOS = ("kcsim.scenarios.language.schema", "kcsim.brokers.broker")
ONLY_RUNS = ("simpy", "asyncio", "kcsim.scenarios.engine.runner")

PROGRAM = """
import sys
from kcsim.scenarios.cli.app import app
try:
    app(sys.argv[2:])
except SystemExit as ended:
    assert not ended.code, ended.code
print([name for name in sys.argv[1].split(",") if name in sys.modules], file=sys.stderr)
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("start-up") / "run.jsonl"
    result = CliRunner().invoke(app, ["run", "controller-race", "--zookeeper", "simulated", "--trace", str(path)])
    assert result.exit_code == 0, result.output
    return str(path)


def imported(unwanted: Sequence[str], *command: str) -> str:
    """Run a command in a process of its own, and return which of the modules it has imported."""
    program = [sys.executable, "-c", PROGRAM, ",".join(unwanted), *command]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return done.stderr


def test_help_imports_neither_models_nor_runs() -> None:
    unwanted = (
        *ONLY_SPARK,
        *ONLY_LIVE,
        *ONLY_SCENARIOS,
        *ONLY_RUNS,
        "pydantic",
        "ruamel.yaml",
        "rich.console",
        "importlib.metadata",
    )
    assert imported(unwanted, "--help") == "[]\n"


def test_the_list_of_scenarios_imports_no_models() -> None:
    assert imported((*ONLY_SPARK, *ONLY_LIVE, *ONLY_SCENARIOS, *ONLY_RUNS), "scenario", "list") == "[]\n"


@pytest.mark.parametrize("command", [["show"], ["show", "--at", "end"], ["why", "last:ElectionWon"]], ids=" ".join)
def test_a_command_that_reads_a_trace_imports_no_scenarios(command: list[str], trace: str) -> None:
    unwanted = (*ONLY_SPARK, *ONLY_LIVE, *ONLY_SCENARIOS, *ONLY_RUNS)
    assert imported(unwanted, command[0], trace, *command[1:]) == "[]\n"


def test_a_run_in_virtual_time_imports_nothing_of_spark_or_real_servers() -> None:
    unwanted = (*ONLY_SPARK, *ONLY_LIVE)
    assert imported(unwanted, "run", "controller-race", "--zookeeper", "simulated") == "[]\n"


def test_a_check_of_a_scenario_imports_nothing_of_spark_or_real_servers() -> None:
    assert imported((*ONLY_SPARK, *ONLY_LIVE), "scenario", "check", "controller-race") == "[]\n"
