"""kcsim why: what led to an event, and what came of it."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, give_up

if TYPE_CHECKING:
    from kcsim.scenarios.history import BrokenOffTraceError
    from kcsim.zk.events import Event

DEPTH = 4
BREADTH = 8


class TreeOutput(StrEnum):
    """--output: for people, or for programs."""

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
    """Print why an event happened: the chain from a fault, an admin act or the start down to it, and what it led to.

    \b
    kcsim run controller-failover --trace run.jsonl
    kcsim why run.jsonl 212
    kcsim why run.jsonl last:ElectionWon
    kcsim why run.jsonl last:LeaderElection --topic orders --partition 0 --all

    Exit status: 0 told, 2 the trace breaks off before the event, 64 there is no such event, or no such trace.
    """
    from kcsim.scenarios.telling.cause_text import Sentences, seqs_of, story_json, story_lines
    from kcsim.scenarios.telling.causes import Causes, NoSuchEventError
    from kcsim.scenarios.telling.event_choice import EventChoiceError, Wanted, choose

    events, broken_off = _read(trace)
    try:
        chosen = choose(events, seq, Wanted(topic, partition, node))
        story = Causes(events).story(chosen, None if everything else depth, None if everything else BREADTH)
    except (EventChoiceError, NoSuchEventError) as error:
        if broken_off is not None:
            give_up(f"{broken_off}; {error}", ExitStatus.UNDECIDED)
        give_up(f"{trace}: {error}", ExitStatus.USAGE)
    if broken_off is not None:
        print(f"{broken_off}; what came after that is not told", file=sys.stderr)
    sentences = Sentences(events, seqs_of(story))
    if output is TreeOutput.JSON:
        print(json.dumps(story_json(story, sentences), indent=2, ensure_ascii=False))
        return
    for line in story_lines(story, sentences):
        print(line)


def _read(trace: Path) -> "tuple[list[Event], BrokenOffTraceError | None]":
    """The events, and what is wrong with the end of the trace if it has none."""
    from kcsim.scenarios.history import BadTraceError, BrokenOffTraceError, read_trace

    events: list[Event] = []
    try:
        events.extend(read_trace(trace))
    except BrokenOffTraceError as broken_off:
        return events, broken_off
    except BadTraceError as error:
        give_up(str(error), ExitStatus.USAGE)
    except OSError as error:
        give_up(f"{trace}: {error.strerror or error}", ExitStatus.USAGE)
    return events, None
