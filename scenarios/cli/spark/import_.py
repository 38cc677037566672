"""kcsim spark import: the files of real clusters, imported into a dataset."""

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from kcsim.scenarios.cli.command_exit import ExitStatus, OutputFormat, fail
from kcsim.scenarios.cli.import_ import Zone
from kcsim.scenarios.cli.spark.ingest import check_batch
from kcsim.scenarios.cli.spark.options import DEFAULT_MASTER, Conf, Master, Place, place, refuse_existing, session
from kcsim.scenarios.cli.spark.spark_command import SparkCommand
from kcsim.scenarios.cli.zk_files import checked_chroot, exit_on_file_errors, zxid_option

if TYPE_CHECKING:
    from kcsim.scenarios.analysis.importing.kafka_logs.cluster_logs import ClusterLogs as KafkaCluster
    from kcsim.scenarios.analysis.importing.kafka_logs.cluster_logs import LogsSummary
    from kcsim.scenarios.analysis.importing.zookeeper.cluster_import import ClusterDataDirectories as ZooKeeperCluster
    from kcsim.scenarios.analysis.importing.zookeeper.cluster_import import RunSummary

ONE_CLUSTER = "cluster"
"""The run's name of all files that are given without a name."""
NAMED = re.compile(r"([\w.-]+)=(.+)")
MB = 1_000_000

app = typer.Typer(
    help="Take what real clusters have left behind into a dataset.", no_args_is_help=True, rich_markup_mode=None
)

Out = Annotated[
    Place, typer.Option("--out", "-o", parser=place, metavar="DATASET", help="The folder to write; must not exist.")
]
Batch = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What it is kept under; else each run by the day (UTC) it begins on."),
]
HowPrinted = Annotated[OutputFormat, typer.Option(help="How to print what was counted.")]


@app.callback()
def import_() -> None:
    """Take what real clusters have left behind into a dataset."""


@app.command(cls=SparkCommand)
def zookeeper(
    directories: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]DIR",
            help="dataDir of a server, or version-2 in it. Several of one name, or of none, are members of one ensemble.",
        ),
    ],
    out: Out,
    log_dir: Annotated[
        Place | None,
        typer.Option(parser=place, help="dataLogDir, if the logs are in another directory than the snapshots; for one DIR."),
    ] = None,
    chroot: Annotated[str, typer.Option(help="Where Kafka's znodes are, if it was not given the root.")] = "/",
    to: Annotated[
        str | None, typer.Option(metavar="ZXID|TIME", help="Up to and including this; else to the end of the logs.")
    ] = None,
    batch: Batch = None,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: HowPrinted = OutputFormat.TABLE,
) -> None:
    """Take ZooKeeper's transaction logs and snapshots into a dataset, many files at a time.

    The events are those that kcsim import zookeeper makes of the same directory. Each name is a run of its own; what is in
    the logs of several members, or in copies that overlap, counts once. A torn end is reported, and a row in the dataset's
    table of rejects. On a cluster, every worker has to see the files under the same path.

    \b
    kcsim spark import zookeeper /var/lib/zookeeper -o march
    kcsim spark import zookeeper east=zk1/data east=zk2/data west=zk7/data -o march --chroot /kafka

    Exit status: 0 written, 2 the files do not give a whole history, or a job failed, 64 there are no such files, DATASET
    exists, or the command is invalid, 130 interrupted.
    """
    refuse_existing(out)
    check_batch(batch)
    below, groups = checked_chroot(chroot), named(directories)
    if log_dir is not None and len(directories) > 1:
        fail("--log-dir: it is for one DIR; name the logs of several as DIRs, each with its snapshots", ExitStatus.USAGE)
    with exit_on_file_errors():
        clusters = [_zookeeper_cluster(run, paths, log_dir, to) for run, paths in groups.items()]
        with session(master, conf, out) as spark:
            from kcsim.scenarios.analysis.importing.writing import write_imported
            from kcsim.scenarios.analysis.importing.zookeeper.import_zookeeper import import_zookeeper
            from kcsim.scenarios.analysis.tables.hadoop import hadoop_name
            from kcsim.scenarios.cli.spark.progress import progress

            hadoop_name(spark, out)  # before the import, not after it
            with progress(spark, "import"):
                imported = import_zookeeper(spark, clusters, below, batch)
                kinds, rejects = write_imported(spark, imported, out)
    for read in imported.runs:
        for remark in read.remarks:
            print(remark, file=sys.stderr)
        if not kinds[read.run]["BrokerRegistered"]:
            hint = "no broker registers in it: if Kafka's znodes are below a chroot, name it with --chroot"
            print(f"{read.run}: {hint}", file=sys.stderr)
    if output is OutputFormat.JSON:
        _print_json(out, [_zookeeper_json(read, kinds[read.run]) for read in imported.runs], rejects)
        return
    for read in imported.runs:
        print("\n".join(_zookeeper_lines(out, read, kinds[read.run])))
    _print_rejects(out, rejects)


