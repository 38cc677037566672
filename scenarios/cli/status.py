"""kcsim status and kcsim watch: the state of a running cluster, once or as it changes."""

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import OutputFormat

if TYPE_CHECKING:
    from rich.text import Text

Cluster = Annotated[
    str | None, typer.Option(metavar="NAME", autocompletion=completion.clusters, help="The cluster, if several are up.")
]
Everything = Annotated[bool, typer.Option("--all", help="Show every partition, however many there are.")]


def status(
    cluster: Cluster = None,
    everything: Everything = False,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Print the state of a cluster that `kcsim up` runs: controller, brokers, partitions.

    \b
    kcsim status
    kcsim status --output json

    Exit status: 0 printed, 2 no cluster is up.
    """
    from kcsim.scenarios.cli.running_cluster import exit_on_control_errors, only_cluster
    from kcsim.scenarios.cli.up_cluster.control import send_request

    with exit_on_control_errors():
        name = only_cluster(cluster)
        wants_json = output is OutputFormat.JSON
        answer = send_request("snapshot", {"as_json": wants_json, "everything": everything}, name)
    if wants_json:
        print(json.dumps({"cluster": name, **answer}, indent=2, ensure_ascii=False))
        return
    for line in _lines(name, answer):
        print(line)


def watch(
    cluster: Cluster = None,
    everything: Everything = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="How often to ask the cluster.", min=0.1, max=3600)] = 1.0,
) -> None:
    """Show the state of a cluster that `kcsim up` runs, and keep it current until Ctrl-C.

    On a terminal the state is shown in place; where the output goes elsewhere, it is printed again whenever it has changed.

    \b
    kcsim watch
    kcsim watch --every 0.2

    Exit status: 0 ended by Ctrl-C or with the cluster, 2 no cluster is up.
    """
    from kcsim.scenarios.cli.running_cluster import exit_on_control_errors, only_cluster
    from kcsim.scenarios.views.narration.timeline import console_on

    with exit_on_control_errors():
        name = only_cluster(cluster)
        states = _states(name, everything, every)
        first = next(states)
    try:
        if console_on(sys.stdout).is_terminal:
            _show_in_place(first, states)
        else:
            _print_changes(first, states)
    except KeyboardInterrupt:
        return
    print(f"cluster {name} is not up any more")


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


def _show_in_place(first: list[str], states: Iterator[list[str]]) -> None:
    from rich.live import Live

    from kcsim.scenarios.views.narration.timeline import console_on

    console = console_on(sys.stdout)
    lines = first
    with Live(_screen(lines), console=console, auto_refresh=False, screen=True) as live:
        for lines in states:
            live.update(_screen(lines), refresh=True)
    for line in lines:  # the last state stays readable when the screen is given back
        print(line)


def _screen(lines: list[str]) -> "Text":
    from rich.text import Text

    return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")


def _print_changes(first: list[str], states: Iterator[list[str]]) -> None:
    shown = first
    print("\n".join(shown), flush=True)
    for lines in states:
        if lines[1:] != shown[1:]:  # the first line has the time that the cluster has been up
            print("", *lines, sep="\n", flush=True)
            shown = lines
