"""The high watermark on disk. Source: docs/kafka/requests.md 6.6."""

from collections.abc import Awaitable, Callable

from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.replication.high_watermark_checkpoint import HighWatermarkCheckpoint
from kcsim.runtime.simulated import SimulatedRuntime
from tests.brokers.broker_bench import ORDERS_0

Script = Callable[[SimulatedRuntime, HighWatermarkCheckpoint, ReplicaLog], Awaitable[None]]


def play(script: Script) -> None:
    runtime = SimulatedRuntime()

    async def main() -> None:
        await runtime.sleep_ms(700)
        checkpoint = HighWatermarkCheckpoint(runtime, 5_000)
        checkpoint.start()
        await script(runtime, checkpoint, ReplicaLog(ORDERS_0))

    runtime.run(main())


def test_it_is_written_at_the_next_beat_counted_from_the_first_leader_and_isr() -> None:
    async def script(runtime: SimulatedRuntime, checkpoint: HighWatermarkCheckpoint, log: ReplicaLog) -> None:
        await runtime.sleep_ms(6_000)
        log.high_watermark = 5
        checkpoint.moved(log)
        await runtime.sleep_ms(3_999)
        assert log.checkpointed_high_watermark == 0
        await runtime.sleep_ms(2)
        assert (runtime.now_ms(), log.checkpointed_high_watermark) == (10_701, 5)

    play(script)


def test_nothing_is_scheduled_while_nothing_moves() -> None:
    async def script(runtime: SimulatedRuntime, checkpoint: HighWatermarkCheckpoint, log: ReplicaLog) -> None:
        for offset in (5, 9):
            log.high_watermark = offset
            checkpoint.moved(log)
            await runtime.sleep_ms(20_000)
            assert log.checkpointed_high_watermark == offset
            assert not checkpoint.is_waiting

    play(script)


def test_an_orderly_stop_writes_at_once() -> None:
    async def script(runtime: SimulatedRuntime, checkpoint: HighWatermarkCheckpoint, log: ReplicaLog) -> None:
        log.high_watermark = 5
        checkpoint.moved(log)
        checkpoint.close()
        assert log.checkpointed_high_watermark == 5

    play(script)
