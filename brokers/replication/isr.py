"""Changes of the ISR by a partition's leader: which followers join it and leave it.

A change that was refused means that the controller has decided something: the leader then does not change the ISR until it
learns the decision. A follower that may not join now (from 3.3 on; KIP-841) may when a later fetch of it is processed.

Source: Kafka 2.8, Partition.maybeExpandIsr, maybeShrinkIsr, sendAlterIsrRequest, handleAlterIsrResponse; 3.9,
isReplicaIsrEligible, handleAlterPartitionError; docs/kafka/requests.md 6.1, 6.2.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress

from kcsim.brokers.replication.high_watermark import out_of_sync_followers
from kcsim.brokers.replication.isr_writes import (
    UNAVAILABLE,
    IsrNotSubmittedError,
    IsrRefusedError,
    WritesIsr,
    WrittenIsr,
)
from kcsim.brokers.replication.partition import NEVER_MS, FollowerState, Partition
from kcsim.eventlog.events import EventFields, EventKind, with_reason
from kcsim.eventlog.sink import EventSink
from kcsim.jvm_hash_order import set_order
from kcsim.runtime.ports import Runtime, Task
from kcsim.vocabulary import BrokerId, FailureReason, LeaderAndIsr, LeaderEpoch, PartitionState, TopicPartition

RETRY_INTERVAL_MS = 1000
"""How long a hardened leader waits before it tries a write again that failed for lack of a session."""
UNTIL_DECIDED = " until the controller decides"


class IsrManager:
    """Changes the ISRs of the partitions that this broker leads.

    Args:
        on_changed: called with a partition whose ISR was changed, because its high watermark may advance.
        is_eligible: whether a broker may join an ISR, by what the leader knows of the cluster.

    Attributes:
        expands, shrinks, failed_updates: counts since the start (IsrExpandsPerSec and so on).
    """

    def __init__(
        self,
        broker_id: BrokerId,
        runtime: Runtime,
        writes: WritesIsr,
        on_changed: Callable[[Partition], None],
        is_eligible: Callable[[BrokerId], bool],
        sink: EventSink,
    ) -> None:
        self.expands = 0
        self.shrinks = 0
        self.failed_updates = 0
        self._broker_id = broker_id
        self._runtime = runtime
        self._writes = writes
        self._on_changed = on_changed
        self._is_eligible = is_eligible
        self._kept_out: dict[BrokerId, dict[TopicPartition, None]] = {}
        self._sink = sink
        self._under_way: dict[int, Task] = {}
        self._begun = 0
        self._reported_non_replicas: set[tuple[TopicPartition, LeaderEpoch]] = set()

    # --- changes

    async def maybe_expand(self, partition: Partition, follower: BrokerId, cause: int) -> None:
        """Add a caught-up follower to the ISR; no effect if the follower may not be added.

        If another change is pending, the follower's next fetch after it adds the follower.

        Raises: ZooKeeperError, ZooKeeperClientExpiredError; the ISR is not changed again then until the controller's next
        decision.
        """
        while partition.isr_write is not None:
            await partition.isr_write.wait()
        if not partition.may_join_isr(follower):
            if partition.is_missing_in_isr(follower):
                self._keep_out(partition.tp, follower)
            return
        if not self._is_eligible(follower):
            self._keep_out(partition.tp, follower)
            return
        isr = set_order((*partition.isr, follower))
        await self._change(partition, isr, EventKind.ISR_EXPANDED, {"broker_id": follower}, cause)

    def is_kept_out(self, follower: BrokerId) -> bool:
        """Return whether a follower that was caught up may not join an ISR, so that its next fetch tries again."""
        return follower in self._kept_out

    def take_kept_out(self, follower: BrokerId) -> Mapping[TopicPartition, None]:
        """Return the partitions whose ISR the follower was not allowed to join, and forget them."""
        return self._kept_out.pop(follower, {})

    def _keep_out(self, tp: TopicPartition, follower: BrokerId) -> None:
        self._kept_out.setdefault(follower, {})[tp] = None

    def _keep_added_out(self, partition: Partition, isr: tuple[BrokerId, ...]) -> None:
        for follower in isr:
            if follower not in partition.isr:
                self._keep_out(partition.tp, follower)

    async def maybe_shrink(self, partition: Partition, max_lag_ms: int, cause: int) -> None:
        """Remove the followers from the ISR that have not been caught up for too long.

        Raises: as maybe_expand.
        """
        while partition.isr_write is not None:
            await partition.isr_write.wait()
        if not partition.is_leader or partition.is_isr_change_pending:
            return
        end, now_ms = partition.log_end_offset, self._runtime.now_ms()
        gone = out_of_sync_followers(end, partition.isr, partition.followers, now_ms, max_lag_ms)
        if not gone:
            return
        isr = tuple(b for b in partition.isr if b not in gone)
        fields: EventFields = {
            "brokers": list(gone),
            "rule": "replica.lag.time.max.ms",
            "inputs": "; ".join(_lag_text(b, partition.followers[b], now_ms) for b in gone),
            "end_offset": end,
            "high_watermark": partition.high_watermark,
        }
        await self._change(partition, isr, EventKind.ISR_SHRUNK, fields, cause)

    def report_non_replica(self, partition: Partition, non_replica: BrokerId, cause: int) -> None:
        """Report that the ISR cannot be shrunk because it names a broker that is no replica; once per leader epoch."""
        key = (partition.tp, partition.leader_epoch)
        if key not in self._reported_non_replicas:
            self._reported_non_replicas.add(key)
            detail = f"{UNTIL_DECIDED}: Replica with id {non_replica} is not available on broker {self._broker_id}"
            error, reason = "NOT_LEADER_OR_FOLLOWER", FailureReason.NOT_A_REPLICA
            self._emit_failure(partition, partition.isr, error, detail, cause, reason)

    def close(self) -> None:
        """Stop: changes under way have no effect here any more."""
        for task in list(self._under_way.values()):
            task.kill()
        self._writes.close()

    async def _change(
        self, partition: Partition, isr: tuple[BrokerId, ...], kind: EventKind, fields: EventFields, cause: int
    ) -> None:
        proposed = partition.state_with_isr(isr)
        partition.pending_isr = isr
        if self._writes.is_at_once:
            await self._change_at_once(partition, proposed, kind, fields, cause)
        else:
            number = self._begun = self._begun + 1
            change = self._change_meanwhile(number, partition, proposed, kind, fields, cause)
            self._under_way[number] = self._runtime.spawn("isr-change", change)

    async def _change_at_once(
        self, partition: Partition, proposed: PartitionState, kind: EventKind, fields: EventFields, cause: int
    ) -> None:
        lock = partition.isr_write = self._runtime.promise()
        try:
            written = await self._written(partition, proposed, cause)
        except UNAVAILABLE:
            if self._writes.tries_again:
                self._try_again_later(partition, proposed.leader_and_isr, kind, fields, cause)
            raise
        finally:
            partition.isr_write = None
            lock.resolve(None)
        if written is not None:
            self._commit(partition, proposed.leader_and_isr.isr, kind, fields, written)

    def _try_again_later(
        self, partition: Partition, wanted: LeaderAndIsr, kind: EventKind, fields: EventFields, cause: int
    ) -> None:
        """Try a write again as long as it is pending. ISR and version decide whether an earlier attempt was applied."""
        number = self._begun = self._begun + 1

        async def try_again() -> None:
            await self._runtime.sleep_ms(RETRY_INTERVAL_MS)
            while partition.isr_write is not None:
                await partition.isr_write.wait()
            del self._under_way[number]
            is_same_term = partition.is_leader and partition.leader_epoch == wanted.leader_epoch
            if is_same_term and partition.pending_isr == wanted.isr:
                with suppress(*UNAVAILABLE):  # then there is a further attempt
                    await self._change_at_once(partition, partition.state_with_isr(wanted.isr), kind, fields, cause)

        self._under_way[number] = self._runtime.spawn("isr-change", try_again())

    async def _change_meanwhile(
        self,
        number: int,
        partition: Partition,
        proposed: PartitionState,
        kind: EventKind,
        fields: EventFields,
        cause: int,
    ) -> None:
        """Have the controller change an ISR. A broker that has ceased to lead before this begins asks all the same."""
        wanted = proposed.leader_and_isr
        try:
            written = await self._written(partition, proposed, cause)
        except IsrNotSubmittedError as not_submitted:
            if partition.leader_epoch == wanted.leader_epoch:
                partition.pending_isr = None
                self._keep_added_out(partition, wanted.isr)
            await not_submitted.earlier.wait()
        else:
            if written is not None and partition.is_leader and partition.leader_epoch == wanted.leader_epoch:
                self._commit(partition, wanted.isr, kind, fields, written)
        del self._under_way[number]

    async def _written(self, partition: Partition, proposed: PartitionState, cause: int) -> WrittenIsr | None:
        """Write a new ISR; None if it was refused. If the write fails, the change stays pending."""
        wanted = proposed.leader_and_isr
        try:
            return await self._writes.write(partition.tp, proposed, cause)
        except IsrRefusedError as refused:
            lasts = UNTIL_DECIDED if refused.is_final else ""
            self._report_failure(partition, wanted.isr, refused.error, f"{lasts}: {refused}", refused.cause)
            if not refused.is_final and partition.leader_epoch == wanted.leader_epoch:
                partition.pending_isr = None
                self._keep_added_out(partition, wanted.isr)
            return None
        except UNAVAILABLE as error:
            self._report_failure(partition, wanted.isr, type(error).__name__, f"{UNTIL_DECIDED}: {error}", cause)
            raise

    def _commit(
        self, partition: Partition, isr: tuple[BrokerId, ...], kind: EventKind, fields: EventFields, written: WrittenIsr
    ) -> None:
        partition.isr, partition.zk_version, partition.pending_isr = isr, written.version, None
        all_fields: EventFields = {
            **fields,
            "topic": partition.tp.topic,
            "partition": partition.tp.partition,
            "leader": self._broker_id,
            "leader_epoch": partition.leader_epoch,
            "controller_epoch": partition.controller_epoch,
            "isr": list(isr),
            "zk_version": written.version,
        }
        self._writes.record_change(partition.tp, self._sink.emit(kind, written.cause, **all_fields))
        if kind is EventKind.ISR_EXPANDED:
            self.expands += 1
        else:
            self.shrinks += 1
        if self._writes.moves_high_watermark:
            self._on_changed(partition)

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
            detail=f"ISR stays {list(partition.isr)}{detail}",
        )
        self._sink.emit(EventKind.ISR_CHANGE_FAILED, cause, **with_reason(fields, reason))


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
