"""Does the steps that only simulated brokers can take part in: faults of their network, and clients of ours."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.consumer_runner import ConsumerRunner
from kcsim.scenarios.deeds import ClusterError
from kcsim.scenarios.language.consumer_steps import (
    ConsumerStep,
    CrashConsumers,
    PauseConsumers,
    ResumeConsumers,
    StallConsumers,
    StartConsumers,
    StopConsumers,
)
from kcsim.scenarios.language.network_steps import NetworkStep
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.language.step import NamingStep
from kcsim.scenarios.language.steps import SlowFollower
from kcsim.scenarios.language.workload_steps import Produce, StartWorkload, StopWorkload, WorkloadStep
from kcsim.scenarios.network_runner import Armed, NetworkRunner, clients_of, racks_of
from kcsim.scenarios.rest import Rest
from kcsim.scenarios.workload_runner import WorkloadRunner

Nodes = Callable[[Sequence[str]], list[str]]
"""Who is meant now by names of brokers. Raises: ClusterError when nobody is."""
ToEach = Callable[[NamingStep, Sequence[str], Callable[[str], Awaitable[int]]], Awaitable[None]]
"""Do something to each broker that a step names, and remember the name that the step gives it."""


class SimulatedSteps:
    """Does steps on a cluster of simulated brokers."""

    def __init__(self, cluster: Cluster, scenario: Scenario, nodes: Nodes, to_each: ToEach) -> None:
        self._cluster = cluster
        self._to_each = to_each
        self._workload = WorkloadRunner(cluster, scenario.workload)
        self._consumers = ConsumerRunner(cluster, scenario.workload.groups)
        self._network = NetworkRunner(cluster, racks_of(scenario), clients_of(scenario), nodes)

    async def do(self, step: SlowFollower | NetworkStep | WorkloadStep | ConsumerStep) -> Armed | None:
        """Do one step. Raises: ClusterError, TimedOutError. Returns: only if it waits for its moment."""
        match step:
            case SlowFollower(slow_follower=names, rate=rate):
                await self._to_each(step, names, lambda node: self._cluster.slow_follower(node, rate))
            case Produce() | StartWorkload() | StopWorkload():
                await self._workload.do(step)
            case (
                StartConsumers()
                | StopConsumers()
                | CrashConsumers()
                | PauseConsumers()
                | ResumeConsumers()
                | StallConsumers()
            ):
                await self._consumers.do(step)
            case _:
                return self._network.do(step)
        return None

    async def heal(self, rest: Rest) -> None:
        """Undo what was done to the network, to the speed of followers, and to consumers that are frozen."""
        with suppress(ClusterError):  # nothing is wrong
            self._cluster.network_faults.heal()
        for name in sorted(rest.slow):
            with suppress(ClusterError):  # it has died, and is as fast as ever when it is started
                await self._cluster.slow_follower(name, None)
        for name in sorted(rest.paused_clients):
            with suppress(ClusterError):
                await self._cluster.consumers.resume(name.removeprefix("consumer-"))

    def network_is_well(self) -> bool:
        """Whether nothing is wrong with any link."""
        return self._cluster.network_faults.is_well()

    async def end_workload(self, within_ms: int) -> None:
        """Let the producers come to an end. Raises: TimedOutError."""
        await self._workload.end(within_ms)

    def end(self) -> None:
        """The run is done: count what became of every record."""
        self._workload.take_ledger()
