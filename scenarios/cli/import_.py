"""kcsim import: event logs made from the files of other systems."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.zk_files import check_output, checked_chroot, exit_on_file_errors, print_remarks, zxid_option

if TYPE_CHECKING:
    from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import LogSurvey
    from kcsim.brokers.apache_kafka.log_import.zone import ToUtc
    from kcsim.zk.capture.zookeeper_import import TransactionLogScan
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
    log_dir: Annotated[
        Path | None, typer.Option(help="dataLogDir, if the logs are in another directory than the snapshots.")
    ] = None,
    chroot: Annotated[str, typer.Option(help="Where Kafka's znodes are, if it was not given the root.")] = "/",
    to: Annotated[
        str | None, typer.Option(metavar="ZXID|TIME", help="Up to and including this; else to the end of the logs.")
    ] = None,
) -> None:
    """Make an event log out of a ZooKeeper's transaction logs and snapshots: the history of a cluster, in real times.

    The event log has every change of a znode and of a session, and its meaning: controllers elected, brokers registered,
    leaders and ISRs changed, partitions reassigned, topics deleted. Every command that reads a run's trace reads it. Causes
    are inferred from the znodes, not recorded.

    \b
    kcsim import zookeeper /var/lib/zookeeper -o cluster.jsonl
    kcsim why cluster.jsonl last:LeaderElection --topic orders

    Exit status: 0 done, 2 the files do not give a whole history, 64 there are no such files.
    """
    from kcsim.zk.capture.zookeeper_import import UNTIL_THE_LAST, scan_transaction_logs
    from kcsim.zk.capture.zxid_or_time import time_text
    from kcsim.zk.files.data_directory import DataDirectory

    check_output("--output", trace)
    below = checked_chroot(chroot)
    with exit_on_file_errors():
        files = DataDirectory(directory, log_dir)
        last = UNTIL_THE_LAST if to is None else zxid_option("--to", to, files)
        seen = scan_transaction_logs(files, below, last)
        kinds = _write(files, seen, trace, below)
    print_remarks(files)
    begin, end = time_text(seen.first.time_ms), time_text(seen.last.time_ms)
    print(f"{trace}: {kinds.total()} events of {seen.transactions} transactions, from {begin} to {end}")
    for kind in sorted(kinds):
        print(f"  {kinds[kind]:>9} {kind}")
    if not kinds[EventKind.BROKER_REGISTERED]:
        print("no broker registers in it: if Kafka's znodes are below a chroot, name it with --chroot", file=sys.stderr)


def _write(files: "DataDirectory", seen: "TransactionLogScan", trace: Path, chroot: str) -> "Counter[EventKind]":
    """Write the events to the trace, and count them by kind."""
    from kcsim.zk.capture.zookeeper_import import import_zookeeper

    return _write_trace(trace, lambda keep: import_zookeeper(files, seen, keep, chroot))


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
    """Make an event log out of the log files of Kafka's brokers: leaders, ISRs and controllers.

    Reads state-change.log, controller.log and server.log of Kafka 0.10 to 3.9 (ZooKeeper mode), of as many brokers as there
    are. The broker of a file is read from its lines, not from its name. Every command that reads a run's trace reads the
    event log; gaps in the files are reported, with the line where each was noticed.

    \b
    kcsim import kafka-logs broker-1/ broker-2/ broker-3/ -o cluster.jsonl
    kcsim import kafka-logs state-change.log.2021-05-04-10.gz -o cluster.parquet --zone Europe/Paris
    kcsim why cluster.jsonl last:LeaderElection --topic orders

    Exit status: 0 done, 2 the event log could not be written, 64 there are no such files, or they hold no history.
    """
    from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import import_kafka_logs, survey
    from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError, log_files

    check_output("--output", trace)
    to_utc = None if zone is None else _zone(zone)
    try:
        files = log_files(paths)
        seen = survey(files)
    except LogFilesError as error:
        fail(str(error), ExitStatus.USAGE)
    to_utc = _zone_of(seen) if to_utc is None else to_utc
    where = ", ".join(str(path) for path in paths)
    kinds = _write_trace(trace, lambda keep: import_kafka_logs(seen, to_utc, keep, where))
    for remark in seen.remarks:
        print(remark, file=sys.stderr)
    _sum_up(trace, seen, to_utc, kinds, len(files))


def _zone(text: str) -> "ToUtc":
    from kcsim.brokers.apache_kafka.log_import.zone import BadZoneError, zone_named

    try:
        return zone_named(text)
    except BadZoneError as error:
        fail(f"--zone: {error}", ExitStatus.USAGE)


def _zone_of(seen: "LogSurvey") -> "ToUtc":
    """Return the zone that the files show; UTC if none shows one or if they disagree, which is reported on stderr."""
    from kcsim.brokers.apache_kafka.log_import.zone import zone_named, zone_shown

    zone, remark = zone_shown(seen.zones)
    if remark is not None:
        print(remark, file=sys.stderr)
    return zone_named(zone)


def _sum_up(trace: Path, seen: "LogSurvey", to_utc: "ToUtc", kinds: "Counter[EventKind]", files: int) -> None:
    """Print what was read, what was found, and what was not found."""
    from kcsim.brokers.apache_kafka.log_import.parse_statistics_text import statistics_lines
    from kcsim.zk.capture.zxid_or_time import time_text

    entries = seen.history.entries
    begin, end = time_text(to_utc(entries[0].t_ms)), time_text(to_utc(entries[-1].t_ms))
    print(f"{trace}: {kinds.total()} events of {files} file{'s' * (files > 1)}, from {begin} to {end}")
    for kind in sorted(kinds):
        print(f"  {kinds[kind]:>9} {kind}")
    for line in statistics_lines(seen.statistics, entries, seen.not_shown):
        print(line)


def _write_trace(trace: Path, emit_events: Callable[[Callable[[Event], None]], None]) -> "Counter[EventKind]":
    """Write the emitted events to the trace, and count them by kind."""
    from kcsim.eventlog.event_log import FailSafeTraceWriter, TraceWriteError

    kinds: Counter[EventKind] = Counter()

    def keep(event: Event) -> None:
        kinds[event.kind] += 1
        kept.write(event)

    try:
        kept = FailSafeTraceWriter(trace)
        try:
            emit_events(keep)
        finally:
            kept.close()
    except TraceWriteError as error:
        fail(str(error), ExitStatus.UNDECIDED)
    return kinds
