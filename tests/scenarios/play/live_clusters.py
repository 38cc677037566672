"""Clusters in real time with their pages, each in a thread of its own until the end of a context."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.live_environment import run_live
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.eventlog.events import Event
from kcsim.scenarios.engine.runner import cluster_spec
from kcsim.scenarios.engine.single_steps import SingleSteps
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act, do_act
from kcsim.scenarios.play.live_cluster import LiveCluster
from kcsim.scenarios.play.live_pages import MOST_EVENTS, LivePages
from kcsim.scenarios.play.server import PlayServer
from kcsim.zk.servers.free_ports import claimed_port
from tests.scenarios.long_timeouts import SESSION_MS, SESSION_SETTING
from tests.scenarios.play.conftest import listening
from tests.scenarios.play.watched_runs import PATIENCE_S, SCENARIO


@dataclass
class ServedLive:
    """A cluster in real time, and the server of its pages."""

    server: PlayServer
    cluster: "LiveRun"


@dataclass
class LiveRun:
    """A cluster in real time with its pages. Attributes: events: those so far."""

    pages: LivePages
    events: list[Event]


@contextmanager
def served_live(kind: ZooKeeperKind = ZooKeeperKind.EMBEDDED) -> Iterator[ServedLive]:
    """Serve the pages of a cluster of three brokers with one topic, as kcsim play does, until the end of the context."""
    with live_pages(kind) as cluster, claimed_port() as port:
        server = PlayServer(cluster.pages, port)
        with listening(server, port):
            yield ServedLive(server, cluster)


@contextmanager
def served_pages(live: LiveCluster, most_events: int = MOST_EVENTS) -> Iterator[PlayServer]:
    """Serve the pages of a cluster whose events the test hands over, until the end of the context."""
    with closing(LivePages(live, SCENARIO.name, SCENARIO, 1, most_events)) as pages, claimed_port() as port:
        server = PlayServer(pages, port)
        with listening(server, port):
            yield server


@contextmanager
def live_pages(kind: ZooKeeperKind = ZooKeeperKind.EMBEDDED) -> Iterator[LiveRun]:
    """Keep a cluster of three brokers with one topic up until the end of the context."""
    scenario = with_long_sessions(SCENARIO)
    live = LiveCluster()
    events: list[Event] = []
    failures: list[BaseException] = []
    is_up, is_over = threading.Event(), threading.Event()

    async def script(cluster: Cluster) -> None:
        steps = SingleSteps(cluster, scenario)
        live.use_clock(cluster.runtime)
        for step in ("start: all", "create-topic: orders"):
            act = Act(cluster.runtime.now_ms(), step)
            live.has_done(act)
            assert await do_act(steps, act) is None
        acting = cluster.runtime.spawn("acts", live.do_acts(cluster.runtime, steps))
        is_up.set()
        while not is_over.is_set():
            await cluster.runtime.sleep_ms(20)
        acting.kill()

    def run() -> None:
        try:
            info = RunInfo(scenario.name, 1, kind.value)
            run_live(ZooKeeperChoice(kind), cluster_spec(scenario), info, script, [events.append, live.see])
        except BaseException as error:
            failures.append(error)
        finally:
            is_up.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert is_up.wait(PATIENCE_S)
        assert failures == []
        with closing(LivePages(live, scenario.name, scenario, 1)) as pages:
            yield LiveRun(pages, events)
    finally:
        is_over.set()
        thread.join()
    assert failures == []


def with_long_sessions(scenario: Scenario) -> Scenario:
    """Return a scenario whose sessions survive a process without processor time."""
    settings = {**scenario.cluster.settings, SESSION_SETTING: SESSION_MS}
    return scenario.model_copy(update={"cluster": scenario.cluster.model_copy(update={"settings": settings})})
