"""Two futures of a run, compared."""

from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.fork_comparison import compared
from kcsim.scenarios.play.played_cluster import PlayedCluster
from tests.scenarios.play.watched_runs import FIRST, SCENARIO, run_processes

WITH_WRITER = Scenario.model_validate(
    {
        **SCENARIO.model_dump(by_alias=True, exclude_unset=True),
        "workload": {"producers": {"writer": {"topics": "orders", "rate": 20, "settings": {"acks": "1"}}}},
    }
)


def test_two_futures_differ_in_leaders_losses_and_durations() -> None:
    """In one a leader dies that has acknowledged records which no follower has yet; in the other one it lives."""
    cluster = PlayedCluster(WITH_WRITER, 1, [*FIRST, Act(2_000, "start-workload: writer")], run_processes())
    cluster.go_on_to(5_000)
    for follower in ("broker-2", "broker-3"):
        cluster.act(f"slow-follower: {follower}\nrate: 1")
    cluster.go_on_to(6_000)
    cluster.act("kill: broker-1")
    cluster.go_on_to(20_000)
    cluster.finish_passing()
    cluster.take()
    cluster.go_back(5_500)
    cluster.go_on_to(20_000)
    cluster.finish_passing()
    cluster.take()
    cluster.count_records(cluster.forks.values())
    found = compared(cluster.forks[0], cluster.forks[1])
    cluster.close()
    outcome = {row["what"]: (row["left"], row["right"]) for row in found["outcome"]}
    lost = outcome.pop("acknowledged records lost")
    assert int(lost[0]) > 0 == int(lost[1])
    assert outcome == {"with a partition without a working leader": ("3.215 s", "0.000 s")}
    end = {row["what"]: (row["left"], row["right"]) for row in found["end"]}
    assert end["broker-1"] == ("dead, not registered", "running, registered")
    assert end["orders-1"][0].startswith("leader 2, leader epoch 1")
    assert end["orders-1"][1].startswith("leader 1, leader epoch 0")
    assert found["until_ms"] == 20_000
    assert "broker-1, leader of orders-1, was killed at 6.00 s." in found["left"]["story"][0]
    assert "killed" not in found["right"]["story"][0]


def test_futures_are_compared_up_to_the_moment_that_both_have_reached() -> None:
    """Else the durations and counts would say how long each was watched."""
    cluster = PlayedCluster(SCENARIO, 1, FIRST, run_processes())
    cluster.go_on_to(4_000)
    cluster.finish_passing()
    cluster.go_back(2_000)
    cluster.act("kill: broker-1")
    cluster.go_on_to(60_000)
    cluster.finish_passing()
    cluster.take()
    found = compared(cluster.forks[0], cluster.forks[1])
    cluster.close()
    assert found["until_ms"] == 4_000
    assert all(event["t_ms"] <= 4_000 for one in found["divergences"] for event in (*one["left"], *one["right"]))
    assert [row["what"] for row in found["end"]] == ["broker-1"], "its session has not expired then"
