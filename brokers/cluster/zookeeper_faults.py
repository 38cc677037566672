"""Faults of brokers' ZooKeeper sessions and of their connections to ZooKeeper."""

from kcsim.brokers.cluster.broker_slots import BrokerSlots
from kcsim.brokers.network.process import Process
from kcsim.brokers.network.process_states import ProcessState
from kcsim.errors import TimedOutError
from kcsim.eventlog.run_actions import RunActionLog
from kcsim.runtime.ports import Runtime


class ZooKeeperFaults:
    """The faults between a cluster's brokers and ZooKeeper."""

    def __init__(self, runtime: Runtime, actions: RunActionLog, slots: BrokerSlots) -> None:
        self._runtime = runtime
        self._actions = actions
        self._slots = slots

    async def expire(self, name: str) -> int:
        """Let ZooKeeper expire the session of a live broker. Raises: ClusterError."""
        session = self._slots.session(name)
        cause = self._actions.fault("expire", name)
        await session.expire(cause)
        self._actions.confirm(cause, "expire", name, f"session 0x{session.session_id:016x} has ended")
        return cause

    async def disconnect(self, name: str, for_ms: int | None = None) -> int:
        """Disconnect a broker from ZooKeeper, until `reconnect` or for `for_ms`; its session is not closed.

        Raises: ClusterError.
        """
        _, process = self._slots.running(name)
        session = self._slots.session(name)
        cause = self._actions.fault("disconnect", name)
        process.refuse_connections(cause)
        try:
            await session.cut(cause)
        except TimedOutError:  # nothing was cut, so no caller will undo it
            process.allow_connections()
            raise
        self._actions.confirm(cause, "disconnect", name, f"connection of session 0x{session.session_id:016x} is cut")
        if for_ms is not None:
            self._runtime.spawn(f"reconnect {name}", self._reconnect_after(process, for_ms))
        return cause

    async def _reconnect_after(self, process: Process, for_ms: int) -> None:
        await self._runtime.sleep_ms(for_ms)
        if process.state is not ProcessState.DEAD:
            self._actions.act("reconnect", process.name)
            process.allow_connections()

    async def reconnect(self, name: str) -> int:
        """Let a broker connect to ZooKeeper again. Raises: ClusterError."""
        _, process = self._slots.running(name)
        cause = self._actions.act("reconnect", name)
        process.allow_connections()
        return cause
