"""kcsim diff: two runs side by side."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Finished, Output, give_up

if TYPE_CHECKING:
    from kcsim.scenarios.reading.difference_text import Sentences
    from kcsim.scenarios.reading.run_digest import RunDigest


def diff(
    left: Annotated[Path, typer.Argument(metavar="TRACE1", help="What --trace has kept of a run: JSON lines, or Parquet.")],
    right: Annotated[Path, typer.Argument(metavar="TRACE2", help="The same of another.")],
    everything: Annotated[bool, typer.Option("--all", help="Leave nothing out where it is much.")] = False,
    output: Annotated[Output, typer.Option(help="How to print it.")] = Output.TABLE,
) -> None:
    """Compare two runs: settings, what happened where, and why they part there, how they ended, and the verdicts.

    What happens is compared place by place: a partition, a znode, a node. When it happens does not count, nor do session
    ids, transaction ids and the order across places.

    \b
    kcsim run controller-failover --seed 1 --trace one.jsonl
    kcsim run controller-failover --seed 2 --trace two.jsonl
    kcsim diff one.jsonl two.jsonl

    Exit status: 0 the same, 1 they differ, 2 a trace breaks off (what came before is compared), 64 there is no such trace.
    """
    from kcsim.scenarios.reading.difference_text import difference_json, difference_lines, needed
    from kcsim.scenarios.reading.run_differences import run_differences

    (one, problem), (two, other_problem) = _digest(left), _digest(right)
    found = run_differences(one, two)
    told_all = everything or output is Output.JSON
    told = (
        _sentences(left, needed(found, one, True, told_all)),
        _sentences(right, needed(found, two, False, told_all)),
    )
    if output is Output.JSON:
        print(json.dumps(difference_json((one, two), told, found), indent=2, ensure_ascii=False))
    else:
        for line in difference_lines((str(left), str(right)), (one, two), told, found, everything):
            print(line)
    problems = [said for said in (problem, other_problem) if said is not None]
    if problems:
        give_up("; ".join(problems) + "; what came after that is not compared", ExitStatus.UNDECIDED)
    raise Finished(ExitStatus.VIOLATED if found else ExitStatus.HELD)


def _digest(trace: Path) -> "tuple[RunDigest, str | None]":
    """What a run comes to, and why its trace could not be read to its end, if it could not."""
    from kcsim.scenarios.reading.moments import BadMomentError
    from kcsim.scenarios.reading.run_digest import RunDigest
    from kcsim.scenarios.reading.trace_reading import TraceReading

    reading = TraceReading(trace)
    try:
        return RunDigest.of(reading), reading.problem
    except BadMomentError:
        give_up(reading.nothing_read or str(trace), ExitStatus.USAGE)
    except OSError as error:
        give_up(f"{trace}: {error.strerror or error}", ExitStatus.USAGE)


def _sentences(trace: Path, seqs: Iterable[int]) -> "Sentences":
    """What is told of some events. The trace is read once more: a narrator's words depend on what came before."""
    from kcsim.scenarios.reading.trace_reading import TraceReading
    from kcsim.scenarios.reporting.of_note import Teller

    wanted, teller, found = set(seqs), Teller(), {}
    for event in TraceReading(trace):
        told = teller.tell(event)
        if event.seq in wanted:
            found[event.seq] = told
    return found
