"""The network steps of a scenario file are checked before anything is started: links, amounts, and request names."""

from pathlib import Path

import pytest

from kcsim.brokers import requests as broker_requests
from kcsim.brokers.admin import change_requests
from kcsim.brokers.admin import requests as admin_requests
from kcsim.brokers.groups import requests as group_requests
from kcsim.brokers.wire.apis.registry import APIS, name_of_request
from kcsim.controller import requests as controller_requests
from kcsim.controller.decisions import state_change_requests
from kcsim.scenarios.language.network_steps import BreakConnectionsStep, LossyLinkStep, NetworkPartitionStep, SlowLinkStep
from kcsim.scenarios.language.network_types import REQUESTS
from kcsim.scenarios.language.scenario_file import load_scenario
from tests.scenarios.language.test_scenario_file import problems
from tests.scenarios.scenario_files import BASE, WITH_TOPICS, written

IN_RACKS = BASE.replace("brokers: 3", "brokers: 3\n  racks: 2")
WITH_PRODUCER = WITH_TOPICS.replace("timetable:", "workload:\n  producers: {clerk: {topics: orders, rate: 10}}\ntimetable:")

OF_ADMINISTRATORS = {"LeaveGroupMembers"}
"""A request of Kafka's own clients that has the name of another: LeaveGroup."""


def with_step(step: str, base: str = BASE) -> str:
    return base.replace("expect:", f"  - {step}\nexpect:")


def test_links_go_both_ways_or_one_way(tmp_path: Path) -> None:
    steps = """\
  - partition: {between: controller, and: [broker-2, broker-3]}
    for: 5s
  - slow-link: {from: broker-1, to: all, delay: 1.5s, jitter: 500ms}
  - lossy-link: {from: broker-1, to: broker-2, loss: 0.5%, break: 100%}
expect:"""
    *_, cut, slow, lossy = load_scenario(written(tmp_path, BASE.replace("expect:", steps))).scenario.timetable
    assert isinstance(cut, NetworkPartitionStep)
    assert (cut.partition.sources, cut.partition.targets) == (("controller",), ("broker-2", "broker-3"))
    assert (cut.partition.is_both_ways, cut.partition.refuse, cut.for_) == (True, False, 5_000)
    assert isinstance(slow, SlowLinkStep)
    assert (slow.slow_link.targets, slow.slow_link.is_both_ways) == (("all",), False)
    assert (slow.slow_link.delay, slow.slow_link.jitter, slow.for_) == (1_500, 500, None)
    assert isinstance(lossy, LossyLinkStep)
    assert (lossy.lossy_link.loss, lossy.lossy_link.break_) == (0.005, 1.0)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("partition: {between: broker-1, and: broker-4}", "8: unknown broker 'broker-4'; there are broker-1 to broker-3"),
        ("partition: {between: broker-1, and: [broker-2, brokr-3]}", "8: unknown name 'brokr-3'; did you mean broker-3?"),
        ("partition: {between: broker-1, and: []}", "8: the list is empty; write all, or a name"),
        ("partition: {between: broker-1, and: rack rack-1}", "8: unknown rack 'rack-1'; the brokers are in none"),
        (
            "partition: {between: broker-1}",
            "8: write which links: between some and others, or from some to others, not between",
        ),
        ("partition: {refuse: true}", "8: write which links: between some and others, or from some to others"),
        ("partition: {between: broker-1, to: broker-2}", "8: write which links: between some and others, or from some to"),
        ("partition: {from: [broker-1, broker-2], to: broker-2}", "8: 'broker-2' is on both sides, and what a node"),
        ("partition: {from: broker-1, too: broker-2}", "8: unknown key 'too'; did you mean to?"),
        ("partition: {from: broker-1, to: broker-2, one-way: true}", "8: unknown key 'one-way'; known are between, and"),
        ("partition: broker-1", "8: partition: 'broker-1' is no mapping of keys to values"),
        ("partition: {from: zombie, to: all}", "8: unknown name 'zombie'; write broker-1, controller, or a name given"),
        ("slow-link: {from: broker-1, to: broker-2}", "8: write how slow the link is: delay, bytes-per-second or both"),
        ("slow-link: {from: broker-1, to: broker-2, delay: -5ms}", "8: '-5ms' is no duration"),
        ("slow-link: {from: broker-1, to: broker-2, delay: 5ms, jitter: 6ms}", "8: a delay of 5 ms cannot vary by 6 ms"),
        ("lossy-link: {from: broker-1, to: broker-2}", "8: write how lossy the link is: loss, break or both, in percent"),
        ("lossy-link: {from: broker-1, to: broker-2, loss: 0.05}", "8: 0.05 is no share; write one in percent, as 5%"),
        ("lossy-link: {from: broker-1, to: broker-2, loss: 5}", "8: 5 is no share; write one in percent, as 5%"),
        ("lossy-link: {from: broker-1, to: broker-2, loss: some}", "8: 'some' is no share; write one in percent, as 5% or"),
        ("lossy-link: {from: broker-1, to: broker-2, break: 101%}", "8: 101% is more than all"),
        (
            "break-connections: {from: broker-1, to: broker-2, once-delivered: LeaderAndIrs}",
            "8: unknown request 'LeaderAndIrs'; did you mean LeaderAndIsr?",
        ),
        (
            "break-connections: {between: clients, and: all, let-through: 3}",
            "8: let-through counts requests of the type that once-delivered names",
        ),
        ("partition: {between: client, and: broker-1}", "8: unknown name 'client'; did you mean clients?"),
        (
            "inject-error: {request: Produse, error: NOT_CONTROLLER}",
            "8: unknown request whose answer can carry an error 'Prod",
        ),
        ("inject-error: {request: Fetch, error: NOT_LEADER}", "8: unknown error 'NOT_LEADER'; did you mean NOT_LEADER_OR_"),
        ("inject-error: {request: Fetch, error: NOT_CONTROLLER, partition: 1}", "8: write the topic of the partition, too"),
        ("inject-error: {request: Fetch, error: NOT_CONTROLLER, count: 0}", "8: "),
        ("heal: everything", "8: heal: 'everything' is not one of all"),
        ("heal: {between: broker-1, and: broker-5}", "8: unknown broker 'broker-5'"),
        ("partion: {between: broker-1, and: broker-2}", "8: unknown verb 'partion'; did you mean partition?"),
    ],
)
def test_a_wrong_word_is_reported_with_its_line_and_the_nearest_right_one(tmp_path: Path, step: str, message: str) -> None:
    lines = problems(written(tmp_path, with_step(step)))
    assert [problem for problem in lines if problem.startswith(f"try-it.yaml:{message}")], lines


