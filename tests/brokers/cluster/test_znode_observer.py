"""What an observer sees of a cluster by watches is what the cluster's own event log has."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.zk.capture.observed_trace import END_UNKNOWN, ObservedTrace
from kcsim.zk.capture.znode_observer import LEFT_OUT, ZnodeObserver
from kcsim.zk.operations import Acl, Create, Notice, WatchEvent
from kcsim.zk.ports import FaultableSession, ZooKeeper
from kcsim.znodes import paths
from tests.brokers.cluster.environments import (
    FAST_TWINS,
    WITHIN_MS,
    controller_of,
    kill_and_expire,
    play,
    start_and_elect,
    until_ready,
)

BEGAN_MS = 1_700_000_000_000


@dataclass
class Observed:
    """An observer of a cluster, and the event log that it writes."""

    cluster: Cluster
    zookeeper: ZooKeeper
    events: list[Event] = field(default_factory=list)
    state: ClusterState = field(default_factory=ClusterState)

    async def start(self) -> None:
        runtime = self.cluster.runtime
        self.observer = ZnodeObserver(runtime, self.zookeeper, lambda: BEGAN_MS + runtime.now_ms())
        log = EventLog(runtime.now_ms)
        log.subscribe(self.events.append)
        log.subscribe(self.state.apply)
        self._trace = ObservedTrace(log.put, await self.observer.start())
        self._trace.begin(BEGAN_MS + runtime.now_ms(), "observed")

    async def follow(self) -> None:
        while True:
            for transaction in await self.observer.next_changes(100):
                self._trace.take(transaction)

    async def until_equal(self) -> None:
        """Wait until the observed cluster is in the state that it has by its own event log."""
        await self.cluster.wait_until(lambda: self.difference(), WITHIN_MS)

    def difference(self) -> str | None:
        theirs, ours = (
            (
                state.controller_id,
                state.controller_epoch,
                {
                    path: (znode.data, znode.zk_version)
                    for path, znode in state.znodes.items()
                    if not any(path == left_out or path.startswith(f"{left_out}/") for left_out in LEFT_OUT)
                },
                state.of_topics.states,
            )
            for state in (self.cluster.state, self.state)
        )
        return None if theirs == ours else f"{ours}, and in the cluster {theirs}"

    def of_kind(self, kind: EventKind) -> list[Event]:
        return [event for event in self.events if event.kind is kind]


def observe(
    script: Callable[[Observed], Coroutine[Any, Any, None]],
    on: str = "simulated",
    wrap: Callable[[ZooKeeper], ZooKeeper] = lambda zookeeper: zookeeper,
) -> Observed:
    """Run a script on a cluster with an observer that has not started yet; the observer ends with the script."""
    seen: list[Observed] = []

    async def main(cluster: Cluster) -> None:
        servers: list[ZooKeeper] = []

        def keep(zookeeper: ZooKeeper) -> ZooKeeper:
            servers.append(zookeeper)
            return zookeeper

        cluster.reach_zookeeper_through(keep)
        seen.append(Observed(cluster, wrap(servers[0])))
        await script(seen[0])
        await seen[0].observer.close()

    play(main, on=on)
    return seen[0]


@pytest.mark.parametrize("on", FAST_TWINS)
def test_a_fail_over_and_a_deletion_are_seen_with_their_causes(on: str) -> None:
    async def script(observed: Observed) -> None:
        cluster = observed.cluster
        await start_and_elect(cluster)
        await observed.start()
        following = cluster.runtime.spawn("observer", observed.follow())
        await cluster.topics.create(NewTopic("orders", 2, 3), Random(1))
        await observed.until_equal()
        await cluster.topics.delete("orders")
        await cluster.wait_until(lambda: None if "orders" not in cluster.state.of_topics.topics else "there", WITHIN_MS)
        await kill_and_expire(cluster, controller_of(cluster))
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        await observed.until_equal()
        following.kill()

    observed = observe(script, on)
    (won,) = observed.of_kind(EventKind.ELECTION_WON)
    assert won.controller_epoch == 2
    chain = [won]
    while (cause := chain[-1].cause) is not None:
        chain.append(observed.events[cause])
    assert [(event.kind, event.path) for event in chain[1:-1]] == [
        (EventKind.ZNODE_CHANGED, paths.CONTROLLER_EPOCH),
        (EventKind.ZNODE_CREATED, paths.CONTROLLER),
        (EventKind.ZNODE_DELETED, paths.CONTROLLER),
        (EventKind.SESSION_CLOSED, None),
    ]
    assert (chain[-2].detail or "").endswith(END_UNKNOWN)
    acts = [(event.op, event.path) for event in observed.of_kind(EventKind.ADMIN_ACT)]
    assert (acts[-1], ("create", paths.topic("orders")) in acts) == (("create", paths.delete_topic("orders")), True)
    assert [act for act in acts if act[0] != "create"] == []
    (deleted,) = observed.of_kind(EventKind.TOPIC_DELETION)
    assert deleted.node != won.node


def test_changes_during_an_absence_of_the_observer_are_seen_afterwards() -> None:
    sessions: list[FaultableSession] = []

    class Keeping:
        def __init__(self, zookeeper: ZooKeeper) -> None:
            self._zookeeper = zookeeper

        async def open_session(self, *arguments: Any) -> FaultableSession:
            sessions.append(await self._zookeeper.open_session(*arguments))
            return sessions[-1]

    async def script(observed: Observed) -> None:
        cluster = observed.cluster
        await start_and_elect(cluster)
        await cluster.topics.create(NewTopic("orders", 1, 3), Random(1))
        await observed.start()
        await sessions[0].expire()
        await kill_and_expire(cluster, controller_of(cluster))
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        following = cluster.runtime.spawn("observer", observed.follow())
        await observed.until_equal()
        following.kill()

    observed = observe(script, wrap=Keeping)
    assert len(sessions) == 2
    assert [event.controller_epoch for event in observed.of_kind(EventKind.ELECTION_WON)] == [2]


def test_a_server_that_does_not_send_the_zxid_of_a_watch_event_will_do() -> None:
    class Older:
        def __init__(self, zookeeper: ZooKeeper) -> None:
            self._zookeeper = zookeeper

        async def open_session(self, timeout_ms: int, listener: Callable[[Notice], None], *more: Any) -> FaultableSession:
            def without_zxid(notice: Notice) -> None:
                is_watch = isinstance(notice, WatchEvent)
                listener(WatchEvent(notice.kind, notice.path, 0) if is_watch else notice)  # type: ignore[union-attr, arg-type]

            return await self._zookeeper.open_session(timeout_ms, without_zxid, *more)

    async def script(observed: Observed) -> None:
        cluster = observed.cluster
        await start_and_elect(cluster)
        await observed.start()
        following = cluster.runtime.spawn("observer", observed.follow())
        await kill_and_expire(cluster, controller_of(cluster))
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        await observed.until_equal()
        following.kill()

    observed = observe(script, wrap=Older)
    order = [
        (event.kind, event.path) for event in observed.events if event.path in (paths.CONTROLLER, paths.CONTROLLER_EPOCH)
    ]
    assert order[-3:] == [
        (EventKind.ZNODE_DELETED, paths.CONTROLLER),
        (EventKind.ZNODE_CREATED, paths.CONTROLLER),
        (EventKind.ZNODE_CHANGED, paths.CONTROLLER_EPOCH),
    ]


@pytest.mark.live
def test_credentials_and_other_applications_are_not_read_and_what_is_forbidden_is_named() -> None:
    async def script(observed: Observed) -> None:
        await start_and_elect(observed.cluster)
        session = await observed.zookeeper.open_session(10_000, lambda _: None, 10_000)
        nobody = (Acl(31, "digest", "nobody:x"),)
        await session.call(
            [
                Create("/config/users/alice", b"secret"),
                Create("/hbase", b"other"),
                Create("/config/topics/closed", b"", acl=nobody),
            ]
        )
        await session.close()
        await observed.start()

    observed = observe(script, on="embedded")
    assert not any("secret" in (event.data or "") or event.path == "/hbase" for event in observed.events)
    assert observed.observer.unreadable == {"/config/topics/closed"}
