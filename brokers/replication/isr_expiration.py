"""The periodic check by which a leader finds followers that have not been caught up for too long.

Every half replica.lag.time.max.ms, counted from the start of the process, the leader checks the partitions in which a member
of the ISR is not at the leader's log end. Kafka checks all partitions. Here a partition whose ISR is fully caught up is not
checked until new records are appended, so that an idle broker does nothing.

An ISR can name a broker that is no replica: after a manual edit, or when a controller died in the middle of a cancelled
reassignment. Kafka's check then fails at that partition, each time (KAFKA-9672, seen on 2.8.2): neither its ISR nor that of
any later partition is shrunk. Here the later partitions are those that were led, or written to, later; in Kafka the order of
a hash map decides.

Source: Kafka 2.8, ReplicaManager.maybeShrinkIsr; docs/kafka/requests.md 6.1, 13.4.
"""

from kcsim.brokers.replication.high_watermark import is_anyone_behind
from kcsim.brokers.replication.hosted_partitions import HostedPartitions
from kcsim.brokers.replication.isr import IsrManager, non_replica_in_isr
from kcsim.brokers.replication.isr_writes import UNAVAILABLE
from kcsim.brokers.replication.partition import Partition
from kcsim.runtime.ports import Runtime, Task
from kcsim.vocabulary import TopicPartition


class IsrExpiration:
    """Watches the partitions that a broker leads.

    Args:
        max_lag_ms: replica.lag.time.max.ms.
    """

    def __init__(
        self,
        runtime: Runtime,
        hosted: HostedPartitions,
        isr: IsrManager,
        max_lag_ms: int,
    ) -> None:
        self._runtime = runtime
        self._hosted = hosted
        self._isr = isr
        self._max_lag_ms = max_lag_ms
        self._started_ms = runtime.now_ms()
        self._watched: dict[TopicPartition, tuple[Partition, int]] = {}
        self._task: Task | None = None

    def watch(self, partition: Partition, cause: int) -> None:
        """Watch a partition with a new leader: followers that do not fetch fall behind. `cause` is the leader's event."""
        self._watched[partition.tp] = partition, cause
        if self._task is None:
            self._task = self._runtime.spawn("isr-expiration", self._run())

    def records_appended(self, partition: Partition, first_offset: int, cause: int) -> None:
        """Watch a partition after an append: followers that do not fetch fall behind.

        If a follower was behind already, the earlier cause is kept.
        """
        was_behind = is_anyone_behind(first_offset, partition.isr, partition.followers)
        if not was_behind or partition.tp not in self._watched:
            self.watch(partition, cause)

    def close(self) -> None:
        if self._task is not None:
            self._task.kill()

    async def _run(self) -> None:
        every_ms = max(1, self._max_lag_ms // 2)
        while self._watched:
            since_start_ms = self._runtime.now_ms() - self._started_ms
            await self._runtime.sleep_ms(every_ms - since_start_ms % every_ms)
            try:
                await self._look()
            except UNAVAILABLE:
                continue  # the remaining partitions are checked next time, as in Kafka
        self._task = None

    async def _look(self) -> None:
        for tp, (partition, cause) in list(self._watched.items()):
            if self._is_led(partition) and (non_replica := non_replica_in_isr(partition)) is not None:
                self._isr.report_non_replica(partition, non_replica, cause)
                return
            if self._may_shrink(partition):
                await self._isr.maybe_shrink(partition, self._max_lag_ms, cause)
            if not self._may_shrink(partition):
                del self._watched[tp]

    def _may_shrink(self, partition: Partition) -> bool:
        """Return whether the ISR may have to be shrunk now or later.

        It may if the partition is hosted and led here, and an ISR member is not at its log end.
        """
        return self._is_led(partition) and is_anyone_behind(partition.log_end_offset, partition.isr, partition.followers)

    def _is_led(self, partition: Partition) -> bool:
        return self._hosted.get(partition.tp) is partition and partition.is_leader
