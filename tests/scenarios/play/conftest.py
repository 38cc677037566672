"""A server of a played cluster, in a thread of its own."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from kcsim.scenarios.play.played_cluster import PlayedCluster
from kcsim.scenarios.play.played_pages import PlayedPages
from kcsim.scenarios.play.server import PlayServer
from kcsim.zk.servers.free_ports import claimed_port
from tests.scenarios.play.watched_runs import PATIENCE_S, played_cluster


@contextmanager
def listening(played: PlayServer, port: int) -> Iterator[None]:
    """Let a server listen at a port of 127.0.0.1 until the end of the context."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # also right after another one has listened there
        bound.bind(("127.0.0.1", port))
        config = uvicorn.Config(played.app, log_level="error", ws="websockets-sansio", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            end = time.monotonic() + PATIENCE_S
            while not server.started:
                assert time.monotonic() < end
                time.sleep(0.02)
            yield
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def served(cluster: PlayedCluster | None = None) -> Iterator[PlayServer]:
    """Serve a cluster until the end of the context, one of three brokers if none is given."""
    cluster = played_cluster() if cluster is None else cluster
    try:
        with claimed_port() as port:
            played = PlayServer(PlayedPages(cluster), port)
            with listening(played, port):
                yield played
    finally:
        cluster.close()
