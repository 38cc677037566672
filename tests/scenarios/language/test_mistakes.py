"""Typing mistakes in a first scenario: the error message alone shows the line, the mistake, and what was meant."""

import pytest

from kcsim.scenarios.language.new_scenario import FIRST
from kcsim.scenarios.language.scenario_file import ScenarioFileError, load_text

UNFITTING = "its indentation does not fit the lines above it: what belongs together begins in the same column"


def problems_with(*changes: tuple[str, str]) -> list[str]:
    """Return the errors of the first scenario with these mistakes: the text of each reported line, and the message."""
    text = FIRST.read_text(encoding="utf-8")
    for right, wrong in changes:
        assert right in text
        text = text.replace(right, wrong, 1)
    with pytest.raises(ScenarioFileError) as refused:
        load_text(text, "my.yaml")
    lines = text.splitlines()
    return [f"{_bare(lines[(problem.line or 1) - 1])} | {problem.message}" for problem in refused.value.problems]


def _bare(line: str) -> str:
    """Return a line of the file without its comment."""
    return line.partition(" #")[0].strip()


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        # words
        ("timetable:", "timetabel:", "timetabel: | unknown key 'timetabel'; did you mean timetable?"),
        ("brokers: 3", "broker: 3", "broker: 3 | unknown key 'broker'; did you mean brokers?"),
        ("- kill:", "- crash:", "- crash: leader-of orders-0 | unknown verb 'crash'; did you mean kill?"),
        ("- kill:", "- reboot:", "- reboot: leader-of orders-0 | unknown verb 'reboot'; did you mean restart?"),
        ("leader-of orders-0", "leader", "- kill: leader | unknown name 'leader'; did you mean leader-of orders-0?"),
        ("leader-of orders-0", "orders-1", "- kill: orders-1 | unknown name 'orders-1'; did you mean leader-of orders-1?"),
        (
            "as: crashed",
            "as: crashed\n    within: 10s",
            "within: 10s | unknown key 'within'; it bounds a condition: write when: {controller: any, within: 20s}",
        ),
        (
            "as: crashed",
            "as: crashed\n    for: 10s",
            "for: 10s | unknown key 'for'; write a step that undoes this one, with `after: 10s`",
        ),
        (
            "- wait: {controller: any}",
            "- wait: {controller: any, within: 5s}\n    within: 10s",
            "within: 10s | within is there twice, here and in the condition",
        ),
        ("lost: 0", "losses: 0", "losses: 0 | unknown key 'losses'; did you mean lost?"),
        (
            "leader-of orders-0",
            "broker-4",
            "- kill: broker-4 | unknown broker 'broker-4'; there are broker-1 to broker-3, the nearest is broker-3",
        ),
        ("leader-of orders-0", "broker1", "- kill: broker1 | unknown name 'broker1'; did you mean broker-1?"),
        ("leader-of orders-0", "1", "- kill: 1 | 1 is no name of a broker; write broker-1"),
        (
            "leader-of orders-0",
            "leader-of orders-7",
            "- kill: leader-of orders-7 | unknown partition 'orders-7'; orders has 0 to 1",
        ),
        (
            "create-topic: orders",
            "create-topic: order",
            "- create-topic: order | unknown topic 'order'; did you mean orders?",
        ),
        (
            "- create-topic: orders",
            "- resume: crashed",
            "- resume: crashed | 'crashed' is used before a step has given this name",
        ),
        (
            "zookeeper.session.timeout.ms",
            "zookeeper.session.timeout",
            "zookeeper.session.timeout: 2000 | unknown setting 'zookeeper.session.timeout'; "
            "did you mean zookeeper.session.timeout.ms?",
        ),
        (
            "OfflinePartitionsCount",
            "OfflinePartitionCount",
            "metrics: {OfflinePartitionCount: 0, ActiveControllerCount: 1} | unknown metric 'OfflinePartitionCount'; "
            "did you mean OfflinePartitionsCount?",
        ),
        (
            "expect:",
            "invariants: [epoch-never-goes-back]\nexpect:",
            "invariants: [epoch-never-goes-back] | unknown invariant 'epoch-never-goes-back'; "
            "did you mean epochs-never-go-back?",
        ),
        # values of events
        *(
            ("{controller: any}", f"{{event: {{{wrong}}}}}", f"- wait: {{event: {{{wrong}}}}} | {message}")
            for wrong, message in (
                ("kind: LeaderElection, topic: ordres", "no such event has topic 'ordres'; did you mean orders?"),
                ("kind: LeaderElection, topic: orders, partition: 2", "orders has no partition 2; it has 0 to 1"),
                ("kind: ZnodeChanged, path: /controler", "Kafka has no znode /controler; did you mean /controller?"),
                (
                    "kind: ZnodeChanged, path: /brokers/topics/ordres/partitions/0/state",
                    "no such event has path 'ordres'; did you mean orders?",
                ),
                ("kind: ProcessState, state: died", "no such event has state 'died'; did you mean dead?"),
                (
                    "kind: ElectionWon, topic: orders",
                    "ElectionWon has no column topic; it has node, controller-id, controller-epoch, "
                    "controller-epoch-zk-version, rule",
                ),
            )
        ),
        # values
        ("after: 2s", "after: 2", "after: 2 | 2 has no unit; write 2ms or 2s"),
        (
            "after: 2s",
            "after: 2 seconds",
            "after: 2 seconds | '2 seconds' is no duration: unknown unit 'seconds'; did you mean 2s?",
        ),
        (
            "timeout.ms: 2000",
            "timeout.ms: 2s",
            "zookeeper.session.timeout.ms: 2s | '2s' is no value of zookeeper.session.timeout.ms, "
            "which is a whole number of milliseconds from 1 to 2147483647",
        ),
        ("brokers: 3", "brokers: three", "brokers: three | brokers: 'three' is no whole number"),
        (
            "as: crashed",
            "as: [crashed, other]",
            "as: [crashed, other] | ['crashed', 'other'] cannot be a name; write small letters, digits and hyphens, "
            "as in old-controller",
        ),
        (
            "wait: {controller: any}",
            "wait: 5s",
            "- wait: 5s | '5s' is no condition; write one as {controller: any}; to let time pass, "
            "write `after: 5s` at the step that comes then",
        ),
        (
            '">= 100"',
            "at least 100",
            "acknowledged: at least 100 | 'at least 100' is no number of records; write 120, "
            "or a comparison in quotes, as '>= 120'",
        ),
        (
            "expect:",
            "afterwards: true\nexpect:",
            "afterwards: true | true is not a list of final actions; write {heal: true}",
        ),
        # steps
        ("- start: all", "- start all", "- start all | 'start all' is no step; did you mean - start: all?"),
        ("- start: all", "- start:all", "- start:all | 'start:all' is no step; did you mean - start: all?"),
        ("- start: all", "- start:", "- start: | start has no value"),
        (
            "  - create-topic: orders",
            "    create-topic: orders",
            "- wait: {controller: any} | a step does one thing, this one has create-topic and wait; "
            "write two steps, each with a -",
        ),
        # YAML
        (
            "  - create-topic: orders",
            "   - create-topic: orders",
            f"- create-topic: orders | not YAML: {UNFITTING}: - create-topic: orders",
        ),
        (
            "  - create-topic: orders",
            "- create-topic: orders",
            f"- create-topic: orders | not YAML: a list item: {UNFITTING}: - create-topic: orders",
        ),
        (
            "    as: crashed",
            "  as: crashed",
            f"as: crashed | not YAML: {UNFITTING}: as: crashed",
        ),
        ("  - start: all", "  -start: all", "-start: all | not YAML: a - needs a space after it: -start: all"),
        (
            "    after: 2s",
            "\tafter: 2s",
            "after: 2s | not YAML: there is a tab in it; YAML is indented with spaces only: after: 2s",
        ),
        (
            "timetable:",
            "timetable",
            "timetable | not YAML: a key needs a colon after it, and a space after the colon: timetable",
        ),
        (
            "{controller: any}",
            "{controller: any",
            "- wait: {controller: any | not YAML: a bracket that is opened here is not closed: - wait: {controller: any",
        ),
        (
            '">= 100"',
            '">= 100',
            'acknowledged: ">= 100 | not YAML: a quote that is opened here is not closed: acknowledged: ">= 100',
        ),
        (
            '">= 100"',
            ">= 100",
            "acknowledged: >= 100 | not YAML: a text cannot begin with > or |: put the text in quotes, as '>= 120': "
            "acknowledged: >= 100",
        ),
        (
            "claim: Another broker leads",
            "claim: Here: another broker leads",
            f"- claim: Here: another broker leads, and the crashed one is in sync again. | not YAML: a second colon: "
            f"{UNFITTING}; or, if the colon is part of a text, put the text in quotes: "
            "- claim: Here: another broker leads, and the crashed one is in sync again.",
        ),
        ("expect:", "name: twice\nexpect:", "name: twice | key 'name' is there twice"),
    ],
)
def test_a_mistake_is_reported_once_where_it_is_with_what_was_meant(right: str, wrong: str, message: str) -> None:
    assert problems_with((right, wrong)) == [message]


def test_all_mistakes_are_reported_at_once() -> None:
    assert problems_with(("brokers: 3", "broker: 3"), ("after: 2s", "after: 2"), ("lost: 0", "loss: 0")) == [
        "broker: 3 | unknown key 'broker'; did you mean brokers?",
        "after: 2 | 2 has no unit; write 2ms or 2s",
        "loss: 0 | unknown key 'loss'; did you mean lost?",
    ]


def test_a_key_that_is_merely_missing_is_reported_where_it_belongs() -> None:
    (line,) = problems_with(("name: first-scenario\n", ""))
    assert (line.split(":")[0], line.split(" | ")[1]) == ("description", "name is missing")
