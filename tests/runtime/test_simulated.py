"""How a run in virtual time ends when it is interrupted."""

import signal
from collections.abc import Iterator

import pytest

from kcsim.errors import Killed
from kcsim.runtime.simulated import SimulatedRuntime


@pytest.fixture(autouse=True)
def ctrl_c_is_not_ignored() -> Iterator[None]:
    """Tests may run as a background job, which inherits that Ctrl-C is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_run_with_keyboard_interrupt() -> None:
    """An IndexError for the result that main did not return would be reported as a defect of the simulator."""
    runtime = SimulatedRuntime()

    async def main() -> None:
        await runtime.sleep_ms(1)
        signal.raise_signal(signal.SIGINT)
        await runtime.sleep_ms(1)

    with pytest.raises(KeyboardInterrupt):
        runtime.run(main())
    assert runtime.now_ms() == 1


def test_ctrl_c_kills_every_task_where_it_waits() -> None:
    """What the interrupt hits is chance: a task in the middle of a step must not be the only one that notices."""
    runtime = SimulatedRuntime()
    killed: list[str] = []

    async def waiting(name: str) -> None:
        try:
            await runtime.promise().wait()
        except Killed:
            killed.append(name)
            raise

    async def interrupted() -> None:
        await runtime.sleep_ms(5)
        signal.raise_signal(signal.SIGINT)
        await waiting("interrupted")

    async def main() -> None:
        runtime.spawn("interrupted", interrupted())
        runtime.spawn("waiting", waiting("waiting"))
        await waiting("main")

    with pytest.raises(KeyboardInterrupt):
        runtime.run(main())
    assert sorted(killed) == ["interrupted", "main", "waiting"]


def test_a_second_ctrl_c_is_not_deferred() -> None:
    """A step may never end."""
    runtime = SimulatedRuntime()
    was_reached = []

    async def main() -> None:
        signal.raise_signal(signal.SIGINT)
        was_reached.append("the rest of the step")
        signal.raise_signal(signal.SIGINT)
        was_reached.append("what comes after the second")

    with pytest.raises(KeyboardInterrupt):
        runtime.run(main())
    assert was_reached == ["the rest of the step"]


def test_a_run_leaves_the_handler_of_its_caller_in_place() -> None:
    runtime = SimulatedRuntime()
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))

    async def main() -> str:
        signal.raise_signal(signal.SIGINT)
        return "done"

    assert runtime.run(main()) == "done"
    assert heard == [signal.SIGINT]
