"""Mistakes in a scenario file are reported before anything is started, with the line and what was probably meant."""

import os
from pathlib import Path

import pytest

from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.scenario_file import ScenarioFileError, find_scenario, load_scenario
from kcsim.scenarios.language.steps import KillStep, PauseStep, ServersStep, WaitStep
from tests.scenarios.scenario_files import BASE, WITH_TOPICS, written
from tests.scenarios.scenario_library import of_library


def problems(path: Path) -> list[str]:
    """Return the errors in a file, without its directory."""
    with pytest.raises(ScenarioFileError) as refused:
        load_scenario(path)
    return [str(problem).replace(f"{path.parent}/", "") for problem in refused.value.problems]


def test_the_base_of_these_tests_is_a_good_scenario(tmp_path: Path) -> None:
    loaded = load_scenario(written(tmp_path, BASE))
    assert loaded.scenario.name == "try-it"
    assert loaded.step_lines == (6, 7)


def test_a_file_says_what_it_says(tmp_path: Path) -> None:
    """The model has durations in ms, names as tuples, and alternatives by verb."""
    text = BASE.replace(
        "expect:",
        """\
  - pause: controller
    at-write: before
    path: /isr_change_notification
    as: zombie
    at: 1.5s
  - kill: [broker-1, zombie]
    after: 1m
  - zookeeper: {kill: leader}
expect:""",
    )
    _, wait, pause, kill, servers = load_scenario(written(tmp_path, text)).scenario.timetable
    assert isinstance(wait, WaitStep)
    assert (wait.wait.controller, wait.wait.within) == ("any", 10_000)
    assert isinstance(pause, PauseStep)
    assert (pause.pause, pause.at_write, pause.as_, pause.at) == (("controller",), "before", "zombie", 1_500)
    assert isinstance(kill, KillStep)
    assert (kill.kill, kill.after) == (("broker-1", "zombie"), 60_000)
    assert isinstance(servers, ServersStep)
    assert (servers.zookeeper.verb, servers.zookeeper.names) == ("kill", ("leader",))


