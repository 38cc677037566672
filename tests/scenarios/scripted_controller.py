"""A controller that answers on the control channel as a test tells it to, in place of a cluster of kcsim up."""

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kcsim.scenarios.playground.control import claimed

CLUSTER = "scripted"
PATIENCE_S = 10.0


class ScriptedController:
    """Answers by verb, and remembers what it was asked.

    Attributes:
        answers: verb -> answer; may be changed at any time.
        asked: (verb, arguments), in order; `status` is not kept.
    """

    def __init__(self, connect_string: str) -> None:
        self.answers: dict[str, Mapping[str, Any]] = {
            "status": {"connect_string": connect_string},
            "list-partition-reassignments": {"reassignments": {}},
        }
        self.asked: list[tuple[str, Any]] = []

    def moves(self, partition: str, replicas: list[int], adding: list[int], removing: list[int]) -> None:
        """From now on it says that this partition is being moved."""
        entry = {"replicas": replicas, "adding_replicas": adding, "removing_replicas": removing}
        self.answers["list-partition-reassignments"] = {"reassignments": {partition: entry}}

    def answer(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_S)
        line = connection.makefile("rb").readline()
        if not line:
            return  # somebody only looked whether anybody is here
        question = json.loads(line)
        if question["verb"] != "status":
            self.asked.append((question["verb"], question["arguments"]))
        told = {"answer": self.answers[question["verb"]]}
        connection.sendall(json.dumps(told).encode() + b"\n")


@contextmanager
def scripted_controller(connect_string: str) -> Iterator[ScriptedController]:
    """Run one, as the cluster named CLUSTER."""
    controller = ScriptedController(connect_string)
    with claimed(CLUSTER) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:  # shut down: the test is over
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
