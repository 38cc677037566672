"""kafka-preferred-replica-election, and kafka-leader-election.

Source: Kafka 2.8, PreferredReplicaLeaderElectionCommand and LeaderElectionCommand; Kafka 3.0 and 3.9, LeaderElectionCommand.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from kcsim.controller.admin.elections import request_preferred_election
from kcsim.controller.admin.reassignment_files import parse_partitions_to_elect
from kcsim.controller.capabilities import Release
from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ApiError, ErrorCode
from kcsim.eventlog.run_actions import ClusterError
from kcsim.scenarios.cli.kafka_tools.election_text import (
    PREFERRED_TOOL_WARNINGS,
    REASON_IS_PRINTED_SINCE,
    failures,
    requested_election_lines,
    result_lines,
)
from kcsim.vocabulary import TopicPartition
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.tools.command_line import Command, CommandOutput, ToolFailedError
from tests.conformance.replayed.tools.files import Files
from tests.conformance.replayed.tools.reach import Reach

Results = Mapping[TopicPartition, ApiError]
Lines = Iterator[str]
PREFERRED_TOOL_RELEASE = Release("2.8")
"""A release with kafka-preferred-replica-election."""
TIMED_OUT = "Timeout waiting for election results"


class ElectionTools:
    """Both commands on one cluster."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def preferred(self, command: Command, output: CommandOutput, files: Files) -> None:
        """Run kafka-preferred-replica-election. Raises: ToolFailedError, NotSupportedError."""
        command.require_known(["path-to-json-file"])
        try:
            partitions = _partitions_in_file(command, files)
            if not self._reach.is_direct(command):
                output.out.append(PREFERRED_TOOL_WARNINGS[0])
                await self._elect(ElectionType.PREFERRED, partitions, output, preferred_result_lines)
                return
            output.out += PREFERRED_TOOL_WARNINGS
            async with self._reach.kafka_zk(command) as kafka_zk:
                output.out += requested_election_lines(await request_preferred_election(kafka_zk, partitions))
        except RefusedError:
            raise ToolFailedError from None  # the reason is in a stack trace

    async def leaders(self, command: Command, output: CommandOutput, files: Files) -> None:
        """Run kafka-leader-election. Raises: ToolFailedError, NotSupportedError."""
        command.require_known(
            ["election-type", "topic", "partition", "all-topic-partitions", "path-to-json-file", "admin.config"]
        )
        wanted = command.one("election-type").upper()
        if self._reach.is_direct(command) or wanted not in ElectionType.__members__:
            raise NotSupportedError(f"{command.tool} {' '.join(command.words)}")
        try:
            partitions = self._partitions(command, files)
        except RefusedError:
            raise ToolFailedError from None  # the reason is in a stack trace
        lines = partial(result_lines, ElectionType[wanted], release=self._reach.release)
        await self._elect(ElectionType[wanted], partitions, output, lines)

    async def _elect(
        self,
        kind: ElectionType,
        partitions: Sequence[TopicPartition] | None,
        output: CommandOutput,
        lines: Callable[[Results], Lines],
    ) -> None:
        try:
            results = await self._reach.cluster.elect_leaders(kind, partitions)
        except ClusterError:  # nobody answered
            output.out.append(TIMED_OUT)
            self._give_reason(output, TIMED_OUT)
            raise ToolFailedError from None
        if partitions is None:  # the broker's answer leaves out partitions that needed no election
            results = {tp: result for tp, result in results.items() if result.error is not ErrorCode.ELECTION_NOT_NEEDED}
        output.out += lines(results)
        if failed := failures(results):
            self._give_reason(output, f"{len(failed)} replica(s) could not be elected")
            raise ToolFailedError

    def _give_reason(self, output: CommandOutput, reason: str) -> None:
        """Print why the command fails, as from 3.7 on; until then only a stack trace says it."""
        if self._reach.is_from(REASON_IS_PRINTED_SINCE):
            output.err.append(reason)

    def _partitions(self, command: Command, files: Files) -> Sequence[TopicPartition] | None:
        if "topic" in command:
            return [TopicPartition(command.one("topic"), command.number("partition"))]
        if "all-topic-partitions" in command:
            return None
        command.one("path-to-json-file")
        return _partitions_in_file(command, files)


def preferred_result_lines(results: Results) -> Lines:
    """Return kafka-preferred-replica-election's output for an answer: the new command's lines, in older wording."""
    for line in result_lines(ElectionType.PREFERRED, results, PREFERRED_TOOL_RELEASE):
        older = line.replace("leader election (PREFERRED)", "preferred leader election")
        yield older.replace("Valid replica already", "Preferred replica already")


def _partitions_in_file(command: Command, files: Files) -> Sequence[TopicPartition] | None:
    name = command.get("path-to-json-file")
    return None if name is None else parse_partitions_to_elect(files.text(name))
