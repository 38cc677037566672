"""kcsim zk: a ZooKeeper for experiments, and views of a ZooKeeper's contents."""

import json
import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli import zk_log
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.zk_files import exit_on_file_errors, print_remarks, zxid_option
from kcsim.scenarios.cli.zookeeper_argument import print_read_only_note, security_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kcsim.zk.capture.znode_dump import Dump

DEFAULT_CONNECT = "127.0.0.1:2181"
LOOK_EVERY_MS = 500

app = typer.Typer(
    help="Start a ZooKeeper to play with, or look into one that runs, or into its files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command()(zk_log.log)


class StartedZooKeeper(StrEnum):
    """What `kcsim zk start` starts. SIMULATED is another word for MODEL."""

    EMBEDDED = "embedded"
    MODEL = "model"
    SIMULATED = "simulated"


@app.command()
def start(
    members: Annotated[int, typer.Option(help="1, or an odd number for an ensemble.", min=1, max=7)] = 1,
    port: Annotated[
        int | None, typer.Option(help="Of the first member; the others take the ones after it.", min=1, max=65535)
    ] = None,
    tick_time: Annotated[str, typer.Option(help="tickTime; sessions last between 2 and 20 ticks.")] = "2s",
    zookeeper: Annotated[
        StartedZooKeeper,
        typer.Option(
            help="embedded: a real one, in JVMs of our own. model (or simulated): the model of it in this process, "
            "without Java, ready at once."
        ),
    ] = StartedZooKeeper.EMBEDDED,
    jaas: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Clients may authenticate with SASL (DIGEST-MD5), as the users of the section Server in FILE.",
        ),
    ] = None,
) -> None:
    """Start a ZooKeeper on 127.0.0.1 and keep it until Ctrl-C. Then its data is deleted.

    Prints the connect string and the directory of the logs. Any ZooKeeper client can use it.
    """
    from pydantic_core import PydanticCustomError

    from kcsim.runtime.wallclock import WallClockRuntime
    from kcsim.scenarios.language.value_types import parse_tick_time
    from kcsim.zk.model_server import ModelZooKeeper
    from kcsim.zk.servers.configuration import ServerSettings
    from kcsim.zk.servers.embedded import EmbeddedZooKeeper
    from kcsim.zk.servers.errors import ServerDiedError, ServerError

    if members % 2 == 0:
        fail(f"--members: an ensemble has an odd number of members; not {members}", ExitStatus.USAGE)
    if jaas is not None and zookeeper is not StartedZooKeeper.EMBEDDED:
        fail("--jaas: the model has no SASL; use --zookeeper embedded", ExitStatus.USAGE)
    try:
        settings = ServerSettings(
            tick_time_ms=parse_tick_time(tick_time), sasl_users={} if jaas is None else _users_of_server(jaas)
        )
    except PydanticCustomError as error:
        fail(f"--tick-time: {error.message()}", ExitStatus.USAGE)
    ports = None if port is None else [port + place for place in range(members)]
    runtime = WallClockRuntime()

    async def serve() -> None:
        is_real = zookeeper is StartedZooKeeper.EMBEDDED
        servers = (EmbeddedZooKeeper if is_real else ModelZooKeeper)(members, settings, ports)
        try:
            await servers.start()
            with _announced(servers.connect_string):
                print(f"connect string: {servers.connect_string}")
                for name in servers.member_names:
                    print(f"log of {name}: {servers.log_path(name)}")
                print("Ctrl-C stops it and deletes its data.", flush=True)
                while True:
                    await runtime.sleep_ms(LOOK_EVERY_MS)
                    for name, state in (await servers.states()).items():
                        if isinstance(state, int):
                            raise ServerDiedError(name, state, servers.log_path(name), "see there")
        finally:
            await servers.stop()

    try:
        runtime.run(serve())
    except KeyboardInterrupt:
        print("\nstopped; nothing is left of it", file=sys.stderr)
    except ServerError as error:
        fail(str(error), ExitStatus.UNDECIDED)


def _users_of_server(jaas: Path) -> dict[str, str]:
    from kcsim.zk.security import SecurityError
    from kcsim.zk.security.jaas import users_of_server

    try:
        return users_of_server(jaas.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SecurityError) as error:
        fail(f"--jaas: {jaas}: {getattr(error, 'strerror', None) or error}", ExitStatus.USAGE)


