"""kcsim play: a cluster on a page, to act on and, in virtual time, to go back."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.cli.played_lesson import is_lesson, play_lesson
from kcsim.scenarios.cli.run_options import MAX_SEED, load
from kcsim.scenarios.cli.stop_signals import stop_signals_as_ctrl_c
from kcsim.scenarios.cli.zookeeper_argument import zookeeper_choice

if TYPE_CHECKING:
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
    from kcsim.scenarios.cli.page_server import PagePlace
    from kcsim.scenarios.language.schema import Scenario

TREE: dict[str, Any] = {
    "name": "play",
    "description": "A cluster to play with.",
    "cluster": {
        "brokers": 5,
        "racks": 3,
        "topics": {"orders": {"partitions": 6, "replication-factor": 3, "config": {"min.insync.replicas": "2"}}},
    },
    "timetable": [{"start": "all"}],
}
CREATED_AFTER_MS = 1_000


def play(
    scenario: Annotated[
        str | None,
        typer.Argument(
            help="A scenario of the library, or a file: the cluster that it describes. A lesson: its number, or its name.",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="The port of 127.0.0.1; 0: a free one.", min=0, max=65535)] = 0,
    zookeeper: Annotated[
        str,
        typer.Option(
            help="simulated: virtual time, in which one can go back. embedded, ensemble, docker or model: real time, on a "
            "ZooKeeper as kcsim up starts it. The connect string of one that runs, host:port,…/chroot: its cluster is "
            "watched only, and nothing is written.",
            metavar="WHICH",
        ),
    ] = "simulated",
    seed: Annotated[int, typer.Option(help="Of everything random.", min=-MAX_SEED - 1, max=MAX_SEED)] = 1,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the page.")] = True,
    has_class: Annotated[
        bool, typer.Option("--class", help="With a lesson: pupils follow and answer on pages with another address.")
    ] = False,
) -> None:
    """Play with a cluster on a page: act on it; in virtual time, in slow motion too, and go back.

    Serves one page on 127.0.0.1 until Ctrl-C, and opens it in the browser. A cluster in real time (--zookeeper embedded) can
    also be controlled from another terminal: it is named play-PORT, after the port of the page.

    \b
    kcsim play
    kcsim play leader-crash-acks-all --port 8000
    kcsim play 1
    kcsim play unclean-election --class
    kcsim play --zookeeper embedded
    kcsim play --zookeeper localhost:2181/kafka

    Exit status: 0 ended by Ctrl-C, 2 the port is in use or there is no ZooKeeper, 64 the arguments are invalid.
    """
    from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
    from kcsim.scenarios.cli.page_server import page_place

    lesson = scenario if scenario is not None and is_lesson(scenario) else None
    if has_class and lesson is None:
        fail("--class: name a lesson; kcsim learn lists them", ExitStatus.USAGE)
    choice = zookeeper_choice(zookeeper)
    if choice.kind is ZooKeeperKind.EXTERNAL and lesson is None and scenario is not None:
        fail("--zookeeper: a cluster that runs is shown as it is; leave the scenario out", ExitStatus.USAGE)
    with page_place(port, opens_browser=browser) as place:
        if lesson is not None:
            play_lesson(lesson, seed, place, choice, has_class=has_class)
            return
        described = _described() if scenario is None else load(scenario).scenario
        if choice.kind is ZooKeeperKind.SIMULATED:
            _play_simulated(described, seed, place)
        elif choice.kind is ZooKeeperKind.EXTERNAL:
            from kcsim.scenarios.cli.watched_page import serve_watched

            serve_watched(zookeeper, place)
        else:
            _play_live(described, zookeeper_choice(zookeeper, described.zookeeper.members), seed, place)


def _play_simulated(described: "Scenario", seed: int, place: "PagePlace") -> None:
    from kcsim.scenarios.play.acts import Act
    from kcsim.scenarios.play.played_cluster import PlayedCluster
    from kcsim.scenarios.play.played_pages import PlayedPages
    from kcsim.scenarios.play.run_processes import RunProcesses
    from kcsim.scenarios.play.server import PlayServer

    first = [Act(0, "start: all"), *(Act(CREATED_AFTER_MS, f"create-topic: {name}") for name in described.cluster.topics)]
    processes = RunProcesses()
    try:
        server = PlayServer(PlayedPages(PlayedCluster(described, seed, first, processes)), place.port)
        print(f"The page: {server.address}\nCtrl-C ends it.", flush=True)
        place.serve_until_ctrl_c(server)
    finally:
        processes.close()


def _play_live(described: "Scenario", choice: "ZooKeeperChoice", seed: int, place: "PagePlace") -> None:
    """Keep a cluster up in real time, as kcsim up does. Its name has the port of the page, which is unique."""
    from kcsim.scenarios.cli.up_cluster.up_command import UpCommand, UpOptions, new_topics

    options = UpOptions(f"play-{place.port}", choice, seed, verbose=False, page=place, is_narrated=False)
    with stop_signals_as_ctrl_c():
        status = UpCommand(options, described, new_topics(described.cluster)).run()
    raise CommandExit(status)


def _described() -> "Scenario":
    from kcsim.scenarios.language.schema import Scenario

    return Scenario.model_validate(TREE)
