"""kcsim snapshot: the control state of a cluster in a file."""

import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.cluster_access import exit_on_zookeeper_errors
from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.zk_files import check_output, checked_chroot, exit_on_file_errors, print_remarks, zxid_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcsim.eventlog.cluster_state import ClusterState
    from kcsim.scenarios.snapshots.control_znodes import ControlZnodes
    from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
    from kcsim.zk.security import ClientSecurity

READS_PER_SECOND = 20_000
FIRST_WITH_MULTI_READ = (3, 6)
TRACE_SUFFIXES = (".jsonl", ".parquet")
ANONYMISATION_KEY_BYTES = 32
THE_END = "end"


def snapshot(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="HOST:PORT,…/CHROOT|DIR|TRACE|LOGS…",
            help="The ZooKeeper of a running cluster; or its dataDir; or an event log (.jsonl, .parquet); or log files of "
            "brokers.",
        ),
    ],
    file: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The snapshot: JSON.")],
    at: Annotated[
        str | None,
        typer.Option(
            metavar="ZXID|TIME|MOMENT",
            help="Of a dataDir the state at 0x1a or 2024-05-01T12:30:00Z, of a trace at 12.5s or '#123'. Else the last.",
        ),
    ] = None,
    log_dir: Annotated[
        Path | None, typer.Option(help="Of a dataDir: dataLogDir, if the logs are in another directory than the snapshots.")
    ] = None,
    chroot: Annotated[str, typer.Option(help="Of a dataDir: where Kafka's znodes are, if it was not given the root.")] = "/",
    sizes: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Sizes and rates of partitions: output of kafka-log-dirs, a CSV with columns topic, partition, size_bytes, "
            "bytes_in_per_s, or an answer of Prometheus' API; may be repeated.",
        ),
    ] = None,
    anonymise: Annotated[
        bool,
        typer.Option("--anonymise", help="Replace names of topics, racks and hosts, so that the file can be given away."),
    ] = False,
    rate: Annotated[
        int, typer.Option(min=1, metavar="N", help="Of a running cluster: how many znodes to read per second, at most.")
    ] = READS_PER_SECOND,
) -> None:
    """Keep the control state of a cluster in a file: brokers, topics, assignments, leaders, ISRs, settings, requests.

    A running cluster's ZooKeeper is only read: nothing is written, and no watch is set. A member that is cut off from its
    ensemble may answer. The options for SASL and TLS are those of all commands: variables of the environment.

    \b
    kcsim snapshot zk1:2181,zk2:2181/kafka -o cluster.json
    kcsim snapshot /var/lib/zookeeper --at 2024-05-01T12:30:00Z -o cluster.json
    kcsim snapshot run.jsonl --at 12.5s -o cluster.json
    kcsim snapshot broker-1/logs broker-2/logs -o cluster.json
    kafka-log-dirs --describe … > sizes.txt; kcsim snapshot localhost:2181 --sizes sizes.txt -o cluster.json

    Exit status: 0 done, 2 ZooKeeper or the files cannot be read, or there is no cluster in them, 64 wrong input.
    """
    check_output("--output", file)
    taken = _snapshot_of(_control_znodes(sources, at, log_dir, chroot, rate))
    for sizes_file in sizes or ():
        taken = _with_sizes(taken, sizes_file)
    if anonymise:
        from kcsim.scenarios.snapshots.anonymised import anonymised

        taken = anonymised(taken, secrets.token_bytes(ANONYMISATION_KEY_BYTES))
    _write(taken, file)


# --- sources ---------------------------------------------------------------------------------------------------------------


def _control_znodes(
    sources: "Sequence[str]", at: str | None, log_dir: Path | None, chroot: str, rate: int
) -> "ControlZnodes":
    """Read what the arguments denote: files and directories if they exist, else a ZooKeeper."""
    first = Path(sources[0])
    of_directory = {"--log-dir": log_dir, "--chroot": chroot if chroot != "/" else None}
    if len(sources) == 1 and first.is_file() and first.suffix in TRACE_SUFFIXES:
        _refuse("an event log", of_directory)
        return _znodes_of_trace(first, at or THE_END)
    if len(sources) == 1 and _is_data_directory(first, log_dir):
        return _znodes_of_directory(first, log_dir, checked_chroot(chroot), at)
    if len(sources) > 1 or first.exists():
        _refuse("log files of brokers", {**of_directory, "--at": at})
        return _znodes_of_logs([Path(source) for source in sources])
    _refuse("a running cluster", {**of_directory, "--at": at})
    return _live_znodes(sources[0], rate)


def _refuse(source: str, given: "Mapping[str, object]") -> None:
    for option, value in given.items():
        if value is not None:
            fail(f"{option} does not go with {source}", ExitStatus.USAGE)


def _is_data_directory(path: Path, log_dir: Path | None) -> bool:
    from kcsim.zk.files.data_directory import DataDirectory, NoSuchFilesError

    if not path.is_dir():
        return False
    try:
        DataDirectory(path, log_dir)
    except NoSuchFilesError:
        return log_dir is not None  # then the error is reported when it is read
    return True


def _live_znodes(connect: str, rate: int) -> "ControlZnodes":
    from kcsim.runtime.wallclock import WallClockRuntime, wall_clock_ms
    from kcsim.scenarios.cli.kafka_tools.cluster_session import cluster_session
    from kcsim.scenarios.cli.zookeeper_argument import security_of
    from kcsim.scenarios.snapshots.live_znodes import LiveZnodes
    from kcsim.zk.servers.external import parse_connect_string

    runtime = WallClockRuntime()

    async def work() -> "ControlZnodes":
        where = parse_connect_string(connect)
        async with cluster_session(runtime, where, security_of(connect)) as kafka_zk:
            client, at_once = kafka_zk.znodes.client, await _has_multi_read(connect, security_of(connect))
            return await LiveZnodes(runtime, client, f"ZooKeeper {where}", wall_clock_ms, rate, at_once).read()

    with exit_on_zookeeper_errors():
        return runtime.run(work())


