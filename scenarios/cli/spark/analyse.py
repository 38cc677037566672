"""kcsim spark analyse: a history's availability, elections, churn, load, recovery and risk."""

import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.analysis.analyses.scope import Liveness, Scope
from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.spark.engines import ChosenEngine, EngineName, OwnMaster
from kcsim.scenarios.cli.spark.engines import engine as opened_engine
from kcsim.scenarios.cli.spark.options import Conf, Place, milliseconds, place, refuse_existing
from kcsim.scenarios.cli.spark.progress import Doing

if TYPE_CHECKING:
    from kcsim.scenarios.analysis.analyses.analysis import Analysis
    from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables

ALL = "all"
DEFAULT_LIMIT = 20


class AnalysisOutput(StrEnum):
    """--output: for people or for programs."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def analyse(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which analysis, one of --list; or all, with --out.")
    ] = None,
    paths: Annotated[
        list[Place] | None,
        typer.Argument(parser=place, metavar="[DATASET|TRACE]...", help="A dataset; or traces: JSON lines, Parquet."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Name every analysis with what it answers.")] = False,
    describe: Annotated[
        str | None, typer.Option(metavar="NAME", help="Describe what exactly an analysis counts, and its columns.")
    ] = None,
    transitions: Annotated[
        Place | None,
        typer.Option(
            parser=place,
            metavar="DATASET",
            help="Take the transitions from here, as from a replay of what might have been.",
        ),
    ] = None,
    topic: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this topic; may be repeated.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only from then on: 90s, 12h, 30d into the run.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Only until then, not included.")] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="As of when brokers are lost (loss-of-…); else at the end.")
    ] = None,
    bucket: Annotated[str, typer.Option(metavar="DURATION", help="How finely time is divided.")] = "1h",
    min_insync_replicas: Annotated[int, typer.Option(min=1, help="Of topics that do not set min.insync.replicas.")] = 1,
    liveness: Annotated[
        Liveness,
        typer.Option(help="serving: a live broker is registered and its process runs. registered: the first alone."),
    ] = Liveness.SERVING,
    limit: Annotated[int, typer.Option(min=1, help="The number of rows to print at most, the worst first.")] = DEFAULT_LIMIT,
    all_columns: Annotated[
        bool, typer.Option("--all-columns", help="Print all columns of a table; it may be wider than the terminal.")
    ] = False,
    out: Annotated[
        Place | None,
        typer.Option(
            parser=place, metavar="DIR", help="Write all rows as Parquet, a folder for each analysis; must not exist."
        ),
    ] = None,
    engine: ChosenEngine = EngineName.SPARK,
    master: OwnMaster = None,
    conf: Conf = None,
    output: Annotated[AnalysisOutput, typer.Option(help="How to print it.")] = AnalysisOutput.TABLE,
) -> None:
    """Analyse the history of one cluster or of many: a dataset, or the traces of runs.

    \b
    kcsim spark analyse --list
    kcsim spark analyse availability history/ --topic orders
    kcsim spark analyse loss-of-brokers history/ --at 30d --limit 10
    kcsim spark analyse recovery-times run.jsonl --output json
    kcsim spark analyse all history/ --out findings/ --engine duckdb

    Exit status: 0 done, 2 there are no events, or a job has failed, 64 the command is invalid, 130 interrupted.
    """
    if list_ or describe is not None:
        _print_catalogue(describe)
        return
    if name is None or not paths:
        fail("kcsim spark analyse NAME DATASET; --list names the analyses", ExitStatus.USAGE)
    if name == ALL and out is None:
        fail("all: give a directory with --out DIR", ExitStatus.USAGE)
    scope = Scope(
        topics=tuple(topic or ()),
        since_ms=_time("--since", since),
        until_ms=_time("--until", until),
        at_ms=_time("--at", at),
        bucket_ms=_time("--bucket", bucket) or 0,
        min_insync_replicas=min_insync_replicas,
        liveness=liveness,
    )
    _check(scope)
    chosen = _named(name)
    refuse_existing(out)
    reads = paths if transitions is None else [*paths, transitions]
    with opened_engine(engine, "analyse", master, conf, reads, out) as doing:
        doing("reading")
        history = _history(paths, transitions, scope)
        if out is None:
            doing(name)
            _print(chosen[0], history, limit, all_columns, output)
        else:
            _write(chosen, history, out, doing)


# --- options ---------------------------------------------------------------------------------------------------------------


def _time(option: str, text: str | None) -> int | None:
    return None if text is None else milliseconds(option, text)


def _check(scope: Scope) -> None:
    if not scope.bucket_ms:
        fail("--bucket: 0 is no width", ExitStatus.USAGE)
    if scope.since_ms is not None and scope.until_ms is not None and scope.since_ms >= scope.until_ms:
        fail("--since: there is nothing between it and --until", ExitStatus.USAGE)


def _named(name: str) -> "list[Analysis]":
    from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES

    if name == ALL:
        return list(ANALYSES.values())
    if name not in ANALYSES:
        from kcsim.text import did_you_mean

        hint = did_you_mean(name, [*ANALYSES, ALL]) or "; --list names them"
        fail(f"there is no analysis {name!r}{hint}", ExitStatus.USAGE)
    return [ANALYSES[name]]


def _print_catalogue(describe: str | None) -> None:
    from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
    from kcsim.scenarios.cli.spark.analyse_text import aligned, description

    if describe is None:
        lines = aligned(("analysis", "question"), [(found.name, found.question) for found in ANALYSES.values()])
    else:
        lines = description(_named(describe)[0])
    print("\n".join(lines))


# --- input -----------------------------------------------------------------------------------------------------------------


def _history(paths: list[Place], transitions: Place | None, scope: Scope) -> "HistoryTables":
    """Return the tables of the given paths. Report what cannot be read; end the command if nothing can be read."""
    from kcsim.scenarios.analysis.analyses.reading import NoEventsError, read_history

    try:
        history, unread = read_history(paths, transitions, scope)
    except NoEventsError as error:
        fail(str(error), ExitStatus.UNDECIDED)
    for line in unread:
        print(line, file=sys.stderr)
    return history


# --- output ----------------------------------------------------------------------------------------------------------------


def _print(analysis: "Analysis", history: "HistoryTables", limit: int, all_columns: bool, output: AnalysisOutput) -> None:
    from kcsim.scenarios.cli.spark.analyse_text import as_csv, as_json, table_lines

    found = [row.asDict() for row in analysis.sorted_table(history).limit(limit + 1).collect()]
    rows, has_more = found[:limit], len(found) > limit
    match output:
        case AnalysisOutput.JSON:
            print(as_json(analysis, rows, has_more))
        case AnalysisOutput.CSV:
            print(as_csv(analysis, rows))
        case AnalysisOutput.TABLE:
            print("\n".join(table_lines(analysis, rows, all_columns)))
            if analysis.details and not all_columns:
                print(f"not shown: {', '.join(analysis.details)} (--all-columns)", file=sys.stderr)
    if has_more:
        print(f"there are more than {limit}: --limit N prints more, --out DIR writes all of them", file=sys.stderr)


def _write(analyses: "Sequence[Analysis]", history: "HistoryTables", out: Place, doing: Doing) -> None:
    from kcsim.scenarios.analysis.tables.dataset import being_written
    from kcsim.scenarios.cli.spark.analyse_text import aligned

    def write(analysis: "Analysis", folder: Place) -> tuple[int, float]:
        began = time.monotonic()
        rows = history.write_counted(analysis.table(history), folder / analysis.name)
        return rows, round(time.monotonic() - began, 1)

    summary = []
    with being_written(out) as folder:
        results = history.results([partial(write, analysis, folder) for analysis in analyses])
        for analysis in analyses:
            doing(analysis.name)
            rows, seconds = next(results)
            summary.append((analysis.name, rows, seconds))
            print(f"{analysis.name}: {rows} rows", file=sys.stderr)
    print("\n".join(aligned(("analysis", "rows", "seconds"), summary)))
