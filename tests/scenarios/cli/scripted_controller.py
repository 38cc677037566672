"""A controller that gives a test's answers on the control channel, in place of a cluster of kcsim up."""

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kcsim.scenarios.cli.up_cluster.control import claim_cluster_name

CLUSTER = "scripted"
PATIENCE_S = 300.0


class ScriptedController:
    """A controller that answers by verb and records its requests.

    Attributes:
        answers: verb -> answer; may be changed at any time.
        asked: the requests (verb, arguments), in order; `status` is not recorded.
    """

    def __init__(self, connect_string: str) -> None:
        self.answers: dict[str, Mapping[str, Any]] = {
            "status": {"connect_string": connect_string},
            "list-partition-reassignments": {"reassignments": {}},
        }
        self.asked: list[tuple[str, Any]] = []

    def moves(self, partition: str, replicas: list[int], adding: list[int], removing: list[int]) -> None:
        """Report from now on that this partition is being reassigned."""
        entry = {"replicas": replicas, "adding_replicas": adding, "removing_replicas": removing}
        self.answers["list-partition-reassignments"] = {"reassignments": {partition: entry}}

    def answer(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_S)
        line = connection.makefile("rb").readline()
        if not line:
            return  # a client only probed whether the socket has a listener
        question = json.loads(line)
        if question["verb"] != "status":
            self.asked.append((question["verb"], question["arguments"]))
        reply = {"answer": self.answers[question["verb"]]}
        connection.sendall(json.dumps(reply).encode() + b"\n")


@contextmanager
def scripted_controller(connect_string: str) -> Iterator[ScriptedController]:
    """Run a scripted controller as the cluster named CLUSTER."""
    controller = ScriptedController(connect_string)
    with claim_cluster_name(CLUSTER) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:  # the socket was shut down: the test is over
                    return
                with connection:
                    controller.answer(connection)

        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield controller
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            serving.join(PATIENCE_S)
