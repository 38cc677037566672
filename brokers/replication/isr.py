"""Changes of the ISR by a partition's leader, and the notification of the controller.

The leader writes the new ISR to the partition's state znode, if the znode still has the version that the leader knows. A
refused write means that the controller has decided something: the leader then does not change the ISR until it learns the
decision. Changes are gathered and reported by one /isr_change_notification a little later.

Source: Kafka 2.8, Partition.maybeExpandIsr, maybeShrinkIsr and ZkIsrManager; docs/kafka/requests.md 6.1, 6.2, 6.4, 6.5,
docs/kafka/znodes.md 6.4.
"""

from kcsim.brokers.replication.high_watermark import out_of_sync_followers
from kcsim.brokers.replication.partition import NEVER_MS, FollowerState, Partition
from kcsim.eventlog.events import EventFields, EventKind, with_reason
from kcsim.eventlog.sink import EventSink
from kcsim.jvm_hash_order import set_order
from kcsim.runtime.ports import Runtime, Task
from kcsim.vocabulary import BrokerId, FailureReason, LeaderEpoch, TopicPartition, ZkVersion
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.isr_changes import IsrChangeZnodes
from kcsim.zk.kafka.partition_states import PartitionStateZnodes
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClientExpiredError

CHECK_EVERY_MS = 2_500
LINGER_MS = 5_000
LONGEST_SILENCE_MS = 60_000
UNAVAILABLE = (ZooKeeperError, ZooKeeperClientExpiredError)
"""Errors that a write may raise when sessions expire and znodes are deleted."""


def is_notification_due(now_ms: int, last_change_ms: int, last_notification_ms: int) -> bool:
    """Return whether the check reports the gathered changes: no change was recent, or the last notification is long ago."""
    return now_ms - last_change_ms > LINGER_MS or now_ms - last_notification_ms > LONGEST_SILENCE_MS


