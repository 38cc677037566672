"""kcsim groups: who consumes which partition."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Output, give_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcsim.brokers.groups.assignors import Strategy
    from kcsim.brokers.groups.claims import KafkaRules
    from kcsim.brokers.groups.group import ConsumerGroup
    from kcsim.scenarios.questions.group_file import GroupSetup
    from kcsim.scenarios.questions.group_text import Step

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
    output: Annotated[Output, typer.Option(help="How to print it.")] = Output.TABLE,
) -> None:
    """Assign the partitions of a group, change the group, and see what moves.

    Each --then is a rebalance. A plus marks what a member did not have before. "Paused" is what members stopped consuming
    on the way: everything with the eager strategies, and with cooperative-sticky only what moves from one to another.

    \b
    kcsim groups assign --topic t0=3 --topic t1=3 --member C0=t0,t1 --member C1=t0,t1
    kcsim groups assign --strategy range,sticky,cooperative-sticky --topic t0=8 \\
        --member C0=t0 --member C1=/t.*/ --then 'join C2=t0' --then 'leave C0' --then 'partitions t0=12'
    kcsim groups assign group.yaml --strategy sticky --output json

    Exit status: 0 done, 64 something makes no sense (nothing was printed then).
    """
    from kcsim.scenarios.questions.group_file import GroupFileError, GroupSetup, load_group
    from kcsim.scenarios.questions.group_words import GroupWordsError, parse_strategies, topics_not_there

    try:
        setup = load_group(file) if file else GroupSetup({}, [], {}, [])
        strategies = _read("--strategy", lambda: parse_strategies(strategy or ["range"]))
        rules = _rules(kafka)
        group = _group(setup, topic or [], member or [])
        changes = [*setup.changes, *(("--then: ", change) for change in then or [])]
        groups_then = _changed(group, changes)
    except (GroupFileError, GroupWordsError) as error:
        give_up(str(error), ExitStatus.USAGE)
    for line in dict.fromkeys(line for group in groups_then for line in topics_not_there(group)):
        print(line, file=sys.stderr)
    titles = [None, *(change for _, change in changes)]
    _show(_steps(list(zip(titles, groups_then, strict=True)), strategies, rules, setup), rules, output)


def _read(option: str, parse: "Callable[[], T]") -> T:
    """Read the values of an option; name it where they make no sense. Raises: GroupWordsError."""
    from kcsim.brokers.groups.errors import GroupError
    from kcsim.scenarios.questions.group_words import GroupWordsError, explained

    try:
        return parse()
    except GroupWordsError as error:
        raise GroupWordsError(f"{option}: {error}") from None
    except GroupError as error:
        raise GroupWordsError(f"{option}: {explained(error)}") from None


def _rules(kafka: str) -> "KafkaRules":
    from kcsim.brokers.groups.claims import KafkaRules
    from kcsim.scenarios.questions.group_words import GroupWordsError

    if kafka not in [rules.value for rules in KafkaRules]:
        raise GroupWordsError(f"--kafka: unknown version {kafka!r}; there are 2.8 (2.8.2) and 3 (3.0 to 3.3)")
    return KafkaRules(kafka)


def _group(setup: "GroupSetup", topics: "Iterable[str]", members: "Iterable[str]") -> "ConsumerGroup":
    """The group of the file, and what the options add to it."""
    from kcsim.brokers.groups.group import ConsumerGroup
    from kcsim.scenarios.questions.group_words import GroupWordsError, parse_member, parse_topic

    counts = setup.topics | dict(_read("--topic", lambda: [parse_topic(text) for text in topics]))
    consumers = [*setup.consumers, *_read("--member", lambda: [parse_member(text) for text in members])]
    if not counts:
        raise GroupWordsError("there is no topic; give some with --topic t0=3, or in a file")
    if not consumers:
        raise GroupWordsError("there is no member; give some with --member C0=t0, or in a file")
    generation = max((consumer.generation or 0 for consumer in consumers), default=0)
    return _read("--member", lambda: ConsumerGroup(counts, tuple(consumers), generation))


def _changed(group: "ConsumerGroup", changes: "Iterable[tuple[str, str]]") -> "list[ConsumerGroup]":
    """The group at first and after each change; who is in it does not depend on a strategy. Raises: GroupWordsError."""
    from kcsim.scenarios.questions.group_words import GroupWordsError, apply_change

    groups = [group]
    for place, change in changes:
        try:
            groups.append(apply_change(groups[-1], change))
        except GroupWordsError as error:
            raise GroupWordsError(f"{place}{error}") from None
    return groups


def _steps(
    groups: "list[tuple[str | None, ConsumerGroup]]",
    strategies: "list[Strategy]",
    rules: "KafkaRules",
    setup: "GroupSetup",
) -> "list[Step]":
    from kcsim.brokers.groups.difference import difference
    from kcsim.brokers.groups.group import inherit, rebalance
    from kcsim.brokers.groups.rack_aware_range import rack_mismatches
    from kcsim.scenarios.questions.group_text import Rebalanced, Step

    steps = [Step(change, {}) for change, _ in groups]
    for strategy in strategies:
        before = groups[0][1]
        for step, (_, group) in zip(steps, groups, strict=True):
            racks, members = setup.partition_racks, group.members
            after, rounds = rebalance(inherit(group, before), strategy, rules, racks)
            mismatches = rack_mismatches(rounds[-1].sent, members, racks) if racks else None
            step.by_strategy[strategy] = Rebalanced(rounds, difference(before.owned, after.owned), mismatches)
            before = after
    return steps


def _show(steps: "list[Step]", rules: "KafkaRules", output: Output) -> None:
    from kcsim.scenarios.questions.group_text import step_table, step_value
    from kcsim.scenarios.telling.timeline import console_on

    if output is Output.JSON:
        told = {"kafka": rules.value, "steps": [step_value(step) for step in steps]}
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return
    console = console_on(sys.stdout)
    for step in steps:
        console.print(step_table(step, step.change or "at first"))
