"""kcsim fault: something that happens to a broker, or to a server of ZooKeeper, of a cluster that is up."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from kcsim.scenarios.commands.ending import Output


class Fault(StrEnum):
    """What can happen; each is a verb of the control channel."""

    KILL = "kill"
    START = "start"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    EXPIRE = "expire"
    DISCONNECT = "disconnect"
    RECONNECT = "reconnect"
    FAIL_LOG_DIR = "fail-log-dir"
    PARTITION = "partition"
    BREAK_CONNECTIONS = "break-connections"
    HEAL = "heal"


def fault(
    verb: Annotated[Fault, typer.Argument(help="What is to happen.", metavar="VERB")],
    target: Annotated[
        list[str], typer.Argument(help="broker-3, controller, leader-of orders-0; a server of ZooKeeper: member-1.")
    ],
    cluster: Annotated[str, typer.Option(metavar="NAME", help="Which one, where several are up.")] = "default",
    output: Annotated[Output, typer.Option(help="How to print it.")] = Output.TABLE,
) -> None:
    """Let something happen in a cluster that `kcsim up` runs, and print what was then observed.

    \b
    kill          as SIGKILL: no goodbye, its session is left to expire
    start         start it again, from the disk it had
    stop          as SIGTERM: in order, its leaders moved away first
    pause         as a long garbage collection: it answers nobody and sends no heartbeat
    resume        let it go on
    expire        ZooKeeper ends its session, although it lives
    disconnect    cut it off from ZooKeeper
    reconnect     let it reach ZooKeeper again
    fail-log-dir  a disk of its fails

    \b
    partition          nothing passes between it and all others, or those behind `and`
    break-connections  those that are open there break, once
    heal               the network is good again there; heal all: everywhere

    \b
    kcsim fault kill controller
    kcsim fault pause leader-of orders-0
    kcsim fault start broker-3
    kcsim fault partition leader-of orders-0 and broker-1, broker-2

    Exit status: 0 done, 2 it could not be done or no cluster is up, 64 there is no such broker.
    """
    from kcsim.scenarios.commands.running_cluster import control_trouble_ends_the_command
    from kcsim.scenarios.playground.control import call

    with control_trouble_ends_the_command():
        answer = call(verb.value, {"target": " ".join(target)}, cluster)
    if output is Output.JSON:
        print(json.dumps(answer, indent=2, ensure_ascii=False))
        return
    for sentence in answer["observed"]:
        print(sentence)
