"""kcsim play: a simulated cluster on a page, to act on and to go back in time."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.played_lesson import is_lesson, play_lesson
from kcsim.scenarios.cli.run_options import MAX_SEED, load

if TYPE_CHECKING:
    from socket import socket

    from kcsim.scenarios.language.schema import Scenario

HOST = "127.0.0.1"
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
    seed: Annotated[int, typer.Option(help="Of everything random.", min=-MAX_SEED - 1, max=MAX_SEED)] = 1,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the page.")] = True,
    has_class: Annotated[
        bool, typer.Option("--class", help="With a lesson: pupils follow and answer on pages with another address.")
    ] = False,
) -> None:
    """Play with a simulated cluster on a page: act on it, in slow motion too, and go back.

    Serves one page on 127.0.0.1 until Ctrl-C, and opens it in the browser.

    \b
    kcsim play
    kcsim play leader-crash-acks-all --port 8000
    kcsim play 1
    kcsim play unclean-election --class

    Exit status: 0 ended by Ctrl-C, 2 the port is in use, 64 the arguments are invalid.
    """
    import webbrowser

    import uvicorn

    from kcsim.scenarios.play.acts import Act
    from kcsim.scenarios.play.played_cluster import PlayedCluster
    from kcsim.scenarios.play.played_pages import PlayedPages
    from kcsim.scenarios.play.run_processes import RunProcesses
    from kcsim.scenarios.play.server import PlayServer

    lesson = scenario if scenario is not None and is_lesson(scenario) else None
    if has_class and lesson is None:
        fail("--class: name a lesson; kcsim learn lists them", ExitStatus.USAGE)
    if lesson is not None:
        with _bound(port) as listening:
            play_lesson(lesson, seed, listening, has_class=has_class, opens_browser=browser)
        return
    described = _described() if scenario is None else load(scenario).scenario
    first = [Act(0, "start: all"), *(Act(CREATED_AFTER_MS, f"create-topic: {name}") for name in described.cluster.topics)]
    with _bound(port) as listening:
        processes = RunProcesses()
        try:
            cluster = PlayedCluster(described, seed, first, processes)
            listening.listen()  # a browser that connects early waits until it is served
            server = PlayServer(PlayedPages(cluster), listening.getsockname()[1])
            print(f"The page: {server.address}\nCtrl-C ends it.", flush=True)
            if browser:
                webbrowser.open(server.address)
            config = uvicorn.Config(server.app, log_level="error", ws="websockets-sansio", timeout_graceful_shutdown=1)
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listening])
        finally:
            processes.close()


def _bound(port: int) -> "socket":
    """Return a socket that is bound to a port of 127.0.0.1. A port in use ends the command."""
    import socket

    listening = socket.socket()
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        fail(f"--port {port}: {error.strerror}", ExitStatus.UNDECIDED)
    return listening


def _described() -> "Scenario":
    from kcsim.scenarios.language.schema import Scenario

    return Scenario.model_validate(TREE)
