"""kcsim why: the causes of an event and its effects, and the causes of a state or an absence."""

import json
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail

if TYPE_CHECKING:
    from kcsim.eventlog.event_log import TruncatedTraceError
    from kcsim.eventlog.events import Event

DEPTH = 1
BREADTH = 8


class TreeOutput(StrEnum):
    """--output: for people or for programs."""

    TREE = "tree"
    JSON = "json"


def why(
    trace: Annotated[
        Path,
        typer.Argument(
            help="What --trace has kept: JSON lines, or Parquet. Or a directory: the traces of a cluster's processes."
        ),
    ],
    question: Annotated[
        str | None,
        typer.Argument(
            autocompletion=completion.event_kinds,
            help="An event (its number, or its kind, as LeaderElection, last:LeaderElection, first:…), or a state"
            " (as 'orders-4 offline at 6.4s'). With --client or --error: last:ClientError if it is left out.",
        ),
    ] = None,
    topic: Annotated[str | None, typer.Option(metavar="NAME", help="With a kind: only events about this topic.")] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="With a kind: only about this partition.")] = None,
    node: Annotated[str | None, typer.Option(metavar="NODE", help="With a kind: only of broker-2, zookeeper, …")] = None,
    client: Annotated[
        str | None, typer.Option(metavar="ID", help="With a kind: only of the Kafka client with this client.id.")
    ] = None,
    error: Annotated[
        str | None, typer.Option(metavar="NAME", help="With a kind: only with this error, as NOT_LEADER_OR_FOLLOWER.")
    ] = None,
    depth: Annotated[int, typer.Option(min=0, help="How many levels of what followed to show.")] = DEPTH,
    everything: Annotated[bool, typer.Option("--all", help="Show everything that followed.")] = False,
    output: Annotated[TreeOutput, typer.Option(help="How to print it.")] = TreeOutput.TREE,
) -> None:
    """Print why an event happened, or why the cluster is in a state: the chain of causes, and what did not happen.

    \b
    kcsim run controller-failover --trace run.jsonl
    kcsim why run.jsonl 212
    kcsim why run.jsonl last:ElectionWon
    kcsim why run.jsonl last:LeaderElection --topic orders --partition 0 --all
    kcsim why run.jsonl --client my-producer --error NOT_LEADER_OR_FOLLOWER
    kcsim why run.jsonl 'no controller at 3s'

    States, each with "at TIME" (12.5s, 300ms, '#123') after it, else at the end of the run, before its clean-up:

    \b
    PARTITION offline (or: without leader)
    PARTITION under-replicated
    produce to PARTITION pending
    reassignment of PARTITION pending
    no controller
    BROKER in isr of PARTITION
    BROKER not in isr of PARTITION
    BROKER leads PARTITION
    BROKER not leader of PARTITION
    BROKER dead | frozen | not registered | session expired
    topic TOPIC not deleted
    consumer CONSUMER owns nothing

    Exit status: 0 printed, and the state is so; 2 the trace ends before the event, or does not say; 3 the state is not so,
    and what is so instead was printed; 64 there is no such event, subject, question or trace.
    """
    from kcsim.scenarios.views.narration.cause_text import Sentences, seqs_of, story_json, story_lines
    from kcsim.scenarios.views.narration.causes import Causes, NoSuchEventError
    from kcsim.scenarios.views.narration.event_choice import (
        LAST_ERROR_OF_A_CLIENT,
        EventChoiceError,
        EventCriteria,
        choose,
    )
    from kcsim.scenarios.views.state_questions.question import is_state_question

    criteria = EventCriteria(topic, partition, node, client, error)
    if question is None:
        if client is None and error is None:
            fail("name an event or a state, or a client's error by --client or --error", ExitStatus.USAGE)
        question = LAST_ERROR_OF_A_CLIENT
    events, broken_off = _read(trace)
    if is_state_question(question):
        if str(criteria):
            options = "--topic, --partition, --node, --client and --error"
            fail(f"{options} go with a kind of event; a state names its subject itself", ExitStatus.USAGE)
        if broken_off is not None:
            print(f"{broken_off}; what came after that is not known", file=sys.stderr)
        _answer_about_state(trace, events, question, output)
        return
    try:
        chosen = choose(events, question, criteria)
        story = Causes(events).story(chosen, None if everything else depth, None if everything else BREADTH)
    except (EventChoiceError, NoSuchEventError) as missing:
        if broken_off is not None:
            fail(f"{broken_off}; {missing}", ExitStatus.UNDECIDED)
        fail(f"{trace}: {missing}", ExitStatus.USAGE)
    if broken_off is not None:
        print(f"{broken_off}; what came after that is not shown", file=sys.stderr)
    sentences = Sentences(events, seqs_of(story))
    if output is TreeOutput.JSON:
        print(json.dumps(story_json(story, sentences), indent=2, ensure_ascii=False))
        return
    for line in story_lines(story, sentences):
        print(line)


def _answer_about_state(trace: Path, events: "list[Event]", text: str, output: TreeOutput) -> None:
    """Print the answer to a question about a state, and end the command with its exit status."""
    from kcsim.scenarios.views.narration.cause_text import Sentences
    from kcsim.scenarios.views.state_questions.answer import answer
    from kcsim.scenarios.views.state_questions.answer_text import answer_json, answer_lines, seqs_of_answer
    from kcsim.scenarios.views.state_questions.question import StateQuestionError, parse_question
    from kcsim.scenarios.views.trace.time_point import BadTimePointError

    try:
        found = answer(events, parse_question(text))
    except (StateQuestionError, BadTimePointError) as error:
        fail(f"{trace}: {error}", ExitStatus.USAGE)
    sentences = Sentences(events, seqs_of_answer(found))
    if output is TreeOutput.JSON:
        print(json.dumps(answer_json(found, sentences), indent=2, ensure_ascii=False))
    else:
        for line in answer_lines(found, sentences, shutil.get_terminal_size().columns):
            print(line)
    if found.holds is not True:
        raise CommandExit(ExitStatus.UNDECIDED if found.holds is None else ExitStatus.NEGATIVE)


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
