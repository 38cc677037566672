"""A cluster's history imported from ZooKeeper's files equals the run's own event log, and its causes reach its beginning."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import kcsim.brokers.cluster.live_environment as live_environment
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.controller.capabilities import DEFAULT_PROTOCOL_VERSION
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.eventlog.state_changes import Znode
from kcsim.scenarios.engine.run_source import with_settings
from kcsim.scenarios.engine.runner import cluster_spec, run_scenario
from kcsim.scenarios.views.narration.causes import ROOTS
from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.log_writer import LogWriter
from kcsim.zk.files.transactions import CheckVersionTxn, ErrorTxn, Transaction, Txn, UnknownTxn
from kcsim.zk.servers.ports import ZooKeeperServers
from tests.brokers.cluster.histories import (
    SETTINGS,
    changes,
    columns_of,
    imported,
    partition_histories,
    random_run,
    sessions_ended,
)
from tests.brokers.cluster.topic_cluster import begin
from tests.requirements import require
from tests.scenarios.long_timeouts import SESSION_SETTING, WITHIN_MS
from tests.scenarios.scenario_library import of_library
from tests.tiers import tiered
from tests.zk.capture.purged import purged

WON = (EventKind.ELECTION_WON, "controller_id", "controller_epoch", "controller_epoch_zk_version")
REGISTERED = (EventKind.BROKER_REGISTERED, "node", "broker_id", "broker_epoch")
LAST_WRITE = "the last write"
SESSION_MS = 6_000


def library_run(name: str, directory: Path, version: str = DEFAULT_PROTOCOL_VERSION) -> EventLog:
    loaded = with_settings(of_library(name), {PROTOCOL_VERSION: version})

    async def script(cluster: Cluster) -> None:
        await run_scenario(loaded, cluster)
        await cluster.runtime.sleep_ms(1_000)  # until leaders have the answers to the last writes

    choice = ZooKeeperChoice.parse("simulated")
    return run_in_environment(choice, cluster_spec(loaded.scenario), RunInfo(name, 1, ""), script, zk_log=directory)


# --- the same history ------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32))
@settings(max_examples=8)
def test_a_random_run_is_imported_as_it_was(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    assert_imported_as_it_was(tmp_path_factory.mktemp("zk"), seed)


@pytest.mark.slow
@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_many_random_runs_are_imported_as_they_were(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    assert_imported_as_it_was(tmp_path_factory.mktemp("zk"), seed)


def assert_imported_as_it_was(directory: Path, seed: int) -> None:
    run = random_run(directory, seed).events
    found = imported(directory)
    assert partition_histories(found) == partition_histories(run)
    assert changes(found) == changes(run)
    assert sessions_ended(found) == sessions_ended(run)
    assert folded(found).of_topics == folded(run).of_topics
    assert folded(found).znodes == folded(run).znodes


def folded(events: Sequence[Event]) -> ClusterState:
    state = ClusterState()
    for event in events:
        state.apply(event)
    return state


@pytest.mark.parametrize(
    "name",
    tiered(["controller-failover", "reassignment-cancelled", "rack-loss", "deletion-with-dead-broker"], fast=2),
)
def test_elections_and_registrations_are_found_again(tmp_path: Path, name: str) -> None:
    run = library_run(name, tmp_path).events
    found = imported(tmp_path)
    assert columns_of(found, *WON) == columns_of(run, *WON)
    assert sorted(columns_of(found, *REGISTERED)) == sorted(columns_of(run, *REGISTERED))
    assert partition_histories(found) == partition_histories(run)


@pytest.mark.parametrize("version", ["2.6", "3.9"])
def test_a_leader_has_changed_the_isr_also_where_the_controller_writes_it(tmp_path: Path, version: str) -> None:
    run = library_run("broker-crash-and-return", tmp_path, version).events
    expanded = (EventKind.ISR_EXPANDED, "node", "topic", "partition", "leader", "leader_epoch", "broker_id")
    found = sorted(columns_of(imported(tmp_path), *expanded))
    assert found == sorted(columns_of(run, *expanded))
    assert len(found) == 3


def test_times_are_the_real_ones(tmp_path: Path) -> None:
    """Times count from the first transaction, whose time is in the first event."""
    run = library_run("broker-crash-and-return", tmp_path).events
    found = imported(tmp_path)
    first = next(e.t_ms for e in run if e.kind is EventKind.SESSION_CREATED)
    assert [e.t_ms + first for e in found if e.kind in ZNODE_CHANGES] == [e.t_ms for e in run if e.kind in ZNODE_CHANGES]
    assert found[0].data == f'{{"epoch_ms": {1_577_836_800_000 + first}}}'
    assert "it begins at 2020-01-01T00:00:00" in (found[0].detail or "")


def is_in_an_isr(cluster: Cluster, broker: int) -> bool:
    topics = cluster.state.of_topics
    return any(broker in topics.isr(tp) for tp in topics.partitions())


@pytest.mark.live
@pytest.mark.parametrize("on", tiered(["embedded", "ensemble"], fast=2))
def test_a_real_server_s_files_are_imported_as_the_run_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: str) -> None:
    require("java")
    servers: list[ZooKeeperServers] = []
    servers_of = live_environment.servers_of

    def remembered(choice: ZooKeeperChoice, spec: ClusterSpec) -> ZooKeeperServers:
        servers.append(servers_of(choice, spec))
        return servers[-1]

    async def script(cluster: Cluster) -> None:
        await begin(cluster)
        await cluster.kill("broker-2")
        await cluster.wait_until(lambda: "an ISR holds broker-2" if is_in_an_isr(cluster, 2) else None, WITHIN_MS)
        await cluster.znodes.set("/consumers", LAST_WRITE)
        await cluster.wait_until(
            lambda: None if is_last_write_logged(cluster) else "the last write is not in the run's log", WITHIN_MS
        )
        for name in servers[0].member_names:
            directory = servers[0].transaction_log_dir(name)
            assert directory is not None
            shutil.copytree(directory, tmp_path / name / "version-2")

    monkeypatch.setattr(live_environment, "servers_of", remembered)
    live_settings = {**SETTINGS, SESSION_SETTING: SESSION_MS}
    spec = ClusterSpec(tuple(BrokerSpec(b) for b in (1, 2, 3)), live_settings, max_session_timeout_ms=60_000)
    run = run_in_environment(ZooKeeperChoice.parse(on), spec, RunInfo("test", 1, on), script).events
    found = max((imported(member) for member in tmp_path.iterdir()), key=len)  # one member may lack the last transactions
    last = max(change.zxid or 0 for change in changes(found))
    known = [event for event in run if (event.zxid or 0) <= last]  # the cluster went on while the files were copied
    assert changes(found) == changes(known)
    assert partition_histories(found) == partition_histories(known)
    assert columns_of(found, *WON) == columns_of(known, *WON)
    assert LAST_WRITE in [event.data for event in found]


def is_last_write_logged(cluster: Cluster) -> bool:
    return cluster.state.znodes["/consumers"].data == LAST_WRITE


# --- causes, and events other than tree changes ----------------------------------------------------------------------------


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
    """Return the chain of causes down to the event, beginning with a cause that has none itself."""
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


def test_a_reassignment_is_recorded_from_its_request_to_its_end(tmp_path: Path) -> None:
    library_run("reassignment-controller-killed", tmp_path)
    found = imported(tmp_path)
    steps = columns_of(found, EventKind.PARTITION_REASSIGNMENT, "topic", "partition", "step")
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
    """This is the case of a production cluster whose old logs were purged: the import begins with the snapshot's znodes."""
    run = library_run("rack-loss", tmp_path / "all").events
    found = imported(purged(tmp_path / "all", tmp_path / "rest"))
    assert without_creators(folded(found)) == without_creators(folded(run))
    assert folded(found).of_topics == folded(run).of_topics
    assert "transactions 0x1 to" not in (found[0].detail or "")


def test_what_changes_nothing_is_not_recorded(tmp_path: Path) -> None:
    """Tested with a refusal, an empty multi, a check, and an unknown kind of transaction."""
    nothing: list[tuple[Txn, ...]] = [(ErrorTxn(-101),), (), (CheckVersionTxn("/a", ZkVersion(0)),), (UnknownTxn(99, b"?"),)]
    with LogWriter(tmp_path) as log:
        for place, ops in enumerate(nothing, start=1):
            log.write(Transaction(Zxid(place), SessionId(1), place, 1_000, ops, is_multi=not ops))
    assert [e.kind for e in imported(tmp_path)] == [EventKind.RUN_STARTED, EventKind.RUN_ENDED]


def without_creators(state: ClusterState) -> dict[str, Znode]:
    """Return the znodes without the sessions that created them: a snapshot has these for ephemeral znodes only."""
    return {path: z if z.ephemeral else replace(z, session_id=None) for path, z in state.znodes.items()}
