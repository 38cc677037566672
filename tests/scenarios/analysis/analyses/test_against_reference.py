"""Analyses of random histories, compared with a computation that looks at the whole state in every millisecond."""

from collections import defaultdict
from collections.abc import Collection

import pytest

from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.scope import Liveness
from kcsim.scenarios.analysis.analyses.state_intervals import PARTITION
from tests.scenarios.analysis.analyses.conftest import BUCKET_MS, SEEDS, Results
from tests.scenarios.analysis.analyses.random_stories import BROKERS, END_MS, RACKS
from tests.scenarios.analysis.analyses.reference_analyses import (
    Moment,
    damage,
    first_there,
    health,
    load,
    losses_of_pairs,
    moments,
    out_of_sync,
    under_min_isr,
    windows,
)
from tests.scenarios.analysis.analyses.stories import Story

DAMAGE = ("offline", "offline_if_unclean", "under_min_isr", "leaders_moved", "partitions")
pytestmark = pytest.mark.slow
each_seed = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="session")
def held(random_stories: dict[int, Story], history: HistoryTables) -> dict[int, list[Moment]]:
    return {seed: moments(story, history.scope, END_MS) for seed, story in random_stories.items()}


@each_seed
def test_windows_without_a_leader_or_without_enough_in_sync(
    results: Results, held: dict[int, list[Moment]], seed: int
) -> None:
    for analysis, look in (("unavailability", Moment.offline), ("under-min-isr", under_min_isr)):
        rows = results(analysis, f"seed-{seed}")
        found = {((r["topic"], r["partition"]), r["from_ms"], r["to_ms"], r["open"]) for r in rows}
        assert found == windows([look(now) for now in held[seed]]), f"{analysis}, seed {seed}"
        assert all(row["duration_ms"] == row["to_ms"] - row["from_ms"] for row in rows)


@each_seed
def test_the_counts_of_every_moment(results: Results, held: dict[int, list[Moment]], seed: int) -> None:
    found = {
        t_ms: (row["partitions"], row["offline"], row["under_replicated"], row["under_min_isr"])
        for row in results("health-steps", f"seed-{seed}")
        for t_ms in range(row["from_ms"], row["to_ms"])
    }
    first = min(found)
    assert found == {t_ms: health(now) for t_ms, now in enumerate(held[seed]) if t_ms >= first}
    assert all(health(now) == (0, 0, 0, 0) for now in held[seed][:first])


@each_seed
def test_availability_of_partitions_topics_and_the_whole(results: Results, held: dict[int, list[Moment]], seed: int) -> None:
    for row in results("availability", f"seed-{seed}"):

        def of_it(partitions: Collection[tuple[str, int]]) -> int:
            return sum(row["topic"] in (None, topic) and row["partition"] in (None, number) for topic, number in partitions)  # noqa: B023

        offline = [of_it(now.offline()) for now in held[seed]]
        assert row["existing_ms"] == sum(of_it(now.partitions) for now in held[seed])
        assert (row["unavailable_ms"], row["any_unavailable_ms"]) == (sum(offline), sum(map(bool, offline)))


@each_seed
def test_replicas_out_of_sync_and_brokers_away(
    results: Results, held: dict[int, list[Moment]], random_stories: dict[int, Story], seed: int
) -> None:
    out: dict[int, int] = defaultdict(int)
    for now in held[seed]:
        for _, broker in out_of_sync(now):
            out[broker] += 1
    story, liveness = random_stories[seed], Liveness.SERVING
    for row in results("affected-brokers", f"seed-{seed}"):
        b = row["broker"]
        assert row["out_of_sync_ms"] == out[b]
        assert row["away_ms"] == sum(not now.is_live(b) for now in held[seed][first_there(story, b, liveness, END_MS) :])


@each_seed
def test_load_of_brokers(results: Results, held: dict[int, list[Moment]], seed: int) -> None:
    expected = load(held[seed], BUCKET_MS)
    found = {
        (r["bucket_ms"], r["broker"]): (r["leaders_ms"], r["replicas_ms"]) for r in results("broker-load", f"seed-{seed}")
    }
    assert {key: sums for key, sums in found.items() if sums != (0, 0)} == expected


@each_seed
def test_the_loss_of_one_and_of_two(results: Results, held: dict[int, list[Moment]], seed: int) -> None:
    """Evaluated at the end of the run: each broker, each rack, and each pair of them that shares a partition."""
    now, run = held[seed][-1], f"seed-{seed}"
    alone = {r["broker"]: tuple(r[name] for name in DAMAGE) for r in results("loss-of-broker", run)}
    everyone = {b: damage(now, {b})[0] for b in BROKERS}
    assert alone == {b: figures for b, figures in everyone.items() if figures[-1]}
    racks: dict[str, list[int]] = defaultdict(list)
    for row in results("affected-brokers", run):
        if row["rack"] is not None:
            racks[row["rack"]].append(row["broker"])
    assert all(RACKS[b] == rack for rack, brokers in racks.items() for b in brokers)
    of_racks = {r["rack"]: tuple(r[name] for name in DAMAGE) for r in results("loss-of-rack", run)}
    assert of_racks == {rack: figures for rack, brokers in racks.items() if (figures := damage(now, brokers)[0])[-1]}
    for analysis, column, groups in (
        ("loss-of-brokers", "brokers", {b: [b] for b in BROKERS}),
        ("loss-of-racks", "racks", dict(racks)),
    ):
        found = {
            (tuple(r[column]), tuple(r[name] for name in DAMAGE), r["shared"], r["offline_together"])
            for r in results(analysis, run)
        }
        assert found == set(losses_of_pairs(now, groups)), f"{analysis}, seed {seed}"


def test_the_state_intervals_of_a_partition_follow_on_each_other(history: HistoryTables) -> None:
    """No two intervals overlap: sums over them count no time twice."""
    pairs = history.state_intervals.alias("a").join(history.state_intervals.alias("b"), list(PARTITION))
    assert pairs.where("a.seq < b.seq AND b.from_ms < a.to_ms").count() == 0
