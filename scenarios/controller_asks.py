"""What admin clients ask of the controller by request, not by a znode: put to whichever broker holds the role now."""

from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeVar

from kcsim.brokers.broker import Broker
from kcsim.controller.errors import NotControllerError
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.deeds import ClusterError, Deeds
from kcsim.scenarios.process import Process
from kcsim.zk.errors import TimedOutError
from kcsim.zk.ports import Promise, Runtime
from kcsim.zk.vocabulary import ReplicaAssignment, TopicPartition

T = TypeVar("T")

ANSWERED_WITHIN_MS = 60_000
"""How long an answer of the controller is waited for at most: longer than the controller itself waits for its own queue."""


class ControllerAsks:
    """Asks the controller.

    Args:
        holder: the broker that holds the role, and its process; raises ClusterError when nobody does.
    """

    def __init__(self, runtime: Runtime, deeds: Deeds, holder: Callable[[], tuple[Broker, Process]]) -> None:
        self._runtime = runtime
        self._deeds = deeds
        self._holder = holder

    async def alter_partition_reassignments(self, targets: ReassignmentTargets) -> dict[TopicPartition, ErrorCode]:
        """Start, replace or (None) cancel reassignments; an answer for each. Raises: ClusterError."""
        told = ", ".join(f"{tp} to {list(to)}" if to is not None else f"{tp} cancelled" for tp, to in targets.items())
        return await self._ask(
            lambda: self._deeds.act_on_partitions("alter-partition-reassignments", targets, told),
            lambda controller, cause: controller.alter_partition_reassignments(targets, cause),
        )

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """What is being reassigned, of these or of all. Raises: ClusterError."""
        return await self._ask(
            lambda: self._deeds.act("list-partition-reassignments", None),
            lambda controller, cause: controller.list_partition_reassignments(partitions, cause),
        )

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None
    ) -> ElectionResults:
        """Elect leaders for these or for all; an answer for each. Raises: ClusterError."""
        of = "all partitions" if partitions is None else ", ".join(map(str, partitions))
        return await self._ask(
            lambda: self._deeds.act_on_partitions("elect-leaders", partitions or (), f"{election_type} for {of}"),
            lambda controller, cause: controller.elect_leaders(election_type, partitions, cause),
        )

    async def _ask(
        self, log_act: Callable[[], int], question: Callable[[KafkaController, int], Coroutine[Any, Any, T]]
    ) -> T:
        broker, process = self._holder()
        cause = log_act()
        answer: Promise[T] = self._runtime.promise()

        async def ask() -> None:
            try:
                answer.resolve(await question(broker.controller, cause))
            except (NotControllerError, TimedOutError) as error:
                answer.fail(error)

        process.spawn("admin-request", ask())
        try:
            return await answer.wait(ANSWERED_WITHIN_MS)
        except NotControllerError:
            raise ClusterError(f"{process.name} is not the controller any more") from None
        except TimedOutError as error:
            raise ClusterError(f"{process.name}, the controller, does not answer: {error}") from None
