"""What a page is told of the cluster is what ClusterState says of it, after each event."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from kcsim.scenarios.reporting.state_changes import FAMILIES, FAMILIES_OF_LANES, StateChanges
from kcsim.scenarios.state import ClusterState
from kcsim.zk.events import Event, EventKind
from tests.scenarios.made_up import Story
from tests.scenarios.reporting.conftest import run_of

RUNS = (
    "controller-failover",
    "consumer-crash-cooperative-sticky",
    "rack-loss",
    "reassignment-cancelled",
    "deletion-with-dead-broker",
    "leader-crash-acks-all",
)
State = dict[str, dict[str, Any]]


def as_shown(state: ClusterState) -> Mapping[str, Any]:
    """What a page says of a state, written down the obvious way."""
    topics = state.of_topics
    partitions = {str(p) for topic in topics.topics for p in _partitions(topics.topics, topic)}
    return {
        "controller": state.controller_id,
        "epoch": state.controller_epoch,
        "registered": set(state.registered.items()),
        "process": dict(state.processes),
        "session": dict(state.sessions),
        "znode": {
            path: [z.data, z.zk_version, z.czxid, z.zxid, int(z.ephemeral), z.session_id] for path, z in state.znodes.items()
        },
        "partitions": partitions,
        "leaders": {str(p): topics.leader(p) for p in topics.partitions()},
        "isr": {str(p): list(topics.isr(p)) for p in topics.partitions()},
        "offline": {str(p) for p in topics.offline(state.registered)},
        "under": {str(p) for p in topics.under_replicated()},
        "reassigning": {str(p) for p in topics.reassigning()},
        "owned": {node: list(owned) for node, owned in state.of_consumers.owned.items()},
        "groups": {name: [group.state, group.generation] for name, group in state.of_consumers.groups.items()},
        "metrics": dict(state.of_metrics.now),
    }


def _partitions(topics: Mapping[str, Any], topic: str) -> Iterable[str]:
    return (f"{topic}-{number}" for number in topics[topic].assignments)


def as_told(told: State) -> Mapping[str, Any]:
    """The same, from what a page is told."""
    partitions = told["partition"]
    kept = {name: value for name, value in partitions.items() if "d" not in value[4]}
    return {
        "controller": told["controller"].get(""),
        "epoch": told["epoch"].get(""),
        "registered": {(int(name.removeprefix("broker-")), value[0]) for name, value in told["registered"].items()},
        "process": {name: value for name, value in told["process"].items() if not name.startswith(("member-", "producer-"))},
        "session": told["session"],
        "znode": told["znode"],
        "partitions": set(partitions),
        "leaders": {name: None if value[1] == -1 else value[1] for name, value in kept.items()},
        "isr": {name: value[3] for name, value in kept.items()},
        "offline": {name for name, value in kept.items() if "o" in value[4]},
        "under": {name for name, value in kept.items() if "u" in value[4]},
        "reassigning": {name for name, value in partitions.items() if value[5] or value[6]},
        "owned": {node: value[0] for node, value in told["owned"].items()},
        "groups": told["group"],
        "metrics": told["metric"],
    }


def take_over(told: State, changes: StateChanges, families: Iterable[str] = FAMILIES) -> None:
    for family, name, value in changes.take(families):
        if value is None:
            told[family].pop(name, None)
        else:
            told[family][name] = value


def empty() -> State:
    return {family: {} for family in FAMILIES}


@pytest.mark.parametrize("name", RUNS)
def test_after_each_event_it_is_the_state_of_the_cluster(name: str) -> None:
    told, changes, state = empty(), StateChanges(), ClusterState()
    for event in run_of(name):
        changes.apply(event)
        state.apply(event)
        take_over(told, changes)
        assert as_told(told) == as_shown(state), f"after event #{event.seq}, a {event.kind}"


@pytest.mark.parametrize("every", [7, 100])
def test_changes_that_are_taken_seldom_come_to_the_same(every: int) -> None:
    """So it is where a page leaves events out: the next one that is kept brings all that has changed."""
    told, changes, state = empty(), StateChanges(), ClusterState()
    for place, event in enumerate(run_of("rack-loss")):
        changes.apply(event)
        state.apply(event)
        take_over(told, changes, FAMILIES_OF_LANES)
        if place % every == 0:
            take_over(told, changes)
            assert as_told(told) == as_shown(state), f"after event #{event.seq}"


def test_a_broker_holds_itself_for_controller_until_it_resigns_or_dies() -> None:
    """Which is longer than /controller names it: that is what a zombie is."""
    zombie = "broker-2"
    seen: list[tuple[object, ...]] = []
    told, changes = empty(), StateChanges()
    for event in run_of("controller-failover"):
        changes.apply(event)
        take_over(told, changes)
        now = told["controller"].get(""), told["role"].get(zombie), told["process"].get(zombie)
        if not seen or seen[-1] != now:
            seen.append(now)
    assert seen == [
        (None, None, None),
        (None, None, "running"),
        (2, None, "running"),
        (2, 1, "running"),
        (2, 1, "paused"),
        (None, 1, "paused"),
        (3, 1, "paused"),
        (3, 1, "running"),
        (3, None, "running"),
        (None, None, "running"),
        (5, None, "running"),
    ]


def test_a_session_may_be_gone_without_its_owner_knowing() -> None:
    links: list[list[str]] = []
    told, changes = empty(), StateChanges()
    for event in run_of("controller-failover"):
        changes.apply(event)
        take_over(told, changes)
        if (link := told["link"].get("broker-2")) and (not links or links[-1] != link):
            links.append(list(link))
    assert [link[1:] for link in links[:4]] == [
        ["connected", "open"],
        ["connected", "closed"],
        ["suspended", "closed"],
        ["expired", "closed"],
    ]


def test_a_partition_is_offline_when_its_leader_is_not_registered_and_no_longer_when_it_is_back() -> None:
    story, changes = Story(), StateChanges()
    story.znode("/brokers/ids/1", "{}", zxid=1)
    story.znode("/brokers/topics/t", '{"version":2,"partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{}}')
    story.znode(
        "/brokers/topics/t/partitions/0/state", '{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}'
    )
    story.gone("/brokers/ids/1")
    story.znode("/brokers/ids/1", "{}", zxid=7)
    flags = []
    told = empty()
    for event in story.events:
        changes.apply(event)
        take_over(told, changes)
        flags.append(told["partition"].get("t-0", [None] * 5)[4])
    assert flags == [None, "ou", "", "o", ""]


def test_a_trace_that_began_late_changes_znodes_that_it_never_saw_made() -> None:
    changes = StateChanges()
    changes.apply(Event(7, 0, "zookeeper", EventKind.ZNODE_CHANGED, path="/a", data="new", zxid=9, zk_version=3))
    changed = {(change.family, change.name): change.value for change in changes.take()}
    assert changed == {("znode", "/a"): ["new", 3, 0, 9, 0, None]}


def test_a_server_of_zookeeper_is_what_a_confirmed_fault_made_of_it() -> None:
    told, changes = empty(), StateChanges()
    for seq, fault in enumerate(["kill", "start"]):
        changes.apply(Event(seq, 0, "scenario", EventKind.FAULT_CONFIRMED, fault=fault, target="member-2"))
        take_over(told, changes)
        assert told["process"] == {"member-2": ["dead", "running"][seq]}
