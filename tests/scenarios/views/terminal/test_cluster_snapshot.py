"""The cluster at one point of a run, where a reader would look at it: before, in the middle of, and after a fault."""

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.views.terminal.cluster_snapshot import ClusterSnapshot, cluster_snapshot
from kcsim.scenarios.views.terminal.cluster_text import PARTITIONS_SHOWN, cluster_json, cluster_lines
from kcsim.scenarios.views.terminal.topic_snapshot import NoSuchTopicError, topic_snapshot
from kcsim.scenarios.views.terminal.topic_text import description_lines
from kcsim.scenarios.views.terminal.tree_snapshot import tree_lines, tree_snapshot
from kcsim.scenarios.views.trace.time_point import THE_END, BadTimePointError, TimePoint, parse_time_point
from kcsim.vocabulary import TopicPartition
from kcsim.zk.capture.znode_dump import NoSuchZnodeError
from tests.scenarios.evaluated_log import EvaluatedLog
from tests.scenarios.views.page.conftest import run_of

CRASH = "broker-crash-and-return"


def seq_of(scenario: str, kind: EventKind, place: int = 0, **fields: object) -> int:
    found = [e.seq for e in run_of(scenario) if e.kind is kind and all(getattr(e, k) == v for k, v in fields.items())]
    return found[place]


def after(scenario: str, seq: int) -> ClusterSnapshot:
    return cluster_snapshot(run_of(scenario), TimePoint(f"#{seq}", seq=seq))


def test_between_a_crash_and_the_end_of_its_session_only_the_process_is_gone() -> None:
    """No other node has noticed the crash: the broker is registered, its session is open, and it leads."""
    killed = seq_of(CRASH, EventKind.PROCESS_STATE, state="dead")
    at = after(CRASH, killed)
    (dead,) = [broker for broker in at.brokers if broker.process == "dead"]
    assert (dead.name, dead.broker_epoch is not None, dead.session) == ("broker-2", True, "open")
    assert [p.leader for p in at.partitions if p.partition == 1] == [2]
    assert not any(p.is_offline or p.is_under_replicated for p in at.partitions)


def test_with_its_session_go_registration_leadership_and_the_isr() -> None:
    at = after(CRASH, seq_of(CRASH, EventKind.ZNODE_CHANGED, -1, path="/brokers/topics/orders/partitions/1/state"))
    before_return = after(CRASH, seq_of(CRASH, EventKind.PROCESS_STATE, -1, state="running") - 1)
    (gone,) = [broker for broker in before_return.brokers if broker.name == "broker-2"]
    assert (gone.process, gone.broker_epoch, gone.session) == ("dead", None, "closed")
    assert [(p.leader, p.leader_epoch, p.isr) for p in before_return.partitions if p.partition == 1] == [(3, 1, (3, 1))]
    assert all(p.is_under_replicated and not p.is_offline for p in before_return.partitions)
    assert [(p.leader, sorted(p.isr)) for p in at.partitions if p.partition == 1] == [(3, [1, 2, 3])]


def test_a_zombie_is_seen_to_hold_itself_for_the_controller() -> None:
    """The znodes already name another controller."""
    failover = "controller-failover"
    at = after(failover, seq_of(failover, EventKind.ELECTION_WON, 1))
    zombie = at.brokers[2]
    assert (zombie.name, zombie.process, zombie.controller_epoch, at.controller_epoch) == ("broker-3", "paused", 1, 2)
    assert at.controller == 5
    (line,) = [line for line in cluster_lines(at) if "broker-3 " in line]
    assert "connected, in truth gone" in line
    assert "controller of epoch 1, it believes" in line


def test_groups_and_consumers_are_shown() -> None:
    at = cluster_snapshot(run_of("consumer-crash-range"), THE_END)
    assert [(g.group, g.state, g.generation) for g in at.groups] == [("billing", "Stable", 2)]
    assert [(c.name, c.process, c.group) for c in at.consumers if not c.partitions] == [("consumer-c1", "dead", "billing")]
    assert "  consumer-c1  dead     billing  nothing" in list(cluster_lines(at))


def test_the_json_says_the_same() -> None:
    at = cluster_snapshot(run_of(CRASH), THE_END)
    document = cluster_json(at)
    assert (document["controller"], document["controller_epoch"]) == (1, 1)
    assert [broker["name"] for broker in document["brokers"]] == ["broker-1", "broker-2", "broker-3"]
    assert [(p["topic"], p["partition"], p["is_offline"]) for p in document["partitions"]] == [
        ("orders", 0, False),
        ("orders", 1, False),
        ("orders", 2, False),
    ]


def test_at_the_end_is_before_all_is_cleared_away() -> None:
    at = cluster_snapshot(run_of(CRASH), THE_END)
    assert at.event.kind is EventKind.RUN_ENDED
    assert [broker.process for broker in at.brokers] == ["running"] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [("#99999", "#99999 is after the run, whose last event is #"), ("999s", "999s is after the run, whose last event is #")],
)
def test_a_moment_after_the_run_is_refused_with_its_last_event(text: str, message: str) -> None:
    with pytest.raises(BadTimePointError, match=message):
        cluster_snapshot(run_of(CRASH), parse_time_point(text))


