"""How a leader writes a new ISR of its partitions, and lets the controller know.

The new ISR is written to the partition's state znode, if nobody has written there since the leader last did or was told. A
refused write means that the controller has decided something: from then on the leader leaves the ISR alone until it hears
what. Changes are gathered, and told by one /isr_change_notification a little later.

Source: Kafka 2.8, Partition.maybeExpandIsr, maybeShrinkIsr and ZkIsrManager; reference requests.md 6.1, 6.2, 6.4, 6.5,
znodes.md 6.4.
"""

from kcsim.brokers.high_watermark import out_of_sync_followers
from kcsim.brokers.partition import NEVER_MS, FollowerState, Partition
from kcsim.controller.decisions.hash_order import set_order
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import EventSink, Runtime, Task
from kcsim.zk.vocabulary import BrokerId, LeaderEpoch, TopicPartition, ZkVersion
from kcsim.zk.zookeeper_client import ZooKeeperClientExpiredError

CHECK_EVERY_MS = 2_500
LINGER_MS = 5_000
LONGEST_SILENCE_MS = 60_000
UNAVAILABLE = (ZooKeeperError, ZooKeeperClientExpiredError)
"""What a write may meet in a world in which sessions expire and znodes vanish."""


def is_notification_due(now_ms: int, last_change_ms: int, last_notification_ms: int) -> bool:
    """Whether gathered changes are to be told at this check: none came lately, or nothing was told for long."""
    return now_ms - last_change_ms > LINGER_MS or now_ms - last_notification_ms > LONGEST_SILENCE_MS


