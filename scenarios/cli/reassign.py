"""kcsim reassign: kafka-reassign-partitions, with --zookeeper, or on a cluster of kcsim up."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.kafka_options import ZooKeeperOption, only_action, require_options
from kcsim.scenarios.cli.option_file import read_option_file
from kcsim.scenarios.cli.reassign_actions import (
    ClusterLocation,
    cancel_moves,
    list_moves,
    move_through_the_controller,
    move_through_zookeeper,
    propose,
    verify_moves,
)
from kcsim.scenarios.cli.running_cluster import checked_location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcsim.vocabulary import BrokerId

REQUIRED = {
    "verify": ("reassignment-json-file",),
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
PERMITTED = {
    "verify": ("preserve-throttles",),
    "generate": ("disable-rack-aware", "seed"),
    "execute": ("additional", "throttle", "timeout"),
    "cancel": ("preserve-throttles", "timeout"),
    "list": ("output",),
}


def reassign(
    zookeeper: ZooKeeperOption = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="A cluster of kcsim up instead: its controller is asked itself.")
    ] = None,
    generate: Annotated[bool, typer.Option("--generate", help="Propose a placement; nothing is moved.")] = False,
    execute: Annotated[
        bool,
        typer.Option("--execute", help="Begin to move partitions. With --verify: remove the throttles on any ZooKeeper."),
    ] = False,
    verify: Annotated[bool, typer.Option("--verify", help="How far is it? Done, its throttles are removed.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel the reassignments in progress.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the reassignments in progress.")] = False,
    reassignment_json_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Which partition goes where; as --generate prints it.")
    ] = None,
    topics_to_move_json_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help='{"topics": [{"topic": "foo"}, …], "version": 1}')
    ] = None,
    broker_list: Annotated[
        str | None, typer.Option(metavar="0,1,2", help="Brokers to which the partitions are to go.")
    ] = None,
    disable_rack_aware: Annotated[bool, typer.Option("--disable-rack-aware", help="Place without racks.")] = False,
    throttle: Annotated[int | None, typer.Option(min=0, help="Bytes a second that a broker may spend on it.")] = None,
    additional: Annotated[
        bool, typer.Option("--additional", help="Though others are being moved; also other goals for those.")
    ] = False,
    preserve_throttles: Annotated[bool, typer.Option("--preserve-throttles", help="Leave throttles as they are.")] = False,
    timeout: Annotated[int | None, typer.Option(help="Of moves between directories, which there are none of.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the placement's start index and shift; random, if left out.")] = None,
    output: Annotated[OutputFormat, typer.Option(help="Of --list.")] = OutputFormat.TABLE,
) -> None:
    """Move partitions between brokers.

    With --zookeeper, the request is written to /admin/reassign_partitions. Without a znode (--cancel, --additional), it is
    sent to the controller of a cluster that kcsim up runs (--zookeeper finds it, too).

    \b
    kcsim reassign --zookeeper localhost:2181 --generate --topics-to-move-json-file topics.json --broker-list 1,2,3
    kcsim reassign --zookeeper localhost:2181 --execute --reassignment-json-file plan.json
    kcsim reassign --zookeeper localhost:2181 --verify --reassignment-json-file plan.json

    Exit status: 0 done, 2 the request could not be sent, 4 refused (the message is Kafka's), 5 a dry run, 64 the options
    are invalid.
    """
    actions = {"generate": generate, "execute": execute, "verify": verify, "cancel": cancel, "list": list_}
    if verify:
        actions["execute"] = False  # --execute with --verify has our own meaning: write, although the ZooKeeper is not ours
    options = {
        "reassignment-json-file": reassignment_json_file,
        "topics-to-move-json-file": topics_to_move_json_file,
        "broker-list": broker_list,
        "disable-rack-aware": disable_rack_aware,
        "throttle": throttle is not None,
        "additional": additional,
        "preserve-throttles": preserve_throttles,
        "timeout": timeout is not None,
        "seed": seed is not None,
        "output": output is not OutputFormat.TABLE,
    }
    action = _checked_action(actions, {name for name, value in options.items() if value})
    zookeeper = checked_location(zookeeper, cluster)
    location = ClusterLocation(zookeeper, cluster)
    with _exit_on_refusal():
        if action == "list":
            list_moves(location, output)
        elif action == "generate":
            assert topics_to_move_json_file is not None
            assert broker_list is not None
            text = read_option_file("--topics-to-move-json-file", topics_to_move_json_file)
            propose(location, text, _broker_ids(broker_list), disable_rack_aware, seed)
        else:
            assert reassignment_json_file is not None
            text = read_option_file("--reassignment-json-file", reassignment_json_file)
            if action == "verify":
                verify_moves(location, text, preserve_throttles, execute)
            elif action == "cancel":
                cancel_moves(location, text, preserve_throttles)
            elif cluster is not None or additional:
                move_through_the_controller(location, text, throttle, additional)
            else:
                move_through_zookeeper(location, text, throttle)


def _checked_action(actions: "Mapping[str, bool]", given: set[str]) -> str:
    """Return the action if all given options are allowed with it; otherwise end the command."""
    action = only_action(actions, "--generate, --execute, --verify, --cancel, --list")
    require_options(given, REQUIRED[action])
    for name in sorted(given - {*REQUIRED[action], *PERMITTED[action]}):
        fail(f'Option "[{name}]" can\'t be used with action "[{action}]"', ExitStatus.USAGE)
    return action


def _broker_ids(text: str) -> "list[BrokerId]":
    from kcsim.vocabulary import BrokerId

    try:
        return [BrokerId(int(part)) for part in text.split(",")]
    except ValueError:
        fail(f"--broker-list: {text!r} is no list of broker ids; write one as 0,1,2", ExitStatus.USAGE)


@contextmanager
def _exit_on_refusal() -> "Iterator[None]":
    """End the command on a refusal, with the line that kafka-reassign-partitions prints for it."""
    from kcsim.controller.admin.reassignments import TerseReassignmentFailureError
    from kcsim.controller.decisions.kafka_refusals import RefusedError

    try:
        yield
    except TerseReassignmentFailureError as refusal:
        print(refusal)
        raise CommandExit(ExitStatus.REFUSED) from None
    except RefusedError as refusal:
        print(f"Error: {refusal}")
        raise CommandExit(ExitStatus.REFUSED) from None
