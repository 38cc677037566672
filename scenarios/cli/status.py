"""kcsim status and kcsim watch: the state of a running cluster, once or as it changes."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail

if TYPE_CHECKING:
    from rich.text import Text

Cluster = Annotated[
    str | None, typer.Option(metavar="NAME", autocompletion=completion.clusters, help="The cluster, if several are up.")
]
Everything = Annotated[bool, typer.Option("--all", help="Show every partition, however many there are.")]
ZooKeeper = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT/CHROOT",
        help="Instead, the cluster of this ZooKeeper, of simulated or real brokers. It is only read.",
    ),
]


def status(
    cluster: Cluster = None,
    zookeeper: ZooKeeper = None,
    everything: Everything = False,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Print the state of a cluster: controller, brokers, partitions.

    \b
    kcsim status
    kcsim status --output json
    kcsim status --zookeeper zk1:2181/kafka

    Exit status: 0 printed, 2 no cluster is up, or ZooKeeper cannot be reached, 64 wrong input.
    """
    wants_json = output is OutputFormat.JSON
    from kcsim.scenarios.cli.running_cluster import checked_location, exit_on_control_errors, only_cluster

    if zookeeper is not None:
        checked_location(zookeeper, cluster)
        _print_status_of_zookeeper(zookeeper, everything, wants_json)
        return
    from kcsim.scenarios.cli.up_cluster.control import send_request

    with exit_on_control_errors():
        name = only_cluster(cluster)
        answer = send_request("snapshot", {"as_json": wants_json, "everything": everything}, name)
    if wants_json:
        print(json.dumps({"cluster": name, **answer}, indent=2, ensure_ascii=False))
        return
    for line in _lines(name, answer):
        print(line)


def watch(
    cluster: Cluster = None,
    zookeeper: ZooKeeper = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --zookeeper: write what is seen to this event log, which kcsim show, why and report read: "
            ".jsonl or .parquet.",
        ),
    ] = None,
    everything: Everything = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often to show it, at most.", min=0.1, max=3600)] = 1.0,
) -> None:
    """Show the state of a cluster, and keep it current until Ctrl-C.

    On a terminal the state is shown in place; where the output goes elsewhere, it is printed again whenever it has changed.

    With --zookeeper any cluster can be watched that uses this ZooKeeper. Then a part of what happens is inferred: a znode
    shows what was written, but not by whom, and not why.

    \b
    kcsim watch
    kcsim watch --every 0.2
    kcsim watch --zookeeper 127.0.0.1:2181 --trace seen.jsonl
    kcsim why seen.jsonl last:ElectionWon

    Exit status: 0 ended by Ctrl-C or with the cluster, 2 no cluster is up, or ZooKeeper cannot be reached, 64 wrong input.
    """
    from kcsim.scenarios.cli.running_cluster import checked_location, exit_on_control_errors, only_cluster

    if zookeeper is not None:
        checked_location(zookeeper, cluster)
        _watch_zookeeper(zookeeper, trace, everything, every)
        return
    if trace is not None:
        fail("--trace is for --zookeeper; `kcsim up --trace FILE` keeps the event log of its cluster", ExitStatus.USAGE)
    with exit_on_control_errors():
        name = only_cluster(cluster)
        states = _states(name, everything, every)
        first = next(states)
    try:
        with _display() as show:
            show(first)
            for lines in states:
                show(lines)
    except KeyboardInterrupt:
        return
    print(f"cluster {name} is not up any more")


def _print_status_of_zookeeper(zookeeper: str, everything: bool, wants_json: bool) -> None:
    from kcsim.scenarios.cli.watched_cluster import WatchedCluster, look_at_zookeeper

    def look(observed: WatchedCluster) -> None:
        if wants_json:
            print(json.dumps(observed.as_json(), indent=2, ensure_ascii=False))
        else:
            print("\n".join(observed.lines(everything)))

    look_at_zookeeper(zookeeper, look)


def _watch_zookeeper(zookeeper: str, trace: Path | None, everything: bool, every: float) -> None:
    from kcsim.scenarios.cli.run_options import check_trace
    from kcsim.scenarios.cli.watched_cluster import watch_zookeeper

    check_trace(trace)
    with suppress(KeyboardInterrupt), _display() as show:
        watch_zookeeper(zookeeper, trace, every, lambda observed: show(observed.lines(everything)))


def _states(name: str, everything: bool, every_s: float) -> Iterator[list[str]]:
    """Yield the lines of the state again and again, until the cluster ends. Raises: ControlError for the first one."""
    import time

    from kcsim.scenarios.cli.up_cluster.control import ControlError, send_request

    is_first = True
    while True:
        try:
            answer = send_request("snapshot", {"everything": everything}, name)
        except ControlError:
            if is_first:
                raise
            return
        yield list(_lines(name, answer))
        is_first = False
        time.sleep(every_s)


def _lines(name: str, answer: dict[str, Any]) -> Iterator[str]:
    from kcsim.scenarios.views.narration.story_words import duration

    yield f"Cluster {name}, up for {duration(answer['up_ms'])}; ZooKeeper: {answer['connect_string']}"
    yield f"Bootstrap servers: {answer['bootstrap_servers']}"
    yield from answer["lines"]


@contextmanager
def _display() -> Iterator[Callable[[list[str]], None]]:
    """Yield a function that shows a state: in place on a terminal; elsewhere it prints a state that has changed."""
    from kcsim.scenarios.views.narration.timeline import console_on

    if not console_on(sys.stdout).is_terminal:
        yield _ChangePrinter().show
        return
    from rich.live import Live

    lines: list[str] = []
    with Live(_screen(lines), console=console_on(sys.stdout), auto_refresh=False, screen=True) as live:

        def show(state: list[str]) -> None:
            lines[:] = state
            live.update(_screen(state), refresh=True)

        try:
            yield show
        finally:
            live.stop()
            for line in lines:  # the last state stays readable when the screen is given back
                print(line)


def _screen(lines: list[str]) -> "Text":
    from rich.text import Text

    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


class _ChangePrinter:
    """Prints each state that differs from the one before by more than its first line, which has the time."""

    def __init__(self) -> None:
        self._shown: list[str] = []

    def show(self, lines: list[str]) -> None:
        if lines[1:] != self._shown[1:] or not self._shown:
            print(*([""] if self._shown else []), *lines, sep="\n", flush=True)
        self._shown = lines
