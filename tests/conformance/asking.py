"""Asking and answering on a network, from tasks of their own."""

from collections.abc import Callable, Coroutine
from typing import Any

from kcsim.brokers.ports import Connection, ListenerClosedError, Listening
from kcsim.controller.ports import BrokerConnectionError
from kcsim.scenarios.network import MemoryNetwork
from kcsim.zk.errors import TimedOutError
from kcsim.zk.ports import Promise, Runtime

Spawn = Callable[[str, Coroutine[Any, Any, None]], object]

SOON_MS = 5000
"""Within this time comes whatever comes at all."""
CAUSE = 7


def answer_all(spawn: Spawn, listening: Listening, handled: list[Any]) -> None:
    """Answer whatever comes in, one after the other, until the listener is closed; `handled` tells of it."""

    async def work() -> None:
        try:
            while True:
                incoming = await listening.accept()
                handled.append(incoming.request)
                incoming.respond(f"answer to {incoming.request}")
        except ListenerClosedError:
            handled.append("closed")

    spawn("server", work())


def ask(runtime: Runtime, spawn: Spawn, connection: Connection, request: Any, timeout_ms: int) -> "Promise[Any]":
    """Send a request; what comes of it is in the promise."""
    answer: Promise[Any] = runtime.promise()

    async def work() -> None:
        try:
            answer.resolve(await connection.send(request, timeout_ms, CAUSE))
        except (BrokerConnectionError, TimedOutError) as error:
            answer.fail(error)

    spawn(f"ask {request}", work())
    return answer


async def settle(runtime: Runtime, network: MemoryNetwork) -> None:
    """Wait until all that is on its way has arrived, and what was sent in return, too."""
    for _ in range(3):
        arrived: Promise[None] = runtime.promise()
        network.carry(arrived.resolve, None)
        await arrived.wait(SOON_MS)