@pytest.mark.parametrize(
    ("wrong", "right", "line", "message"),
    [
        ("cluser:", "cluster:", 3, "unknown key 'cluser'; did you mean cluster?"),
        ("brokrs: 3", "brokers: 3", 4, "unknown key 'brokrs'; did you mean brokers?"),
        ("brokers: three", "brokers: 3", 4, "brokers: 'three' is no whole number"),
        ("brokers: 0", "brokers: 3", 4, "brokers: 0: input should be greater than or equal to 1"),
        ("brokers:", "brokers: 3", 4, "brokers has no value"),
        ("brokers: [{id: 1}, {id: 1}]", "brokers: 3", 4, "broker id 1 is given twice"),
        ("brokers: [{id: 2147483648}]", "brokers: 3", 4, "id: 2147483648: input should be less than or equal to 2147483647"),
        ("zookeeper: {tick-time: 0s}\ntimetable:", "timetable:", 5, "'0s' is no tickTime; one lasts from 10ms to 60s"),
        (
            "brokers: 3\n  settings: {zookeeper.session.timeout.ms: 2147483648}",
            "brokers: 3",
            5,
            "2147483648 is no value of zookeeper.session.timeout.ms, which is a whole number from 1 to 2147483647",
        ),
        ("startt: all", "start: all", 6, "unknown verb 'startt'; did you mean start?"),
        (
            "start: broker-4",
            "start: all",
            6,
            "unknown broker 'broker-4'; there are broker-1 to broker-3, the nearest is broker-3",
        ),
        ("start: [broker-1, brokr-2]", "start: all", 6, "unknown name 'brokr-2'; did you mean broker-2?"),
        ("start: [broker-1, broker-1]", "start: all", 6, "'broker-1' is named twice"),
        ("start: []", "start: all", 6, "the list is empty; write all, or a name"),
        ("within: 10", "within: 10s", 7, "10 has no unit; write 10ms or 10s"),
        ("witin: 10s", "within: 10s", 7, "unknown key 'witin'; did you mean within?"),
        ("controler: any", "controller: any", 7, "unknown key 'controler'; did you mean controller?"),
        ("controller: anny", "controller: any", 7, "unknown name 'anny'; did you mean any?"),
        (
            "wait: {within: 10s}",
            "wait: {controller: any, within: 10s}",
            7,
            "the condition is empty; write one of controller, ",
        ),
    ],
)
def test_one_wrong_word_is_reported_with_its_line_and_the_nearest_right_one(
    tmp_path: Path, wrong: str, right: str, line: int, message: str
) -> None:
    lines = problems(written(tmp_path, BASE.replace(right, wrong, 1)))
    assert [problem for problem in lines if problem.startswith(f"try-it.yaml:{line}: {message}")], lines


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("kill: broker-1\n    pause: broker-2", "9: a step does one thing, this one has kill and pause; write two steps"),
        ("kill: broker-1\n    at: 1s\n    after: 1s", "10: a step is timed by at or by after, not by both"),
        ("pause: broker-1\n    at-write: befor", "9: at-write: 'befor' is not one of before or after; did you mean before?"),
        ("pause: broker-1\n    path: /controller", "9: path goes with at-write"),
        (
            "pause: broker-1\n    at-write: before\n    path: controller",
            "10: 'controller' is no znode path; one begins with /",
        ),
        ("zk-delete: /brokers/../controller", "8: '/brokers/../controller' is no znode path: a name is neither . nor .."),
        ('zk-delete: "/a\\0b"', "8: '/a\\x00b' is no znode path: a name is neither . nor .., and has no control characters"),
        ("resume: zombie", "8: unknown name 'zombie'; write broker-1, controller, or a name given with as"),
        ("kill: [broker-1, broker-2]\n    as: both", "9: 'both' would name several; name one"),
        ("kill: broker-1\n    as: broker-2", "9: 'broker-2' means something already; give another name"),
        ("kill: broker-1\n    as: Old One", "9: 'Old One' cannot be a name; write small letters"),
        ("zookeeper: {kill: member-2}", "8: unknown ZooKeeper server 'member-2'; did you mean member-1?"),
        ("zookeeper: {kil: leader}", "8: unknown key 'kil'; did you mean kill?"),
        ("zookeeper: {kill: leader, start: leader}", "8: one of kill, start, pause, resume is done"),
        ("zk-create: {data: x}", "8: path is missing"),
        ("wait: {event: {kind: ElectionWun}}", "8: unknown kind of event 'ElectionWun'; did you mean ElectionWon?"),
        ("wait: {event: {kind: [ElectionWon, ElectionWun]}}", "8: unknown kind of event 'ElectionWun'; did you mean"),
        ("wait: {event: {kind: ElectionWon, contrler-epoch: 1}}", "8: unknown column 'contrler-epoch'; did you mean"),
        (
            "wait: {event: {kind: ProcessState, state: died}}",
            "8: no such event has state 'died'; did you mean dead?",
        ),
        (
            "wait: {event: {kind: ProcessState, state: frozen}}",
            "8: no such event has state 'frozen'; there are running",
        ),
        ("wait: {event: {kind: SessionState, state: paused}}", "8: no such event has state 'paused'; did you mean"),
        (
            "wait: {event: {kind: LeaderElection, rule: Uncleen}}",
            "8: no such event has rule 'Uncleen'; did you mean Uncl",
        ),
        (
            "wait: {event: {kind: LeaderElection, leader: 9}}",
            "8: there is no broker 9; there are broker-1",
        ),
        ("wait: {event: {kind: LeaderElection, isr: [1, 9]}}", "8: there is no broker 9"),
        (
            "wait: {event: {kind: ZnodeChanged, path: /controler}}",
            "8: Kafka has no znode /controler; did you mean",
        ),
        ("wait: {event: {kind: ZnodeChanged, path: /brokers/topic}}", "8: Kafka has no znode /brokers/topic; did you mean"),
        ("wait: {event: {kind: ZnodeDeleted, path: /brokers/ids/9}}", "8: there is no broker 9"),
        (
            "wait: {event: {kind: ControllerFailover, step: Ready to serve}}",
            "8: no such event has step 'Ready to serve'",
        ),
        ("wait: {event: {kind: PartitionReassignment, step: done}}", "8: no such event has step 'done'; there are started,"),
        (
            "wait: {event: {kind: StateChangeFailed, strategy: OfflinePartition}}",
            "8: no such event has strategy 'OfflinePartition'; did you mean OfflinePartitionLeaderElectionStrategy?",
        ),
        (
            "wait: {event: {kind: RequestSent, event: LeaderAndISR}}",
            "8: no such event has event 'LeaderAndISR'; did",
        ),
        (
            "wait: {event: {kind: ControllerEventDone, event: TopicChnge}}",
            "8: no such event has event 'TopicChnge'; did",
        ),
        ("wait: {event: {kind: ZkWriteRefused, outcome: failed}}", "8: no such event has outcome 'failed'; there are"),
        (
            "wait: {event: {kind: ElectionWon, topic: orders}}",
            "8: ElectionWon has no column topic; it has node",
        ),
        (
            "wait: {event: {kind: [ElectionWon, ElectionLost], controller-epoch: 1}}",
            "8: ElectionLost has no column",
        ),
        ("wait: {event: {kind: BrokerChange, detail: gone}}", "8: detail is a text for people, which no pattern"),
        ("wait: {event: {kind: ElectionWon, controller-epoch: one}}", "8: 'one' is no value of controller-epoch, which"),
        ("wait: {event: {kind: ElectionWon, node: broker-9}}", "8: unknown name 'broker-9'"),
        ("wait: {events: {of: {kind: ElectionWon}}}", "8: write how often: exactly, at-least or at-most"),
        ("wait: {znode: {path: /controller, exists: maybe}}", "8: exists: 'maybe' is neither true nor false"),
        ("wait: {registered: broker-12}", "8: unknown broker 'broker-12'; there are broker-1 to broker-3, the nearest is"),
        ("wait: {order: [{kind: ElectionWon}]}", "8: order has fewer than 2 entries"),
        ("everybody", "8: 'everybody' is no step; write a verb and its target, as - kill: broker-1"),
    ],
)
def test_a_wrong_step_is_reported_with_its_line(tmp_path: Path, step: str, message: str) -> None:
    lines = problems(written(tmp_path, BASE.replace("expect:", f"  - {step}\nexpect:")))
    assert [problem for problem in lines if problem.startswith(f"try-it.yaml:{message}")], lines


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("zookeeper.session.timout.ms: 1", "unknown setting 'zookeeper.session.timout.ms'; did you mean zookeeper.session."),
        ("zookeeper.session.timeout.ms: 5s", "'5s' is no value of zookeeper.session.timeout.ms, which is a whole number"),
        ("host.name: 5", "5 is no value of host.name, which is text"),
        ("auto.leader.rebalance.enable: 1", "1 is no value of auto.leader.rebalance.enable, which is true or false"),
        ("auto.leader.rebalance.enable: no", "'no' is no value of auto.leader.rebalance.enable, which is true or false"),
        (
            "leader.imbalance.per.broker.percentage: -1",
            "-1 is no value of leader.imbalance.per.broker.percentage, which is a",
        ),
    ],
)
def test_a_setting_goes_by_kafkas_name_and_type(tmp_path: Path, settings: str, message: str) -> None:
    (only,) = problems(written(tmp_path, BASE.replace("brokers: 3", f"brokers: 3\n  settings:\n    {settings}")))
    assert only.startswith(f"try-it.yaml:6: {message}")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("create-topic: ordrs", "11: unknown topic 'ordrs'; did you mean orders?"),
        ("create-topic: [orders, orders]", "11: 'orders' is named twice"),
        ("delete-topic: zebra", "11: unknown topic 'zebra'; there are orders, clicks"),
        ("reassign: {order-0: [1]}", "11: unknown partition 'order-0': no topic 'order'; did you mean orders?"),
        ("reassign: {orders-2: [1]}", "11: unknown partition 'orders-2'; orders has 0 to 1"),
        ("reassign: {clicks-4: [1]}", "11: unknown partition 'clicks-4'; clicks has 0 to 3"),
        ("reassign: {orders: [1]}", "11: 'orders' is no partition; write topic and number, as orders-0"),
        ("reassign: {orders-0: [1, 4]}", "11: there is no broker 4; there are broker-1, broker-2, broker-3"),
        ("reassign: {orders-0: [1, 1]}", "11: '1' is named twice"),
        ("reassign: {orders-0: broker-1}", "11: broker-1 is no list of replicas; write brokers' ids"),
        ("reassign: {orders-0: [broker-1]}", "11: 'broker-1' is no broker id; write a number, as 1 for broker-1"),
        ("reassign:\n      orders-0: [1]\n      orders-1: [0]", "13: there is no broker 0; there are"),
        ("cancel-reassignment: []", "11: an empty list names no partition; write all, or a name"),
        ("add-partitions: {orders: many}", "11: 'many' is no number of partitions, and no assignment of new ones"),
        ("kill: leader-of ordrs-0", "11: unknown partition 'ordrs-0': no topic 'ordrs'; did you mean orders?"),
        ("kill: leder-of orders-0", "11: unknown name 'leder-of orders-0'; "),
        ("set-config: {topic: orders}", "11: unknown key 'topic'; did you mean topics?"),
        ("set-config: {}", "11: no setting is given; write topics or broker-defaults"),
        (
            "set-config: {topics: {orders: {unclean.leader.electon.enable: true}}}",
            "11: unknown topic setting 'unclean.leader.electon.enable'; did you mean unclean.leader.election.enable?",
        ),
        (
            "set-config: {topics: {orders: {unclean.leader.election.enable: maybe}}}",
            "11: Invalid value maybe for configuration unclean.leader.election.enable: Expected value to be either true or",
        ),
        (
            "set-config: {broker-defaults: {unclean.leader.election.enable: maybe}}",
            "11: 'maybe' is no value of unclean.leader.election.enable, which is true or false",
        ),
        ("set-config: {broker-defaults: {port: 1}}", "11: unknown setting that running brokers take over 'port'"),
        ("wait: {leader: {orders-0: brokr-1}}", "11: unknown name 'brokr-1'; did you mean broker-1?"),
        ("wait: {leader: {orders-0: zombie}}", "11: unknown name 'zombie'; "),
        ("wait: {leader-epoch: {orders-0: one}}", "11: 'one' is no leader epoch, which is a whole number from 0 on"),
        ("wait: {isr: {orders-0: [7]}}", "11: there is no broker 7; there are"),
        ("wait: {topics: [order]}", "11: unknown topic 'order'; did you mean orders?"),
        ("wait: {in-sync: [orders-7]}", "11: unknown partition 'orders-7'; orders has 0 to 1"),
    ],
)
def test_a_wrong_word_about_topics_is_reported_with_its_line_and_the_nearest_right_one(
    tmp_path: Path, step: str, message: str
) -> None:
    lines = problems(written(tmp_path, WITH_TOPICS.replace("expect:", f"  - {step}\nexpect:")))
    assert [problem for problem in lines if problem.startswith(f"try-it.yaml:{message}")], lines


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("payments: {partitions: 3}", "6: replication-factor is missing; a topic has these, or an assignment"),
        ("payments: {}", "6: partitions is missing; a topic has these, or an assignment"),
        ("payments: {assignment: {0: [1]}, shift: 1}", "6: shift cannot be combined with an assignment"),
        ("payments: {partitions: 3, replication-factor: 4}", "5: topic 'payments' wants 4 replicas of 3 brokers"),
        (
            "payments: {assignment: {0: [1, 2], 1: [1]}}",
            "6: Kafka refuses this assignment: All partitions should have the same number of replicas",
        ),
        (
            "payments: {assignment: {1: [1, 2]}}",
            "6: Kafka refuses this assignment: partitions should be a consecutive 0-based integer sequence",
        ),
        ("payments: {assignment: {0: [1, 9]}}", "6: there is no broker 9; there are broker-1, broker-2, broker-3"),
        ("pay ments: {assignment: {0: [1]}}", "6: pay ments: 'pay ments' does not match"),
        ("..: {assignment: {0: [1]}}", '6: Topic name cannot be "." or ".."'),
        ("payments: {assignment: {0: [1]}, config: {segment.byte: 1}}", "6: unknown topic setting 'segment.byte'; did you"),
        ("payments: {assignment: {0: [1]}, config: {segment.bytes: 1}}", "6: Invalid value 1 for configuration segment."),
        (
            "payments: {assignment: {0: [1]}, config: {min.compaction.lag.ms: 9, max.compaction.lag.ms: 8}}",
            "6: conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)",
        ),
    ],
)
def test_a_topic_is_one_that_kafka_would_create(tmp_path: Path, topic: str, message: str) -> None:
    lines = problems(written(tmp_path, BASE.replace("brokers: 3", f"brokers: 3\n  topics:\n    {topic}")))
    assert [problem for problem in lines if problem.startswith(f"try-it.yaml:{message}")], lines


