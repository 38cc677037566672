"""What pages receive of a cluster, and how it goes back and is saved."""

import json
from typing import Any

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.scenarios.play.played_cluster import PlayedCluster
from tests.scenarios.play.watched_runs import played_cluster


def played(cluster: PlayedCluster, seconds: int) -> None:
    """Let time pass in steps, and take what happens, as a page's server does."""
    for _ in range(seconds * 10):
        cluster.pass_time(100)
        cluster.finish_passing()
        cluster.take()


def kinds(cluster: PlayedCluster) -> list[tuple[int, str]]:
    """Return the time and the kind of each event, as the parts for the page have them."""
    texts: list[str] = []
    found = []
    for happened in cluster.parts:
        part, t_ms = json.loads(happened.part), 0
        texts += part["texts"]
        for delta, kind in zip(part["t_ms"], part["kind"], strict=True):
            t_ms += delta
            found.append((t_ms, texts[kind]))
    return found


def story(cluster: PlayedCluster) -> dict[str, Any]:
    cluster.ask_for_story()
    cluster.finish_passing()
    found: dict[str, Any] = json.loads(cluster.fork.run.about)["story"]
    return found


def test_going_back_keeps_the_past_and_forgets_what_came_after() -> None:
    cluster = played_cluster()
    played(cluster, 5)
    cluster.act("kill: controller")
    played(cluster, 15)
    before = kinds(cluster)
    assert [kind for _, kind in before].count("ElectionWon") == 2
    cluster.go_back(4_000)
    cluster.finish_passing()
    cluster.take()
    assert cluster.is_paused
    assert kinds(cluster) == [(at_ms, kind) for at_ms, kind in before if at_ms <= 4_000]
    cluster.is_paused = False
    played(cluster, 15)
    cluster.close()
    assert [kind for _, kind in kinds(cluster)].count("ElectionWon") == 1


def test_the_story_grows_with_the_run() -> None:
    cluster = played_cluster()
    played(cluster, 3)
    early = story(cluster)
    cluster.act("kill: controller")
    played(cluster, 15)
    late = story(cluster)
    cluster.close()
    assert [broker is None for broker, *_ in early["controllers"]] == [False]
    assert [broker is None for broker, *_ in late["controllers"]] == [False, True, False]
    assert "was killed at 3.00 s" in late["sentences"][0]


def test_one_event_after_another() -> None:
    cluster = played_cluster()
    for _ in range(5):
        before = len(kinds(cluster))
        cluster.next_event()
        cluster.take()
        assert len(kinds(cluster)) > before
    assert cluster.is_paused
    cluster.close()


def test_what_was_done_is_a_scenario_with_the_same_outcome() -> None:
    cluster = played_cluster()
    played(cluster, 5)
    cluster.act("kill: controller\nas: old")
    cluster.act("kill: broker-9")
    played(cluster, 15)
    cluster.act("start: old")
    played(cluster, 5)
    loaded = load_text(yaml_text(cluster.as_tree()), "play")
    cluster.close()
    assert [step.verb() for step in loaded.scenario.timetable] == ["start", "create-topic", "kill", "start"]

    async def script(running: Cluster) -> None:
        await run_scenario(loaded, running)

    choice = ZooKeeperChoice.parse("simulated")
    log = run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo("play", 1, "simulated"), script)
    texts = [kind for _, kind in kinds(cluster)]
    won = [event for event in log.events if event.kind is EventKind.ELECTION_WON]
    assert len(won) == texts.count("ElectionWon") == 2


def test_an_act_with_a_delay_is_saved_with_the_time_at_which_it_is_done() -> None:
    """A step of a scenario file has either `at` or `after`."""
    cluster = played_cluster()
    played(cluster, 4)
    cluster.act("kill: broker-2\nafter: 1s")
    played(cluster, 3)
    *_, saved = load_text(yaml_text(cluster.as_tree()), "play").scenario.timetable
    died_ms = next(at_ms for at_ms, kind in reversed(kinds(cluster)) if kind == "ProcessState")
    cluster.close()
    assert (saved.verb(), saved.at, saved.after) == ("kill", 5_000, None)
    assert died_ms == 5_000