async def _has_multi_read(connect: str, security: "ClientSecurity") -> bool:
    """Return whether the servers are of ZooKeeper 3.6 or newer; False if none of them says its version."""
    from kcsim.zk.servers.errors import NotServingError
    from kcsim.zk.servers.external import ExternalZooKeeper

    try:
        version = await ExternalZooKeeper(connect, security=security).version()
    except NotServingError:
        return False
    return tuple(map(int, version.split(".")[:2])) >= FIRST_WITH_MULTI_READ


def _znodes_of_directory(path: Path, log_dir: Path | None, chroot: str, at: str | None) -> "ControlZnodes":
    from kcsim.scenarios.snapshots.control_znodes import ControlZnodes
    from kcsim.scenarios.snapshots.past_znodes import znodes_of_tree
    from kcsim.zk.capture.zxid_or_time import time_text
    from kcsim.zk.files.data_directory import DataDirectory

    with exit_on_file_errors():
        files = DataDirectory(path, log_dir)
        tree = files.tree_at(files.last_zxid() if at is None else zxid_option("--at", at, files))
    print_remarks(files)
    changed_ms = max((znode.mtime_ms for znode in tree.znodes.values()), default=0)
    return ControlZnodes(f"ZooKeeper's files in {path}{chroot}", time_text(changed_ms), znodes_of_tree(tree, chroot))


def _znodes_of_trace(trace: Path, at: str) -> "ControlZnodes":
    from kcsim.scenarios.cli.show_views import exit_on_trace_errors, time_point_option
    from kcsim.scenarios.views.terminal.cluster_snapshot import cluster_snapshot
    from kcsim.scenarios.views.trace.time_point import BadTimePointError
    from kcsim.scenarios.views.trace.trace_reading import TraceReading

    then, reading = time_point_option("--at", at), TraceReading(trace)
    with exit_on_trace_errors(reading):
        try:
            state = cluster_snapshot(reading, then).state
        except BadTimePointError as error:
            fail(f"--at: {error}", ExitStatus.USAGE)
    return _znodes_of_state(state, f"event log {trace}", then.text)


def _znodes_of_logs(files: "Sequence[Path]") -> "ControlZnodes":
    from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import import_kafka_logs, survey
    from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError, log_files
    from kcsim.brokers.apache_kafka.log_import.zone import zone_named
    from kcsim.eventlog.cluster_state import ClusterState
    from kcsim.zk.capture.zxid_or_time import time_text

    state, where = ClusterState(), ", ".join(map(str, files))
    try:
        seen = survey(log_files(list(files)))
        import_kafka_logs(seen, zone_named("UTC"), state.apply, where)
    except LogFilesError as error:
        fail(str(error), ExitStatus.USAGE)
    for remark in seen.remarks:
        print(remark, file=sys.stderr)
    return _znodes_of_state(state, f"log files in {where}", time_text(seen.history.entries[-1].t_ms))


def _znodes_of_state(state: "ClusterState", source: str, taken: str) -> "ControlZnodes":
    from kcsim.scenarios.snapshots.control_znodes import ControlZnodes
    from kcsim.scenarios.snapshots.past_znodes import znodes_of_state

    return ControlZnodes(source, taken, znodes_of_state(state))


# --- the snapshot ----------------------------------------------------------------------------------------------------------


def _snapshot_of(control: "ControlZnodes") -> "ControlPlaneSnapshot":
    from kcsim.scenarios.snapshots.control_znodes import NotAKafkaClusterError, snapshot_of

    try:
        return snapshot_of(control)
    except NotAKafkaClusterError as error:
        fail(str(error), ExitStatus.UNDECIDED)


def _with_sizes(taken: "ControlPlaneSnapshot", file: Path) -> "ControlPlaneSnapshot":
    from kcsim.scenarios.cli.option_file import read_option_file
    from kcsim.scenarios.snapshots.partition_sizes import SizesError, parse_sizes, with_sizes

    try:
        return with_sizes(taken, parse_sizes(read_option_file("--sizes", file)))
    except SizesError as error:
        fail(f"--sizes: {file}: {error}", ExitStatus.USAGE)


def _write(taken: "ControlPlaneSnapshot", file: Path) -> None:
    from kcsim.scenarios.snapshots.snapshot_format import encode_snapshot

    try:
        file.write_bytes(encode_snapshot(taken))
    except OSError as error:
        fail(f"--output: {file}: {error.strerror}", ExitStatus.UNDECIDED)
    partitions = sum(len(topic.partitions) for topic in taken.topics)
    counts = {"broker": len(taken.brokers), "topic": len(taken.topics), "partition": partitions}
    counted = ", ".join(f"{count} {what}{'s' * (count != 1)}" for what, count in counts.items())
    print(f"{file}: {counted}, as of {taken.taken}")
    if taken.absent_ids:
        print(f"not registered, with replicas: {', '.join(f'broker-{broker}' for broker in taken.absent_ids)}")
    if taken.partitions_without_size:
        print(f"no size is known of {taken.partitions_without_size} partitions; --sizes adds them")
    for unread in taken.unread:
        print(f"not read: {unread.path}: {unread.reason}", file=sys.stderr)