def test_partitions_that_will_be_added_can_be_named(tmp_path: Path) -> None:
    """The same holds for topics created by hand, whose partitions cannot be known beforehand."""
    steps = """\
  - add-partitions: {orders: 3, clicks: {4: [1, 2], 5: [2, 3]}}
  - zk-create: {path: /brokers/topics/odd, data: {version: 1, partitions: {"7": [1]}}}
  - wait: {leader: {orders-2: any, clicks-5: any, odd-7: any}}
expect:"""
    load_scenario(written(tmp_path, WITH_TOPICS.replace("expect:", steps)))


def test_where_the_topics_make_no_sense_their_names_are_not_reported_one_by_one(tmp_path: Path) -> None:
    text = BASE.replace("brokers: 3", "brokers: 3\n  topics: many").replace("start: all", "create-topic: orders")
    assert problems(written(tmp_path, text)) == ["try-it.yaml:5: topics: 'many' is no mapping of keys to values"]


def test_a_topic_may_be_called_as_a_broker_is(tmp_path: Path) -> None:
    text = BASE.replace("brokers: 3", "brokers: 3\n  topics: {first: {assignment: {0: [1]}}}")
    steps = "  - create-topic: first\n  - kill: controller\n    as: first\n  - wait: {topics: first, dead: first}\nexpect:"
    load_scenario(written(tmp_path, text.replace("expect:", steps)))


