"""kcsim import: event logs out of the files of other systems."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.commands.ending import ExitStatus, give_up
from kcsim.scenarios.commands.zk_files import check_output, checked_chroot, files_at_fault, moment, say_remarks
from kcsim.zk.events import Event, EventKind

if TYPE_CHECKING:
    from kcsim.scenarios.imported.kafka_logs.kafka_logs_import import Survey as LogSurvey
    from kcsim.scenarios.imported.kafka_logs.zone import ToUtc
    from kcsim.scenarios.imported.zookeeper_import import Survey
    from kcsim.zk.files.data_directory import DataDirectory

app = typer.Typer(
    help="Make an event log out of what a real cluster has left behind.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def import_() -> None:
    """Make an event log out of what a real cluster has left behind."""


Zone = Annotated[
    str | None,
    typer.Option(
        metavar="+HH:MM|UTC|Area/City",
        help="The zone of the files' times; else as a server.log gives it away, and UTC if none does.",
    ),
]


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
    from kcsim.scenarios.imported.zookeeper_import import import_zookeeper

    return _kept(trace, lambda keep: import_zookeeper(files, seen, keep, chroot))


@app.command("kafka-logs")
def kafka_logs(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Log files of brokers, rolled or gzipped ones too, and directories that are searched for them.",
        ),
    ],
    trace: Annotated[
        Path, typer.Option("--output", "-o", metavar="TRACE", help="Parquet if the name ends in .parquet, else JSON lines.")
    ],
    zone: Zone = None,
) -> None:
    """Make an event log out of the log files of Kafka's brokers: who led, who was in the ISR, who was the controller.

    Reads state-change.log, controller.log and server.log of Kafka 0.10 to 3.9 (ZooKeeper mode), of as many brokers as there
    are. Which broker a file is of shows in its lines, not in its name. All that reads a run's trace reads what is made of
    them; what the files cannot show is said, with the line where that is noticed.

    \b
    kcsim import kafka-logs broker-1/ broker-2/ broker-3/ -o cluster.jsonl
    kcsim import kafka-logs state-change.log.2021-05-04-10.gz -o cluster.parquet --zone Europe/Paris
    kcsim why cluster.jsonl last:LeaderElection --topic orders

    Exit status: 0 done, 2 the event log could not be written, 64 there are no such files, or nothing of history in them.
    """
    from kcsim.scenarios.imported.kafka_logs.kafka_logs_import import import_kafka_logs, survey
    from kcsim.scenarios.imported.kafka_logs.log_files import LogFilesError, log_files

    check_output("--output", trace)
    to_utc = None if zone is None else _zone(zone)
    try:
        files = log_files(paths)
        seen = survey(files)
    except LogFilesError as error:
        give_up(str(error), ExitStatus.USAGE)
    to_utc = _zone_of(seen) if to_utc is None else to_utc
    where = ", ".join(str(path) for path in paths)
    kinds = _kept(trace, lambda keep: import_kafka_logs(seen, to_utc, keep, where))
    for remark in seen.remarks:
        print(remark, file=sys.stderr)
    _sum_up(trace, seen, to_utc, kinds, len(files))


def _zone(text: str) -> "ToUtc":
    from kcsim.scenarios.imported.kafka_logs.zone import BadZoneError, zone_named

    try:
        return zone_named(text)
    except BadZoneError as error:
        give_up(f"--zone: {error}", ExitStatus.USAGE)


def _zone_of(seen: "LogSurvey") -> "ToUtc":
    """The zone that the files give away; UTC if none does, or if they do not agree, which is told."""
    from kcsim.scenarios.imported.kafka_logs.zone import zone_named, zone_shown

    zone, remark = zone_shown(seen.zones)
    if remark is not None:
        print(remark, file=sys.stderr)
    return zone_named(zone)


def _sum_up(trace: Path, seen: "LogSurvey", to_utc: "ToUtc", kinds: "Counter[EventKind]", files: int) -> None:
    """Print what was read, what was found, and what was not."""
    from kcsim.scenarios.imported.kafka_logs.tally_text import tally_lines
    from kcsim.scenarios.imported.moment import time_text

    entries = seen.history.entries
    begin, end = time_text(to_utc(entries[0].t_ms)), time_text(to_utc(entries[-1].t_ms))
    print(f"{trace}: {kinds.total()} events of {files} file{'s' * (files > 1)}, from {begin} to {end}")
    for kind in sorted(kinds):
        print(f"  {kinds[kind]:>9} {kind}")
    for line in tally_lines(seen.tally, entries, seen.not_shown):
        print(line)


def _kept(trace: Path, told: Callable[[Callable[[Event], None]], None]) -> "Counter[EventKind]":
    """Keep the events that are told, and count them."""
    from kcsim.scenarios.history import KeptTrace, TraceError

    kinds: Counter[EventKind] = Counter()

    def keep(event: Event) -> None:
        kinds[event.kind] += 1
        kept.write(event)

    try:
        kept = KeptTrace(trace)
        try:
            told(keep)
        finally:
            kept.close()
    except TraceError as error:
        give_up(str(error), ExitStatus.UNDECIDED)
    return kinds
