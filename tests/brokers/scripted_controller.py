"""A controller that answers a broker's requests when a test says so."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from kcsim.brokers.network.network import MemoryNetwork
from kcsim.brokers.ports import Incoming, ListenerClosedError
from kcsim.controller.requests import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterIsrRequest,
    AlterIsrResponse,
    ErrorCode,
)
from kcsim.runtime.ports import Mailbox, Runtime
from kcsim.vocabulary import BrokerId, LeaderAndIsr, TopicPartition, ZkVersion

ENOUGH_MS = 60_000


class ScriptedController:
    """The requests that have arrived at one broker, in their order.

    Attributes:
        received: all of them, with the time of each in virtual ms.
    """

    def __init__(self, runtime: Runtime, network: MemoryNetwork, broker: BrokerId) -> None:
        self.received: list[tuple[AlterIsrRequest, int]] = []
        self._runtime = runtime
        self._interface = network.interface(f"broker-{broker}")
        self._listening = self._interface.listen("localhost", 9092 + broker)
        self._unanswered: Mailbox[Incoming] = runtime.mailbox()
        self._task = runtime.spawn("scripted-controller", self._accept())

    async def _accept(self) -> None:
        while True:
            try:
                incoming = await self._listening.accept()
            except ListenerClosedError:
                return
            self.received.append((incoming.request, self._runtime.now_ms()))
            self._unanswered.put(incoming)

    @property
    def asked(self) -> list[dict[TopicPartition, LeaderAndIsr]]:
        """The states asked for by each request."""
        return [dict(request.partitions) for request, _ in self.received]

    async def answer(
        self,
        error: ErrorCode = ErrorCode.NONE,
        refused: Mapping[TopicPartition, ErrorCode] | None = None,
        left_out: Collection[TopicPartition] = (),
    ) -> None:
        """Wait for a request, and answer it: with the states asked for, in the next version, except where refused.

        Args:
            left_out: partitions that the answer does not have.

        Raises: TimedOutError.
        """
        incoming = await self._unanswered.get(ENOUGH_MS)
        states = {} if error else {**written(incoming.request), **(refused or {})}
        incoming.respond(AlterIsrResponse(error, {tp: one for tp, one in states.items() if tp not in left_out}))

    async def allocate(self, response: AllocateProducerIdsResponse) -> AllocateProducerIdsRequest:
        """Wait for a request for producer ids, answer it, and return it. Raises: TimedOutError."""
        incoming = await self._unanswered.get(ENOUGH_MS)
        assert isinstance(incoming.request, AllocateProducerIdsRequest)
        incoming.respond(response)
        return incoming.request

    @property
    def connections(self) -> int:
        """How many connections are open at the controller."""
        return len(self._listening.links)

    def die(self) -> None:
        """Break all connections, and refuse new ones."""
        self._interface.close()


def written(request: AlterIsrRequest) -> dict[TopicPartition, LeaderAndIsr | ErrorCode]:
    """Return the states that are asked for, in the next version of the state znode."""
    return {tp: replace(asked, zk_version=ZkVersion(asked.zk_version + 1)) for tp, asked in request.partitions.items()}
