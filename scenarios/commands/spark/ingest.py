"""kcsim spark ingest: traces of runs into a dataset."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, Output, give_up
from kcsim.scenarios.commands.spark.options import DEFAULT_MASTER, Conf, Master, refuse_existing, session

if TYPE_CHECKING:
    from kcsim.scenarios.replay.tables.ingest import Ingested


def ingest(
    traces: Annotated[
        list[str],
        typer.Argument(metavar="TRACE…", help="Traces, folders with traces, patterns ('runs/**/*.jsonl'), datasets."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The dataset to write; must not exist.")],
    batch: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What these runs are kept under; if not given, the day (UTC) of each file."),
    ] = None,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: Annotated[Output, typer.Option(help="How to print what was counted.")] = Output.TABLE,
) -> None:
    """Take traces that `kcsim run --trace` has written into a dataset, for replay and analyses.

    JSONL (also .gz and .zst) and Parquet. A run is called as its file, without suffix. What is no event goes to the
    dataset's table of rejects, with file, line and reason; the rest is taken.

    \b
    kcsim run controller-failover --zookeeper simulated --trace run.jsonl
    kcsim spark ingest run.jsonl --out runs
    kcsim spark ingest traces/ more/*.parquet --out runs --batch nightly

    Exit status: 0 written, with or without rejects, 2 there was no event to read, or a job failed, 64 DIR exists, there
    is no such trace, or the command makes no sense. Then nothing is written.
    """
    refuse_existing(out)
    check_batch(batch)
    with session(master, conf, out) as spark:
        from kcsim.scenarios.replay.tables.ingest import NothingReadError
        from kcsim.scenarios.replay.tables.ingest import ingest as ingest_traces

        try:
            done = ingest_traces(spark, traces, out, batch)
        except NothingReadError as error:
            give_up(str(error), ExitStatus.UNDECIDED)
    if output is Output.JSON:
        print(json.dumps({"dataset": str(out), **done._asdict()}, indent=2, ensure_ascii=False))
        return
    print("\n".join(lines(out, done)))
    if done.rejects:
        print(f"what was rejected, and why: {out / 'rejects'}", file=sys.stderr)


def lines(out: Path, done: "Ingested") -> list[str]:
    """What was counted, for people."""
    runs = f"{done.runs} run{'' if done.runs == 1 else 's'}"
    rejected = sum(done.rejects.values())
    told = [f"{out}: {done.events} events of {runs}; {rejected or 'nothing'} rejected"]
    return told + [f"  {count:>9}  {reason}" for reason, count in done.rejects.items()]


def check_batch(batch: str | None) -> None:
    """End the command with status 64 if a batch cannot be called so."""
    if batch is not None and (not batch.strip() or batch.startswith("__")):
        give_up(f"--batch: {batch!r} is no name of a batch; write one as nightly, or 2026-05-01", ExitStatus.USAGE)
