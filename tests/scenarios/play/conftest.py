"""A server of a played cluster, in a thread of its own."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from kcsim.scenarios.play.played_cluster import PlayedCluster
from kcsim.scenarios.play.server import PlayServer
from tests.scenarios.play.watched_runs import PATIENCE_S, played_cluster


@contextmanager
def served(cluster: PlayedCluster | None = None) -> Iterator[PlayServer]:
    """Serve a cluster until the end of the context, one of three brokers if none is given."""
    cluster = played_cluster() if cluster is None else cluster
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        played = PlayServer(cluster, listening.getsockname()[1])
        server = uvicorn.Server(uvicorn.Config(played.app, log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            end = time.monotonic() + PATIENCE_S
            while not server.started:
                assert time.monotonic() < end
                time.sleep(0.02)
            yield played
        finally:
            server.should_exit = True
            thread.join()
            cluster.close()
