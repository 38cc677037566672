"""The model of ZooKeeper on a socket beside the embedded ZooKeeper: start-up, and requests a second of one client."""

from collections.abc import Callable, Mapping

from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.model_server import ModelZooKeeper
from kcsim.zk.operations import Create, GetData, Request, SetData
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.managed import ManagedZooKeeper
from tests.bench.report import Measured, measure, print_table

SERVERS: Mapping[str, Callable[[], ManagedZooKeeper]] = {"embedded": EmbeddedZooKeeper, "model": ModelZooKeeper}
ONE_BY_ONE, AT_ONCE = 500, 10_000
BOUND_MS = 60_000


def main() -> None:
    """Print each measurement for both, the model's as a multiple of the embedded one's."""
    print_table("Start and stop of a server", *(measure(name, 1, _start_and_stop(make)) for name, make in SERVERS.items()))
    for title, requests, count in (
        ("Writes, one after the other", SetData("/x", b"data"), ONE_BY_ONE),
        ("Reads, one after the other", GetData("/x"), ONE_BY_ONE),
        ("Writes, all at once", SetData("/x", b"data"), AT_ONCE),
        ("Reads, all at once", GetData("/x"), AT_ONCE),
    ):
        print_table(title, *(_requests(name, make, requests, count) for name, make in SERVERS.items()))


def _start_and_stop(make: Callable[[], ManagedZooKeeper]) -> Callable[[], None]:
    def run() -> None:
        with make():
            pass

    return run


def _requests(name: str, make: Callable[[], ManagedZooKeeper], request: Request, count: int) -> Measured:
    runtime = WallClockRuntime()
    with make() as servers:
        zookeeper = LiveZooKeeper(servers.connect_string)
        session = runtime.loop.run_until_complete(zookeeper.open_session(BOUND_MS, lambda _: None, BOUND_MS))
        runtime.loop.run_until_complete(session.call([Create("/x")]))

        async def one_by_one() -> None:
            for _ in range(count):
                await session.call([request])

        async def at_once() -> None:
            await session.call([request] * count)

        work = one_by_one if count == ONE_BY_ONE else at_once
        measured = measure(name, count, lambda: runtime.loop.run_until_complete(work()))
        runtime.loop.run_until_complete(session.close())
    runtime.loop.close()
    return measured