class IsrManager:
    """Changes the ISRs of the partitions that this broker leads.

    Attributes:
        expands, shrinks, failed_updates: how often, since the start (IsrExpandsPerSec and so on).
    """

    def __init__(self, broker_id: BrokerId, runtime: Runtime, kafka_zk: KafkaZk, sink: EventSink) -> None:
        self.expands = 0
        self.shrinks = 0
        self.failed_updates = 0
        self._broker_id = broker_id
        self._runtime = runtime
        self._kafka_zk = kafka_zk
        self._sink = sink
        self._started_ms = runtime.now_ms()
        self._last_change_ms = self._started_ms
        self._last_notification_ms = self._started_ms
        self._untold: dict[TopicPartition, int] = {}  # with the event of the change
        self._telling: Task | None = None
        self._told_of_strangers: set[tuple[TopicPartition, LeaderEpoch]] = set()

    # --- changes

    async def maybe_expand(self, partition: Partition, follower: BrokerId, cause: int) -> None:
        """Add a follower that has caught up to the ISR; one that may not be added is left as it is.

        Raises: ZooKeeperError, ZooKeeperClientExpiredError; the ISR is left alone then until the controller decides anew.
        """
        while partition.isr_write is not None:
            await partition.isr_write.wait()
        if not partition.may_join_isr(follower):
            return
        isr = set_order((*partition.isr, follower))
        if await self._change(partition, isr, EventKind.ISR_EXPANDED, {"broker_id": follower}, cause):
            self.expands += 1

    async def maybe_shrink(self, partition: Partition, max_lag_ms: int, cause: int) -> bool:
        """Take the followers out of the ISR that have not caught up for too long; returns whether any was.

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
            "inputs": "; ".join(_said_of(b, partition.followers[b], now_ms) for b in gone),
            "end_offset": end,
            "high_watermark": partition.high_watermark,
        }
        if not await self._change(partition, isr, EventKind.ISR_SHRUNK, fields, cause):
            return False
        self.shrinks += 1
        return True

    def tell_of_stranger(self, partition: Partition, stranger: BrokerId, cause: int) -> None:
        """The ISR cannot be made smaller, for it names a broker that is no replica; told once for each leader epoch."""
        told = (partition.tp, partition.leader_epoch)
        if told not in self._told_of_strangers:
            self._told_of_strangers.add(told)
            detail = f"Replica with id {stranger} is not available on broker {self._broker_id}"
            self._tell_failure(partition, partition.isr, "NOT_LEADER_OR_FOLLOWER", detail, cause)

    async def _change(
        self, partition: Partition, isr: tuple[BrokerId, ...], kind: EventKind, fields: EventFields, cause: int
    ) -> bool:
        version = await self._write(partition, isr, cause)
        if version is None:
            return False
        partition.isr, partition.zk_version, partition.pending_isr = isr, version, None
        told: EventFields = {
            **fields,
            "topic": partition.tp.topic,
            "partition": partition.tp.partition,
            "leader": self._broker_id,
            "leader_epoch": partition.leader_epoch,
            "controller_epoch": partition.controller_epoch,
            "isr": list(isr),
            "zk_version": version,
        }
        self._tell_later(partition.tp, self._sink.emit(kind, cause, **told))
        return True

    async def _write(self, partition: Partition, isr: tuple[BrokerId, ...], cause: int) -> ZkVersion | None:
        """Write a new ISR; None if the znode was written meanwhile, or is gone. The change stays pending if it fails."""
        write = partition.isr_write = self._runtime.promise()
        partition.pending_isr = isr
        try:
            version = await self._kafka_zk.write_partition_state_as_leader(
                partition.tp, partition.state_with_isr(isr), cause
            )
        except UNAVAILABLE as error:
            self._report_failure(partition, isr, type(error).__name__, str(error), cause)
            raise
        finally:
            partition.isr_write = None
            write.resolve(None)
        if version is None:
            told = f"the state znode has another version than {partition.zk_version}, or is gone"
            self._report_failure(partition, isr, "BADVERSION", told, cause)
        return version

    def _report_failure(self, partition: Partition, isr: tuple[BrokerId, ...], error: str, detail: str, cause: int) -> None:
        self.failed_updates += 1
        self._tell_failure(partition, isr, error, detail, cause)

    def _tell_failure(self, partition: Partition, isr: tuple[BrokerId, ...], error: str, detail: str, cause: int) -> None:
        self._sink.emit(
            EventKind.ISR_CHANGE_FAILED,
            cause,
            topic=partition.tp.topic,
            partition=partition.tp.partition,
            leader=self._broker_id,
            leader_epoch=partition.leader_epoch,
            isr=list(isr),
            zk_version=partition.zk_version,
            error=error,
            detail=f"ISR stays {list(partition.isr)} until the controller decides: {detail}",
        )

    # --- telling the controller

    def _tell_later(self, tp: TopicPartition, change: int) -> None:
        self._untold[tp] = change
        self._last_change_ms = self._runtime.now_ms()
        if self._telling is None:
            self._telling = self._runtime.spawn("isr-change-propagation", self._tell())

    async def _tell(self) -> None:
        """Look at every beat of the check, which began with the process, as long as there is something to tell."""
        while self._untold:
            since_start_ms = self._runtime.now_ms() - self._started_ms
            await self._runtime.sleep_ms(CHECK_EVERY_MS - since_start_ms % CHECK_EVERY_MS)
            if is_notification_due(self._runtime.now_ms(), self._last_change_ms, self._last_notification_ms):
                await self._notify()
        self._telling = None

    async def _notify(self) -> None:
        changes, self._untold = self._untold, {}
        try:
            await self._kafka_zk.create_isr_change_notification(changes, max(changes.values()))
        except UNAVAILABLE:
            self._untold = {**changes, **self._untold}  # tried again at the next check
            return
        self._last_notification_ms = self._runtime.now_ms()

    def close(self) -> None:
        """The broker stops: what was not told by now never will be."""
        if self._telling is not None:
            self._telling.kill()


def stranger_in_isr(partition: Partition) -> BrokerId | None:
    """The first member of the ISR that is neither the leader nor a replica that could follow it; None if there is none."""
    known = {partition.broker_id, *partition.followers}
    return next((broker for broker in partition.isr if broker not in known), None)


def _said_of(follower: BrokerId, state: FollowerState, now_ms: int) -> str:
    end = "an unknown offset" if state.log_end_offset < 0 else str(state.log_end_offset)
    ago = (
        "never caught up" if state.last_caught_up_ms == NEVER_MS else f"caught up {now_ms - state.last_caught_up_ms} ms ago"
    )
    return f"{follower} at {end}, {ago}"
