"""kcsim reassign: kafka-reassign-partitions, with --zookeeper, or on a cluster of kcsim up."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Finished, Output, give_up
from kcsim.scenarios.commands.json_file import read_text
from kcsim.scenarios.commands.kafka_options import only_action, require_options
from kcsim.scenarios.commands.reassign_actions import (
    Place,
    cancel_moves,
    list_moves,
    move_through_the_controller,
    move_through_zookeeper,
    propose,
    verify_moves,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kcsim.zk.vocabulary import BrokerId

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
    zookeeper: Annotated[str | None, typer.Option(metavar="host:port,…/chroot", help="Where the cluster is.")] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="A cluster of kcsim up instead: its controller is asked itself.")
    ] = None,
    generate: Annotated[bool, typer.Option("--generate", help="Propose a placement; nothing is moved.")] = False,
    execute: Annotated[
        bool,
        typer.Option("--execute", help="Begin to move partitions. With --verify: remove the throttles on any ZooKeeper."),
    ] = False,
    verify: Annotated[bool, typer.Option("--verify", help="How far is it? Done, its throttles are removed.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel what is being moved.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List what is being moved.")] = False,
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
    output: Annotated[Output, typer.Option(help="Of --list.")] = Output.TABLE,
) -> None:
    """Move partitions between brokers.

    With --zookeeper, the wish is written to /admin/reassign_partitions. What has no znode (--cancel, --additional) goes
    through the controller's API, of a cluster that kcsim up runs, and which --zookeeper finds, too.

    \b
    kcsim reassign --zookeeper localhost:2181 --generate --topics-to-move-json-file topics.json --broker-list 1,2,3
    kcsim reassign --zookeeper localhost:2181 --execute --reassignment-json-file plan.json
    kcsim reassign --zookeeper localhost:2181 --verify --reassignment-json-file plan.json

    Exit status: 0 done, 1 refused, in Kafka's words, 2 it could not be asked for, 64 the options make no sense.
    """
    actions = {"generate": generate, "execute": execute, "verify": verify, "cancel": cancel, "list": list_}
    if verify:
        actions["execute"] = False  # the house's own meaning of the word: write, although the ZooKeeper is not ours
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
        "output": output is not Output.TABLE,
    }
    action = _checked_action(actions, {name for name, value in options.items() if value})
    if (zookeeper is None) == (cluster is None):
        give_up("give either --zookeeper or --cluster", ExitStatus.USAGE)
    place = Place(zookeeper, cluster)
    with _refusals_told():
        if action == "list":
            list_moves(place, output)
        elif action == "generate":
            assert topics_to_move_json_file is not None
            assert broker_list is not None
            text = read_text("--topics-to-move-json-file", topics_to_move_json_file)
            propose(place, text, _broker_ids(broker_list), disable_rack_aware, seed)
        else:
            assert reassignment_json_file is not None
            text = read_text("--reassignment-json-file", reassignment_json_file)
            if action == "verify":
                verify_moves(place, text, preserve_throttles, execute)
            elif action == "cancel":
                cancel_moves(place, text, preserve_throttles)
            elif cluster is not None or additional:
                move_through_the_controller(place, text, throttle, additional)
            else:
                move_through_zookeeper(place, text, throttle)


def _checked_action(actions: "Mapping[str, bool]", given: set[str]) -> str:
    """The action, if all options go with it; else the end of the command."""
    action = only_action(actions, "--generate, --execute, --verify, --cancel, --list")
    require_options(given, REQUIRED[action])
    for name in sorted(given - {*REQUIRED[action], *PERMITTED[action]}):
        give_up(f'Option "[{name}]" can\'t be used with action "[{action}]"', ExitStatus.USAGE)
    return action


def _broker_ids(text: str) -> "list[BrokerId]":
    from kcsim.zk.vocabulary import BrokerId

    try:
        return [BrokerId(int(part)) for part in text.split(",")]
    except ValueError:
        give_up(f"--broker-list: {text!r} is no list of broker ids; write one as 0,1,2", ExitStatus.USAGE)


@contextmanager
def _refusals_told() -> "Iterator[None]":
    """A refusal ends the command with the line that kafka-reassign-partitions prints for it."""
    from kcsim.controller.decisions.kafka_refusals import RefusedError
    from kcsim.scenarios.admin.reassignments import TerseReassignmentFailureError

    try:
        yield
    except TerseReassignmentFailureError as refusal:
        print(refusal)
        raise Finished(ExitStatus.VIOLATED) from None
    except RefusedError as refusal:
        print(f"Error: {refusal}")
        raise Finished(ExitStatus.VIOLATED) from None