def test_all_problems_are_reported_at_once_and_in_order(tmp_path: Path) -> None:
    text = BASE.replace("brokers: 3", "brokers: 3\n  rack: 2").replace("start: all", "stat: all").replace("10s", "10")
    assert [problem.split(":")[1] for problem in problems(written(tmp_path, text))] == ["5", "7", "8"]


def test_a_name_is_given_before_it_is_used(tmp_path: Path) -> None:
    steps = "  - resume: zombie\n  - pause: controller\n    as: zombie\nexpect:"
    assert problems(written(tmp_path, BASE.replace("expect:", steps))) == [
        "try-it.yaml:8: 'zombie' is used before a step has given this name"
    ]


def test_a_name_is_given_once(tmp_path: Path) -> None:
    """If a name could be given again, an expectation about its first broker would be judged for the last one."""
    steps = "  - kill: broker-1\n    as: lost\n  - kill: broker-2\n    as: lost\nexpect:"
    assert problems(written(tmp_path, BASE.replace("expect:", steps))) == ["try-it.yaml:11: the name 'lost' is given twice"]


def test_a_server_is_not_taken_for_a_broker(tmp_path: Path) -> None:
    steps = "  - zookeeper: {kill: leader}\n    as: lost\n  - resume: lost\nexpect:"
    (only,) = problems(written(tmp_path, BASE.replace("expect:", steps)))
    assert only.startswith("try-it.yaml:10: unknown name 'lost'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "try-it.yaml:1: the file is empty; a scenario begins with name:"),
        ("# nothing yet\n", "try-it.yaml:1: the file is empty; a scenario begins with name:"),
        ("- a\n- b\n", "try-it.yaml:1: ['a', 'b'] is no scenario; a scenario begins with name:"),
        ("name: [", "try-it.yaml:1: not YAML: "),
        ("name: x\n\tdescription: y\n", "try-it.yaml:2: not YAML: "),
        (BASE + "name: again\n", "try-it.yaml:10: key 'name' is there twice"),
        ("name: a\n---\nname: b\n", "try-it.yaml:2: not YAML: expected a single document"),
    ],
)
def test_what_is_no_scenario_at_all_is_reported_as_such(tmp_path: Path, text: str, message: str) -> None:
    assert problems(written(tmp_path, text))[0].startswith(message)


