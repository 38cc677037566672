"""After each event, a page's view of the cluster, built from its change feed, equals ClusterState."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.trace.entity_feed import ENTITY_TYPES, LANE_ENTITY_TYPES, EntityFeed
from tests.scenarios.evaluated_log import EvaluatedLog
from tests.scenarios.views.page.conftest import run_of

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
    """Return what a page shows of a state, computed in the obvious way."""
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


def as_received(page_state: State) -> Mapping[str, Any]:
    """Return the same view, computed from the changes that a page has received."""
    partitions = page_state["partition"]
    kept = {name: value for name, value in partitions.items() if "d" not in value[4]}
    return {
        "controller": page_state["controller"].get(""),
        "epoch": page_state["epoch"].get(""),
        "registered": {(int(name.removeprefix("broker-")), value[0]) for name, value in page_state["registered"].items()},
        "process": {
            name: value for name, value in page_state["process"].items() if not name.startswith(("member-", "producer-"))
        },
        "session": page_state["session"],
        "znode": page_state["znode"],
        "partitions": set(partitions),
        "leaders": {name: None if value[1] == -1 else value[1] for name, value in kept.items()},
        "isr": {name: value[3] for name, value in kept.items()},
        "offline": {name for name, value in kept.items() if "o" in value[4]},
        "under": {name for name, value in kept.items() if "u" in value[4]},
        "reassigning": {name for name, value in partitions.items() if value[5] or value[6]},
        "owned": {node: value[0] for node, value in page_state["owned"].items()},
        "groups": page_state["group"],
        "metrics": page_state["metric"],
    }


def take_over(page_state: State, changes: EntityFeed, families: Iterable[str] = ENTITY_TYPES) -> None:
    for family, name, value in changes.take(families):
        if value is None:
            page_state[family].pop(name, None)
        else:
            page_state[family][name] = value


def empty() -> State:
    return {family: {} for family in ENTITY_TYPES}


@pytest.mark.parametrize("name", RUNS)
def test_after_each_event_it_is_the_state_of_the_cluster(name: str) -> None:
    page_state, changes, state = empty(), EntityFeed(), ClusterState()
    for event in run_of(name):
        changes.apply(event)
        state.apply(event)
        take_over(page_state, changes)
        assert as_received(page_state) == as_shown(state), f"after event #{event.seq}, a {event.kind}"


@pytest.mark.parametrize("every", [7, 100])
def test_changes_that_are_taken_seldom_come_to_the_same(every: int) -> None:
    """A page that leaves events out takes changes seldom: the next event that is kept brings all changes."""
    page_state, changes, state = empty(), EntityFeed(), ClusterState()
    for place, event in enumerate(run_of("rack-loss")):
        changes.apply(event)
        state.apply(event)
        take_over(page_state, changes, LANE_ENTITY_TYPES)
        if place % every == 0:
            take_over(page_state, changes)
            assert as_received(page_state) == as_shown(state), f"after event #{event.seq}"


def test_a_broker_holds_itself_for_controller_until_it_resigns_or_dies() -> None:
    """This is longer than /controller names the broker: until then a former controller is a zombie."""
    zombie = "broker-3"
    seen: list[tuple[object, ...]] = []
    page_state, changes = empty(), EntityFeed()
    for event in run_of("controller-failover"):
        changes.apply(event)
        take_over(page_state, changes)
        now = page_state["controller"].get(""), page_state["role"].get(zombie), page_state["process"].get(zombie)
        if not seen or seen[-1] != now:
            seen.append(now)
    assert seen == [
        (None, None, None),
        (None, None, "running"),
        (3, None, "running"),
        (3, 1, "running"),
        (3, 1, "paused"),
        (None, 1, "paused"),
        (5, 1, "paused"),
        (5, 1, "running"),
        (5, None, "running"),
        (None, None, "running"),
        (4, None, "running"),
    ]


def test_a_session_may_be_gone_without_its_owner_knowing() -> None:
    links: list[list[str]] = []
    page_state, changes = empty(), EntityFeed()
    for event in run_of("controller-failover"):
        changes.apply(event)
        take_over(page_state, changes)
        if (link := page_state["link"].get("broker-3")) and (not links or links[-1] != link):
            links.append(list(link))
    assert [link[1:] for link in links[:4]] == [
        ["connected", "open"],
        ["connected", "closed"],
        ["suspended", "closed"],
        ["expired", "closed"],
    ]


def test_a_partition_is_offline_when_its_leader_is_not_registered_and_no_longer_when_it_is_back() -> None:
    story, changes = EvaluatedLog(), EntityFeed()
    story.znode("/brokers/ids/1", "{}", zxid=1)
    story.znode("/brokers/topics/t", '{"version":2,"partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{}}')
    story.znode(
        "/brokers/topics/t/partitions/0/state", '{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}'
    )
    story.gone("/brokers/ids/1")
    story.znode("/brokers/ids/1", "{}", zxid=7)
    flags = []
    page_state = empty()
    for event in story.events:
        changes.apply(event)
        take_over(page_state, changes)
        flags.append(page_state["partition"].get("t-0", [None] * 5)[4])
    assert flags == [None, "ou", "", "o", ""]


def test_a_trace_that_began_late_changes_znodes_that_it_never_saw_made() -> None:
    changes = EntityFeed()
    changes.apply(Event(7, 0, "zookeeper", EventKind.ZNODE_CHANGED, path="/a", data="new", zxid=9, zk_version=3))
    changed = {(change.entity_type, change.name): change.value for change in changes.take()}
    assert changed == {("znode", "/a"): ["new", 3, 0, 9, 0, None]}


def test_a_server_of_zookeeper_is_what_a_confirmed_fault_made_of_it() -> None:
    page_state, changes = empty(), EntityFeed()
    for seq, fault in enumerate(["kill", "start"]):
        changes.apply(Event(seq, 0, "scenario", EventKind.FAULT_CONFIRMED, fault=fault, target="member-2"))
        take_over(page_state, changes)
        assert page_state["process"] == {"member-2": ["dead", "running"][seq]}