def test_a_moment_before_the_first_event_is_refused_too() -> None:
    """An imported trace may begin late."""
    late = [event for event in run_of(CRASH) if event.seq >= 10]
    with pytest.raises(BadTimePointError, match="#9 is before the run, whose first event is #10 at"):
        cluster_snapshot(late, parse_time_point("#9"))


def test_of_very_many_partitions_those_in_trouble_are_shown_first_and_the_rest_counted() -> None:
    story = EvaluatedLog()
    number = PARTITIONS_SHOWN + 5
    replicas = ",".join(f'"{p}":[1,2]' for p in range(number))
    story.znode("/brokers/ids/1", "{}", ephemeral=True)
    story.znode("/brokers/topics/t", f'{{"version":2,"partitions":{{{replicas}}}}}')
    for p in range(number):
        isr = "[1]" if p == number - 1 else "[1,2]"
        state = f'{{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":{isr}}}'
        story.znode(f"/brokers/topics/t/partitions/{p}/state", state)
    at = cluster_snapshot(story.events, THE_END)
    lines = list(cluster_lines(at))
    assert f"Partitions: {number}, 0 offline, 1 under-replicated" in lines
    first = lines[lines.index(f"Partitions: {number}, 0 offline, 1 under-replicated") + 2]
    assert first.split() == [f"t-{number - 1}", "1", "0", "[1]", "[1,", "2]", "under-replicated"]
    assert lines[-1] == "  … 5 more; --all shows them"
    assert sum(" t-" in line for line in cluster_lines(at, everything=True)) == number


def test_what_a_trace_is_silent_about_is_a_dash() -> None:
    """An imported trace, for example, has no events about processes."""
    story = EvaluatedLog()
    story.znode("/brokers/ids/1", '{"rack":"a"}', zxid=7, ephemeral=True)
    (broker,) = cluster_snapshot(story.events, THE_END).brokers
    assert (broker.process, broker.broker_epoch, broker.rack, broker.session_id) == (None, 7, "a", None)
    assert "  broker-1  -        broker epoch 7, a  -        -" in list(
        cluster_lines(cluster_snapshot(story.events, THE_END))
    )


# --- topics and znodes -----------------------------------------------------------------------------------------------------


def test_topics_are_described_as_kafka_describes_them() -> None:
    before_return = after(CRASH, seq_of(CRASH, EventKind.PROCESS_STATE, -1, state="running") - 1)
    assert list(description_lines(topic_snapshot(before_return.state, ["orders"]))) == [
        "Topic: orders\tTopicId: c4P01vYIQUqVeYAGPi2X9A\tPartitionCount: 3\tReplicationFactor: 3\tConfigs: ",
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,3",
        "\tTopic: orders\tPartition: 1\tLeader: 3\tReplicas: 2,3,1\tIsr: 3,1",
        "\tTopic: orders\tPartition: 2\tLeader: 3\tReplicas: 3,1,2\tIsr: 3,1",
    ]


def test_settings_and_a_deletion_asked_for_are_described() -> None:
    story = EvaluatedLog()
    story.znode("/brokers/topics/t", '{"version":2,"partitions":{"0":[1]}}')
    story.znode("/config/topics/t", '{"version":1,"config":{"min.insync.replicas":"2"}}')
    story.znode("/config/topics/u", "no settings")
    story.znode("/brokers/topics/u", '{"version":2,"partitions":{"0":[1]}}')
    story.znode("/admin/delete_topics/t")
    described, other = topic_snapshot(story.state)
    assert (described.min_insync_replicas, described.is_marked_for_deletion) == (2, True)
    assert (dict(described.config), dict(other.config)) == ({"min.insync.replicas": "2"}, {})
    assert [(p.partition, p.leader, p.isr) for p in other.partitions] == [(0, None, ())]
    assert TopicPartition("t", 0) not in list(story.state.of_topics.partitions())


def test_a_topic_that_was_not_there_is_reported_with_the_nearest() -> None:
    at = cluster_snapshot(run_of(CRASH), THE_END)
    with pytest.raises(NoSuchTopicError, match=r"there was no topic 'order' then; did you mean orders\?"):
        topic_snapshot(at.state, ["order"])


def test_the_tree_is_what_zk_tree_prints() -> None:
    story = EvaluatedLog()
    story.append("zookeeper", EventKind.ZNODE_CREATED, path="/a", zxid=1, data="x")
    story.append("zookeeper", EventKind.ZNODE_CREATED, path="/a/b", zxid=2, ephemeral=True, session_id="0x0100000000000001")
    story.append("zookeeper", EventKind.ZNODE_CREATED, path="/ab", zxid=3)
    story.changed("/a", "y", zxid=4, zk_version=1)
    assert list(tree_lines(tree_snapshot(story.state))) == [
        "/a  (version 1)  y",
        "/a/b  (version 0, ephemeral of 0x100000000000001)",
        "/ab  (version 0)",
    ]
    assert list(tree_snapshot(story.state, "/a/")) == ["/a", "/a/b"]
    with pytest.raises(NoSuchZnodeError, match=r"there was no znode /abx then; did you mean /ab\?"):
        tree_snapshot(story.state, "/abx")