def test_a_missing_part_is_reported_at_the_place_where_it_belongs(tmp_path: Path) -> None:
    without = BASE.replace("name: try-it\n", "")
    assert problems(written(tmp_path, without)) == ["try-it.yaml:1: name is missing"]


def test_a_file_that_is_not_text_is_reported_as_such(tmp_path: Path) -> None:
    path = tmp_path / "try-it.yaml"
    path.write_bytes(b"name: \xff\xfe")
    assert problems(path) == ["try-it.yaml: not text in UTF-8 (byte 6)"]


def test_an_alias_of_yaml_that_holds_itself_is_reported_and_not_followed(tmp_path: Path) -> None:
    text = BASE.replace("  - start: all", "  - &step {start: all, at: *step}")
    assert problems(written(tmp_path, text)) != []


def test_a_missing_file_is_reported_with_the_nearest_one_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, BASE)
    with pytest.raises(ScenarioFileError, match=f"no such file; did you mean {path}"):
        find_scenario(str(tmp_path / "tri-it.yaml"))


def test_a_name_that_is_neither_file_nor_library_is_reported_with_the_nearest_of_the_library() -> None:
    with pytest.raises(
        ScenarioFileError, match="neither a file nor a scenario of the library; did you mean controller-race"
    ):
        find_scenario("controler-race")


