"""Requests and answers on a network, each in a task of its own."""

from collections.abc import Callable, Coroutine
from typing import Any

from kcsim.brokers.network.network import MemoryNetwork
from kcsim.brokers.ports import BrokerConnection, ListenerClosedError, Listening
from kcsim.controller.ports import BrokerConnectionError
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Promise, Runtime

Spawn = Callable[[str, Coroutine[Any, Any, None]], object]

SOON_MS = 5000
"""Every answer that arrives at all arrives within this time."""
CAUSE = 7


def answer_all(spawn: Spawn, listening: Listening, handled: list[Any]) -> None:
    """Answer requests in order until the listener is closed; `handled` gets each request, and "closed" at the end."""

    async def work() -> None:
        try:
            while True:
                incoming = await listening.accept()
                handled.append(incoming.request)
                incoming.respond(f"answer to {incoming.request}")
        except ListenerClosedError:
            handled.append("closed")

    spawn("server", work())


def ask(runtime: Runtime, spawn: Spawn, connection: BrokerConnection, request: Any, timeout_ms: int) -> "Promise[Any]":
    """Send a request; return a promise of its answer or error."""
    answer: Promise[Any] = runtime.promise()

    async def work() -> None:
        try:
            answer.resolve(await connection.send(request, timeout_ms, CAUSE))
        except (BrokerConnectionError, TimedOutError) as error:
            answer.fail(error)

    spawn(f"ask {request}", work())
    return answer


async def settle(runtime: Runtime, network: MemoryNetwork) -> None:
    """Wait until all messages in transit have arrived, and their answers, too."""
    for _ in range(3):
        arrived: Promise[None] = runtime.promise()
        network.carry(arrived.resolve, None)
        await arrived.wait(SOON_MS)