@app.command("kafka-logs", cls=SparkCommand)
def kafka_logs(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]PATH",
            help="Log files of brokers, rolled or gzipped ones too, and directories that are searched for them. Those of one"
            " name, or of none, are of one cluster.",
        ),
    ],
    out: Out,
    zone: Zone = None,
    batch: Batch = None,
    master: Master = DEFAULT_MASTER,
    conf: Conf = None,
    output: HowPrinted = OutputFormat.TABLE,
) -> None:
    """Take the log files of Kafka's brokers into a dataset, many clusters at a time.

    The events are those that kcsim import kafka-logs makes of the same files: state-change.log, controller.log and
    server.log of Kafka 0.10 to 3.9 (ZooKeeper mode). Each name is a run of its own. Lines that are no records are rows in
    the dataset's table of rejects. On a cluster, every worker has to see the files under the same path.

    \b
    kcsim spark import kafka-logs broker-*/logs -o march
    kcsim spark import kafka-logs east=logs/east west=logs/west -o march --zone Europe/Paris

    Exit status: 0 written, 2 a job failed, 64 there are no such files, they hold no history, DATASET exists, or
    the command makes no sense, 130 interrupted.
    """
    from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError
    from kcsim.brokers.apache_kafka.log_import.zone import BadZoneError, zone_named

    refuse_existing(out)
    check_batch(batch)
    try:
        if zone is not None:
            zone_named(zone)
        clusters = [_kafka_cluster(run, given) for run, given in named(paths).items()]
        with session(master, conf, out) as spark:
            from kcsim.scenarios.analysis.importing.kafka_logs.import_kafka_logs import import_kafka_logs
            from kcsim.scenarios.analysis.importing.writing import write_imported
            from kcsim.scenarios.analysis.tables.hadoop import hadoop_name
            from kcsim.scenarios.cli.spark.progress import progress

            hadoop_name(spark, out)  # before the import, not after it
            with progress(spark, "import"):
                imported = import_kafka_logs(spark, clusters, zone, batch)
                kinds, rejects = write_imported(spark, imported, out)
    except BadZoneError as error:
        fail(f"--zone: {error}", ExitStatus.USAGE)
    except LogFilesError as error:
        fail(str(error), ExitStatus.USAGE)
    for read in imported.runs:
        for remark in read.remarks:
            print(remark, file=sys.stderr)
    if output is OutputFormat.JSON:
        _print_json(out, [_kafka_json(read, kinds[read.run]) for read in imported.runs], rejects)
        return
    for logs in imported.runs:
        print("\n".join(_kafka_lines(out, logs, kinds[logs.run])))
    _print_rejects(out, rejects)


# --- input -----------------------------------------------------------------------------------------------------------------


def named(arguments: Sequence[str]) -> dict[str, list[Place]]:
    """Return the paths of each run by the run's name, in the order of the command line."""
    found: dict[str, list[Place]] = {}
    for argument in arguments:
        match = None if Path(argument).exists() else NAMED.fullmatch(argument)
        run, path = (ONE_CLUSTER, argument) if match is None else match.groups()
        found.setdefault(run, []).append(place(path))
    return found


def _zookeeper_cluster(run: str, paths: Sequence[Place], log_dir: Place | None, to: str | None) -> "ZooKeeperCluster":
    from kcsim.scenarios.analysis.importing.zookeeper.cluster_import import ClusterDataDirectories
    from kcsim.zk.files.data_directory import DataDirectory
    from kcsim.zk.files.transaction_log import NO_BOUND

    # What is no Path has those of its methods that are called there.
    directories = tuple(DataDirectory(cast(Path, path), cast(Path | None, log_dir)) for path in paths)
    last = NO_BOUND if to is None else max(zxid_option("--to", to, directory) for directory in directories)
    return ClusterDataDirectories(run, directories, last)


