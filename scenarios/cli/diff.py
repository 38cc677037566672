"""kcsim diff: two runs side by side."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, OutputFormat, fail

if TYPE_CHECKING:
    from kcsim.scenarios.views.terminal.difference_text import RankedEvents
    from kcsim.scenarios.views.terminal.run_digest import RunDigest


def diff(
    left: Annotated[Path, typer.Argument(metavar="TRACE1", help="What --trace has kept of a run: JSON lines, or Parquet.")],
    right: Annotated[Path, typer.Argument(metavar="TRACE2", help="The same of another.")],
    everything: Annotated[bool, typer.Option("--all", help="Show all differences, however many.")] = False,
    output: Annotated[OutputFormat, typer.Option(help="How to print it.")] = OutputFormat.TABLE,
) -> None:
    """Compare two runs: settings first, then verdicts, durations and final states, then events with their causes.

    Events are compared for each partition, each znode and each node. Times, session ids, transaction ids and the order of
    events on different partitions, znodes or nodes are not compared; events that read the same are no difference.

    \b
    kcsim run controller-failover --seed 1 --trace one.jsonl
    kcsim run controller-failover --seed 2 --trace two.jsonl
    kcsim diff one.jsonl two.jsonl

    Exit status: 0 the same, 2 a trace is incomplete (the part before is compared), 3 they differ, 64 there is no such trace.
    """
    from kcsim.scenarios.views.terminal.difference_text import difference_json, difference_lines, needed
    from kcsim.scenarios.views.terminal.run_differences import run_differences, without_equal_narrations

    (one, problem), (two, other_problem) = _digest(left), _digest(right)
    found = run_differences(one, two)
    seqs = needed(found, one, is_left=True), needed(found, two, is_left=False)
    ranked_events = _ranked_events(left, seqs[0]), _ranked_events(right, seqs[1])
    found = without_equal_narrations(found, (one, two), ranked_events)
    if (more := needed(found, one, is_left=True)) - seqs[0] or needed(found, two, is_left=False) - seqs[1]:
        ranked_events = _ranked_events(left, more), _ranked_events(right, needed(found, two, is_left=False))
    if output is OutputFormat.JSON:
        print(json.dumps(difference_json((one, two), ranked_events, found), indent=2, ensure_ascii=False))
    else:
        for line in difference_lines((str(left), str(right)), (one, two), ranked_events, found, everything):
            print(line)
    problems = [reason for reason in (problem, other_problem) if reason is not None]
    if problems:
        fail("; ".join(problems) + "; what came after that is not compared", ExitStatus.UNDECIDED)
    raise CommandExit(ExitStatus.NEGATIVE if found else ExitStatus.HELD)


def _digest(trace: Path) -> "tuple[RunDigest, str | None]":
    """Return the digest of a run, and the reason why its trace could not be read to its end, if there is one."""
    from kcsim.scenarios.views.terminal.run_digest import RunDigest
    from kcsim.scenarios.views.trace.time_point import BadTimePointError
    from kcsim.scenarios.views.trace.trace_reading import TraceReading

    reading = TraceReading(trace)
    try:
        return RunDigest.of(reading), reading.problem
    except BadTimePointError:
        fail(reading.nothing_read or str(trace), ExitStatus.USAGE)
    except OSError as error:
        fail(f"{trace}: {error.strerror or error}", ExitStatus.USAGE)


def _ranked_events(trace: Path, seqs: Iterable[int]) -> "RankedEvents":
    """Return the rank and narration of some events.

    The trace is read a second time from its beginning, because the narration of an event depends on the events before it.
    """
    from kcsim.scenarios.views.trace.event_importance import EventRanker
    from kcsim.scenarios.views.trace.trace_reading import TraceReading

    wanted, ranker, found = set(seqs), EventRanker(), {}
    for event in TraceReading(trace):
        ranked = ranker.rank(event)
        if event.seq in wanted:
            found[event.seq] = ranked
    return found
