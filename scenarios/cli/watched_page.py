"""kcsim play --zookeeper HOST:PORT: a page on which a cluster is watched. ZooKeeper is read, never written."""

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.scenarios.cli.cluster_access import exit_on_zookeeper_errors
from kcsim.scenarios.cli.watched_cluster import observed
from kcsim.scenarios.play.live_cluster import LiveCluster
from kcsim.scenarios.play.live_pages import LivePages
from kcsim.scenarios.play.server import PlayServer

if TYPE_CHECKING:
    from kcsim.scenarios.cli.page_server import PagePlace

WATCHED_ONLY = "kcsim has not started this cluster, and writes nothing to its ZooKeeper"

SEED = 1
"""Of the simulated clusters that go on from this one."""


def serve_watched(zookeeper: str, place: "PagePlace") -> None:
    """Serve the page of a cluster that others have started until Ctrl-C. A ZooKeeper error at first ends the command.

    Args:
        zookeeper: the connect string.
    """
    runtime = WallClockRuntime()
    live = LiveCluster(WATCHED_ONLY)

    async def work() -> None:
        async with observed(runtime, zookeeper, None, [live.see]) as cluster:
            live.use_clock(runtime)
            pages = LivePages(live, zookeeper, None, SEED)
            server = PlayServer(pages, place.port)
            with closing(pages), place.serving(server):
                print(f"The page: {server.address}\n{WATCHED_ONLY}. Ctrl-C ends it.", flush=True)
                place.open(server.address)
                while True:
                    await cluster.follow()
                    live.gaps = cluster.gaps()

    with exit_on_zookeeper_errors(), suppress(KeyboardInterrupt):
        runtime.run(work())
