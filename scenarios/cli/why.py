"""kcsim why: the causes of an event, and its effects."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.eventlog.event_log import TruncatedTraceError
    from kcsim.eventlog.events import Event

DEPTH = 4
BREADTH = 8


class TreeOutput(StrEnum):
    """--output: for people or for programs."""

    TREE = "tree"
    JSON = "json"


def why(
    trace: Annotated[Path, typer.Argument(help="What --trace has kept: JSON lines, or Parquet.")],
    seq: Annotated[
        str, typer.Argument(help="The event: its number, or its kind, as LeaderElection, last:LeaderElection, first:….")
    ],
    topic: Annotated[str | None, typer.Option(metavar="NAME", help="With a kind: only events about this topic.")] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="With a kind: only about this partition.")] = None,
    node: Annotated[str | None, typer.Option(metavar="NODE", help="With a kind: only of broker-2, zookeeper, …")] = None,
    depth: Annotated[int, typer.Option(min=0, help="How many levels of what followed to show.")] = DEPTH,
    everything: Annotated[bool, typer.Option("--all", help="Show everything that followed.")] = False,
    output: Annotated[TreeOutput, typer.Option(help="How to print it.")] = TreeOutput.TREE,
) -> None:
    """Print why an event happened: the chain from a fault, an action or the start down to it, and its consequences.

    \b
    kcsim run controller-failover --trace run.jsonl
    kcsim why run.jsonl 212
    kcsim why run.jsonl last:ElectionWon
    kcsim why run.jsonl last:LeaderElection --topic orders --partition 0 --all

    Exit status: 0 printed, 2 the trace ends before the event, 64 there is no such event, or no such trace.
    """
    from kcsim.scenarios.views.narration.cause_text import Sentences, seqs_of, story_json, story_lines
    from kcsim.scenarios.views.narration.causes import Causes, NoSuchEventError
    from kcsim.scenarios.views.narration.event_choice import EventChoiceError, EventCriteria, choose

    events, broken_off = _read(trace)
    try:
        chosen = choose(events, seq, EventCriteria(topic, partition, node))
        story = Causes(events).story(chosen, None if everything else depth, None if everything else BREADTH)
    except (EventChoiceError, NoSuchEventError) as error:
        if broken_off is not None:
            fail(f"{broken_off}; {error}", ExitStatus.UNDECIDED)
        fail(f"{trace}: {error}", ExitStatus.USAGE)
    if broken_off is not None:
        print(f"{broken_off}; what came after that is not shown", file=sys.stderr)
    sentences = Sentences(events, seqs_of(story))
    if output is TreeOutput.JSON:
        print(json.dumps(story_json(story, sentences), indent=2, ensure_ascii=False))
        return
    for line in story_lines(story, sentences):
        print(line)


def _read(trace: Path) -> "tuple[list[Event], TruncatedTraceError | None]":
    """Return the events, and the error of a truncated trace if it is one."""
    from kcsim.eventlog.event_log import BadTraceError, TruncatedTraceError, read_trace

    events: list[Event] = []
    try:
        events.extend(read_trace(trace))
    except TruncatedTraceError as broken_off:
        return events, broken_off
    except BadTraceError as error:
        fail(str(error), ExitStatus.USAGE)
    except OSError as error:
        fail(f"{trace}: {error.strerror or error}", ExitStatus.USAGE)
    return events, None