def test_a_directory_is_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError, match="is a directory"):
        find_scenario(str(tmp_path))


def test_every_file_of_the_library_begins_with_its_name() -> None:
    """test_library.py reads the rest of the files."""
    first_lines = [find_scenario(name).read_text(encoding="utf-8").partition("\n")[0] for name in library_names()]
    assert first_lines == [f"name: {name}" for name in library_names()]


@pytest.mark.parametrize("name", library_names())
def test_every_file_of_the_library_states_the_version_that_it_shows(name: str) -> None:
    """So that a run means the same whatever the default is, and the reference page can tell."""
    cluster = of_library(name).scenario.cluster
    assert cluster.release is not None or PROTOCOL_VERSION in cluster.settings


def test_the_library_has_what_it_should_have() -> None:
    assert library_names() == [
        "bounced-broker",
        "broker-crash-and-return",
        "broker-without-replicas-dies",
        "consumer-crash-cooperative-sticky",
        "consumer-crash-range",
        "consumer-crash-round-robin",
        "consumer-crash-sticky",
        "controller-and-leader-lost",
        "controller-failover",
        "controller-frozen-under-producers",
        "controller-lost-with-its-replicas",
        "controller-race",
        "deletion-with-dead-broker",
        "fault-cancelled-to-dead-replicas",
        "fault-controller-deleted-during-failover",
        "fault-controller-epoch-lowered",
        "fault-controller-epoch-touched",
        "fault-controller-epoch-unreadable",
        "fault-controller-overwritten",
        "fault-controller-unreadable",
        "fault-deletion-during-reassignment",
        "fault-deletion-stuck-in-reassignment",
        "fault-deletion-without-state",
        "fault-elections-without-end",
        "fault-elections-without-end-reassigned",
        "fault-empty-replica-list",
        "fault-isr-change-is-not-repeated",
        "fault-isr-change-is-refused-after-a-lost-answer",
        "fault-isr-change-stays-pending",
        "fault-isr-names-no-replica",
        "fault-leader-without-a-successor",
        "fault-left-over-state",
        "fault-leftover-requests",
        "fault-log-of-a-deleted-topic",
        "fault-own-id-in-controller",
        "fault-reassigned-anew",
        "fault-reassigned-to-nobody",
        "fault-reassigned-without-state",
        "fault-recreated-over-deleted-znodes",
        "fault-registration-deleted",
        "fault-replaced-reassignment-takes-the-leader",
        "fault-replica-named-twice",
        "fault-replicas-removed-by-hand",
        "fault-request-unseen",
        "fault-state-deleted",
        "fault-stray-replica",
        "fault-unreadable-registration",
        "fault-unreadable-request",
        "fault-unreadable-state",
        "fault-unreadable-topic",
        "follower-leads-before-it-hears",
        "follower-outlives-its-session",
        "isr-below-min-insync-replicas",
        "isr-change-asked-of-a-frozen-broker",
        "isr-shrinks-without-zookeeper",
        "last-isr-member-lost",
        "leader-asks-a-former-controller",
        "leader-crash-acks-all",
        "leader-crash-acks-one",
        "leader-cut-off-from-controller",
        "leader-cut-off-from-followers",
        "leader-cut-off-from-zookeeper",
        "lost-answer-duplicates",
        "migration-to-kraft",
        "min-insync-replicas-refuse",
        "one-way-partition",
        "partition-expansion",
        "preferred-election-after-rolling-restart",
        "producer-ids-without-a-controller",
        "protocol-version-lowered",
        "rack-loss",
        "reassignment-cancelled",
        "reassignment-controller-killed",
        "reassignment-waits-for-a-dead-broker",
        "regex-subscription-meets-new-topic",
        "restart-unseen",
        "rolling-restart",
        "rolling-restart-of-twelve",
        "rolling-restart-without-controlled-shutdown",
        "rolling-upgrade",
        "segments-rolled",
        "session-expiry",
        "slow-follower-leaves-and-rejoins",
        "stale-event-after-expiry",
        "topic-deleted-after-a-refused-replica",
        "topic-recreated-while-a-broker-was-away",
        "two-racks-lost",
        "unclean-election-loses-counted-records",
        "zombie-controller",
        "zombie-deletes-topic",
        "zookeeper-leader-loss",
        "zookeeper-quorum-loss",
        "zookeeper-quorum-lost-under-producers",
    ]


