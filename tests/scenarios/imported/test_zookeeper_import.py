"""A cluster's history out of ZooKeeper's files is the one that the run itself has told, and leads back to its beginning."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kcsim.scenarios.live_world as live_world
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.invariants import TREE_CHANGES
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from kcsim.scenarios.runner import cluster_spec, run_scenario
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.scenario_cluster import BrokerSpec, ClusterSpec
from kcsim.scenarios.state import ClusterState, Znode
from kcsim.scenarios.telling.causes import ROOTS
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk.events import Event, EventKind
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.transactions import CheckVersionTxn, ErrorTxn, Transaction, Txn, UnknownTxn
from kcsim.zk.servers.ports import ZooKeeperServers
from kcsim.zk.vocabulary import SessionId, ZkVersion, Zxid
from tests.brokers.topic_cluster import begin
from tests.requirements import require
from tests.scenarios.imported.histories import (
    SETTINGS,
    changes,
    imported,
    partition_histories,
    random_run,
    sessions_ended,
    told,
)
from tests.scenarios.imported.purged import purged

WON = (EventKind.ELECTION_WON, "controller_id", "controller_epoch", "controller_epoch_zk_version")
REGISTERED = (EventKind.BROKER_REGISTERED, "node", "broker_id", "broker_epoch")
LAST_WRITE = "the last write"


def library_run(name: str, directory: Path) -> EventLog:
    loaded = load_scenario(find_scenario(name))

    async def script(cluster: Cluster) -> None:
        await run_scenario(loaded, cluster)

    choice = ZooKeeperChoice.parse("simulated")
    return run_in_world(choice, cluster_spec(loaded.scenario), RunInfo(name, 1, ""), script, zk_log=directory)


# --- the same history ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_a_random_run_is_imported_as_it_was(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    directory = tmp_path_factory.mktemp("zk")
    run = random_run(directory, seed).events
    found = imported(directory)
    assert partition_histories(found) == partition_histories(run)
    assert changes(found) == changes(run)
    assert sessions_ended(found) == sessions_ended(run)
    assert folded(found).of_topics == folded(run).of_topics
    assert folded(found).znodes == folded(run).znodes


def folded(events: list[Event]) -> ClusterState:
    state = ClusterState()
    for event in events:
        state.apply(event)
    return state


@pytest.mark.parametrize("name", ["controller-failover", "reassignment-cancelled", "rack-loss", "deletion-with-dead-broker"])
def test_elections_and_registrations_are_found_again(tmp_path: Path, name: str) -> None:
    run = library_run(name, tmp_path).events
    found = imported(tmp_path)
    assert told(found, *WON) == told(run, *WON)
    assert sorted(told(found, *REGISTERED)) == sorted(told(run, *REGISTERED))
    assert partition_histories(found) == partition_histories(run)


def test_times_are_the_real_ones(tmp_path: Path) -> None:
    """Counted from the first transaction, whose time the first event tells."""
    run = library_run("broker-crash-and-return", tmp_path).events
    found = imported(tmp_path)
    first = next(e.t_ms for e in run if e.kind is EventKind.SESSION_CREATED)
    assert [e.t_ms + first for e in found if e.kind in TREE_CHANGES] == [e.t_ms for e in run if e.kind in TREE_CHANGES]
    assert found[0].data == f'{{"epoch_ms": {1_577_836_800_000 + first}}}'
    assert "it begins at 2020-01-01T00:00:00" in (found[0].detail or "")


def is_in_an_isr(cluster: Cluster, broker: int) -> bool:
    topics = cluster.state.of_topics
    return any(broker in topics.isr(tp) for tp in topics.partitions())


@pytest.mark.live
@pytest.mark.parametrize("on", ["embedded", "ensemble"])
def test_a_real_server_s_files_are_imported_as_the_run_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: str) -> None:
    require("java")
    servers: list[ZooKeeperServers] = []
    servers_of = live_world.servers_of

    def remembered(choice: ZooKeeperChoice, spec: ClusterSpec) -> ZooKeeperServers:
        servers.append(servers_of(choice, spec))
        return servers[-1]

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.kill("broker-2")
        await cluster.wait_until(lambda: "an ISR holds broker-2" if is_in_an_isr(cluster, 2) else None, 20_000)
        await cluster.zk_set("/consumers", LAST_WRITE)
        await cluster.wait_until(lambda: None if is_told(cluster) else "the last write is not in the run's log", 20_000)
        for name in servers[0].member_names:
            directory = servers[0].transaction_log_dir(name)
            assert directory is not None
            shutil.copytree(directory, tmp_path / name / "version-2")

    monkeypatch.setattr(live_world, "servers_of", remembered)
    spec = ClusterSpec(tuple(BrokerSpec(b) for b in (1, 2, 3)), SETTINGS, tick_time_ms=200)
    run = run_in_world(ZooKeeperChoice.parse(on), spec, RunInfo("test", 1, on), script).events
    found = max((imported(member) for member in tmp_path.iterdir()), key=len)  # one member may not have the last of it
    last = max(change.zxid or 0 for change in changes(found))
    known = [event for event in run if (event.zxid or 0) <= last]  # the cluster went on while they were copied
    assert changes(found) == changes(known)
    assert partition_histories(found) == partition_histories(known)
    assert told(found, *WON) == told(known, *WON)
    assert LAST_WRITE in [event.data for event in found]


def is_told(cluster: Cluster) -> bool:
    return cluster.state.znodes["/consumers"].data == LAST_WRITE


# --- what it tells besides -------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32))
@settings(max_examples=10)
def test_everything_leads_back_to_a_root(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    directory = tmp_path_factory.mktemp("zk")
    random_run(directory, seed)
    found = imported(directory)
    assert [e.seq for e in found] == list(range(len(found)))
    assert [e.seq for e in found if e.cause is not None and e.cause >= e.seq] == []
    assert [e.kind for e in found if e.cause is None and e.kind not in ROOTS] == []
    assert [e.t_ms for e in found] == sorted(e.t_ms for e in found)


def chain(events: list[Event], event: Event) -> list[tuple[EventKind, str | None]]:
    """From a cause that has none itself down to the event."""
    found = [event]
    while found[0].cause is not None:
        found.insert(0, events[found[0].cause])
    return [(e.kind, e.path) for e in found]


def test_a_new_leader_is_traced_to_the_session_that_its_predecessor_lost(tmp_path: Path) -> None:
    library_run("broker-crash-and-return", tmp_path)
    found = imported(tmp_path)
    election = [e for e in found if e.kind is EventKind.LEADER_ELECTION][-1]
    assert chain(found, election) == [
        (EventKind.RUN_STARTED, None),
        (EventKind.SESSION_CREATED, None),
        (EventKind.SESSION_CLOSED, None),
        (EventKind.ZNODE_DELETED, "/brokers/ids/2"),
        (EventKind.LEADER_ELECTION, None),
    ]
    assert (election.node, election.leader, election.leader_epoch, election.isr) == ("broker-1", 3, 1, (3, 1))
    (written,) = [e for e in found if e.cause == election.seq]
    assert (written.kind, written.path) == (EventKind.ZNODE_CHANGED, "/brokers/topics/orders/partitions/1/state")


def test_a_reassignment_is_told_from_its_request_to_its_end(tmp_path: Path) -> None:
    library_run("reassignment-controller-killed", tmp_path)
    found = imported(tmp_path)
    steps = told(found, EventKind.PARTITION_REASSIGNMENT, "topic", "partition", "step")
    assert {step for _, _, step in steps} == {"started", "completed"}
    first = next(e for e in found if e.kind is EventKind.PARTITION_REASSIGNMENT)
    assert chain(found, first)[0][0] in (EventKind.ADMIN_ACT, EventKind.RUN_STARTED)


def test_the_deletion_of_a_topic_follows_from_the_request(tmp_path: Path) -> None:
    library_run("deletion-with-dead-broker", tmp_path)
    found = imported(tmp_path)
    (done,) = [e for e in found if e.kind is EventKind.TOPIC_DELETION]
    asked = f"/admin/delete_topics/{done.topic}"
    assert [kind for kind, path in chain(found, done) if path == asked] == [EventKind.ADMIN_ACT, EventKind.ZNODE_CREATED]
    assert chain(found, done)[0] == (EventKind.ADMIN_ACT, asked)


def test_a_history_that_begins_with_a_snapshot_is_folded_to_the_same_state(tmp_path: Path) -> None:
    """As of a production cluster whose old logs were purged: what was there is told first."""
    run = library_run("rack-loss", tmp_path / "all").events
    found = imported(purged(tmp_path / "all", tmp_path / "rest"))
    assert without_creators(folded(found)) == without_creators(folded(run))
    assert folded(found).of_topics == folded(run).of_topics
    assert "transactions 0x1 to" not in (found[0].detail or "")


def test_what_changes_nothing_is_not_told(tmp_path: Path) -> None:
    """A refusal, a multi without anything in it, a check, a kind of transaction that nobody knows."""
    nothing: list[tuple[Txn, ...]] = [(ErrorTxn(-101),), (), (CheckVersionTxn("/a", ZkVersion(0)),), (UnknownTxn(99, b"?"),)]
    with LogWriter(tmp_path) as log:
        for place, ops in enumerate(nothing, start=1):
            log.write(Transaction(Zxid(place), SessionId(1), place, 1_000, ops, is_multi=not ops))
    assert [e.kind for e in imported(tmp_path)] == [EventKind.RUN_STARTED, EventKind.RUN_ENDED]


def without_creators(state: ClusterState) -> dict[str, Znode]:
    """No snapshot tells who made a znode, but for the ephemeral ones."""
    return {path: z if z.ephemeral else replace(z, session_id=None) for path, z in state.znodes.items()}
