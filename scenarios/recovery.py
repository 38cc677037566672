"""What comes after a timetable: every fault is undone, and all has to recover within a bound."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from kcsim.scenarios.deeds import ClusterError
from kcsim.scenarios.rest import REST_MS, Rest
from kcsim.scenarios.scenario_cluster import ScenarioCluster
from kcsim.scenarios.simulated_steps import SimulatedSteps
from kcsim.zk import paths
from kcsim.zk.errors import TimedOutError
from kcsim.zk.servers.errors import ServerError
from kcsim.zk.vocabulary import TopicPartition

LOOK_EVERY_MS = 500
"""Where nothing happens, nothing calls for another look."""


class Recovery:
    """Undoes what was done to one run.

    Args:
        rest: fed with the events of the run.
        simulated: where the brokers are simulated.
    """

    def __init__(self, cluster: ScenarioCluster, rest: Rest, simulated: SimulatedSteps | None) -> None:
        self._cluster = cluster
        self._rest = rest
        self._simulated = simulated
        self._deadline_ms = 0
        self._at_rest_from_ms = 0

    async def run(self, within_ms: int) -> str | None:
        """Undo every fault, and wait until all is whole and at rest, or the time is up; invariants say what is not.

        Returns: what could not be undone, in words.
        """
        self._deadline_ms = self._now_ms() + within_ms
        why = await self._undo()
        # Nothing may have happened for long before: what the undoing leads to is still to come.
        self._at_rest_from_ms = self._rest.arrives_ms(self._now_ms()) + REST_MS
        if why is None:
            await self._until_whole_and_at_rest()
        return why

    # --- undoing

    async def _undo(self) -> str | None:
        """Undo everything. Returns: what could not be undone in time, in words."""
        cluster = self._cluster
        cluster.disarm()
        try:
            await cluster.servers.heal()
        except (ClusterError, ServerError, TimedOutError) as error:
            return f"ZooKeeper's servers do not come back: {error}"
        if self._simulated is not None:
            await self._simulated.heal(self._rest)
        for name in sorted(self._rest.paused):
            await self._try(lambda name=name: cluster.resume(name))  # type: ignore[misc]
        for name in sorted(self._rest.cut_off):
            await self._try(lambda name=name: cluster.reconnect(name))  # type: ignore[misc]
        for name in sorted(self._rest.without_disk):
            await self._try(lambda name=name: cluster.stop(name))  # type: ignore[misc]
        if (why := await self._start_the_dead()) is not None:
            return why
        return await self._end_workload()

    async def _try(self, act: Callable[[], Awaitable[object]]) -> None:
        with suppress(ClusterError, TimedOutError):  # whoever died meanwhile is started below
            await act()

    async def _start_the_dead(self) -> str | None:
        why = None
        while dead := [name for name in self._cluster.broker_names if self._state(name) in (None, "dead", "stopped")]:
            if self._left_ms() <= 0:
                return f"{', '.join(dead)} cannot be started{f': {why}' if why else ''}"
            with suppress(TimedOutError):  # then the attempt says what is wrong
                await self._cluster.wait_until(lambda dead=dead: self._registered(dead), self._left_ms())  # type: ignore[misc]
            try:
                await self._cluster.start(dead)
            except (ClusterError, TimedOutError) as error:
                why = str(error)
                await self._cluster.runtime.sleep_ms(LOOK_EVERY_MS)
        return None

    def _state(self, name: str) -> str | None:
        return self._cluster.state.processes.get(name)

    def _registered(self, names: list[str]) -> str | None:
        """Whose session has not expired yet: nobody can be started under that id."""
        znodes = self._cluster.state.znodes
        there = [name for name in names if f"{paths.BROKER_IDS}/{name.removeprefix('broker-')}" in znodes]
        return f"{', '.join(there)} registered although dead" if there else None

    async def _end_workload(self) -> str | None:
        if self._simulated is None:
            return None
        try:
            await self._simulated.end_workload(self._left_ms())
        except TimedOutError as error:
            return str(error)
        return None

    # --- coming to rest

    async def _until_whole_and_at_rest(self) -> None:
        while (self._is_broken() or self._is_restless()) and self._left_ms() > 0:
            await self._start_the_dead()  # whoever was frozen while it shut down has done so by now
            await self._cluster.runtime.sleep_ms(min(LOOK_EVERY_MS, self._left_ms()))

    def _is_broken(self) -> bool:
        """Whether something is still to be mended, by the znodes: what exactly, invariants say."""
        state = self._cluster.state
        topics, registered = state.of_topics, state.registered
        return (
            len(registered) < len(self._cluster.broker_names)
            or state.controller_id not in registered
            or bool(topics.offline(registered) or topics.under_replicated() or topics.reassigning() or topics.deleting)
            or any(not self._is_in_sync(tp) for tp in topics.partitions())
        )

    def _is_in_sync(self, tp: TopicPartition) -> bool:
        """Whether its replicas are its ISR: neither fewer nor others."""
        topics = self._cluster.state.of_topics
        assignment = topics.assignment(tp)
        return assignment is None or sorted(topics.isr(tp)) == sorted(assignment.replicas)

    def _is_restless(self) -> bool:
        return self._now_ms() < self._at_rest_from_ms or self._rest.quiet_ms(self._now_ms()) < REST_MS

    def _now_ms(self) -> int:
        return self._cluster.runtime.now_ms()

    def _left_ms(self) -> int:
        return max(self._deadline_ms - self._now_ms(), 0)
