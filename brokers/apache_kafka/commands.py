"""Run Apache Kafka's own commands (topics, reassignments, elections, producers), by class name and without a shell."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcsim.brokers.apache_kafka.installation import KafkaInstallation, Release
from kcsim.brokers.apache_kafka.log_files import COMMAND_LOG4J, jvm_options
from kcsim.errors import TimedOutError
from kcsim.zk.servers.guarded_process import exit_status
from kcsim.zk.servers.guarded_processes import GuardedProcesses

HEAP_MB = 128
NAME = "command"

MOVED: Mapping[str, tuple[Release, str]] = {
    "kafka.admin.ConsumerGroupCommand": ((3, 8), "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"),
    "kafka.admin.DelegationTokenCommand": ((3, 5), "org.apache.kafka.tools.DelegationTokenCommand"),
    "kafka.admin.DeleteRecordsCommand": ((3, 6), "org.apache.kafka.tools.DeleteRecordsCommand"),
    "kafka.admin.LeaderElectionCommand": ((3, 7), "org.apache.kafka.tools.LeaderElectionCommand"),
    "kafka.admin.LogDirsCommand": ((3, 6), "org.apache.kafka.tools.LogDirsCommand"),
    "kafka.admin.ReassignPartitionsCommand": ((3, 7), "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"),
    "kafka.admin.TopicCommand": ((3, 7), "org.apache.kafka.tools.TopicCommand"),
    "kafka.tools.ConsoleConsumer": ((3, 8), "org.apache.kafka.tools.consumer.ConsoleConsumer"),
    "kafka.tools.ConsumerPerformance": ((3, 5), "org.apache.kafka.tools.ConsumerPerformance"),
    "kafka.tools.GetOffsetShell": ((3, 7), "org.apache.kafka.tools.GetOffsetShell"),
    "kafka.tools.ReplicaVerificationTool": ((3, 6), "org.apache.kafka.tools.ReplicaVerificationTool"),
}
"""The new class of each command that moved, and the release in which it moved.

The other commands (ConfigCommand, AclCommand, ConsoleProducer) keep their class until 3.9.
Source: the classes in the jars kafka_2.13 and kafka-tools, 3.4 to 3.9.
"""


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """How a command ended and what it printed. Several of Kafka's commands end with status 0 although they failed."""

    rc: int
    out: str
    err: str


def main_class_in(release: Release, main_class: str) -> str:
    """Return the class name that a command has in this release, given its class name in Kafka 2.8."""
    moved = MOVED.get(main_class)
    return moved[1] if moved is not None and release >= moved[0] else main_class


async def run_kafka_command(
    installation: KafkaInstallation, main_class: str, args: Sequence[str], stdin: str | None, timeout_s: float
) -> CommandOutcome:
    """Run a command to its end.

    Args:
        main_class: as in Kafka 2.8, such as kafka.admin.TopicCommand; replaced by its successor in later releases.
        stdin: the command's standard input; None means empty.

    Raises: TimedOutError; the command was then killed, but may have taken effect before.
    """
    guarded = await asyncio.to_thread(GuardedProcesses, what="kafka")
    try:
        command = jvm(installation, guarded.directory, main_class, args)
        out, err, given = (guarded.directory / name for name in ("out", "err", "in"))
        given.write_text(stdin or "", encoding="utf-8")
        await asyncio.to_thread(guarded.start, NAME, command, out, given, err)
        rc = await exit_status(guarded, NAME, timeout_s)
        printed, complaint = (path.read_text(encoding="utf-8", errors="replace") for path in (out, err))
    finally:
        await asyncio.to_thread(guarded.close)
    if rc is None:
        last = (printed + complaint).strip().splitlines()[-1:]
        raise TimedOutError(
            f"waited {timeout_s:g} s for {main_class} to end; its last output: {' '.join(last) or 'nothing'}"
        )
    return CommandOutcome(rc, printed, complaint)


def jvm(installation: KafkaInstallation, directory: Path, main_class: str, args: Sequence[str]) -> list[str]:
    """Return the command line. Write the logging configuration that it refers to into the directory."""
    log4j = directory / "log4j.properties"
    log4j.write_text(COMMAND_LOG4J)
    class_path = os.pathsep.join(map(str, installation.jars()))
    encodings = [f"-D{what}.encoding=UTF-8" for what in ("file", "stdout", "stderr")]
    options = [*jvm_options(log4j, HEAP_MB), *encodings, "-cp", class_path]
    return [str(installation.java.executable), *options, main_class_in(installation.release, main_class), *args]
