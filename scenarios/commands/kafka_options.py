"""Which of a Kafka tool's options go together, refused in its words. Source: Kafka 2.8, CommandLineUtils."""

from collections.abc import Collection, Iterable, Mapping

from kcsim.scenarios.commands.ending import ExitStatus, give_up


def only_action(actions: Mapping[str, bool], listed: str) -> str:
    """The one action that is given, or the end of the command.

    Args:
        listed: the actions, as the tool enumerates them.
    """
    given = [name for name, is_given in actions.items() if is_given]
    if len(given) != 1:
        give_up(f"Command must include exactly one action: {listed}", ExitStatus.USAGE)
    return given[0]


def require_options(given: Collection[str], required: Iterable[str]) -> None:
    """End the command when an option is missing."""
    for name in required:
        if name not in given:
            give_up(f'Missing required argument "[{name}]"', ExitStatus.USAGE)


def refuse_together(given: Collection[str], conflicts: Mapping[str, Collection[str]]) -> None:
    """End the command when an option is given together with one of those that it does not go with."""
    for name, others in conflicts.items():
        for other in others:
            if name in given and other in given:
                give_up(f'Option "[{name}]" can\'t be used with option "[{other}]"', ExitStatus.USAGE)
