"""How a leader finds the followers that have fallen behind for too long.

Every half replica.lag.time.max.ms, counted from the start of the process, it looks at the partitions in which a member of
the ISR is not where the leader's log ends. Kafka looks at all; here a partition that everybody has caught up with is not
looked at before there is something new in it, so that an idle broker does nothing.

An ISR can name a broker that is no replica: by hand, or where a controller died in the middle of a cancelled
reassignment. Then Kafka's look fails at that partition, each time (KAFKA-9672, seen on 2.8.2): neither its ISR is made
smaller nor that of any partition that comes after it. Here these are the ones that were led, or written to, later; in
Kafka a hash map's order decides.

Source: Kafka 2.8, ReplicaManager.maybeShrinkIsr; reference requests.md 6.1, 13.4.
"""

from collections.abc import Callable

from kcsim.brokers.high_watermark import is_anyone_behind
from kcsim.brokers.hosted import HostedPartitions
from kcsim.brokers.isr import UNAVAILABLE, IsrManager, stranger_in_isr
from kcsim.brokers.partition import Partition
from kcsim.zk.ports import Runtime, Task
from kcsim.zk.vocabulary import TopicPartition


class IsrExpiration:
    """Watches the partitions that a broker leads.

    Args:
        max_lag_ms: replica.lag.time.max.ms.
        on_shrunk: called with a partition whose ISR has become smaller: it may be committed further than it was.
    """

    def __init__(
        self,
        runtime: Runtime,
        hosted: HostedPartitions,
        isr: IsrManager,
        max_lag_ms: int,
        on_shrunk: Callable[[Partition], None],
    ) -> None:
        self._runtime = runtime
        self._hosted = hosted
        self._isr = isr
        self._max_lag_ms = max_lag_ms
        self._on_shrunk = on_shrunk
        self._started_ms = runtime.now_ms()
        self._watched: dict[TopicPartition, tuple[Partition, int]] = {}
        self._task: Task | None = None

    def watch(self, partition: Partition, cause: int) -> None:
        """Whoever does not fetch from a partition's new leader falls behind; `cause` is the leader's beginning."""
        self._watched[partition.tp] = partition, cause
        if self._task is None:
            self._task = self._runtime.spawn("isr-expiration", self._run())

    def records_appended(self, partition: Partition, first_offset: int, cause: int) -> None:
        """Whoever does not fetch what was appended falls behind; who had done so before has an earlier cause for that."""
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
                continue  # the rest is looked at next time, as in Kafka
        self._task = None

    async def _look(self) -> None:
        for tp, (partition, cause) in list(self._watched.items()):
            if self._is_led(partition) and (stranger := stranger_in_isr(partition)) is not None:
                self._isr.tell_of_stranger(partition, stranger, cause)
                return
            if self._may_shrink(partition) and await self._isr.maybe_shrink(partition, self._max_lag_ms, cause):
                self._on_shrunk(partition)
            if not self._may_shrink(partition):
                del self._watched[tp]

    def _may_shrink(self, partition: Partition) -> bool:
        """Now or later: it is still here and led, and a member of the ISR is not where its log ends."""
        return self._is_led(partition) and is_anyone_behind(partition.log_end_offset, partition.isr, partition.followers)

    def _is_led(self, partition: Partition) -> bool:
        return self._hosted.get(partition.tp) is partition and partition.is_leader
