"""Access of admin commands to a cluster's ZooKeeper, for reading and writing. ZooKeeper errors there end the command."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.cli.zookeeper_argument import security_of

if TYPE_CHECKING:
    from kcsim.zk.kafka.kafka_zk import KafkaZk

T = TypeVar("T")
Say = Callable[[str], None]


def query_cluster(zookeeper: str, look: "Callable[[KafkaZk], Awaitable[T]]", *, writes: bool = False) -> T:
    """Return what a function reads from a cluster. A ZooKeeper error ends the command.

    Args:
        writes: whether it writes, too: then neither a member without quorum nor a cluster in migration to KRaft will do.
    """
    from kcsim.runtime.wallclock import WallClockRuntime
    from kcsim.scenarios.cli.kafka_tools.cluster_session import cluster_session
    from kcsim.zk.servers.external import parse_connect_string

    async def work() -> T:
        where, security = parse_connect_string(zookeeper), security_of(zookeeper)
        async with cluster_session(runtime, where, security, writes=writes) as kafka_zk:
            return await look(kafka_zk)

    runtime = WallClockRuntime()
    with exit_on_zookeeper_errors():
        return runtime.run(work())


def modify_cluster(zookeeper: str, execute: bool, act: "Callable[[KafkaZk, Say], Awaitable[None]]") -> None:
    """Change a cluster if this user's kcsim runs its ZooKeeper or `execute` is given; otherwise print the would-be writes,
    and end the command with the status of a dry run.

    Args:
        act: makes the change; its second argument prints a line. In a dry run these lines are shown only if there is nothing
            to write.
    """
    from kcsim.scenarios.cli.up_cluster.server_registry import is_registered

    with exit_on_zookeeper_errors():
        may_write = execute or is_registered(zookeeper)
    if may_write:
        query_cluster(zookeeper, lambda kafka_zk: act(kafka_zk, print), writes=True)
    else:
        _dry_run(zookeeper, act)


def _dry_run(zookeeper: str, act: "Callable[[KafkaZk, Say], Awaitable[None]]") -> None:
    from kcsim.runtime.wallclock import WallClockRuntime
    from kcsim.scenarios.cli.kafka_tools.cluster_session import cluster_session
    from kcsim.scenarios.cli.kafka_tools.dry_run import DryRunZooKeeper, Write, write_line
    from kcsim.zk.ports import ZooKeeper
    from kcsim.zk.servers.external import parse_connect_string

    writes: list[Write] = []
    lines: list[str] = []

    def dry_run_zookeeper(zookeeper: ZooKeeper) -> ZooKeeper:
        return DryRunZooKeeper(zookeeper, writes)

    async def work() -> None:
        where = parse_connect_string(zookeeper)
        async with cluster_session(runtime, where, security_of(zookeeper), dry_run_zookeeper) as kafka_zk:
            await act(kafka_zk, lines.append)

    runtime = WallClockRuntime()
    with exit_on_zookeeper_errors():
        runtime.run(work())
    if not writes:
        for line in lines:
            print(line)
        return
    print(f"Dry run: nothing has been written to {zookeeper}, which kcsim has not started. It would be:")
    for write in writes:
        print(f"  {write_line(write)}")
    print("Run it again with --execute to do it.")
    raise CommandExit(ExitStatus.DRY_RUN)


@contextmanager
def exit_on_zookeeper_errors() -> Iterator[None]:
    """Turn the errors of a ZooKeeper and of its contents into the end of a command."""
    from kcsim.zk.errors import ZooKeeperError, ZooKeeperUnavailableError
    from kcsim.zk.kafka.zookeeper_client import ZooKeeperClientExpiredError
    from kcsim.zk.security import SecurityError
    from kcsim.zk.servers.errors import BadConnectStringError, InMigrationError, NoChrootError, ServerError
    from kcsim.znodes import BadZnodeError

    try:
        yield
    except (BadConnectStringError, NoChrootError) as error:
        fail(f"--zookeeper: {error}", ExitStatus.USAGE)
    except SecurityError as error:
        fail(str(error), ExitStatus.USAGE)
    except InMigrationError as error:
        fail(str(error), ExitStatus.REFUSED)
    except (
        ServerError,
        ZooKeeperUnavailableError,
        ZooKeeperError,
        ZooKeeperClientExpiredError,
        BadZnodeError,
    ) as error:
        fail(str(error), ExitStatus.UNDECIDED)
