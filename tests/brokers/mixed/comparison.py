"""Whether all replicas of each partition have the same records: as bytes, and as two tools of Kafka see them.

DumpLogSegments reads the files of the replicas. ReplicaVerificationTool fetches the records from every replica, up to the
high watermark, and compares them.
"""

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kcsim.brokers.apache_kafka.commands import jvm, run_kafka_command
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from tests.brokers.cluster.verifiable_producer import WITHIN_S

DUMP, VERIFY = "kafka.tools.DumpLogSegments", "kafka.tools.ReplicaVerificationTool"
FILE = re.compile(r"Dumping (.+)")
START = re.compile(r"(Log s|S)tarting offset: \d+")
BATCH = re.compile(r"(baseOffset: .*) position: \d+ (.*) isvalid: true")
RECORD = re.compile(r"\| offset: (\d+) .* payload: (.*)")
STARTED = ": verification process is started"
LAG = re.compile(r"max lag is (-?\d+) for partition \S+ at offset -?\d+ among (\d+) partitions")
POLL_S = 0.1
VERIFICATIONS = 3
"""How often ReplicaVerificationTool is started at most."""


class ReplicaId(NamedTuple):
    """One replica of a partition."""

    tp: TopicPartition
    broker: BrokerId


class ReplicaFiles:
    """The segment files of all replicas.

    Args:
        log_dirs: of each broker.
        replicas: of each partition.
    """

    def __init__(
        self, log_dirs: Mapping[BrokerId, Sequence[Path]], replicas: Mapping[TopicPartition, Sequence[BrokerId]]
    ) -> None:
        self._log_dirs = log_dirs
        self.replicas = replicas

    def segments(self) -> dict[ReplicaId, list[Path]]:
        """Return the files of each replica, oldest first; none if the broker has no log of the partition."""
        return {
            ReplicaId(tp, broker): sorted(path for each in self._log_dirs[broker] for path in (each / str(tp)).glob("*.log"))
            for tp, brokers in sorted(self.replicas.items())
            for broker in brokers
        }

    def differences(self) -> str | None:
        """Return the partitions whose replicas are not equal, byte by byte; None if all are equal."""
        contents = {one: b"".join(path.read_bytes() for path in paths) for one, paths in self.segments().items()}
        different = [
            f"{tp}: " + ", ".join(f"{len(contents[ReplicaId(tp, broker)])} bytes on broker {broker}" for broker in brokers)
            for tp, brokers in sorted(self.replicas.items())
            if len({contents[ReplicaId(tp, broker)] for broker in brokers}) > 1
        ]
        return "; ".join(different) or None


# --- DumpLogSegments -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DumpedReplica:
    """What DumpLogSegments prints about a replica.

    Attributes:
        batches: the line of each batch, without its position in the file: the files of two replicas may begin elsewhere.
        payloads: of each record, by offset.
    """

    batches: tuple[str, ...]
    payloads: Mapping[int, str]


class DumpProblemError(Exception):
    """DumpLogSegments has failed, or complains about a file."""


async def dump_replicas(kafka: KafkaInstallation, files: ReplicaFiles) -> dict[ReplicaId, DumpedReplica]:
    """Return what DumpLogSegments prints about each replica. Raises: DumpProblemError, TimedOutError."""
    segments = files.segments()
    paths = ",".join(str(path) for of_replica in segments.values() for path in of_replica)
    outcome = await run_kafka_command(kafka, DUMP, ["--print-data-log", "--files", paths], None, WITHIN_S)
    if outcome.rc != 0:
        raise DumpProblemError(f"exit status {outcome.rc}: {outcome.err.strip()}")
    lines = lines_by_file(outcome.out)
    return {one: _dumped(line for path in of for line in lines.get(path, ())) for one, of in segments.items()}


def lines_by_file(printed: str) -> dict[Path, list[str]]:
    """Return what is printed about each file, but the offset at which it starts. Raises: DumpProblemError."""
    found: dict[Path, list[str]] = {}
    for line in printed.splitlines():
        if file := FILE.fullmatch(line):
            current = found[Path(file[1])] = []
        elif not START.fullmatch(line):
            if not BATCH.fullmatch(line) and not RECORD.fullmatch(line):
                raise DumpProblemError(f"{[*found][-1:]}: {line}")
            current.append(line)
    return found


