"""Consumer groups in scenario files: mistakes are reported with their line and the nearest right word."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from kcsim.brokers.clients.consumer_config import ConsumerConfig, ConsumerSpec
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.groups.assignors.subscriptions import TopicList, TopicPattern
from kcsim.scenarios.engine.declared_clients import consumers_of
from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_scenario
from tests.scenarios.language.json_schema import accepts, scenario_schema
from tests.scenarios.scenario_files import WITH_TOPICS, WITH_WORKLOAD, written

GROUP = "billing: {members: [c1, c2], topics: orders}"


def problems(path: Path) -> list[str]:
    with pytest.raises(ScenarioFileError) as refused:
        load_scenario(path)
    return [str(problem).removeprefix(f"{path}:") for problem in refused.value.problems]


def declared(tmp_path: Path, group: str) -> list[ConsumerSpec]:
    """Return the consumers of a file with this group."""
    loaded = load_scenario(written(tmp_path, WITH_TOPICS + f"workload:\n  groups:\n    {group}\n"))
    return consumers_of(loaded.scenario.workload.groups)


def test_members_share_what_their_group_says(tmp_path: Path) -> None:
    group = "billing: {members: [c1, c2], topics: orders, assignors: sticky, settings: {session.timeout.ms: 20000}}"
    config = ConsumerConfig((AssignmentStrategy.STICKY,), session_timeout_ms=20_000)
    assert declared(tmp_path, group) == [
        ConsumerSpec(name, "billing", TopicList(("orders",)), None, config) for name in ("c1", "c2")
    ]


def test_a_member_may_do_otherwise_than_its_group(tmp_path: Path) -> None:
    own = "c1: {pattern: cli.*}, c2: {topics: clicks, assignors: [sticky, range]}, c3: {}"
    first, second, third = declared(tmp_path, f"billing: {{members: {{{own}}}, topics: orders}}")
    assert first.subscription == TopicPattern("cli.*")
    assert second.subscription == TopicList(("clicks",))
    assert second.config.partition_assignment_strategy == (AssignmentStrategy.STICKY, AssignmentStrategy.RANGE)
    assert (third.subscription, third.config) == (TopicList(("orders",)), ConsumerConfig())


def test_static_members_go_by_their_names(tmp_path: Path) -> None:
    only, *_ = declared(tmp_path, "billing: {members: [c1], topics: orders, static: true}")
    assert only.instance_id == "c1"


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("billing: {topics: orders}", "members is missing"),
        ("billing: {members: [], topics: orders}", "members is empty"),
        ("billing: {members: [c1, c1], topics: orders}", "'c1' is named twice"),
        ("billing: {members: [C1], topics: orders}", "members: 'C1' does not match"),
        ("billing: {members: [c1]}", "c1 subscribes to no topic: write topics or pattern"),
        ("billing: {members: [c1], topics: ordrs}", "unknown topic 'ordrs'; did you mean orders?"),
        ("billing: {members: [c1], topics: orders, pattern: o.*}", "a subscription is a list of topics or a pattern, not"),
        ("billing: {members: {c1: {topics: orders, pattern: o.*}}}", "a subscription is a list of topics or a pattern, not"),
        ("billing: {members: [c1], pattern: 'o('}", "'o(' is no"),
        ("billing: {members: [c1], topics: orders, assignors: stiky}", "unknown assignor 'stiky'; did you mean sticky?"),
        ("billing: {members: [c1], topics: orders, assignors: []}", "an empty list names no assignor"),
        ("billing: {members: [c1], topics: orders, assignor: sticky}", "unknown key 'assignor'; did you mean assignors?"),
        ("billing: {members: [c1], topics: orders, static: maybe}", "static: 'maybe' is neither true nor false"),
        (
            "billing: {members: [c1], topics: orders, settings: {session.timout.ms: 1}}",
            "unknown consumer setting 'session.timout.ms'; did you mean session.timeout.ms?",
        ),
        (
            "billing: {members: [c1], topics: orders, settings: {session.timeout.ms: 0}}",
            "0 is no value of session.timeout.ms, which is a whole number from 1",
        ),
        (
            "billing: {members: [c1], topics: orders, settings: {auto.offset.reset: none}}",
            "'none' is no value of auto.offset.reset, which is earliest or latest",
        ),
        (
            "billing: {members: [c1], topics: orders, settings: {heartbeat.interval.ms: 10000}}",
            "Kafka refuses these settings: heartbeat.interval.ms is 10000; it has to be less than session.timeout.ms, 10000",
        ),
        (f"{GROUP}\n    audit: {{members: [c2], topics: orders}}", "consumer 'c2' is in two groups"),
    ],
)
def test_a_wrong_group_is_reported(tmp_path: Path, group: str, message: str) -> None:
    path = written(tmp_path, WITH_TOPICS + f"workload:\n  groups:\n    {group}\n")
    lines = problems(path)
    assert [line for line in lines if line.split(": ", 1)[1].startswith(message)], lines
    assert int(lines[0].split(":")[0]) >= 13


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("start-consumers: c3", "11: unknown consumer 'c3'; did you mean c"),
        ("stop-consumers: zebra", "11: unknown consumer 'zebra'; there are c1, c2"),
        ("crash-consumers: []", "11: an empty list names no consumer"),
        ("crash-consumers: [c1, c1]", "11: 'c1' is named twice"),
        ("crash-consumer: c1", "11: unknown verb 'crash-consumer'; did you mean crash-consumers?"),
        ("stall-consumers: c1", "11: for is missing"),
        ("stall-consumers: c1\n    for: 6", "12: 6 has no unit"),
        ("wait: {assignment: {c9: none}}", "11: unknown consumer 'c9'; did you mean"),
        ("wait: {assignment: {c1: [orders-9]}}", "11: unknown partition 'orders-9'; orders has 0 to 1"),
        ("wait: {assignment: {c1: []}}", "11: an empty list names no partition; write none"),
        ("wait: {assignment: {}}", "11: {} names no consumer"),
        ("wait: {groups: {biling: {state: Stable}}}", "11: unknown group 'biling'; did you mean billing?"),
        ("wait: {groups: {billing: {state: stable}}}", "11: 'stable' is no state of a group; did you mean Stable?"),
        ("wait: {groups: {billing: {generation: -1}}}", "11: -1 is no generation"),
        ("wait: {groups: {billing: {generaton: 1}}}", "11: unknown key 'generaton'; did you mean generation?"),
        ("wait: {moved: {billing: all}}", "11: 'all' is no partition"),
        ("wait: {unconsumed: {billing: {orders-0: {at-mots: 1s}}}}", "11: unknown key 'at-mots'; did you mean at-most?"),
        ("wait: {unconsumed: {billing: {orders-0: {at-most: 5}}}}", "11: 5 has no unit; write 5ms or 5s"),
        ("wait: {event: {kind: PartitionsAssigned, node: consumer-c7}}", "11: unknown name 'consumer-c7'; did you mean"),
        ("wait: {event: {kind: PartitionsAssigned, partitions: [0]}}", "11: [0] is no value of partitions, which holds a"),
    ],
)
def test_a_wrong_word_about_consumers_is_reported_with_its_line(tmp_path: Path, step: str, message: str) -> None:
    lines = problems(written(tmp_path, WITH_WORKLOAD.replace("expect:", f"  - {step}\nexpect:")))
    assert [line for line in lines if line.startswith(message)], lines


@pytest.mark.parametrize(
    "group",
    [
        "billing: {members: [], topics: orders}",
        "billing: {members: [c1, c1], topics: orders}",
        "billing: {members: [C1], topics: orders}",
        "billing: {members: {c1: {topic: orders}}, topics: orders}",
        "billing: {members: [c1], topics: orders, pattern: o.*}",
        "billing: {members: [c1], topics: orders, assignors: stiky}",
        "billing: {members: [c1], topics: orders, settings: {session.timeout.ms: 0}}",
        "billing: {members: [c1], topics: orders, settings: {auto.offset.reset: none}}",
        "bil ling: {members: [c1], topics: orders}",
        "billing: {members: [c1]}",
        "billing: {members: {c1: {topics: orders}, c2: {assignors: sticky}}}",
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(tmp_path: Path, group: str) -> None:
    path = written(tmp_path, WITH_TOPICS + f"workload:\n  groups:\n    {group}\n")
    assert problems(path)
    assert not accepts(scenario_schema(), YAML(typ="safe").load(path.read_text()))
