"""Options of Kafka's tools, and checks of their combinations. The messages are of Kafka 2.8, CommandLineUtils."""

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

ZooKeeperOption = Annotated[
    str | None,
    typer.Option(metavar="host:port,…/chroot", help="Where the cluster is; else the one that kcsim up runs."),
]


NO_ZOOKEEPER = 'Missing required argument "[zookeeper]": no cluster is up; name a ZooKeeper, or start kcsim up'
"""Kafka's message, and what helps."""


def only_action(actions: Mapping[str, bool], listed: str) -> str:
    """Return the only action that is given, or end the command.

    Args:
        listed: the actions, as the tool enumerates them.
    """
    given = [name for name, is_given in actions.items() if is_given]
    if len(given) != 1:
        fail(f"Command must include exactly one action: {listed}", ExitStatus.USAGE)
    return given[0]


def require_options(given: Collection[str], required: Iterable[str]) -> None:
    """End the command when a required option is missing."""
    for name in required:
        if name not in given:
            fail(f'Missing required argument "[{name}]"', ExitStatus.USAGE)


def refuse_together(given: Collection[str], conflicts: Mapping[str, Collection[str]]) -> None:
    """End the command when two conflicting options are given together."""
    for name, others in conflicts.items():
        for other in others:
            if name in given and other in given:
                fail(f'Option "[{name}]" can\'t be used with option "[{other}]"', ExitStatus.USAGE)