def test_an_alias_that_refers_to_what_it_stands_in_is_refused(tmp_path: Path) -> None:
    assert problems(written(tmp_path, "&all\nname: *all\n")) == ["try-it.yaml:1: an alias (*) refers to what it stands in"]


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f"name: {'[' * 700}")
    assert problems(path) == ["try-it.yaml: not a scenario: lists within lists without end"]


def test_aliases_of_aliases_are_refused_at_once(tmp_path: Path) -> None:
    """Thirty lines that stand for 10^30 values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    path = written(tmp_path, "\n".join(lines))
    assert problems(path) == ["try-it.yaml: not a scenario: more than 100000 keys and items, with those of aliases"]


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    """Example: kcsim run <(generate-it)"""
    reading, writing = os.pipe()
    os.write(writing, BASE.encode())
    os.close(writing)
    try:
        assert load_scenario(find_scenario(f"/dev/fd/{reading}")).scenario.name == "try-it"
    finally:
        os.close(reading)


def test_no_name_is_no_scenario() -> None:
    with pytest.raises(ScenarioFileError, match="'': names no scenario"):
        find_scenario("")


def test_a_scenario_in_which_nothing_is_judged_is_refused(tmp_path: Path) -> None:
    nothing = BASE.partition("expect:")[0] + "invariants: none\n"
    message = "nothing is checked: write expect, or name invariants"
    assert problems(written(tmp_path, nothing)) == [f"try-it.yaml:8: {message}"]
