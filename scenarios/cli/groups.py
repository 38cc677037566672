"""kcsim groups: the assignment of partitions to consumers."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
    from kcsim.brokers.groups.assignors.ownership_claims import KafkaRules
    from kcsim.brokers.groups.group import ConsumerGroup
    from kcsim.scenarios.cli.calculators.group_file import GroupSetup
    from kcsim.scenarios.cli.calculators.group_text import RebalanceStep

T = TypeVar("T")

app = typer.Typer(help="Who consumes which partition of a consumer group.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def groups() -> None:
    """Who consumes which partition of a consumer group."""


@app.command()
def assign(
    file: Annotated[Path | None, typer.Argument(help="A group in YAML: topics, members, then.")] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,…", help="range (default), roundrobin, sticky, cooperative-sticky; several: side by side."
        ),
    ] = None,
    topic: Annotated[list[str] | None, typer.Option(metavar="T=COUNT", help="A topic and its number of partitions.")] = None,
    member: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C=T,… | C=/REGEX/",
            help="A member and what it subscribes to; after it, if need be: instance=I rack=R owned=t0-0,t0-1 generation=3.",
        ),
    ] = None,
    then: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANGE",
            help="leave C1 | join C3=t0,t1 | join C3 (as the others) | subscribe C1=t2 | partitions t0=8 | delete t0.",
        ),
    ] = None,
    kafka: Annotated[str, typer.Option(help="Whose sticky assignors: 2.8, or 3.")] = "2.8",
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Assign the partitions of a group, change the group, and see what moves.

    Each --then is a rebalance. A plus marks partitions that a member did not have before. "Paused" are the partitions that
    members stop consuming: all with the eager strategies, and with cooperative-sticky only those that move.

    \b
    kcsim groups assign --topic t0=3 --topic t1=3 --member C0=t0,t1 --member C1=t0,t1
    kcsim groups assign --strategy range,sticky,cooperative-sticky --topic t0=8 \\
        --member C0=t0 --member C1=/t.*/ --then 'join C2=t0' --then 'leave C0' --then 'partitions t0=12'
    kcsim groups assign group.yaml --strategy sticky --output json

    Exit status: 0 done, 64 an argument is invalid (nothing was printed then).
    """
    from kcsim.scenarios.cli.calculators.group_file import GroupFileError, GroupSetup, load_group
    from kcsim.scenarios.cli.calculators.group_parser import GroupParseError, parse_strategies, topics_not_there

    try:
        setup = load_group(file) if file else GroupSetup({}, [], {}, [])
        strategies = _read("--strategy", lambda: parse_strategies(strategy or ["range"]))
        rules = _rules(kafka)
        group = _group(setup, topic or [], member or [])
        changes = [*setup.changes, *(("--then: ", change) for change in then or [])]
        groups_then = _changed(group, changes)
    except (GroupFileError, GroupParseError) as error:
        fail(str(error), ExitStatus.USAGE)
    for line in dict.fromkeys(line for group in groups_then for line in topics_not_there(group)):
        print(line, file=sys.stderr)
    titles = [None, *(change for _, change in changes)]
    _show(_steps(list(zip(titles, groups_then, strict=True)), strategies, rules, setup), rules, output)


def _read(option: str, parse: "Callable[[], T]") -> T:
    """Read the values of an option. The error for an invalid value names the option. Raises: GroupParseError."""
    from kcsim.brokers.groups.assignors.errors import GroupError
    from kcsim.scenarios.cli.calculators.group_parser import GroupParseError, error_text

    try:
        return parse()
    except GroupParseError as error:
        raise GroupParseError(f"{option}: {error}") from None
    except GroupError as error:
        raise GroupParseError(f"{option}: {error_text(error)}") from None


def _rules(kafka: str) -> "KafkaRules":
    from kcsim.brokers.groups.assignors.ownership_claims import KafkaRules
    from kcsim.scenarios.cli.calculators.group_parser import GroupParseError

    if kafka not in [rules.value for rules in KafkaRules]:
        raise GroupParseError(f"--kafka: unknown version {kafka!r}; there are 2.8 (2.8.2) and 3 (3.0 to 3.3)")
    return KafkaRules(kafka)


def _group(setup: "GroupSetup", topics: "Iterable[str]", members: "Iterable[str]") -> "ConsumerGroup":
    """Return the group of the file with the additions of the options."""
    from kcsim.brokers.groups.group import ConsumerGroup
    from kcsim.scenarios.cli.calculators.group_parser import GroupParseError, parse_member, parse_topic

    counts = setup.topics | dict(_read("--topic", lambda: [parse_topic(text) for text in topics]))
    consumers = [*setup.consumers, *_read("--member", lambda: [parse_member(text) for text in members])]
    if not counts:
        raise GroupParseError("there is no topic; give some with --topic t0=3, or in a file")
    if not consumers:
        raise GroupParseError("there is no member; give some with --member C0=t0, or in a file")
    generation = max((consumer.generation or 0 for consumer in consumers), default=0)
    return _read("--member", lambda: ConsumerGroup(counts, tuple(consumers), generation))


def _changed(group: "ConsumerGroup", changes: "Iterable[tuple[str, str]]") -> "list[ConsumerGroup]":
    """Return the initial group and the group after each change. Raises: GroupParseError.

    The members of a group do not depend on a strategy.
    """
    from kcsim.scenarios.cli.calculators.group_parser import GroupParseError, apply_change

    groups = [group]
    for place, change in changes:
        try:
            groups.append(apply_change(groups[-1], change))
        except GroupParseError as error:
            raise GroupParseError(f"{place}{error}") from None
    return groups


def _steps(
    groups: "list[tuple[str | None, ConsumerGroup]]",
    strategies: "list[AssignmentStrategy]",
    rules: "KafkaRules",
    setup: "GroupSetup",
) -> "list[RebalanceStep]":
    from kcsim.brokers.groups.assignors.assignment_difference import assignment_difference
    from kcsim.brokers.groups.assignors.rack_aware_range import rack_mismatches
    from kcsim.brokers.groups.group import inherit, rebalance
    from kcsim.scenarios.cli.calculators.group_text import RebalanceResult, RebalanceStep

    steps = [RebalanceStep(change, {}) for change, _ in groups]
    for strategy in strategies:
        before = groups[0][1]
        for step, (_, group) in zip(steps, groups, strict=True):
            racks, members = setup.partition_racks, group.members
            after, rounds = rebalance(inherit(group, before), strategy, rules, racks)
            mismatches = rack_mismatches(rounds[-1].sent, members, racks) if racks else None
            step.by_strategy[strategy] = RebalanceResult(
                rounds, assignment_difference(before.owned, after.owned), mismatches
            )
            before = after
    return steps


def _show(steps: "list[RebalanceStep]", rules: "KafkaRules", output: OutputFormat) -> None:
    from kcsim.scenarios.cli.calculators.group_text import step_table, step_value
    from kcsim.scenarios.views.narration.timeline import console_on

    if output is OutputFormat.JSON:
        result = {"kafka": rules.value, "steps": [step_value(step) for step in steps]}
        print(json.dumps(result, indent=2, ensure_ascii=False))
        return
    console = console_on(sys.stdout)
    for step in steps:
        console.print(step_table(step, step.change or "at first"))
