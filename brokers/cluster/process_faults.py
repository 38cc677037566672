"""Kills and pauses of brokers' processes, at once or at a write to ZooKeeper."""

from collections.abc import Callable, Sequence
from functools import partial

from kcsim.brokers.cluster.broker_slots import BrokerSlot, BrokerSlots
from kcsim.brokers.cluster.scenario_cluster import Moment
from kcsim.brokers.network.process import WriteBreakpoint, WriteMoment
from kcsim.brokers.network.process_states import ProcessState
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.run_actions import ArmedWrite, ClusterError, RunActionLog, process_state_fields
from kcsim.runtime.ports import Runtime
from kcsim.zk.operations import Check, Multi, MultiRead, Request


class ProcessFaults:
    """The faults of the processes of a cluster's brokers."""

    def __init__(self, runtime: Runtime, log: EventLog, actions: RunActionLog, slots: BrokerSlots) -> None:
        self._runtime = runtime
        self._log = log
        self._actions = actions
        self._slots = slots
        self._is_disarmed = False

    async def kill(self, name: str) -> int:
        """Kill a broker as SIGKILL does; its session is left to expire. Raises: ClusterError."""
        slot, _ = self._slots.alive(name)
        cause = self._actions.fault("kill", name)
        self.apply_kill(slot, cause, "")
        return cause

    def arm_kill(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        """Kill a broker when it reaches a write to ZooKeeper; return at once. Arguments as for arm_pause."""
        slot, _ = self._slots.running(name)
        return self._arm("kill", slot, moment, path, nth, self.apply_kill)

    def apply_kill(self, slot: BrokerSlot, cause: int, where: ArmedWrite | str) -> None:
        """End a broker's process at once, and confirm the kill.

        Args:
            cause: the sequence number of the fault.
            where: what the process was at, or why it was killed; "" says nothing.
        """
        process, slot.process, slot.broker = slot.process, None, None
        assert process is not None
        sessions = [f"0x{s.session_id:016x}" for s in process.live_sessions]
        self._log.append(process.name, EventKind.PROCESS_STATE, cause, process_state_fields("dead", where))
        detail = f"{process.name} is dead{where and f' {where}'}; session {', '.join(sessions) or 'none'} left to expire"
        self._actions.confirm(cause, "kill", process.name, detail)
        process.kill(cause)

    async def pause(self, name: str, for_ms: int | None = None) -> int:
        """Freeze a broker as SIGSTOP or a long garbage collection does, until `resume` or for `for_ms`.

        Raises: ClusterError.
        """
        slot, _ = self._slots.running(name)
        cause = self._actions.fault("pause", name)
        self._apply_pause(slot, cause, "between two steps", for_ms)
        return cause

    def arm_pause(self, name: str, moment: Moment, path: str | None = None, nth: int = 1, for_ms: int | None = None) -> int:
        """Freeze a broker when it reaches a write to ZooKeeper; return at once.

        Args:
            moment: `before`: begun but not yet sent; `after`: applied, but the broker has not seen the response.
            path: only a write to this path or below it counts.
            nth: which of these writes, counted from now on; 1 is the first.
            for_ms: how long it stays frozen; None: until `resume`.
        """
        slot, _ = self._slots.running(name)
        return self._arm("pause", slot, moment, path, nth, partial(self._apply_pause, for_ms=for_ms))

    def _apply_pause(self, slot: BrokerSlot, cause: int, where: ArmedWrite | str, for_ms: int | None) -> None:
        process = slot.process
        assert process is not None
        slot.paused_by = cause
        if for_ms is not None:
            self._runtime.spawn(f"resume {process.name}", self._resume_after(slot, cause, for_ms))
        process.pause(cause)
        self._log.append(process.name, EventKind.PROCESS_STATE, cause, process_state_fields("paused", where))
        self._actions.confirm(cause, "pause", process.name, f"{process.name} is frozen {where}, its heartbeats with it")

    def _arm(
        self,
        fault: str,
        slot: BrokerSlot,
        moment: Moment,
        path: str | None,
        nth: int,
        apply: Callable[[BrokerSlot, int, ArmedWrite], None],
    ) -> int:
        assert slot.process is not None
        where = ArmedWrite(moment, path)
        cause = self._actions.arm(fault, slot.spec.name, where)
        still_to_come = nth

        def matches(requests: Sequence[Request]) -> bool:
            nonlocal still_to_come
            if self._is_disarmed:
                return False
            if any(_touches(request, path) for request in requests):
                still_to_come -= 1
            return still_to_come == 0

        slot.process.break_at(WriteBreakpoint(WriteMoment(moment), matches, lambda: apply(slot, cause, where)))
        return cause

    async def _resume_after(self, slot: BrokerSlot, cause: int, for_ms: int) -> None:
        """Resume a broker after this time, unless it was resumed or killed meanwhile."""
        await self._runtime.sleep_ms(for_ms)
        is_paused = slot.process is not None and slot.process.state is ProcessState.PAUSED
        if is_paused and slot.paused_by == cause:
            await self.resume(slot.spec.name)

    async def resume(self, name: str) -> int:
        """Resume a frozen broker. Raises: ClusterError."""
        slot = self._slots.of(name)
        if slot.process is None or slot.process.state is not ProcessState.PAUSED:
            raise ClusterError(f"{name} is not paused")
        cause = self._actions.act("resume", name)
        self._log.append(name, EventKind.PROCESS_STATE, cause, EventFields(state="running"))
        slot.process.resume(cause)
        return cause

    def disarm(self) -> None:
        """Let the faults that wait for a write never happen."""
        self._is_disarmed = True


def _touches(request: Request, path: str | None) -> bool:
    if isinstance(request, Multi):
        return any(_touches(op, path) for op in request.ops if not isinstance(op, Check))
    if isinstance(request, MultiRead):
        return False
    return path is None or request.path == path or request.path.startswith(path.rstrip("/") + "/")
