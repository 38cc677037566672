"""The Runtime port: one suite for virtual time and the wall clock."""

from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest

from kcsim.errors import Killed, TimedOutError
from kcsim.runtime.ports import Runtime
from kcsim.runtime.simulated import DeadlockError, SimulatedRuntime
from kcsim.runtime.wallclock import WallClockRuntime

Main = Callable[[Runtime], Coroutine[Any, Any, Any]]


@pytest.fixture(params=[SimulatedRuntime, WallClockRuntime], ids=["simulated", "wallclock"])
def run(request: pytest.FixtureRequest) -> Callable[[Main], Any]:
    """Return a function that runs a main coroutine, given the runtime, to its end."""

    def run_main(main: Main) -> Any:
        runtime = request.param()
        return runtime.run(main(runtime))

    return run_main


def test_main_s_result_is_returned(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> str:
        await runtime.sleep_ms(1)
        return "done"

    assert run(main) == "done"


def test_main_s_error_is_raised(run: Callable[[Main], Any]) -> None:
    async def main(_: Runtime) -> None:
        raise ValueError("main failed")

    with pytest.raises(ValueError, match="main failed"):
        run(main)


def test_a_task_s_error_stops_the_run(run: Callable[[Main], Any]) -> None:
    """A defect in a broker must not be swallowed while the scenario waits for something else."""

    async def broken() -> None:
        raise ValueError("task failed")

    async def main(runtime: Runtime) -> None:
        runtime.spawn("broken", broken())
        await runtime.promise().wait()

    with pytest.raises(ValueError, match="task failed"):
        run(main)


def test_sleepers_wake_in_the_order_of_their_times(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> list[int]:
        woken: list[int] = []

        async def sleeper(delay_ms: int) -> None:
            await runtime.sleep_ms(delay_ms)
            woken.append(delay_ms)

        tasks = [runtime.spawn(f"sleep {d}", sleeper(d)) for d in (300, 10, 150)]
        for task in tasks:
            await task.join()
        return woken

    assert run(main) == [10, 150, 300]


def test_a_settled_promise_answers_all_who_wait_and_who_come_later(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> list[int]:
        promise = runtime.promise()
        seen: list[int] = []

        async def waiter() -> None:
            seen.append(await promise.wait())

        tasks = [runtime.spawn("waiter", waiter()) for _ in range(2)]
        await runtime.sleep_ms(1)
        promise.resolve(7)
        promise.resolve(8)
        for task in tasks:
            await task.join()
        return [*seen, await promise.wait()]

    assert run(main) == [7, 7, 7]


def test_a_failed_promise_raises_at_its_waiters(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> None:
        promise = runtime.promise()
        promise.fail(ValueError("no"))
        await promise.wait()

    with pytest.raises(ValueError, match="no"):
        run(main)


def test_a_promise_nobody_settles_times_out_and_can_still_be_settled(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> str:
        promise = runtime.promise()
        with pytest.raises(TimedOutError):
            await promise.wait(timeout_ms=5)
        promise.resolve("late")
        return str(await promise.wait(timeout_ms=5))

    assert run(main) == "late"


def test_a_mailbox_keeps_order_and_drains(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> tuple[Any, ...]:
        mailbox = runtime.mailbox()
        for item in "abc":
            mailbox.put(item)
        first = await mailbox.get()
        return first, len(mailbox), mailbox.drain(), len(mailbox)

    assert run(main) == ("a", 2, ["b", "c"], 0)


def test_an_empty_mailbox_times_out(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> None:
        await runtime.mailbox().get(timeout_ms=5)

    with pytest.raises(TimedOutError):
        run(main)


def test_the_longest_waiting_taker_is_served_first(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> list[tuple[str, str]]:
        mailbox = runtime.mailbox()
        served: list[tuple[str, str]] = []

        async def taker(name: str) -> None:
            served.append((name, await mailbox.get()))

        tasks = [runtime.spawn(name, taker(name)) for name in ("first", "second")]
        await runtime.sleep_ms(1)
        mailbox.put("a")
        mailbox.put("b")
        for task in tasks:
            await task.join()
        return served

    assert run(main) == [("first", "a"), ("second", "b")]


def test_what_was_handed_to_a_killed_taker_is_not_lost(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> str:
        mailbox = runtime.mailbox()

        async def taker() -> None:
            await mailbox.get()
            raise AssertionError("a killed taker must not go on")

        task = runtime.spawn("taker", taker())
        await runtime.sleep_ms(1)
        mailbox.put("kept")
        task.kill()
        await task.join()
        return str(await mailbox.get(timeout_ms=5))

    assert run(main) == "kept"


def test_a_killed_task_sees_killed_where_it_stands(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> list[str]:
        seen: list[str] = []

        async def stubborn() -> None:
            try:
                await runtime.sleep_ms(60_000)
            except Exception:
                seen.append("an Exception")
            except Killed:
                seen.append("Killed")
                raise

        task = runtime.spawn("stubborn", stubborn())
        await runtime.sleep_ms(1)
        task.kill()
        await task.join()
        return [*seen, str(task.is_done)]

    assert run(main) == ["Killed", "True"]


def test_a_task_killed_before_its_first_step_never_begins(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> list[str]:
        begun: list[str] = []

        async def work() -> None:
            begun.append("begun")

        task = runtime.spawn("work", work())
        task.kill()
        await task.join()
        return begun

    assert run(main) == []


def test_a_task_may_kill_itself(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> list[str]:
        done: list[str] = []
        tasks: list[Any] = []

        async def work() -> None:
            await runtime.sleep_ms(1)
            done.append("before")
            tasks[0].kill()
            done.append("after")

        tasks.append(runtime.spawn("work", work()))
        await tasks[0].join()
        return done

    assert run(main) == ["before"]


def test_tasks_that_outlive_main_are_killed(run: Callable[[Main], Any]) -> None:
    ended: list[str] = []

    async def main(runtime: Runtime) -> None:
        async def forever() -> None:
            try:
                await runtime.promise().wait()
            finally:
                ended.append("killed")

        runtime.spawn("forever", forever())
        await runtime.sleep_ms(1)

    run(main)
    assert ended == ["killed"]


def test_an_alarm_rings_once_at_the_earliest_time_that_it_was_set_to(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> list[int]:
        rung: list[int] = []
        began_ms = runtime.now_ms()
        alarm = runtime.alarm("alarm", lambda: rung.append(runtime.now_ms() - began_ms))
        for at_ms in (300_000, 50, 400_000):
            alarm.set(began_ms + at_ms)
        while not rung:
            await runtime.sleep_ms(10)
        await runtime.sleep_ms(100)
        return rung

    (at_ms,) = run(main)
    assert 50 <= at_ms < 300_000


def test_an_alarm_that_is_set_to_the_past_rings_as_soon_as_others_may_act(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> list[str]:
        done: list[str] = []
        rung = runtime.promise()

        def ring() -> None:
            done.append("rung")
            rung.resolve(None)

        await runtime.sleep_ms(5)
        runtime.alarm("alarm", ring).set(0)
        done.append("set")
        await rung.wait()
        return done

    assert run(main) == ["set", "rung"]


def test_an_alarm_may_be_set_again_when_it_rings_and_after(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> int:
        rung: list[int] = []

        def ring() -> None:
            rung.append(runtime.now_ms())
            if len(rung) < 3:
                alarm.set(runtime.now_ms() + 10)

        alarm = runtime.alarm("alarm", ring)
        alarm.set(runtime.now_ms() + 10)
        while len(rung) < 3:
            await runtime.sleep_ms(10)
        alarm.set(runtime.now_ms() + 10)
        while len(rung) < 4:
            await runtime.sleep_ms(10)
        assert all(later - earlier >= 10 for earlier, later in pairwise(rung))
        return len(rung)

    assert run(main) == 4


def test_an_error_of_what_an_alarm_calls_stops_the_run(run: Callable[[Main], Any]) -> None:
    async def main(runtime: Runtime) -> None:
        def ring() -> None:
            raise ValueError("call failed")

        runtime.alarm("alarm", ring).set(0)
        await runtime.promise().wait()

    with pytest.raises(ValueError, match="call failed"):
        run(main)


def test_virtual_time_passes_only_by_waiting() -> None:
    async def main(runtime: Runtime) -> tuple[int, int]:
        before = runtime.now_ms()
        await runtime.sleep_ms(3_600_000)
        return before, runtime.now_ms()

    runtime = SimulatedRuntime()
    assert runtime.run(main(runtime)) == (0, 3_600_000)


def test_a_run_that_can_never_go_on_says_who_waits() -> None:
    async def main(runtime: Runtime) -> None:
        await runtime.promise().wait()

    runtime = SimulatedRuntime()
    with pytest.raises(DeadlockError, match="main"):
        runtime.run(main(runtime))
