"""The scope of an analysis: some topics, some of the time, another point in time, another definition of a live broker."""

import pytest
from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.analyses.scope import Liveness, Scope
from tests.scenarios.analysis.analyses.conftest import BUCKET_MS, Results, divided, history_of, results_of
from tests.scenarios.analysis.analyses.random_stories import BROKERS, END_MS
from tests.scenarios.analysis.analyses.reference_analyses import Moment, damage, health, moments, windows
from tests.scenarios.analysis.analyses.stories import Story

DAMAGE = ("offline", "offline_if_unclean", "under_min_isr", "leaders_moved", "partitions")
SINCE_MS, UNTIL_MS, AT_MS = 20, 60, 40
SCOPE = Scope(
    topics=("orders",),
    since_ms=SINCE_MS,
    until_ms=UNTIL_MS,
    at_ms=AT_MS,
    bucket_ms=16,
    min_insync_replicas=2,
    liveness=Liveness.REGISTERED,
)
pytestmark = pytest.mark.slow
each_seed = pytest.mark.parametrize("seed", range(8))


@pytest.fixture(scope="module")
def cut_out(spark: SparkSession, random_stories: dict[int, Story]) -> Results:
    """Return the results of a restricted scope; the history is in 3 parts."""
    return results_of(history_of(divided(spark, 3), [random_stories[seed] for seed in range(8)], SCOPE))


@pytest.fixture(scope="module")
def held(random_stories: dict[int, Story]) -> dict[int, list[Moment]]:
    return {seed: moments(random_stories[seed], SCOPE, END_MS) for seed in range(8)}


@each_seed
def test_windows_are_cut_off_at_the_edges_and_open_at_the_later_one(
    cut_out: Results, held: dict[int, list[Moment]], seed: int
) -> None:
    rows = cut_out("unavailability", f"seed-{seed}")
    found = {((r["topic"], r["partition"]), r["from_ms"], r["to_ms"], r["open"]) for r in rows}
    assert found == windows([now.offline() for now in held[seed][SINCE_MS:UNTIL_MS]], SINCE_MS)


@each_seed
def test_counts_are_of_the_time_looked_at(cut_out: Results, held: dict[int, list[Moment]], seed: int) -> None:
    found = {
        t_ms: (row["partitions"], row["offline"], row["under_replicated"], row["under_min_isr"])
        for row in cut_out("health-steps", f"seed-{seed}")
        for t_ms in range(row["from_ms"], row["to_ms"])
    }
    assert all(
        found.get(t_ms, (0, 0, 0, 0)) == health(held[seed][t_ms]) for t_ms in range(END_MS) if SINCE_MS <= t_ms < UNTIL_MS
    )
    assert all(SINCE_MS <= t_ms < UNTIL_MS for t_ms in found)


@each_seed
def test_losses_are_as_of_the_moment_asked_for(cut_out: Results, held: dict[int, list[Moment]], seed: int) -> None:
    found = {row["broker"]: tuple(row[name] for name in DAMAGE) for row in cut_out("loss-of-broker", f"seed-{seed}")}
    expected = {b: damage(held[seed][AT_MS], {b})[0] for b in BROKERS}
    assert found == {b: figures for b, figures in expected.items() if figures[-1]}


def test_results_do_not_depend_on_how_the_data_is_spread(
    spark: SparkSession, random_stories: dict[int, Story], results: Results
) -> None:
    """Doubles are equal too, because only whole numbers are summed. The history is in 5 parts here and in 2 there."""
    of_five = results_of(history_of(divided(spark, 5), list(random_stories.values()), Scope(bucket_ms=BUCKET_MS)))
    for seed in random_stories:
        assert of_five("skew", f"seed-{seed}") == results("skew", f"seed-{seed}")
