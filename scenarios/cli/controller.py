"""kcsim controller: who is the controller, by hand."""

from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.cluster_access import exit_on_zookeeper_errors, query_cluster
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.cli.kafka_options import NO_ZOOKEEPER, ZooKeeperOption
from kcsim.scenarios.cli.running_cluster import zookeeper_or_running_cluster

if TYPE_CHECKING:
    from kcsim.vocabulary import BrokerId
    from kcsim.zk.kafka.kafka_zk import KafkaZk

app = typer.Typer(help="Bring an election of the controller about.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def controller() -> None:
    """Bring an election of the controller about."""


@app.command()
def take(
    zookeeper: ZooKeeperOption = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="ID,…", help="Elect again until one of these brokers has won; without it, elect once."),
    ] = None,
    elections: Annotated[int, typer.Option(min=1, help="How many elections at most.")] = 20,
    within: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="How long each election may take.")] = 30,
    execute: Annotated[
        bool, typer.Option("--execute", help="Delete /controller, also in a ZooKeeper that kcsim has not started.")
    ] = False,
) -> None:
    """Delete /controller, so that a controller is elected, until one of the wanted brokers has won.

    A broker of Apache Kafka cannot be kept from standing for election. In a cluster of brokers of both kinds this makes a
    broker of kcsim the controller, or one of Kafka. Each election raises the controller epoch.

    \b
    kcsim controller take --zookeeper localhost:2181
    kcsim controller take --zookeeper localhost:2181 --by 1,2

    Exit status: 0 done, 2 ZooKeeper cannot be reached, 4 no wanted broker has won, 5 a dry run, 64 the options are invalid.
    """
    from kcsim.controller.admin.controller_moves import ElectionNotWonError, take_controller
    from kcsim.scenarios.cli.up_cluster.server_registry import is_registered

    wanted = _broker_ids(by)
    location = zookeeper_or_running_cluster(zookeeper)
    if location is None:
        fail(NO_ZOOKEEPER, ExitStatus.USAGE)
    with exit_on_zookeeper_errors():
        may_write = execute or is_registered(location)

    async def act(kafka_zk: "KafkaZk") -> None:
        await take_controller(kafka_zk, wanted, elections, round(within * 1000), print)

    if not may_write:
        print(f"Dry run: nothing has been written to {location}, which kcsim has not started.")
        print(f"/controller would be deleted{'' if not wanted else f', until broker {by} has won'}.")
        print("Run it again with --execute to do it.")
        raise CommandExit(ExitStatus.DRY_RUN)
    try:
        query_cluster(location, act, writes=True)
    except ElectionNotWonError as error:
        fail(str(error), ExitStatus.REFUSED)


def _broker_ids(text: str | None) -> "list[BrokerId]":
    from kcsim.vocabulary import BrokerId

    parts = [] if text is None else [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        fail(f"--by: {text!r} is no list of broker ids; write 1,2", ExitStatus.USAGE)
    return [BrokerId(int(part)) for part in parts]
