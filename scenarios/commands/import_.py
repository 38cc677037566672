"""kcsim import: event logs out of the files of other systems."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, give_up
from kcsim.scenarios.commands.zk_files import check_output, checked_chroot, files_at_fault, moment, say_remarks
from kcsim.zk.events import Event, EventKind

if TYPE_CHECKING:
    from kcsim.scenarios.imported.zookeeper_import import Survey
    from kcsim.zk.files.data_directory import DataDirectory

app = typer.Typer(
    help="Make an event log out of what a real cluster has left behind.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def import_() -> None:
    """Make an event log out of what a real cluster has left behind."""


@app.command()
def zookeeper(
    directory: Annotated[Path, typer.Argument(help="dataDir of one server, or version-2 in it.")],
    trace: Annotated[
        Path, typer.Option("--output", "-o", metavar="TRACE", help="Parquet if the name ends in .parquet, else JSON lines.")
    ],
    log_dir: Annotated[Path | None, typer.Option(help="dataLogDir, if the logs are apart from the snapshots.")] = None,
    chroot: Annotated[str, typer.Option(help="Where Kafka's znodes are, if it was not given the root.")] = "/",
    to: Annotated[
        str | None, typer.Option(metavar="ZXID|TIME", help="Up to and including this; else to the end of the logs.")
    ] = None,
) -> None:
    """Make an event log out of a ZooKeeper's transaction logs and snapshots: the history of a cluster, in real times.

    Every change of a znode and of a session, and what it stands for: controllers elected, brokers registered, leaders and
    ISRs changed, partitions reassigned, topics deleted. All that reads a run's trace reads this. Causes are the likeliest
    that the znodes show, not recorded ones.

    \b
    kcsim import zookeeper /var/lib/zookeeper -o cluster.jsonl
    kcsim why cluster.jsonl last:LeaderElection --topic orders

    Exit status: 0 done, 2 the files do not give a whole history, 64 there are no such files.
    """
    from kcsim.scenarios.imported.moment import time_text
    from kcsim.scenarios.imported.zookeeper_import import UNTIL_THE_LAST, survey
    from kcsim.zk.files.data_directory import DataDirectory

    check_output("--output", trace)
    below = checked_chroot(chroot)
    with files_at_fault():
        files = DataDirectory(directory, log_dir)
        last = UNTIL_THE_LAST if to is None else moment("--to", to, files)
        seen = survey(files, below, last)
        kinds = _write(files, seen, trace, below)
    say_remarks(files)
    begin, end = time_text(seen.first.time_ms), time_text(seen.last.time_ms)
    print(f"{trace}: {kinds.total()} events of {seen.transactions} transactions, from {begin} to {end}")
    for kind in sorted(kinds):
        print(f"  {kinds[kind]:>9} {kind}")
    if not kinds[EventKind.BROKER_REGISTERED]:
        print("no broker registers in it: if Kafka's znodes are below a chroot, name it with --chroot", file=sys.stderr)


def _write(files: "DataDirectory", seen: "Survey", trace: Path, chroot: str) -> "Counter[EventKind]":
    """Keep the events, and count them."""
    from kcsim.scenarios.history import KeptTrace, TraceError
    from kcsim.scenarios.imported.zookeeper_import import import_zookeeper

    kinds: Counter[EventKind] = Counter()

    def keep(event: Event) -> None:
        kinds[event.kind] += 1
        kept.write(event)

    try:
        kept = KeptTrace(trace)
        try:
            import_zookeeper(files, seen, keep, chroot)
        finally:
            kept.close()
    except TraceError as error:
        give_up(str(error), ExitStatus.UNDECIDED)
    return kinds
