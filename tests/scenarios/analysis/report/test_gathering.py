"""What a report takes from the analyses: the first rows and the number of all rows, one run over time, distributions."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.analysis.analyses.analysis import Analysis, Field
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.report import gathering
from kcsim.scenarios.analysis.report.contents import Contents
from kcsim.scenarios.analysis.report.gathering import gather
from tests.scenarios.analysis.report.test_page import Read

RUNS = ("calm", "troubled")
ENDS = {"calm": 5_000, "troubled": 30_000}


class MadeUp(HistoryTables):
    """The history of two runs of which only these few rows are known."""

    spark: SparkSession

    @cached_property
    def ends(self) -> DataFrame:
        rows = [("nightly", run, 0, ENDS[run]) for run in RUNS]
        return self.spark.createDataFrame(rows, "batch string, run string, start_ms long, end_ms long")

    @cached_property
    def unavailable(self) -> DataFrame:
        rows = [(0, 3), (10, 10_010), (100, 10_100), (5, 60_005)]
        return self.spark.createDataFrame(rows, "from_ms long, to_ms long")

    @cached_property
    def brokers(self) -> DataFrame:
        rows = [("nightly", run, broker, "a" if broker else None) for run in RUNS for broker in range(3)]
        return self.spark.createDataFrame(rows, "batch string, run string, broker long, rack string")

    @cached_property
    def state_intervals(self) -> DataFrame:
        return self.spark.createDataFrame(
            [("nightly", run, "orders") for run in RUNS], "batch string, run string, topic string"
        )


def _availability(scope: str, run: str, topic: str | None, unavailable_ms: int) -> tuple[Any, ...]:
    return (scope, "nightly", run, topic, 2, 10_000, unavailable_ms, 3, 1, unavailable_ms // 2, 1 - unavailable_ms / 10_000)


ROWS: dict[str, tuple[str, tuple[str, ...], list[tuple[Any, ...]]]] = {
    "availability": (
        "scope string, batch string, run string, topic string, partitions long, existing_ms long, unavailable_ms long,"
        " windows long, open_windows long, longest_ms long, availability double",
        ("scope", "availability"),
        [
            *(_availability("partition", run, f"orders-{n:02d}", n * 100) for run in RUNS for n in range(30)),
            *(_availability("topic", run, "orders", 500) for run in RUNS),
            _availability("cluster", "calm", None, 0),
            _availability("cluster", "troubled", None, 700),
        ],
    ),
    "elections": (
        "trigger string, outcome string, elections long",
        ("-elections",),
        [("BrokerFailed", "clean", 5), ("BrokerFailed", "clean", 7), ("BrokerFailed", "nobody", 1), (None, "unclean", 2)],
    ),
    "controllers": (
        "batch string, run string, from_ms long, gap_before_ms long",
        ("batch", "run", "from_ms"),
        [("nightly", "calm", 900, 900), ("nightly", "troubled", 9_000, 450), ("nightly", "troubled", 20, 20)],
    ),
    "controller-gaps": ("duration_ms long", ("-duration_ms",), [(450,), (30,)]),
    "recoveries": ("to_leader_ms long", ("-to_leader_ms",), [(n,) for n in range(1, 101)] + [(None,)]),
    "recovery-times": (
        "fault string, led_again long, never_led_again long",
        ("fault",),
        [("kill", 3, 1), ("kill", 4, 0), ("pause", 0, 2)],
    ),
    "health": (
        "batch string, run string, bucket_ms long, offline double",
        ("bucket_ms",),
        [("nightly", "troubled", bucket, 1.5) for bucket in (400, 0, 200)],
    ),
}


@pytest.fixture(scope="module")
def contents(spark: SparkSession) -> Contents:
    """Return the contents gathered from analyses that answer without computing."""
    quick = spark.newSession()
    quick.conf.set("spark.sql.shuffle.partitions", "2")
    MadeUp.spark = quick
    changes = quick.createDataFrame([("nightly", run) for run in RUNS], "batch string, run string")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "ANALYSES", {name: _analysis(quick, name) for name in ROWS})
        patch.setattr(gathering, "TABLES", ("availability", "elections"))
        patch.setattr(gathering, "OVER_TIME", ("health", "controllers"))
        history = MadeUp(changes.union(changes), changes, Scope())
        return gather(history, "nightly", "9.9.9", {"seed": "1"}, ("part-7: not read",))


def _analysis(spark: SparkSession, name: str) -> Analysis:
    columns, worst_first, rows = ROWS[name]
    named = (column.split() for column in columns.split(", "))
    fields = tuple(Field(column, type_, "", "") for column, type_ in named)
    answer: Callable[[HistoryTables], DataFrame] = lambda history: _of(history, spark.createDataFrame(rows, columns))  # noqa: E731
    return Analysis(name, "?", ".", fields, worst_first, answer)


def _of(history: HistoryTables, rows: DataFrame) -> DataFrame:
    """Return the rows of one run for a history over time, else all rows.

    Figures over time are taken from one run alone.
    """
    is_focused = history.scope.bucket_ms != Scope().bucket_ms
    return rows.where("run = 'troubled'") if is_focused and "run" in rows.columns else rows


@pytest.mark.slow
def test_of_each_scope_the_worst_rows_are_taken_and_all_are_counted(contents: Contents) -> None:
    """Otherwise the partitions of a large history would leave no place for its topics."""
    table = contents.tables["availability"]
    rows = table.named()

    assert table.total == 64
    assert [row["scope"] for row in rows] == ["cluster"] * 2 + ["topic"] * 2 + ["partition"] * 13
    assert [row["unavailable_ms"] for row in rows][:2] == [700, 0]
    assert [row["unavailable_ms"] for row in rows][4:8] == [2_900, 2_900, 2_800, 2_800]


@pytest.mark.slow
def test_figures_of_the_whole_are_sums_over_runs(contents: Contents) -> None:
    whole = contents.totals

    assert (whole.runs, whole.batches, whole.events, whole.transitions) == (2, 1, 4, 2)
    assert (whole.partitions, whole.existing_ms, whole.unavailable_ms, whole.windows) == (4, 20_000, 700, 6)
    assert (whole.elections, whole.unclean, whole.nobody) == (14, 2, 1)
    assert (whole.brokers, whole.racks, whole.topics) == (6, 2, 2)


@pytest.mark.slow
def test_there_is_no_gap_before_the_first_controller(contents: Contents) -> None:
    """A cluster that starts waits for its first controller; that is no failure."""
    assert (contents.totals.controllers, contents.totals.longest_gap_ms) == (3, 450)


@pytest.mark.slow
def test_the_run_with_the_most_unavailable_time_is_shown_in_round_parts(contents: Contents) -> None:
    focus = contents.focus
    assert focus is not None

    assert (focus.batch, focus.run, focus.end_ms, focus.bucket_ms) == ("nightly", "troubled", 30_000, 200)
    assert [row["bucket_ms"] for row in focus.over_time["health"]] == [0, 200, 400]
    assert [row["from_ms"] for row in focus.over_time["controllers"]] == [20, 9_000]


@pytest.mark.slow
def test_distributions_have_classes_and_exact_quantiles(contents: Contents) -> None:
    assert {place: n for place, n in enumerate(contents.unavailability.classes) if n} == {2: 1, 13: 2, 15: 1}
    assert contents.recovery.total == 100, "a fault that never ended has no time"
    assert contents.recovery.quantiles_ms == {0.5: 50.5, 0.9: pytest.approx(90.1), 0.99: pytest.approx(99.01), 1.0: 100}


@pytest.mark.slow
def test_elections_and_faults_are_summed_up_by_kind(contents: Contents) -> None:
    assert contents.elections == {"BrokerFailed": (12, 0, 1), "Unknown": (0, 2, 0)}
    assert contents.faults == {"kill": (7, 1), "pause": (0, 2)}
    assert contents.left_out == ("part-7: not read",)


@pytest.mark.nightly
def test_a_campaign_becomes_a_page(spark: SparkSession, tmp_path: Path) -> None:
    """The whole path is tested: real runs, every analysis, and the command."""
    from typer.testing import CliRunner

    from kcsim.scenarios.cli.app import app

    assert spark is not None
    explored = [
        "spark",
        "explore",
        "--seeds",
        "8..11",
        "--profile",
        "small",
        "--traces",
        "all",
        "-o",
        str(tmp_path / "campaign"),
    ]
    assert CliRunner().invoke(app, explored).exit_code == 0
    out = tmp_path / "report.html"

    result = CliRunner().invoke(app, ["spark", "report", str(tmp_path / "campaign"), "-o", str(out)])

    assert result.exit_code == 0, result.stderr
    read = Read(out.read_text(encoding="utf-8"))
    assert "of 4 runs" in "".join(read.texts)
    assert len(read.rows["elections"]) > 1
    again = CliRunner().invoke(app, ["spark", "report", str(tmp_path / "campaign"), "-o", str(out)])
    assert again.exit_code == 64
    assert "exists, and nothing is overwritten" in again.stderr
