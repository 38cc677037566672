"""kcsim show: views of a run in the terminal."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kcsim.scenarios.cli import completion
from kcsim.scenarios.cli.command_exit import ExitStatus, fail

MOMENT = "SECONDSs|#SEQ"
MOST_DRAWN = 60


class ShowOutput(StrEnum):
    """--output: for people or for programs; jsonl is a trace again."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


Several = list[str] | None


def show(
    trace: Annotated[
        Path,
        typer.Argument(
            help="What --trace has kept, or an import: JSON lines, or Parquet. Or a directory with "
            "the traces of a cluster's processes."
        ),
    ],
    at: Annotated[
        str | None, typer.Option(metavar=f"{MOMENT}|end", help="The cluster as it was then: 12.5s, '#123', or end.")
    ] = None,
    tree: Annotated[bool, typer.Option("--tree", help="With --at: the znodes; those at and below --path.")] = False,
    describe: Annotated[
        bool, typer.Option("--describe", help="With --at: topics, or --topic, as kafka-topics --describe prints them.")
    ] = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="A sequence diagram, as Mermaid text.")] = False,
    most: Annotated[
        int | None, typer.Option(min=1, help=f"With --mermaid: how many events to draw; else {MOST_DRAWN}.")
    ] = None,
    node: Annotated[Several, typer.Option(metavar="NODE", help="Only of, or done to, broker-2, zookeeper, ….")] = None,
    topic: Annotated[Several, typer.Option(metavar="NAME", help="Only about this topic.")] = None,
    partition: Annotated[Several, typer.Option(metavar="TOPIC-N", help="Only about this partition: orders-0.")] = None,
    kind: Annotated[
        Several,
        typer.Option(
            metavar="KIND", autocompletion=completion.event_kinds, help="Only of this kind, of note or not: ZkWrite, …."
        ),
    ] = None,
    path: Annotated[
        Several, typer.Option(metavar="/PATH", help="Only about this znode and those below it, of note or not.")
    ] = None,
    faults: Annotated[bool, typer.Option("--faults", help="Only faults and actions on the cluster.")] = False,
    from_: Annotated[str | None, typer.Option("--from", metavar=MOMENT, help="From here on: 12.5s, or '#123'.")] = None,
    to: Annotated[str | None, typer.Option(metavar=MOMENT, help="Up to here, this moment included.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every event, not only the notable ones; every partition, however many.")
    ] = False,
    why: Annotated[bool, typer.Option("--why", help="Name the event that each follows from.")] = False,
    output: Annotated[ShowOutput, typer.Option(help="How to print it.")] = ShowOutput.TABLE,
) -> None:
    """Print a run: its timeline, or with --at the cluster at a moment, or with --mermaid a diagram of a part of it.

    Options that choose events may be repeated: any value of one is enough, and all options have to be met.

    \b
    kcsim show run.jsonl
    kcsim show run.jsonl --node broker-2 --from 2s --to 2.5s --all --why
    kcsim show run.jsonl --at 2.2s
    kcsim show run.jsonl --at '#211' --tree --path /brokers/topics
    kcsim show run.jsonl --at end --describe --topic orders
    kcsim show run.jsonl --mermaid --from 2.2s --to 2.3s

    Exit status: 0 printed, 2 the trace is incomplete (the part before is printed), 64 there is no such
    trace, or no such moment.
    """
    from kcsim.scenarios.cli.show_views import (
        SnapshotOptions,
        event_filter_from_options,
        show_diagram,
        show_snapshot,
        show_timeline,
    )

    choosing = {
        "--node": node,
        "--kind": kind,
        "--partition": partition,
        "--faults": faults,
        "--from": from_,
        "--to": to,
        "--why": why,
        "--output jsonl": output is ShowOutput.JSONL,
    }
    if at is not None:
        _refuse("--at", {**choosing, "--mermaid": mermaid, "--most": most})
        snapshot_options = SnapshotOptions(
            tree or bool(path), tuple(path or ("/",)), describe or bool(topic), tuple(topic or ()), everything
        )
        show_snapshot(trace, at, snapshot_options, output is ShowOutput.JSON)
        return
    _refuse("the timeline", {"--tree": tree, "--describe": describe}, "only with --at")
    wanted = event_filter_from_options(node, topic, partition, kind, path, faults, from_, to, everything)
    if mermaid:
        _refuse("--mermaid", {"--why": why, f"--output {output.value}": output is not ShowOutput.TABLE})
        show_diagram(trace, wanted, most or MOST_DRAWN, everything)
        return
    _refuse("the timeline", {"--most": most}, "only with --mermaid")
    show_timeline(trace, wanted, why, output.value)


def _refuse(view: str, given: dict[str, object], where: str = "not") -> None:
    """End with a usage error if an option was given that this view does not have."""
    for option, value in given.items():
        if value:
            message = f"{option} goes {where}" if where != "not" else f"{option} does not go with {view}"
            fail(message, ExitStatus.USAGE)
