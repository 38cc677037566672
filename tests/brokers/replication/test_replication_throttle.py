"""The replication rate of a slow follower."""

from kcsim.brokers.replication.replication_throttle import ReplicationThrottle
from kcsim.runtime.simulated import SimulatedRuntime


def test_without_a_limit_everything_is_taken_at_once() -> None:
    pace = ReplicationThrottle(SimulatedRuntime())
    pace.took(1_000_000)
    assert (pace.allowance(), pace.wait_ms(), pace.is_stopped) == (None, 0, False)


def test_as_much_is_taken_as_goes_into_half_a_second_and_then_it_is_waited() -> None:
    pace = ReplicationThrottle(SimulatedRuntime())
    pace.change(100)
    assert pace.allowance() == 50
    pace.took(50)
    assert pace.wait_ms() == 500
    pace.took(10)
    assert pace.wait_ms() == 600


def test_a_very_slow_one_takes_one_record_at_a_time() -> None:
    pace = ReplicationThrottle(SimulatedRuntime())
    pace.change(0.5)
    assert pace.allowance() == 1
    pace.took(1)
    assert pace.wait_ms() == 2_000


def test_the_wait_passes_with_time() -> None:
    runtime = SimulatedRuntime()
    pace = ReplicationThrottle(runtime)
    pace.change(100)

    async def script() -> None:
        pace.took(50)
        await runtime.sleep_ms(300)
        assert pace.wait_ms() == 200
        await runtime.sleep_ms(700)
        assert pace.wait_ms() == 0
        pace.took(10)
        assert pace.wait_ms() == 100

    runtime.run(script())


def test_at_nothing_a_second_nothing_is_taken() -> None:
    pace = ReplicationThrottle(SimulatedRuntime())
    pace.change(0)
    assert (pace.allowance(), pace.is_stopped) == (0, True)
    pace.change(None)
    assert (pace.allowance(), pace.wait_ms(), pace.is_stopped) == (None, 0, False)
