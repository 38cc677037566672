"""The consumers of a run, and the actions and faults for them. Each verb leaves events, as those of cluster.py do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kcsim.brokers.clients.clients import Address
from kcsim.brokers.clients.consumer import Consumer
from kcsim.brokers.clients.consumer_config import ConsumerSpec
from kcsim.brokers.clients.membership import FatalGroupError
from kcsim.brokers.network.process import Process
from kcsim.brokers.network.process_states import ProcessState
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.node_names import consumer_node
from kcsim.eventlog.run_actions import ClusterError, RunActionLog
from kcsim.runtime.ports import Promise, Runtime

CLOSE_WITHIN_MS = 60_000


@dataclass
class _ConsumerSlot:
    spec: ConsumerSpec
    process: Process | None = None
    consumer: Consumer | None = None


class ConsumerFleet:
    """Consumers, each in a process of its own.

    Args:
        new_process: returns a new process of that name, with its access to the network.
        bootstrap: returns the addresses of brokers.
    """

    def __init__(
        self,
        runtime: Runtime,
        log: EventLog,
        actions: RunActionLog,
        new_process: Callable[[str], Process],
        bootstrap: Callable[[], tuple[Address, ...]],
    ) -> None:
        self._runtime = runtime
        self._log = log
        self._actions = actions
        self._new_process = new_process
        self._bootstrap = bootstrap
        self._slots: dict[str, _ConsumerSlot] = {}

    def declare(self, specs: Sequence[ConsumerSpec]) -> None:
        """Declare consumers, so that they can be named; none is started yet."""
        for spec in specs:
            self._slots[spec.name] = _ConsumerSlot(spec)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._slots)

    # --- verbs; each returns the seq of its event

    async def start(self, names: Sequence[str]) -> int:
        """Start consumers, all at once; each joins its group once it has found the coordinator. Raises: ClusterError."""
        slots = [self._slot(name) for name in names]
        for slot in slots:
            if slot.process is not None:
                raise ClusterError(f"{slot.spec.node} runs already")
        cause = self._actions.act("start-consumers", ", ".join(consumer_node(name) for name in names))
        for slot in slots:
            self._boot(slot, cause)
        return cause

    def _boot(self, slot: _ConsumerSlot, cause: int) -> None:
        sink = self._log.sink(slot.spec.node)
        process = self._new_process(slot.spec.node)
        started = sink.emit(EventKind.PROCESS_STATE, cause, state=process.state.value)
        consumer = Consumer(process, self._bootstrap(), slot.spec, sink, started)
        slot.process, slot.consumer = process, consumer

        async def run() -> None:
            try:
                await consumer.run()
            except FatalGroupError as error:
                detail = f"group {slot.spec.group_id} refuses it: {error.error.name}"
                fields = EventFields(state="stopped", error=error.error.name, detail=detail)
                self._log.append(slot.spec.node, EventKind.PROCESS_STATE, started, fields)
                slot.process = slot.consumer = None
                process.kill()

        process.spawn("consumer", run())

    async def stop(self, name: str) -> int:
        """Close a consumer: it commits, and leaves its group unless it is a static member. Raises: ClusterError."""
        slot, process = self._running(name)
        consumer = slot.consumer
        assert consumer is not None
        cause = self._actions.act("stop-consumers", slot.spec.node)
        closed: Promise[None] = self._runtime.promise()

        async def close() -> None:
            await consumer.close(cause)
            closed.resolve(None)

        process.spawn("close", close())
        await closed.wait(CLOSE_WITHIN_MS)
        process.kill(cause)
        slot.process = slot.consumer = None
        self._log.append(slot.spec.node, EventKind.PROCESS_STATE, cause, EventFields(state="stopped"))
        return cause

    async def kill(self, name: str) -> int:
        """Kill a consumer: its group removes it when its session has expired. Raises: ClusterError."""
        slot, process = self._alive(name)
        cause = self._actions.fault("kill", slot.spec.node)
        owned = slot.consumer.owned if slot.consumer is not None else ()
        slot.process = slot.consumer = None
        self._log.append(slot.spec.node, EventKind.PROCESS_STATE, cause, EventFields(state="dead"))
        consumed = ", ".join(map(str, owned)) or "nothing"
        self._actions.confirm(cause, "kill", slot.spec.node, f"{slot.spec.node} is dead; it was consuming {consumed}")
        process.kill(cause)
        return cause

    async def pause(self, name: str) -> int:
        """Freeze a consumer with all its tasks, as a long garbage collection does. Raises: ClusterError."""
        slot, process = self._running(name)
        cause = self._actions.fault("pause", slot.spec.node)
        process.pause(cause)
        self._log.append(slot.spec.node, EventKind.PROCESS_STATE, cause, EventFields(state="paused"))
        self._actions.confirm(cause, "pause", slot.spec.node, f"{slot.spec.node} is frozen")
        return cause

    async def resume(self, name: str) -> int:
        """Resume a frozen consumer. Raises: ClusterError."""
        slot, process = self._alive(name)
        if process.state is not ProcessState.PAUSED:
            raise ClusterError(f"{slot.spec.node} is {process.state.value}, so there is nothing to resume")
        cause = self._actions.act("resume-consumers", slot.spec.node)
        self._log.append(slot.spec.node, EventKind.PROCESS_STATE, cause, EventFields(state="running"))
        process.resume(cause)
        return cause

    async def stall(self, name: str, for_ms: int) -> int:
        """Keep a consumer's application busy: it does not poll, its heartbeats go on. Raises: ClusterError."""
        slot, _ = self._running(name)
        assert slot.consumer is not None
        cause = self._actions.fault("stall", slot.spec.node, f"does not poll for {for_ms} ms")
        slot.consumer.stall(for_ms, cause)
        self._actions.confirm(cause, "stall", slot.spec.node, f"{slot.spec.node} is busy; its heartbeats go on")
        return cause

    def retire(self) -> None:
        """End all consumers at the end of the run."""
        for slot in self._slots.values():
            if slot.process is not None:
                slot.process.retire()

    # --- look-ups

    def _slot(self, name: str) -> _ConsumerSlot:
        if name not in self._slots:
            raise ClusterError(f"no consumer {name}; there are {', '.join(self._slots) or 'none'}")
        return self._slots[name]

    def _alive(self, name: str) -> tuple[_ConsumerSlot, Process]:
        slot = self._slot(name)
        if slot.process is None:
            raise ClusterError(f"{slot.spec.node} is not running")
        return slot, slot.process

    def _running(self, name: str) -> tuple[_ConsumerSlot, Process]:
        slot, process = self._alive(name)
        if process.state is not ProcessState.RUNNING:
            raise ClusterError(f"{slot.spec.node} is {process.state.value}")
        return slot, process
