"""The controller's event queue and its one thread.

Only this thread touches the controller's state. The queue is FIFO without priorities. Duplicate events are not merged;
handlers are level-triggered. Source: Kafka 2.8, ControllerEventManager.
"""

from collections.abc import Awaitable, Callable

from kcsim.controller.events import ControllerEvent, ControllerState, ShutdownEventThread, name_of, preempt, state_of
from kcsim.controller.metrics import ControllerMetrics
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.runtime.ports import Mailbox, Promise, Runtime, Task


class QueuedEvent:
    """An event in the queue. It is either processed or pre-empted, whichever comes first, and only once."""

    def __init__(self, event: ControllerEvent, queued_seq: int, now_ms: int, begun: "Promise[None]") -> None:
        self.event = event
        self.queued_seq = queued_seq
        self.enqueued_ms = now_ms
        self._begun = begun
        self._is_spent = False

    def spend(self) -> bool:
        """Claim the event. Return False if it was claimed before. Wakes all callers of wait_until_begun."""
        was_spent, self._is_spent = self._is_spent, True
        self._begun.resolve(None)
        return not was_spent

    async def wait_until_begun(self) -> None:
        """Wait until processing of the event has started (not finished), or until the event was pre-empted."""
        await self._begun.wait()


class ControllerEventManager:
    """The event queue and its thread.

    Args:
        process: handles one event. It gets the seq of the event's ControllerEventBegun, and raises no expected error.
    """

    def __init__(
        self,
        runtime: Runtime,
        sink: EventSink,
        process: Callable[[ControllerEvent, int], Awaitable[None]],
        metrics: ControllerMetrics,
    ) -> None:
        self._runtime = runtime
        self._sink = sink
        self._process = process
        self._metrics = metrics
        self._mailbox: Mailbox[QueuedEvent] = runtime.mailbox()
        self._thread: Task | None = None
        self._is_stopping = False
        self._released: Promise[None] | None = None
        self.state = ControllerState.IDLE

    def start(self) -> None:
        self._thread = self._runtime.spawn("controller-event-thread", self._run())

    def __len__(self) -> int:
        return len(self._mailbox)

    def put(self, event: ControllerEvent, cause: Cause) -> QueuedEvent:
        """Append an event to the queue."""
        queued_seq = self._sink.emit(
            EventKind.CONTROLLER_EVENT_QUEUED, cause, event=name_of(event), count=len(self._mailbox)
        )
        queued = QueuedEvent(event, queued_seq, self._runtime.now_ms(), self._runtime.promise())
        self._mailbox.put(queued)
        return queued

    def clear_and_put(self, event: ControllerEvent, cause: Cause) -> QueuedEvent:
        """Pre-empt all queued events, oldest first, then append an event."""
        for queued in self._mailbox.drain():
            if queued.spend():
                preempt(queued.event)
                self._sink.emit(
                    EventKind.CONTROLLER_EVENT_PREEMPTED,
                    cause,
                    event=name_of(queued.event),
                    rule=f"{name_of(event)} clears the queue",
                )
        return self.put(event, cause)

    def hold(self) -> None:
        """Begin no more events until `release` is called. Events are still queued meanwhile."""
        if self._released is None:
            self._released = self._runtime.promise()

    def release(self) -> None:
        """Continue with the queued events. No effect if nothing is held."""
        released, self._released = self._released, None
        if released is not None:
            released.resolve(None)

    async def close(self, cause: Cause) -> None:
        """Let the current event finish, pre-empt the queued events and end the thread."""
        self._is_stopping = True
        self.clear_and_put(ShutdownEventThread(), cause)
        self.release()
        if self._thread is not None:
            await self._thread.join()

    async def _run(self) -> None:
        while not self._is_stopping:
            queued = await self._mailbox.get()
            while self._released is not None:
                await self._released.wait()
                if self._is_stopping:
                    return
            if queued.spend() and not isinstance(queued.event, ShutdownEventThread):
                await self._process_one(queued)

    async def _process_one(self, queued: QueuedEvent) -> None:
        began_ms = self._runtime.now_ms()
        self.state = state_of(queued.event)
        begun = self._sink.emit(EventKind.CONTROLLER_EVENT_BEGUN, queued.queued_seq, event=name_of(queued.event))
        await self._process(queued.event, begun)
        took_ms = self._runtime.now_ms() - began_ms
        self._metrics.mark_event(self.state, began_ms - queued.enqueued_ms, took_ms)
        self.state = ControllerState.IDLE
        self._sink.emit(
            EventKind.CONTROLLER_EVENT_DONE,
            begun,
            event=name_of(queued.event),
            duration_ms=took_ms,
        )