def _announced(connect: str) -> "AbstractContextManager[None]":
    """Register this ZooKeeper as ours for the admin commands, unless the user directory cannot be used."""
    from kcsim.scenarios.cli.up_cluster.server_registry import register_servers
    from kcsim.scenarios.cli.up_cluster.user_directory import UserDirectoryError, user_directory

    try:
        user_directory()
    except UserDirectoryError as error:
        print(f"{error}; until then, kcsim topics and the like write here only with --execute", file=sys.stderr)
        return nullcontext()
    return register_servers(connect)


@app.command()
def tree(
    connect: Annotated[
        str, typer.Argument(metavar="host:port,…/chroot|DIR", help="One that runs; with --at, the dataDir of one.")
    ] = DEFAULT_CONNECT,
    path: Annotated[str, typer.Argument(help="Where to begin.")] = "/",
    at: Annotated[
        str | None, typer.Option(metavar="ZXID|TIME", help="The znodes at that time, from the snapshots and logs in DIR.")
    ] = None,
    log_dir: Annotated[
        Path | None, typer.Option(help="With --at: dataLogDir, if the logs are in another directory than the snapshots.")
    ] = None,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Print the znodes below a path: each with its version, its owner if it is ephemeral, and its data.

    \b
    kcsim zk tree localhost:2181/my-cluster /brokers
    kcsim zk tree --at 0x1a2b /var/lib/zookeeper /brokers/topics
    kcsim zk tree --at 2024-05-01T12:30:00Z /var/lib/zookeeper
    """
    found = _dump(connect, path) if at is None else _past_dump(Path(connect), at, log_dir, path)
    if output is OutputFormat.JSON:
        print(json.dumps({path: node._asdict() for path, node in found.items()}, indent=2, ensure_ascii=False))
        return
    for where, node in found.items():
        owner = f", ephemeral of {node.owner}" if node.owner else ""
        data = "" if node.data is None else f"  {node.data}"
        print(f"{where}  (version {node.version}{owner}){data}")


@app.command()
def diff(
    left: Annotated[str, typer.Argument(metavar="A", help="host:port,…/chroot")],
    right: Annotated[str, typer.Argument(metavar="B", help="The same, or only a /path on A's servers.")],
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Compare two trees of znodes, by path, data, and whether they are ephemeral.

    \b
    - /path        only in A
    + /path        only in B
    ~ /path        in both, but different

    Exit status: 0 no difference, 3 some.
    """
    from kcsim.zk.capture.znode_dump import differences

    if right.startswith("/"):
        right = left.partition("/")[0] + right
    found = differences(_dump(left, "/"), _dump(right, "/"))
    if output is OutputFormat.JSON:
        print(json.dumps([difference._asdict() for difference in found], indent=2, ensure_ascii=False))
    else:
        for difference in found:
            print(difference)
    raise CommandExit(ExitStatus.NEGATIVE if found else ExitStatus.HELD)


def _past_dump(directory: Path, at: str, log_dir: Path | None, path: str) -> "Dump":
    from kcsim.zk.capture.znode_dump import NoSuchZnodeError, dump_of_past
    from kcsim.zk.files.data_directory import DataDirectory

    with exit_on_file_errors():
        files = DataDirectory(directory, log_dir)
        past = files.tree_at(zxid_option("--at", at, files))
    print_remarks(files)
    try:
        return dump_of_past(past, path)
    except NoSuchZnodeError as error:
        fail(str(error), ExitStatus.USAGE)


def _dump(connect: str, path: str) -> "Dump":
    from kcsim.zk.capture.live_dump import dump
    from kcsim.zk.capture.znode_dump import NoSuchZnodeError
    from kcsim.zk.errors import ZooKeeperError, ZooKeeperUnavailableError
    from kcsim.zk.security import SecurityError
    from kcsim.zk.servers.errors import BadConnectStringError, NoChrootError, ServerError

    try:
        return dump(connect, path, security_of(connect), print_read_only_note)
    except SecurityError as error:
        fail(str(error), ExitStatus.USAGE)
    except (BadConnectStringError, NoChrootError, NoSuchZnodeError) as error:
        fail(str(error), ExitStatus.USAGE)
    except (ServerError, ZooKeeperUnavailableError, ZooKeeperError) as error:
        fail(str(error), ExitStatus.UNDECIDED)