class IsrManager:
    """Changes the ISRs of the partitions that this broker leads.

    Attributes:
        expands, shrinks, failed_updates: counts since the start (IsrExpandsPerSec and so on).
    """

    def __init__(
        self,
        broker_id: BrokerId,
        runtime: Runtime,
        states: PartitionStateZnodes,
        notifications: IsrChangeZnodes,
        sink: EventSink,
    ) -> None:
        self.expands = 0
        self.shrinks = 0
        self.failed_updates = 0
        self._broker_id = broker_id
        self._runtime = runtime
        self._states = states
        self._notifications = notifications
        self._sink = sink
        self._started_ms = runtime.now_ms()
        self._last_change_ms = self._started_ms
        self._last_notification_ms = self._started_ms
        self._pending_changes: dict[TopicPartition, int] = {}  # with the event of the change
        self._propagation: Task | None = None
        self._reported_non_replicas: set[tuple[TopicPartition, LeaderEpoch]] = set()

    # --- changes

    async def maybe_expand(self, partition: Partition, follower: BrokerId, cause: int) -> None:
        """Add a caught-up follower to the ISR; no effect if the follower may not be added.

        Raises: ZooKeeperError, ZooKeeperClientExpiredError; the ISR is not changed again then until the controller's next
        decision.
        """
        while partition.isr_write is not None:
            await partition.isr_write.wait()
        if not partition.may_join_isr(follower):
            return
        isr = set_order((*partition.isr, follower))
        if await self._change(partition, isr, EventKind.ISR_EXPANDED, {"broker_id": follower}, cause):
            self.expands += 1

    async def maybe_shrink(self, partition: Partition, max_lag_ms: int, cause: int) -> bool:
        """Remove the followers from the ISR that have not been caught up for too long. Return whether any was removed.

        Raises: as maybe_expand.
        """
        while partition.isr_write is not None:
            await partition.isr_write.wait()
        if not partition.is_leader or partition.is_isr_change_pending:
            return False
        end, now_ms = partition.log_end_offset, self._runtime.now_ms()
        gone = out_of_sync_followers(end, partition.isr, partition.followers, now_ms, max_lag_ms)
        if not gone:
            return False
        isr = tuple(b for b in partition.isr if b not in gone)
        fields: EventFields = {
            "brokers": list(gone),
            "rule": "replica.lag.time.max.ms",
            "inputs": "; ".join(_lag_text(b, partition.followers[b], now_ms) for b in gone),
            "end_offset": end,
            "high_watermark": partition.high_watermark,
        }
        if not await self._change(partition, isr, EventKind.ISR_SHRUNK, fields, cause):
            return False
        self.shrinks += 1
        return True

    def report_non_replica(self, partition: Partition, non_replica: BrokerId, cause: int) -> None:
        """Report that the ISR cannot be shrunk because it names a broker that is no replica; once per leader epoch."""
        key = (partition.tp, partition.leader_epoch)
        if key not in self._reported_non_replicas:
            self._reported_non_replicas.add(key)
            detail = f"Replica with id {non_replica} is not available on broker {self._broker_id}"
            error, reason = "NOT_LEADER_OR_FOLLOWER", FailureReason.NOT_A_REPLICA
            self._emit_failure(partition, partition.isr, error, detail, cause, reason)

    async def _change(
        self, partition: Partition, isr: tuple[BrokerId, ...], kind: EventKind, fields: EventFields, cause: int
    ) -> bool:
        version = await self._write(partition, isr, cause)
        if version is None:
            return False
        partition.isr, partition.zk_version, partition.pending_isr = isr, version, None
        all_fields: EventFields = {
            **fields,
            "topic": partition.tp.topic,
            "partition": partition.tp.partition,
            "leader": self._broker_id,
            "leader_epoch": partition.leader_epoch,
            "controller_epoch": partition.controller_epoch,
            "isr": list(isr),
            "zk_version": version,
        }
        self._record_isr_change(partition.tp, self._sink.emit(kind, cause, **all_fields))
        return True

    async def _write(self, partition: Partition, isr: tuple[BrokerId, ...], cause: int) -> ZkVersion | None:
        """Write a new ISR. Return the new version, or None if the znode was changed or deleted meanwhile.

        If the write fails, the change stays pending.
        """
        write = partition.isr_write = self._runtime.promise()
        partition.pending_isr = isr
        try:
            version = await self._states.write_as_leader(partition.tp, partition.state_with_isr(isr), cause)
        except UNAVAILABLE as error:
            self._report_failure(partition, isr, type(error).__name__, str(error), cause)
            raise
        finally:
            partition.isr_write = None
            write.resolve(None)
        if version is None:
            detail = f"the state znode has another version than {partition.zk_version}, or is gone"
            self._report_failure(partition, isr, "BADVERSION", detail, cause)
        return version

    def _report_failure(self, partition: Partition, isr: tuple[BrokerId, ...], error: str, detail: str, cause: int) -> None:
        self.failed_updates += 1
        self._emit_failure(partition, isr, error, detail, cause)

    def _emit_failure(
        self,
        partition: Partition,
        isr: tuple[BrokerId, ...],
        error: str,
        detail: str,
        cause: int,
        reason: FailureReason | None = None,
    ) -> None:
        fields = EventFields(
            topic=partition.tp.topic,
            partition=partition.tp.partition,
            leader=self._broker_id,
            leader_epoch=partition.leader_epoch,
            isr=list(isr),
            zk_version=partition.zk_version,
            error=error,
            detail=f"ISR stays {list(partition.isr)} until the controller decides: {detail}",
        )
        self._sink.emit(EventKind.ISR_CHANGE_FAILED, cause, **with_reason(fields, reason))

    # --- notification of the controller

    def _record_isr_change(self, tp: TopicPartition, change: int) -> None:
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


def non_replica_in_isr(partition: Partition) -> BrokerId | None:
    """Return the first ISR member that is neither the leader nor another replica of the assignment, or None."""
    known = {partition.broker_id, *partition.followers}
    return next((broker for broker in partition.isr if broker not in known), None)


def _lag_text(follower: BrokerId, state: FollowerState, now_ms: int) -> str:
    end = "an unknown offset" if state.log_end_offset < 0 else str(state.log_end_offset)
    ago = (
        "never caught up" if state.last_caught_up_ms == NEVER_MS else f"caught up {now_ms - state.last_caught_up_ms} ms ago"
    )
    return f"{follower} at {end}, {ago}"
