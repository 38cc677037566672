"""kcsim report: a run as one HTML page, to be read in a browser."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import CommandExit, ExitStatus, fail
from kcsim.scenarios.cli.page_file import check_page_file, write_page_file

if TYPE_CHECKING:
    from kcsim.scenarios.views.page.report import PageReport

MOMENT = "MOMENT"
DEFAULT_EVENTS = 100_000
FEWEST_EVENTS = 100


def report(
    trace: Annotated[
        Path,
        typer.Argument(
            help="What --trace has kept, or an import: JSON lines, or Parquet. Or a directory with "
            "the traces of a cluster's processes."
        ),
    ],
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
    """Write a page about a run: brokers, leaders and controller at any moment, changes, and causes. It needs no network.

    Of a long run the page has the events around faults, or between --from and --to, and elsewhere the notable events. It
    shows how many events it leaves out.

    \b
    kcsim run controller-failover --trace run.jsonl
    kcsim report run.jsonl -o run.html
    kcsim report long.parquet -o part.html --from 60s --to 75s

    Exit status: 0 written, 2 it cannot be written, or the trace is incomplete (the page has the part before), 64 there is no
    such trace, or the page exists already.
    """
    check_page_file("--out", out, force)
    from kcsim.scenarios.views.page.report import EmptyTraceError
    from kcsim.scenarios.views.page.report import report as report_of
    from kcsim.scenarios.views.trace.event_range import event_range_between
    from kcsim.scenarios.views.trace.time_point import BadTimePointError
    from kcsim.versions import own_version

    try:
        stretch = None if from_ is None and to is None else event_range_between(from_, to)
        made = report_of(trace, f"kcsim {own_version()}", stretch, events)
    except (EmptyTraceError, BadTimePointError) as error:
        fail(str(error), ExitStatus.USAGE)
    except OSError as error:
        fail(f"{trace}: {error.strerror or error}", ExitStatus.USAGE)
    write_page_file("--out", out, made.html)
    _print_summary(out, made)
    if made.problem is not None:
        print(f"{made.problem}; what came after that is not in the page", file=sys.stderr)
        raise CommandExit(ExitStatus.UNDECIDED)


def _print_summary(out: Path, made: "PageReport") -> None:
    size = f"{len(made.html.encode()) / 1e6:.1f} MB"
    if made.kept == made.events:
        print(f"{out}: all {made.events} events, {size}")
    else:
        print(f"{out}: {made.kept} of {made.events} events, {size}; the page lists them")
