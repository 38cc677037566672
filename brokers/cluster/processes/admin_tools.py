"""Kafka's own commands, for requests to the controller and for producing: this project does not speak Kafka's protocol."""

import json
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kcsim.brokers.apache_kafka.commands import CommandOutcome, run_kafka_command
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.requests import SUCCESS, ErrorCode
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import ReplicaAssignment, TopicPartition

WITHIN_S = 60.0
REASSIGN = "kafka.admin.ReassignPartitionsCommand"
ELECT = "kafka.admin.LeaderElectionCommand"
PRODUCE = "kafka.tools.ConsoleProducer"
FIRST_TO_ALTER = (2, 6)
"""The first Kafka release whose command sends requests to the controller, and can cancel; earlier ones write the znode."""


class KafkaAdminTools:
    """Runs commands of an installation. Each method raises ClusterError with the error that the command printed."""

    def __init__(self, installation: KafkaInstallation) -> None:
        self._installation = installation

    async def alter_partition_reassignments(
        self, bootstrap: str, targets: ReassignmentTargets
    ) -> dict[TopicPartition, ErrorCode]:
        """Start, replace or (None) cancel reassignments."""
        if self._installation.release < FIRST_TO_ALTER:
            version = self._installation.version
            raise ClusterError(f"the reassignment command of Kafka {version} sends the controller no request")
        wanted = {tp: replicas for tp, replicas in targets.items() if replicas is not None}
        cancelled: dict[TopicPartition, Sequence[int]] = {tp: () for tp, to in targets.items() if to is None}
        if wanted:
            await self._reassign(bootstrap, ["--execute", "--additional"], wanted)
        if cancelled:
            await self._reassign(bootstrap, ["--cancel", "--preserve-throttles"], cancelled)
        return dict.fromkeys(targets, ErrorCode.NONE)

    async def list_partition_reassignments(
        self, bootstrap: str, partitions: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Raises: ClusterError: what the command lists is not read."""
        raise ClusterError("the reassignments of real brokers are not listed; kafka-reassign-partitions --list does it")

    async def _reassign(self, bootstrap: str, act: Sequence[str], plan: Mapping[TopicPartition, Sequence[int]]) -> None:
        partitions = [{"topic": tp.topic, "partition": tp.partition, "replicas": list(to) or [0]} for tp, to in plan.items()]
        with tempfile.TemporaryDirectory(prefix="kcsim-") as directory:
            file = Path(directory) / "reassignment.json"
            file.write_text(json.dumps({"version": 1, "partitions": partitions}), encoding="utf-8")
            words = ["--bootstrap-server", bootstrap, "--reassignment-json-file", str(file), *act]
            outcome = await self._run(REASSIGN, words)
        _check(REASSIGN, outcome)

    async def elect_leaders(
        self, bootstrap: str, election_type: ElectionType, partitions: Collection[TopicPartition] | None
    ) -> ElectionResults:
        """Elect leaders for these partitions, or for all."""
        words = ["--bootstrap-server", bootstrap, "--election-type", election_type.value.lower()]
        if partitions is None:
            _check(ELECT, await self._run(ELECT, [*words, "--all-topic-partitions"]))
            return {}
        with tempfile.TemporaryDirectory(prefix="kcsim-") as directory:
            file = Path(directory) / "partitions.json"
            listed = [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]
            file.write_text(json.dumps({"partitions": listed}), encoding="utf-8")
            _check(ELECT, await self._run(ELECT, [*words, "--path-to-json-file", str(file)]))
        return dict.fromkeys(partitions, SUCCESS)

    async def produce(self, bootstrap: str, topic: str, records: int, acks: int) -> None:
        """Write records to a topic."""
        words = ["--broker-list", bootstrap, "--topic", topic, "--request-required-acks", str(acks)]
        lines = "".join(f"record {number}\n" for number in range(records))
        outcome = await self._run(PRODUCE, words, lines)
        if outcome.rc != 0 or re.search(r"\bERROR\b", outcome.err):
            raise ClusterError(f"{PRODUCE}: {_error_text(outcome)}")

    async def _run(self, main_class: str, words: Sequence[str], stdin: str | None = None) -> CommandOutcome:
        return await run_kafka_command(self._installation, main_class, words, stdin, WITHIN_S)


def _check(command: str, outcome: CommandOutcome) -> None:
    """Raise ClusterError if a command failed. Some commands exit with status 0 although they fail, so the output counts."""
    if outcome.rc != 0 or re.search(r"(?i)^error|exception", outcome.err + "\n" + outcome.out, re.MULTILINE):
        raise ClusterError(f"{command}: {_error_text(outcome)}")


def _error_text(outcome: CommandOutcome) -> str:
    lines = [line.strip() for line in (outcome.err or outcome.out).splitlines() if line.strip()]
    return lines[0] if lines else f"exit status {outcome.rc}"
