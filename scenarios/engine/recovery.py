"""Recovery after a timetable: every fault is undone, and the cluster has to recover within a bound.

The registry of steps says by which of the functions here a step is undone.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress

from kcsim.brokers.cluster.quiescence import QUIET_PERIOD_MS, QuiescenceDetector
from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.brokers.cluster.workload import Workload
from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import TopicPartition
from kcsim.zk.servers.errors import ServerError
from kcsim.znodes import paths

LOOK_EVERY_MS = 500
"""The interval of checks: without events, nothing else triggers a check."""


class Recovery:
    """Undoes the faults of one run.

    Args:
        quiescence: fed with the events of the run.
    """

    def __init__(
        self,
        cluster: ScenarioCluster,
        quiescence: QuiescenceDetector,
        workload: Workload,
    ) -> None:
        self._cluster = cluster
        self._quiescence = quiescence
        self._workload = workload
        self._deadline_ms = 0
        self._quiescent_from_ms = 0

    async def run(self, within_ms: int) -> str | None:
        """Undo every fault, and wait until the cluster is recovered and quiescent, or the time is up.

        Invariants then report what has not recovered. Return what could not be undone, in words, or None.
        """
        self._deadline_ms = self._now_ms() + within_ms
        why = await self._undo()
        # The cluster may have been quiet for long before; the consequences of the undoing are still to come.
        self._quiescent_from_ms = self._quiescence.arrives_ms(self._now_ms()) + QUIET_PERIOD_MS
        if why is None:
            await self._wait_until_recovered()
        return why

    # --- undoing

    async def _undo(self) -> str | None:
        """Undo everything. Return what could not be undone in time, in words, or None."""
        self._cluster.disarm()
        for undo in UNDO_ORDER:
            if (why := await undo(self)) is not None:
                return why
        return None

    async def heal_servers(self) -> str | None:
        """Start or resume the servers of ZooKeeper."""
        try:
            await self._cluster.servers.heal()
        except (ClusterError, ServerError, TimedOutError) as error:
            return f"ZooKeeper's servers do not come back: {error}"
        return None

    async def heal_network(self) -> None:
        """Remove the faults of all links."""
        if self._cluster.network_faults is not None:
            with suppress(ClusterError):  # there is no fault to undo
                self._cluster.network_faults.heal()

    async def restore_replication_speed(self) -> None:
        """Remove the limits on the speed of followers."""
        for name in sorted(self._quiescence.slow):
            with suppress(ClusterError):  # the broker has died, and is not throttled when it is started again
                if self._cluster.simulated is not None:
                    await self._cluster.simulated.slow_follower(name, None)

    async def resume_clients(self) -> None:
        """Resume the frozen consumers."""
        for name in sorted(self._quiescence.paused_clients):
            with suppress(ClusterError):
                if self._cluster.consumers is not None:
                    await self._cluster.consumers.resume(name.removeprefix("consumer-"))

    async def resume_brokers(self) -> None:
        """Resume the frozen brokers."""
        await self._to_each(self._quiescence.paused, self._cluster.resume)

    async def reconnect_brokers(self) -> None:
        """Let the brokers reach ZooKeeper that are cut off from it."""
        await self._to_each(self._quiescence.cut_off, self._cluster.reconnect)

    async def stop_brokers_without_disk(self) -> None:
        """Stop the brokers that have lost a log directory: started again, they have it back."""
        await self._to_each(self._quiescence.without_disk, self._cluster.stop)

    async def _to_each(self, names: Iterable[str], act: Callable[[str], Awaitable[object]]) -> None:
        for name in sorted(names):
            with suppress(ClusterError, TimedOutError):  # a broker that died meanwhile is started afterwards
                await act(name)

    async def start_dead_brokers(self) -> str | None:
        """Start the brokers that are dead, stopped, or were never started."""
        why = None
        while dead := [name for name in self._cluster.broker_names if self._state(name) in (None, "dead", "stopped")]:
            if self._left_ms() <= 0:
                return f"{', '.join(dead)} cannot be started{f': {why}' if why else ''}"
            with suppress(TimedOutError):  # then the start fails and gives the reason
                await self._cluster.wait_until(lambda dead=dead: self._registered(dead), self._left_ms())  # type: ignore[misc]
            try:
                await self._cluster.start(dead)
            except (ClusterError, TimedOutError) as error:
                why = str(error)
                await self._cluster.runtime.sleep_ms(LOOK_EVERY_MS)
        return None

    async def end_workload(self) -> str | None:
        """Let the producers make no more records, and finish those that they have made."""
        try:
            await self._workload.stop(self._workload.at_work, self._left_ms())
        except TimedOutError as error:
            return str(error)
        return None

    def _state(self, name: str) -> str | None:
        return self._cluster.state.processes.get(name)

    def _registered(self, names: list[str]) -> str | None:
        """Return the dead brokers whose session has not expired yet: no broker can start under their ids. None: no such."""
        znodes = self._cluster.state.znodes
        there = [name for name in names if f"{paths.BROKER_IDS}/{name.removeprefix('broker-')}" in znodes]
        return f"{', '.join(there)} registered although dead" if there else None

    # --- waiting for quiescence

    async def _wait_until_recovered(self) -> None:
        while (self._is_broken() or self._is_active()) and self._left_ms() > 0:
            await self.start_dead_brokers()  # a broker that was frozen during its shutdown has ended by now
            await self._cluster.runtime.sleep_ms(min(LOOK_EVERY_MS, self._left_ms()))

    def _is_broken(self) -> bool:
        """Whether the znodes show that something has not recovered; invariants report what exactly."""
        state = self._cluster.state
        topics, registered = state.of_topics, state.registered
        return (
            len(registered) < len(self._cluster.broker_names)
            or state.controller_id not in registered
            or bool(topics.offline(registered) or topics.under_replicated() or topics.reassigning() or topics.deleting)
            or any(not self._is_in_sync(tp) for tp in topics.partitions())
        )

    def _is_in_sync(self, tp: TopicPartition) -> bool:
        """Whether the ISR equals the replicas."""
        topics = self._cluster.state.of_topics
        assignment = topics.assignment(tp)
        return assignment is None or sorted(topics.isr(tp)) == sorted(assignment.replicas)

    def _is_active(self) -> bool:
        return self._now_ms() < self._quiescent_from_ms or self._quiescence.quiet_ms(self._now_ms()) < QUIET_PERIOD_MS

    def _now_ms(self) -> int:
        return self._cluster.runtime.now_ms()

    def _left_ms(self) -> int:
        return max(self._deadline_ms - self._now_ms(), 0)


Undo = Callable[[Recovery], Awaitable[str | None]]
"""Undoes one kind of fault, wherever it is in effect. Returns what could not be undone in time, in words, or None."""

UNDO_ORDER: Sequence[Undo] = (
    Recovery.heal_servers,
    Recovery.heal_network,
    Recovery.restore_replication_speed,
    Recovery.resume_clients,
    Recovery.resume_brokers,
    Recovery.reconnect_brokers,
    Recovery.stop_brokers_without_disk,
    Recovery.start_dead_brokers,
    Recovery.end_workload,
)
"""Every way in which a fault is undone, in the order of application: servers first, since all others need them."""
