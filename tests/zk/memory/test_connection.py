"""Messages in transit: in order, delayed, lost with a broken end; and the timetable that delivers them.

The rows are those of docs/kafka/zookeeper_semantics.md.
"""

from collections.abc import Callable
from typing import Any

from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import Zxid
from kcsim.zk.memory.connection import (
    Acknowledged,
    ClientDisconnected,
    MemoryConnection,
    Ping,
    ServerDisconnected,
    SetWatches,
)
from kcsim.zk.memory.timetable import Timetable
from kcsim.zk.memory.watches import ConnectionId


def rearm(number: int) -> SetWatches:
    return SetWatches(Zxid(number), (), (), ())


class Line:
    """A connection that records what arrives at either end, and when."""

    def __init__(self, runtime: SimulatedRuntime, *latencies_ms: int) -> None:
        self.at_server: list[tuple[int, Any]] = []
        self.at_client: list[tuple[int, Any]] = []
        self.connection = MemoryConnection(
            ConnectionId(1),
            "member-1",
            Timetable(runtime, "timetable"),
            iter(latencies_ms).__next__,
            lambda _, message: self.at_server.append((runtime.now_ms(), message)),
            lambda _, message: self.at_client.append((runtime.now_ms(), message)),
        )


def test_messages_keep_their_order_whatever_their_latencies() -> None:
    """Row 9."""
    runtime = SimulatedRuntime()
    line = Line(runtime, 9, 1, 5)

    async def main() -> None:
        for number in range(3):
            line.connection.send_to_server(rearm(number))
        await runtime.sleep_ms(20)

    runtime.run(main())
    assert line.at_server == [(9, rearm(0)), (9, rearm(1)), (9, rearm(2))]


def test_what_has_passed_the_middle_arrives_after_a_cut_and_the_rest_is_lost() -> None:
    runtime = SimulatedRuntime()
    line = Line(runtime, 4, 4, 4, 1)

    async def main() -> None:
        line.connection.send_to_server(rearm(0))
        await runtime.sleep_ms(2)
        line.connection.send_to_server(rearm(1))
        await runtime.sleep_ms(1)
        line.connection.send_to_server(rearm(2))
        await runtime.sleep_ms(1)
        line.connection.cut()
        line.connection.send_to_server(rearm(3))
        await runtime.sleep_ms(20)

    runtime.run(main())
    assert line.at_server == [(4, rearm(0)), (6, rearm(1)), (7, ClientDisconnected())]


def test_nothing_arrives_at_a_client_that_has_cut() -> None:
    runtime = SimulatedRuntime()
    line = Line(runtime, 5, 1)

    async def main() -> None:
        line.connection.send_to_client(Acknowledged(Zxid(1)))
        line.connection.cut()
        await runtime.sleep_ms(20)

    runtime.run(main())
    assert line.at_client == []


def test_a_server_that_hangs_up_is_heard_to_the_end_and_takes_nothing_more() -> None:
    runtime = SimulatedRuntime()
    line = Line(runtime, 3, 5, 1)

    async def main() -> None:
        line.connection.send_to_server(Ping())
        line.connection.send_to_client(Acknowledged(Zxid(1)))
        line.connection.hang_up()
        line.connection.send_to_client(Acknowledged(Zxid(2)))
        await runtime.sleep_ms(20)

    runtime.run(main())
    assert line.at_server == []
    assert line.at_client == [(5, Acknowledged(Zxid(1))), (5, ServerDisconnected())]


def test_the_timetable_calls_in_order_of_time_and_then_of_entry() -> None:
    runtime = SimulatedRuntime()
    timetable = Timetable(runtime, "timetable")
    called: list[tuple[int, str]] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: called.append((runtime.now_ms(), name))

    def now_and_later() -> None:
        called.append((runtime.now_ms(), "entering"))
        timetable.at(0, note("overdue"))
        timetable.at(7, note("sooner than the rest"))

    async def main() -> None:
        timetable.at(50, note("late"))
        timetable.at(50, note("late, second"))
        await runtime.sleep_ms(5)  # it sleeps until 50 now
        timetable.at(6, now_and_later)
        await runtime.sleep_ms(100)

    runtime.run(main())
    assert called == [
        (6, "entering"),
        (6, "overdue"),
        (7, "sooner than the rest"),
        (50, "late"),
        (50, "late, second"),
    ]
