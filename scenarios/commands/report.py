"""kcsim report: a run as one HTML page, to be read in a browser."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Finished, give_up

if TYPE_CHECKING:
    from kcsim.scenarios.reporting.report import Report

MOMENT = "MOMENT"
DEFAULT_EVENTS = 100_000
FEWEST_EVENTS = 100


def report(
    trace: Annotated[Path, typer.Argument(help="What --trace has kept, or an import: JSON lines, or Parquet.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write, as run.html.")],
    from_: Annotated[
        str | None, typer.Option("--from", metavar=MOMENT, help="Show everything from here on: 12.5s, or #123.")
    ] = None,
    to: Annotated[str | None, typer.Option(metavar=MOMENT, help="Show everything up to here, this moment included.")] = None,
    events: Annotated[
        int, typer.Option(min=FEWEST_EVENTS, help="How many events the page may have at most.")
    ] = DEFAULT_EVENTS,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Make a page of a run: who lived, led and ruled at any moment, what changed, and why. It needs no network.

    Of a long run the page has what is around the faults, or between --from and --to, and elsewhere what is of note. It says
    what it leaves out.

    \b
    kcsim run controller-failover --trace run.jsonl
    kcsim report run.jsonl -o run.html
    kcsim report long.parquet -o part.html --from 60s --to 75s

    Exit status: 0 written, 2 it cannot be written, or the trace breaks off (the page has what came before), 64 there is no
    such trace, or the page is there already.
    """
    if out.exists() and not force:
        give_up(f"--out: {out} is there already; name another file, or write over it with --force", ExitStatus.USAGE)
    if out.is_dir() or not out.absolute().parent.is_dir():
        what = "is a directory" if out.is_dir() else f"there is no directory {out.parent}"
        give_up(f"--out: {out}: {what}", ExitStatus.USAGE)
    from kcsim.scenarios.commands.doctor import own_version
    from kcsim.scenarios.reading.moments import BadMomentError
    from kcsim.scenarios.reporting.report import EmptyTraceError
    from kcsim.scenarios.reporting.report import report as report_of
    from kcsim.scenarios.reporting.stretch import stretch_between

    try:
        stretch = None if from_ is None and to is None else stretch_between(from_, to)
        made = report_of(trace, f"kcsim {own_version()}", stretch, events)
    except (EmptyTraceError, BadMomentError) as error:
        give_up(str(error), ExitStatus.USAGE)
    except OSError as error:
        give_up(f"{trace}: {error.strerror or error}", ExitStatus.USAGE)
    _write(out, made.html)
    _tell(out, made)
    if made.problem is not None:
        print(f"{made.problem}; what came after that is not in the page", file=sys.stderr)
        raise Finished(ExitStatus.UNDECIDED)


def _write(out: Path, page: str) -> None:
    """All of it or nothing: a page that is half there would open, and show half a run."""
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        try:
            beside.write_text(page, encoding="utf-8")
            beside.replace(out)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        give_up(f"--out: {out}: {error.strerror or error}", ExitStatus.UNDECIDED)


def _tell(out: Path, made: "Report") -> None:
    size = f"{len(made.html.encode()) / 1e6:.1f} MB"
    if made.kept == made.events:
        print(f"{out}: all {made.events} events, {size}")
    else:
        print(f"{out}: {made.kept} of {made.events} events, {size}; the page says which")
