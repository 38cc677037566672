"""ISRs that leaders write to ZooKeeper themselves, and the notifications of the controller: up to protocol version 2.6.

Changes are gathered and reported by one child of /isr_change_notification a little later.

Source: Kafka 2.8, ZkIsrManager; docs/kafka/requests.md 6.4, 6.5, docs/kafka/znodes.md 6.4.
"""

from kcsim.brokers.replication.isr_writes import UNAVAILABLE, IsrRefusedError, WrittenIsr
from kcsim.runtime.ports import Runtime, Task
from kcsim.vocabulary import PartitionState, TopicPartition
from kcsim.zk.kafka.isr_changes import IsrChangeZnodes
from kcsim.zk.kafka.partition_states import PartitionStateZnodes

CHECK_EVERY_MS = 2_500
LINGER_MS = 5_000
LONGEST_SILENCE_MS = 60_000


def is_notification_due(now_ms: int, last_change_ms: int, last_notification_ms: int) -> bool:
    """Return whether the check reports the gathered changes: no change was recent, or the last notification is long ago."""
    return now_ms - last_change_ms > LINGER_MS or now_ms - last_notification_ms > LONGEST_SILENCE_MS


class ZkIsrManager:
    """Writes the ISRs of the partitions that a broker leads, and notifies the controller."""

    is_at_once = True
    moves_high_watermark = True

    def __init__(
        self, runtime: Runtime, states: PartitionStateZnodes, notifications: IsrChangeZnodes, tries_again: bool = False
    ) -> None:
        self.tries_again = tries_again
        self._runtime = runtime
        self._states = states
        self._notifications = notifications
        self._started_ms = runtime.now_ms()
        self._last_change_ms = self._started_ms
        self._last_notification_ms = self._started_ms
        self._pending_changes: dict[TopicPartition, int] = {}  # with the event of the change
        self._propagation: Task | None = None

    async def write(self, tp: TopicPartition, proposed: PartitionState, cause: int) -> WrittenIsr:
        """Write a new ISR. Raises: IsrRefusedError, ZooKeeperError, ZooKeeperClientExpiredError."""
        version = await self._states.write_as_leader(tp, proposed, cause)
        if version is None:
            detail = f"the state znode has another version than {proposed.leader_and_isr.zk_version}, or is gone"
            raise IsrRefusedError("BADVERSION", detail, cause)
        return WrittenIsr(version, cause)

    def record_change(self, tp: TopicPartition, change: int) -> None:
        """Take note of a change that was written, by its event, for the next notification."""
        self._pending_changes[tp] = change
        self._last_change_ms = self._runtime.now_ms()
        if self._propagation is None:
            self._propagation = self._runtime.spawn("isr-change-propagation", self._propagate_isr_changes())

    async def _propagate_isr_changes(self) -> None:
        """Check periodically, counted from the start of the process, as long as changes are pending."""
        while self._pending_changes:
            since_start_ms = self._runtime.now_ms() - self._started_ms
            await self._runtime.sleep_ms(CHECK_EVERY_MS - since_start_ms % CHECK_EVERY_MS)
            if is_notification_due(self._runtime.now_ms(), self._last_change_ms, self._last_notification_ms):
                await self._notify()
        self._propagation = None

    async def _notify(self) -> None:
        changes, self._pending_changes = self._pending_changes, {}
        try:
            await self._notifications.create(changes, max(changes.values()))
        except UNAVAILABLE:
            self._pending_changes = {**changes, **self._pending_changes}  # tried again at the next check
            return
        self._last_notification_ms = self._runtime.now_ms()

    def close(self) -> None:
        """Stop; changes that are not reported yet are never reported."""
        if self._propagation is not None:
            self._propagation.kill()
