"""kcsim step: steps of the scenario language, done to a running cluster."""

import json
from typing import Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import OutputFormat


def step(
    steps: Annotated[list[str], typer.Argument(metavar="STEP…", help="As in a timetable: 'kill: controller'.")],
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", autocompletion=completion.clusters, help="The cluster, if several are up."),
    ] = None,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Do steps of the scenario language to a cluster that `kcsim up` runs, one after the other, and print what was seen.

    `kcsim scenario words` lists the steps. Producers and consumers are those of the scenario that `kcsim up` was given.

    \b
    kcsim step 'kill: controller' 'wait: {controller: any, within: 20s}'
    kcsim step 'slow-link: {from: broker-1, to: broker-2, delay: 200ms}'
    kcsim step 'start-workload: writer'

    Exit status: 0 done, 2 a step could not be done or no cluster is up, 64 a step is invalid (nothing was done then).
    """
    from kcsim.scenarios.cli.running_cluster import exit_on_control_errors, only_cluster
    from kcsim.scenarios.cli.up_cluster.control import send_request

    with exit_on_control_errors():
        answer = send_request("step", {"steps": steps}, only_cluster(cluster))
    if output is OutputFormat.JSON:
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return
    for sentence in answer["observed"]:
        print(sentence)
