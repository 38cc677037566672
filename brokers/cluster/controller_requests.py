"""Admin clients' requests to the controller (as opposed to znodes).

Those about reassignments go to the broker that holds the role now: Kafka's clients ask again until they find it. An election
is asked for once, of the broker that the metadata name. That may be another one, which answers NOT_CONTROLLER.

Source: Kafka 2.8, KafkaAdminClient.getElectLeadersCall, getAlterPartitionReassignmentsCall.
"""

from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeVar

from kcsim.brokers.broker import Broker
from kcsim.brokers.network.process import Process
from kcsim.controller.errors import NotControllerError
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.requests import ApiError, ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import ClusterError, RunActionLog
from kcsim.runtime.ports import Promise, Runtime
from kcsim.vocabulary import ReplicaAssignment, TopicPartition

T = TypeVar("T")

ANSWERED_WITHIN_MS = 60_000
"""How long a response of the controller is waited for at most: longer than the controller itself waits for its own queue."""


class ControllerRequests:
    """Sends requests to the controller.

    Args:
        holder: returns the broker that holds the role, and its process; raises ClusterError when no broker does.
        named: returns the broker that the metadata name as the controller, and its process; raises ClusterError, too.
    """

    def __init__(
        self,
        runtime: Runtime,
        actions: RunActionLog,
        holder: Callable[[], tuple[Broker, Process]],
        named: Callable[[], tuple[Broker, Process]],
    ) -> None:
        self._runtime = runtime
        self._actions = actions
        self._holder = holder
        self._named = named

    async def alter_partition_reassignments(self, targets: ReassignmentTargets) -> dict[TopicPartition, ErrorCode]:
        """Start, replace or (None) cancel reassignments. Return a result for each. Raises: ClusterError."""
        detail = ", ".join(f"{tp} to {list(to)}" if to is not None else f"{tp} cancelled" for tp, to in targets.items())
        return await self._ask(
            lambda: self._actions.act_on_partitions("alter-partition-reassignments", targets, detail),
            lambda broker, cause: broker.controller.alter_partition_reassignments(targets, cause),
        )

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Return the ongoing reassignments of these partitions, or of all. Raises: ClusterError."""
        return await self._ask(
            lambda: self._actions.act("list-partition-reassignments", None),
            lambda broker, cause: broker.controller.list_partition_reassignments(partitions, cause),
        )

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None
    ) -> ElectionResults:
        """Elect leaders for these partitions, or for all in the metadata. Return a result for each. Raises: ClusterError."""
        of = "all partitions" if partitions is None else ", ".join(map(str, partitions))

        async def elect(broker: Broker, cause: int) -> ElectionResults:
            named = tuple(broker.metadata.partitions if partitions is None else partitions)
            try:
                return await broker.controller.elect_leaders(election_type, named, cause)
            except NotControllerError:
                return dict.fromkeys(named, ApiError(ErrorCode.NOT_CONTROLLER))

        return await self._ask(
            lambda: self._actions.act_on_partitions("elect-leaders", partitions or (), f"{election_type} for {of}"),
            elect,
            self._named,
        )

    async def _ask(
        self,
        log_act: Callable[[], int],
        question: Callable[[Broker, int], Coroutine[Any, Any, T]],
        recipient: Callable[[], tuple[Broker, Process]] | None = None,
    ) -> T:
        broker, process = (recipient or self._holder)()
        cause = log_act()
        answer: Promise[T] = self._runtime.promise()

        async def ask() -> None:
            try:
                answer.resolve(await question(broker, cause))
            except (NotControllerError, TimedOutError) as error:
                answer.fail(error)

        process.spawn("admin-request", ask())
        try:
            return await answer.wait(ANSWERED_WITHIN_MS)
        except NotControllerError:
            raise ClusterError(f"{process.name} is not the controller any more") from None
        except TimedOutError as error:
            raise ClusterError(f"{process.name}, the controller, does not answer: {error}") from None