def _dumped(lines: Iterator[str]) -> DumpedReplica:
    batches, payloads = [], {}
    for line in lines:
        if batch := BATCH.fullmatch(line):
            batches.append(f"{batch[1]} {batch[2]}")
        elif record := RECORD.fullmatch(line):
            payloads[int(record[1])] = record[2]
    return DumpedReplica(tuple(batches), payloads)


def dump_differences(dumped: Mapping[ReplicaId, DumpedReplica]) -> Iterator[str]:
    """Yield the partitions whose replicas DumpLogSegments does not print alike."""
    firsts: dict[TopicPartition, DumpedReplica] = {}
    for (tp, broker), replica in dumped.items():
        first = firsts.setdefault(tp, replica)
        if replica != first:
            yield f"DumpLogSegments prints another log of {tp} on broker {broker}"


def lost_records(
    acknowledged: Mapping[TopicPartition, Mapping[int, bytes]], dumped: Mapping[ReplicaId, DumpedReplica]
) -> Iterator[str]:
    """Yield the replicas that have not each acknowledged value at the offset at which it was acknowledged.

    A partition of which no replica was dumped has lost everything.
    """
    for tp in sorted(acknowledged.keys() - {tp for tp, _ in dumped}):
        yield f"no replica of {tp} is there"
    for (tp, broker), replica in dumped.items():
        by_offset = {offset: value.decode() for offset, value in acknowledged.get(tp, {}).items()}
        if lost := {offset: value for offset, value in by_offset.items() if replica.payloads.get(offset) != value}:
            yield f"broker {broker} has lost {len(lost)} records of {tp}, the first at offset {min(lost)}"


def repeated_or_out_of_order(dumped: Mapping[ReplicaId, DumpedReplica]) -> Iterator[str]:
    """Yield the replicas in which the values of an idempotent producer are not ascending."""
    for (tp, broker), replica in dumped.items():
        values = [int(payload) for _, payload in sorted(replica.payloads.items())]
        if values != sorted(set(values)):
            yield f"the records of {tp} on broker {broker} are not there once and in order"


# --- ReplicaVerificationTool -----------------------------------------------------------------------------------------------


class _ToolFailedError(Exception):
    """The tool has ended, or has not come to the end of all logs in time."""


async def problem_of_verification(
    kafka: KafkaInstallation, servers: str, partitions: Collection[TopicPartition]
) -> str | None:
    """Return what ReplicaVerificationTool has against the replicas; None if all are equal up to their high watermarks.

    A broker of Kafka that was paused while a topic was deleted may name the topic for ever, and the tool asks any broker
    for the topics. So it gets the names of those that exist, and is started again if it fails.
    """
    failure = ""
    for _ in range(VERIFICATIONS):
        try:
            return await _verified(kafka, servers, partitions)
        except _ToolFailedError as error:
            failure = str(error)
    return failure


async def _verified(kafka: KafkaInstallation, servers: str, partitions: Collection[TopicPartition]) -> str | None:
    processes = await asyncio.to_thread(GuardedProcesses, what="kafka")
    try:
        directory = processes.directory
        topics = ",".join(sorted({tp.topic for tp in partitions}))
        words = ["--broker-list", servers, "--time", "-2", "--topic-white-list", topics]
        words += ["--report-interval-ms", "1000", "--max-wait-ms", "200"]
        out, errors = directory / "out", directory / "err"  # among the latter is that the tool is deprecated, from 3.5 on
        processes.start(VERIFY, jvm(kafka, directory, VERIFY, words), out, errors=errors)
        loop = asyncio.get_running_loop()
        end = loop.time() + WITHIN_S
        while True:
            ended = not isinstance(processes.states()[VERIFY], str)
            lines = out.read_text().rpartition("\n")[0].splitlines()  # the last line may not be complete yet
            if complaints := [line for line in lines if STARTED not in line and not LAG.search(line)]:
                return " | ".join(complaints[:3])
            if any(found.groups() == ("0", str(len(partitions))) for line in lines if (found := LAG.search(line))):
                return None
            if ended or loop.time() > end:
                raise _ToolFailedError(f"its last lines: {lines[-1:] + errors.read_text().splitlines()[-1:]}")
            await asyncio.sleep(POLL_S)
    finally:
        await asyncio.to_thread(processes.close)
