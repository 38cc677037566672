"""kcsim fault: a fault that is injected into a broker, or into a ZooKeeper server, of a running cluster."""

import json
from typing import Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import OutputFormat
from kcsim.scenarios.language.step_words import STEP_WORDS

COMMANDS = {verb: words.command_help for verb, words in STEP_WORDS.items() if words.command_help is not None}
"""Verb -> what it does."""
WIDTH = max(map(len, COMMANDS))
COMMAND_LIST = "\n".join(f"{verb:<{WIDTH}}  {does}" for verb, does in COMMANDS.items())
HELP = f"""\
Inject a fault into a cluster that `kcsim up` runs, and print its observed effect.

\b
{COMMAND_LIST}

\b
kcsim fault kill controller
kcsim fault pause leader-of orders-0
kcsim fault start broker-3
kcsim fault partition leader-of orders-0 and broker-1, broker-2
kcsim fault break-connections clients

`clients` are Kafka's own clients, `client ID` those with this client.id. kcsim step does faults that have options.

Exit status: 0 done, 2 the fault could not be injected or no cluster is up, 64 there is no such broker.
"""


def _verb(text: str) -> str:
    if text not in COMMANDS:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, COMMANDS))}.")
    return text


def fault(
    verb: Annotated[
        str, typer.Argument(parser=_verb, autocompletion=completion.fault_verbs, help="The fault to inject.", metavar="VERB")
    ],
    target: Annotated[
        list[str],
        typer.Argument(
            autocompletion=completion.fault_targets,
            help="broker-3, controller, leader-of orders-0; a server of ZooKeeper: member-1.",
        ),
    ],
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", autocompletion=completion.clusters, help="The cluster, if several are up.")
    ] = None,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    from kcsim.scenarios.cli.running_cluster import exit_on_control_errors, only_cluster
    from kcsim.scenarios.cli.up_cluster.control import send_request

    with exit_on_control_errors():
        answer = send_request(verb, {"target": " ".join(target)}, only_cluster(cluster))
    if output is OutputFormat.JSON:
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return
    for sentence in answer["observed"]:
        print(sentence)


fault.__doc__ = HELP  # lists the faults
