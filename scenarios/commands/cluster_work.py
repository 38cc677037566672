"""What admin commands do on a cluster's ZooKeeper: look, or act; and how trouble there ends a command."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from kcsim.scenarios.commands.ending import ExitStatus, give_up

if TYPE_CHECKING:
    from kcsim.zk.kafka_zk import KafkaZk

T = TypeVar("T")
Say = Callable[[str], None]


def look_at(zookeeper: str, look: "Callable[[KafkaZk], Awaitable[T]]") -> T:
    """Read from a cluster; trouble ends the command."""
    from kcsim.scenarios.admin.cluster_session import cluster_session
    from kcsim.scenarios.runtimes.wallclock import WallClockRuntime
    from kcsim.zk.servers.external import parse_connect_string

    async def work() -> T:
        async with cluster_session(runtime, parse_connect_string(zookeeper)) as kafka_zk:
            return await look(kafka_zk)

    runtime = WallClockRuntime()
    with zookeeper_trouble_ends_the_command():
        return runtime.run(work())


def act_on(zookeeper: str, execute: bool, act: "Callable[[KafkaZk, Say], Awaitable[None]]") -> None:
    """Change a cluster, if its ZooKeeper is one that this user's kcsim runs or `execute` is given; else say what would be.

    Args:
        act: told how to say things. In a dry run nothing of that is shown, unless there would be nothing to write.
    """
    from kcsim.scenarios.playground.own_servers import is_ours

    with zookeeper_trouble_ends_the_command():
        may_write = execute or is_ours(zookeeper)
    if may_write:
        look_at(zookeeper, lambda kafka_zk: act(kafka_zk, print))
    else:
        _rehearse(zookeeper, act)


def _rehearse(zookeeper: str, act: "Callable[[KafkaZk, Say], Awaitable[None]]") -> None:
    from kcsim.scenarios.admin.cluster_session import cluster_session
    from kcsim.scenarios.admin.rehearsal import RehearsedZooKeeper, Write, write_line
    from kcsim.scenarios.runtimes.wallclock import WallClockRuntime
    from kcsim.zk.ports import ZooKeeper
    from kcsim.zk.servers.external import parse_connect_string

    writes: list[Write] = []
    said: list[str] = []

    def rehearsed(zookeeper: ZooKeeper) -> ZooKeeper:
        return RehearsedZooKeeper(zookeeper, writes)

    async def work() -> None:
        async with cluster_session(runtime, parse_connect_string(zookeeper), rehearsed) as kafka_zk:
            await act(kafka_zk, said.append)

    runtime = WallClockRuntime()
    with zookeeper_trouble_ends_the_command():
        runtime.run(work())
    if not writes:
        for line in said:
            print(line)
        return
    print(f"Dry run: nothing has been written to {zookeeper}, which kcsim has not started. It would be:")
    for write in writes:
        print(f"  {write_line(write)}")
    print("Run it again with --execute to do it.")


@contextmanager
def zookeeper_trouble_ends_the_command() -> Iterator[None]:
    """Turn what can be wrong with a ZooKeeper, or in it, into the end of a command."""
    from kcsim.zk.errors import ZooKeeperError, ZooKeeperUnavailableError
    from kcsim.zk.servers.errors import BadConnectStringError, NoChrootError, ServerError
    from kcsim.zk.znodes import BadZnodeError
    from kcsim.zk.zookeeper_client import ZooKeeperClientExpiredError

    try:
        yield
    except (BadConnectStringError, NoChrootError) as error:
        give_up(f"--zookeeper: {error}", ExitStatus.USAGE)
    except (
        ServerError,
        ZooKeeperUnavailableError,
        ZooKeeperError,
        ZooKeeperClientExpiredError,
        BadZnodeError,
    ) as error:
        give_up(str(error), ExitStatus.UNDECIDED)
