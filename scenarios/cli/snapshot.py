"""kcsim snapshot: the control state of a cluster in a file."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kcsim.scenarios.cli.cluster_access import exit_on_zookeeper_errors
from kcsim.scenarios.cli.command_exit import ExitStatus, fail
from kcsim.scenarios.cli.zk_files import check_output

if TYPE_CHECKING:
    from kcsim.scenarios.snapshots.control_znodes import ControlZnodes
    from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot

READS_PER_SECOND = 10_000


def snapshot(
    source: Annotated[str, typer.Argument(metavar="HOST:PORT,…/CHROOT", help="The ZooKeeper of a running cluster.")],
    file: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The snapshot: JSON.")],
    rate: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many znodes to read per second, at most.")
    ] = READS_PER_SECOND,
) -> None:
    """Keep the control state of a cluster in a file: brokers, topics, assignments, leaders, ISRs, settings, requests.

    A running cluster's ZooKeeper is only read: nothing is written, and no watch is set. A member that is cut off from its
    ensemble may answer. For SASL and TLS see `kcsim zk`.

    \b
    kcsim snapshot zk1:2181,zk2:2181/kafka -o cluster.json

    Exit status: 0 done, 2 ZooKeeper cannot be reached or read, or there is no cluster in it, 64 wrong input.
    """
    check_output("--output", file)
    _write(_snapshot_of(_live_znodes(source, rate)), file)


def _live_znodes(connect: str, rate: int) -> "ControlZnodes":
    from kcsim.runtime.wallclock import WallClockRuntime
    from kcsim.scenarios.cli.kafka_tools.cluster_session import cluster_session
    from kcsim.scenarios.cli.zookeeper_argument import security_of
    from kcsim.scenarios.snapshots.live_znodes import LiveZnodes
    from kcsim.zk.servers.external import parse_connect_string

    runtime = WallClockRuntime()

    async def work() -> "ControlZnodes":
        where = parse_connect_string(connect)
        async with cluster_session(runtime, where, security_of(connect)) as kafka_zk:
            return await LiveZnodes(runtime, kafka_zk.znodes.client, f"ZooKeeper {where}", _wall_ms, rate).read()

    with exit_on_zookeeper_errors():
        return runtime.run(work())


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _snapshot_of(control: "ControlZnodes") -> "ControlPlaneSnapshot":
    from kcsim.scenarios.snapshots.control_znodes import NotAKafkaClusterError, snapshot_of

    try:
        return snapshot_of(control)
    except NotAKafkaClusterError as error:
        fail(str(error), ExitStatus.UNDECIDED)


def _write(taken: "ControlPlaneSnapshot", file: Path) -> None:
    from kcsim.scenarios.snapshots.snapshot_format import encode_snapshot

    try:
        file.write_bytes(encode_snapshot(taken))
    except OSError as error:
        fail(f"--output: {file}: {error.strerror}", ExitStatus.UNDECIDED)
    partitions = sum(len(topic.partitions) for topic in taken.topics)
    print(f"{file}: {len(taken.brokers)} brokers, {len(taken.topics)} topics, {partitions} partitions, as of {taken.taken}")
    if taken.absent_ids:
        print(f"not registered, with replicas: {', '.join(f'broker-{broker}' for broker in taken.absent_ids)}")
    if taken.partitions_without_size:
        print(f"no size is known of {taken.partitions_without_size} partitions; --sizes adds them")
    for unread in taken.unread:
        print(f"not read: {unread.path}: {unread.reason}", file=sys.stderr)