def test_a_rack_is_one_that_brokers_are_in(tmp_path: Path) -> None:
    load_scenario(written(tmp_path, with_step("partition: {between: rack rack-1, and: rack rack-2}", IN_RACKS)))
    lines = problems(written(tmp_path, with_step("partition: {between: rack rack-3, and: all}", IN_RACKS)))
    assert lines == ["try-it.yaml:9: unknown rack 'rack-3'; did you mean rack-2?"]


def test_a_rack_goes_by_the_name_it_has_in_the_list_of_brokers(tmp_path: Path) -> None:
    base = BASE.replace("brokers: 3", "brokers: [{id: 1, rack: eu west}, {id: 2}, {id: 3, rack: us}]")
    load_scenario(written(tmp_path, with_step("heal: {between: [rack eu west, broker-2], and: rack us}", base)))


def test_producers_are_on_the_network_too(tmp_path: Path) -> None:
    load_scenario(written(tmp_path, with_step("partition: {between: producer-clerk, and: broker-1}", WITH_PRODUCER)))
    (only,) = problems(written(tmp_path, with_step("partition: {between: producer-clrk, and: broker-1}", WITH_PRODUCER)))
    assert only.endswith("unknown name 'producer-clrk'; did you mean producer-clerk?")


def test_kafkas_own_clients_are_on_the_network_all_or_by_their_id(tmp_path: Path) -> None:
    steps = """\
  - slow-link: {from: clients, to: all, bytes-per-second: 10000}
  - break-connections: {between: client order service, and: broker-1, once-delivered: CreateTopics, let-through: 2}
expect:"""
    *_, slow, broken = load_scenario(written(tmp_path, BASE.replace("expect:", steps))).scenario.timetable
    assert isinstance(slow, SlowLinkStep)
    assert (slow.slow_link.sources, slow.slow_link.delay, slow.slow_link.bytes_per_second) == (("clients",), 0, 10_000)
    assert isinstance(broken, BreakConnectionsStep)
    assert (broken.break_connections.sources, broken.break_connections.let_through) == (("client order service",), 2)


def test_every_request_that_travels_can_be_named() -> None:
    """A request is named by its class, as in the network."""
    modules = (
        broker_requests,
        group_requests,
        controller_requests,
        state_change_requests,
        admin_requests,
        change_requests,
    )
    classes = {name for module in modules for name, found in vars(module).items() if isinstance(found, type)}
    within = {name.removesuffix("Request") for name in classes if name.endswith("Request")}
    from_outside = {name_of_request(api_key.to_bytes(2, "big")) for api_key in APIS}
    assert (within | from_outside) - OF_ADMINISTRATORS == set(REQUESTS)


def test_a_name_given_with_as_is_given_before(tmp_path: Path) -> None:
    steps = "  - partition: {between: old, and: all}\n  - pause: controller\n    as: old\nexpect:"
    assert problems(written(tmp_path, BASE.replace("expect:", steps))) == [
        "try-it.yaml:8: 'old' is used before a step has given this name"
    ]
