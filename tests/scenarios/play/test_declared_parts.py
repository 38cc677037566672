"""Topics, producers and groups that are declared while a cluster runs: an act may be the first to name them."""

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.scenarios.play.acts import Act
from tests.scenarios.play.test_played_cluster import kinds, played
from tests.scenarios.play.watched_runs import Watched, played_cluster

PAYMENTS = {"cluster": {"topics": {"payments": {"partitions": 2, "replication-factor": 2}}}}
WRITER = {"workload": {"producers": {"writer": {"topics": "payments", "rate": 50, "settings": {"acks": "all"}}}}}
READERS = {
    "workload": {"groups": {"readers": {"members": ["a", "b"], "topics": "payments", "assignors": "cooperative-sticky"}}}
}


def test_a_topic_a_producer_and_a_group_are_declared_and_used() -> None:
    acts = [
        Act(3_000, "create-topic: payments", PAYMENTS),
        Act(5_000, "start-workload: writer", WRITER),
        Act(5_000, "start-consumers: all", READERS),
    ]
    watched = Watched(15_000, acts)
    assert watched.refused == []
    assert {"RecordsAcknowledged", "PartitionsAssigned"} <= {event.kind.value for event in watched.events}


def test_what_cannot_be_declared_is_refused_and_nothing_is_declared() -> None:
    acts = [
        Act(3_000, "create-topic: payments", {"cluster": {"topics": {"payments": {"partitions": 0}}}}),
        Act(3_000, "start-workload: writer", {"workload": {"producers": {"writer": {"topics": "nowhere"}}}}),
        Act(3_000, "start-workload: writer", {"workload": 3}),
        Act(3_000, "kill: broker-1"),
    ]
    watched = Watched(4_000, acts)
    assert [act.step for act, _ in watched.refused] == ["create-topic: payments", *["start-workload: writer"] * 2]
    assert "nowhere" in watched.refused[1][1]
    assert [event.target for event in watched.events if event.kind is EventKind.FAULT] == ["broker-1"]


def test_what_was_declared_is_in_the_saved_scenario() -> None:
    cluster = played_cluster()
    played(cluster, 3)
    cluster.act("create-topic: payments", PAYMENTS)
    played(cluster, 1)
    cluster.act("start-workload: writer", WRITER)
    cluster.act("start-consumers: all", READERS)
    played(cluster, 8)
    scenario = load_text(yaml_text(cluster.as_tree()), "play").scenario
    cluster.close()
    assert sorted(scenario.cluster.topics) == ["orders", "payments"]
    assert [*scenario.workload.producers, *scenario.workload.groups] == ["writer", "readers"]
    assert "GroupStable" in {kind for _, kind in kinds(cluster)}