def _kafka_cluster(run: str, paths: Sequence[Place]) -> "KafkaCluster":
    from kcsim.brokers.apache_kafka.log_import.log_files import log_files
    from kcsim.scenarios.analysis.importing.kafka_logs.cluster_logs import ClusterLogs

    return ClusterLogs(run, tuple(log_files(cast(Sequence[Path], paths))), ", ".join(str(path) for path in paths))


# --- output ----------------------------------------------------------------------------------------------------------------


def _zookeeper_lines(out: Place, read: "RunSummary", kinds: Counter[str]) -> list[str]:
    from kcsim.zk.capture.zxid_or_time import time_text

    transactions = f"{read.transactions} transactions, {read.first:#x} to {read.last:#x}, from {time_text(read.first_ms)}"
    return [
        f"{out}: run {read.run} of batch {read.batch}: {kinds.total()} events of {transactions}",
        *_kind_lines(kinds),
        f"  of {read.files} log{'s' * (read.files > 1)}, {read.size / MB:.1f} MB; {read.ignored} transactions change nothing"
        " of Kafka's",
    ]


def _kafka_lines(out: Place, read: "LogsSummary", kinds: Counter[str]) -> list[str]:
    from kcsim.brokers.apache_kafka.log_import.parse_statistics_text import statistics_lines
    from kcsim.brokers.apache_kafka.log_import.zone import zone_named
    from kcsim.zk.capture.zxid_or_time import time_text

    to_utc = zone_named(read.zone)
    begin, end = time_text(to_utc(read.first_ms)), time_text(to_utc(read.last_ms))
    files = f"{read.files} file{'s' * (read.files > 1)}"
    return [
        f"{out}: run {read.run} of batch {read.batch}: {kinds.total()} events of {files}, from {begin} to {end}",
        *_kind_lines(kinds),
        *statistics_lines(read.tally, read.elected, read.not_shown),
    ]


def _kind_lines(kinds: Counter[str]) -> list[str]:
    return [f"  {kinds[kind]:>9} {kind}" for kind in sorted(kinds)]


def _print_rejects(out: Place, rejects: Counter[str]) -> None:
    for reason, count in rejects.most_common():
        print(f"rejected: {count} {reason}; see {out / 'rejects'}", file=sys.stderr)


def _print_json(out: Place, runs: Sequence[Mapping[str, Any]], rejects: Counter[str]) -> None:
    print(json.dumps({"dataset": str(out), "runs": runs, "rejects": dict(rejects)}, indent=2, ensure_ascii=False))


def _zookeeper_json(read: "RunSummary", kinds: Counter[str]) -> Mapping[str, Any]:
    from kcsim.zk.capture.zxid_or_time import time_text

    return {
        "run": read.run,
        "batch": read.batch,
        "begins": time_text(read.first_ms),
        "events": kinds.total(),
        "kinds": dict(sorted(kinds.items())),
        "transactions": {
            "read": read.transactions,
            "ignored": read.ignored,
            "first": f"{read.first:#x}",
            "last": f"{read.last:#x}",
        },
        "files": read.files,
        "bytes": read.size,
        "remarks": read.remarks,
    }


def _kafka_json(read: "LogsSummary", kinds: Counter[str]) -> Mapping[str, Any]:
    from kcsim.brokers.apache_kafka.log_import.zone import zone_named
    from kcsim.zk.capture.zxid_or_time import time_text

    tally = read.tally
    return {
        "run": read.run,
        "batch": read.batch,
        "begins": time_text(zone_named(read.zone)(read.first_ms)),
        "zone": read.zone,
        "events": kinds.total(),
        "kinds": dict(sorted(kinds.items())),
        "records": {
            "history": tally.history,
            "no_history": tally.no_history,
            "unknown": dict(sorted(tally.unknown.items())),
            "broken_lines": tally.broken,
        },
        "controllers": [{"broker": one.controller, "epoch": one.controller_epoch} for one in read.elected],
        "not_shown": [str(what) for what in read.not_shown],
        "files": read.files,
        "bytes": read.size,
        "remarks": read.remarks,
    }
