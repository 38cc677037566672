"""kcsim spark ingest: traces of runs, imported into a dataset."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.spark.options import (
    DEFAULT_MASTER,
    Conf,
    Master,
    Place,
    place,
    refuse_existing,
    session,
)

if TYPE_CHECKING:
    from kcsim.scenarios.analysis.ingest import IngestCounts


def ingest(
    traces: Annotated[
        list[Place],
        typer.Argument(
            parser=place,
            metavar="TRACE…",
            help="Traces, folders with traces, patterns ('runs/**/*.jsonl'), datasets.",
        ),
    ],
    out: Annotated[
        Place, typer.Option("--out", "-o", parser=place, metavar="DIR", help="The dataset to write; must not exist.")
    ],
    batch: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What these runs are kept under; if not given, the day (UTC) of each file."),
    ] = None,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: Annotated[OutputFormat, typer.Option(help="How to print what was counted.")] = OutputFormat.TABLE,
) -> None:
    """Take traces that `kcsim run --trace` has written into a dataset, for replay and analyses.

    JSONL (also .gz and .zst) and Parquet. A run has the name of its file, without suffix. Lines that are no events go to
    the dataset's table of rejects, with file, line and reason; the other lines are imported.

    \b
    kcsim run controller-failover --zookeeper simulated --trace run.jsonl
    kcsim spark ingest run.jsonl --out runs
    kcsim spark ingest traces/ more/*.parquet --out runs --batch nightly

    Exit status: 0 written, with or without rejects, 2 there was no event to read, or a job failed, 64 DIR exists, there
    is no such trace, or the command is invalid. Then nothing is written.
    """
    refuse_existing(out)
    check_batch(batch)
    with session(master, conf, out) as spark:
        from kcsim.scenarios.analysis.ingest import NothingReadError
        from kcsim.scenarios.analysis.ingest import ingest as ingest_traces
        from kcsim.scenarios.cli.spark.progress import progress

        try:
            with progress(spark, "ingest"):
                done = ingest_traces(spark, traces, out, batch)
        except NothingReadError as error:
            fail(str(error), ExitStatus.UNDECIDED)
    if output is OutputFormat.JSON:
        print(json.dumps({"dataset": str(out), **done._asdict()}, indent=2, ensure_ascii=False))
        return
    print("\n".join(lines(out, done)))
    if done.rejects:
        print(f"what was rejected, and why: {out / 'rejects'}", file=sys.stderr)


def lines(out: Place, done: "IngestCounts") -> list[str]:
    """Return what was counted, as text."""
    runs = f"{done.runs} run{'' if done.runs == 1 else 's'}"
    rejected = sum(done.rejects.values())
    header = [f"{out}: {done.events} events of {runs}; {rejected or 'nothing'} rejected"]
    return header + [f"  {count:>9}  {reason}" for reason, count in done.rejects.items()]


def check_batch(batch: str | None) -> None:
    """End the command with status 64 if a batch cannot have this name."""
    if batch is not None and (not batch.strip() or batch.startswith("__")):
        fail(f"--batch: {batch!r} is no name of a batch; write one as nightly, or 2026-05-01", ExitStatus.USAGE)
