"""A broker's process that is frozen and killed as a whole. On the model of ZooKeeper, in virtual time."""

import random
from collections.abc import Callable, Coroutine
from inspect import CORO_CLOSED, getcoroutinestate
from typing import Any

import pytest

from kcsim.brokers.network.process import Process, WriteBreakpoint, WriteMoment
from kcsim.brokers.network.process_states import IllegalProcessTransitionError, ProcessState
from kcsim.errors import Killed
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.zk.errors import NoNodeError
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.settings import ModelSettings
from kcsim.zk.operations import Create, Created, DataRead, GetData, Notice, SessionState, SessionStateChanged, SetData

TICK_MS = 100
TIMEOUT_MS = 400


class Bench:
    """A process on a model of ZooKeeper, and access to ZooKeeper outside the process."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        sink = self.log.sink("zookeeper")
        self.zookeeper = MemoryZooKeeper(self.runtime, sink, random.Random(0), ModelSettings(tick_time_ms=TICK_MS))
        self.process = Process("broker-1", self.runtime, self.zookeeper)
        self.heard: list[Notice] = []

    def run(self, script: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return self.runtime.run(script())

    async def session(self) -> Any:
        return await self.process.open_session(TIMEOUT_MS, self.heard.append, 1000)

    async def exists(self, path: str) -> bool:
        """Ask ZooKeeper outside the process."""
        other = await self.zookeeper.open_session(TIMEOUT_MS, lambda _: None, 1000)
        (reply,) = await other.call([GetData(path)])
        await other.close()
        return isinstance(reply, DataRead)


def test_nothing_goes_on_in_a_paused_process() -> None:
    bench = Bench()
    went_on: list[int] = []

    async def work() -> None:
        await bench.process.sleep_ms(10)
        went_on.append(bench.process.now_ms())

    async def script() -> None:
        bench.process.spawn("work", work())
        await bench.runtime.sleep_ms(1)
        bench.process.pause()
        await bench.runtime.sleep_ms(1000)
        assert went_on == []
        bench.process.resume()
        await bench.runtime.sleep_ms(1)

    bench.run(script)
    assert went_on == [1001]


@pytest.mark.parametrize("end", ["kill the task", "kill the process"])
def test_what_is_killed_before_its_first_step_is_closed(end: str) -> None:
    """Otherwise Python warns of a coroutine that was never awaited, at its next garbage collection."""
    bench = Bench()

    async def work() -> None:
        raise AssertionError("it must not begin")

    async def script() -> None:
        begun_never = work()
        task = bench.process.spawn("work", begun_never)
        if end == "kill the task":
            task.kill()
        else:
            bench.process.kill()
        assert getcoroutinestate(begun_never) == CORO_CLOSED
        await task.join()

    bench.run(script)


def test_what_came_meanwhile_is_there_when_it_goes_on() -> None:
    bench = Bench()

    async def script() -> tuple[int, str]:
        mailbox = bench.process.mailbox()
        got: list[str] = []

        async def taker() -> None:
            got.append(await mailbox.get())

        bench.process.spawn("taker", taker())
        await bench.runtime.sleep_ms(1)
        bench.process.pause()
        mailbox.put("letter")
        await bench.runtime.sleep_ms(10)
        before = len(got)
        bench.process.resume()
        await bench.runtime.sleep_ms(1)
        return before, got[0]

    assert bench.run(script) == (0, "letter")


def test_a_time_out_that_ran_out_in_the_pause_is_seen_after_it() -> None:
    bench = Bench()
    seen_at: list[int] = []

    async def work() -> None:
        with pytest.raises(Exception, match="no answer"):
            await bench.process.promise().wait(timeout_ms=5)
        seen_at.append(bench.process.now_ms())

    async def script() -> None:
        bench.process.spawn("work", work())
        await bench.runtime.sleep_ms(1)
        bench.process.pause()
        await bench.runtime.sleep_ms(100)
        bench.process.resume()
        await bench.runtime.sleep_ms(1)

    bench.run(script)
    assert seen_at == [101]


def test_a_paused_process_sends_no_heartbeat_so_its_session_expires() -> None:
    bench = Bench()

    async def script() -> bool:
        session = await bench.session()
        await session.call([Create("/here", ephemeral=True)])
        bench.process.pause()
        await bench.runtime.sleep_ms(3 * TIMEOUT_MS)
        still_there = await bench.exists("/here")
        assert bench.heard == []
        bench.process.resume()
        await bench.runtime.sleep_ms(TIMEOUT_MS)
        return still_there

    assert bench.run(script) is False
    assert bench.heard[-1] == SessionStateChanged(SessionState.EXPIRED)


def test_a_running_process_keeps_its_session() -> None:
    """The control for the test above."""
    bench = Bench()

    async def script() -> bool:
        session = await bench.session()
        await session.call([Create("/here", ephemeral=True)])
        await bench.runtime.sleep_ms(3 * TIMEOUT_MS)
        return await bench.exists("/here")

    assert bench.run(script) is True


def test_a_killed_process_reaches_nobody_not_even_from_a_finally() -> None:
    bench = Bench()
    refused: list[bool] = []

    async def work() -> None:
        session = await bench.session()
        try:
            await bench.process.sleep_ms(60_000)
        finally:
            try:
                await session.call([Create("/last-words")])
            except Killed:
                refused.append(True)
                raise

    async def script() -> bool:
        bench.process.spawn("work", work())
        await bench.runtime.sleep_ms(50)
        bench.process.kill()
        await bench.runtime.sleep_ms(50)
        return await bench.exists("/last-words")

    assert bench.run(script) is False
    assert refused == [True]


@pytest.mark.parametrize(("moment", "is_written"), [(WriteMoment.BEFORE, False), (WriteMoment.AFTER, True)])
def test_a_breakpoint_freezes_it_before_or_after_the_write(moment: WriteMoment, is_written: bool) -> None:
    bench = Bench()
    returned: list[object] = []

    async def work() -> None:
        session = await bench.session()
        (reply,) = await session.call([Create("/written")])
        returned.append(reply)

    async def script() -> tuple[bool, int]:
        bench.process.break_at(WriteBreakpoint(moment, lambda _: True, bench.process.pause))
        bench.process.spawn("work", work())
        await bench.runtime.sleep_ms(50)
        assert bench.process.state is ProcessState.PAUSED
        seen = await bench.exists("/written"), len(returned)
        bench.process.resume()
        await bench.runtime.sleep_ms(50)
        return seen

    assert bench.run(script) == (is_written, 0)
    assert isinstance(returned[0], Created)


def test_a_breakpoint_triggers_once_and_only_at_what_it_waits_for() -> None:
    bench = Bench()
    hits: list[str] = []

    async def script() -> None:
        session = await bench.session()
        breakpoint_ = WriteBreakpoint(
            WriteMoment.BEFORE, lambda requests: isinstance(requests[0], SetData), lambda: hits.append("hit")
        )
        bench.process.break_at(breakpoint_)
        await session.call([Create("/a")])
        assert hits == []
        await session.call([SetData("/a", b"1")])
        await session.call([SetData("/a", b"2")])

    bench.run(script)
    assert hits == ["hit"]


def test_a_process_that_kills_itself_at_a_breakpoint_takes_all_its_tasks_along() -> None:
    bench = Bench()
    survived: list[str] = []

    async def bystander() -> None:
        await bench.process.sleep_ms(20)
        survived.append("bystander")

    async def work() -> None:
        session = await bench.session()
        await session.call([Create("/written")])
        survived.append("work")

    async def script() -> bool:
        bench.process.break_at(WriteBreakpoint(WriteMoment.BEFORE, lambda _: True, bench.process.kill))
        bench.process.spawn("work", work())
        bench.process.spawn("bystander", bystander())
        await bench.runtime.sleep_ms(100)
        return await bench.exists("/written")

    assert bench.run(script) is False
    assert survived == []


def test_reading_is_no_write() -> None:
    bench = Bench()

    async def script() -> None:
        bench.process.break_at(WriteBreakpoint(WriteMoment.BEFORE, lambda _: True, bench.process.pause))
        session = await bench.session()
        (reply,) = await session.call([GetData("/nowhere")])
        assert isinstance(reply, NoNodeError)

    bench.run(script)
    assert bench.process.state is ProcessState.RUNNING


def test_only_what_can_be_is_done_to_a_process() -> None:
    bench = Bench()

    async def script() -> None:
        with pytest.raises(IllegalProcessTransitionError, match="running cannot be resumed"):
            bench.process.resume()
        bench.process.pause()
        with pytest.raises(IllegalProcessTransitionError, match="paused cannot be paused"):
            bench.process.pause()
        bench.process.kill()
        with pytest.raises(IllegalProcessTransitionError, match="dead cannot be killed"):
            bench.process.kill()
        with pytest.raises(Killed):
            await bench.process.sleep_ms(1)

    bench.run(script)
