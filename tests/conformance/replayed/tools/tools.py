"""Dispatch of the commands that a recording names.

With --zookeeper a command has its own session and writes by itself. With --bootstrap-server it asks the controller's broker,
whose session then writes.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.controller.capabilities import Release
from kcsim.eventlog.run_actions import ClusterError
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.ports import ZooKeeper
from kcsim.znodes import BadZnodeError
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.tools.command_line import Command, CommandOutput, ToolFailedError
from tests.conformance.replayed.tools.configs import ConfigTool
from tests.conformance.replayed.tools.elections import ElectionTools
from tests.conformance.replayed.tools.files import Files
from tests.conformance.replayed.tools.offsets import OffsetTool
from tests.conformance.replayed.tools.placements import Placed
from tests.conformance.replayed.tools.reach import Reach
from tests.conformance.replayed.tools.reassignments import ReassignmentTool
from tests.conformance.replayed.tools.topics import TopicTool

Outcome = Mapping[str, Any]
PLAN = "plan.json"


JVM_START_MS = 500
"""How long a command of Kafka's takes at least until it sends its first request. What was under way is done by then."""


class Tools:
    """Kafka's commands, on one cluster.

    Args:
        zookeeper: the access to ZooKeeper for a command with its own session.
        settings: of every broker, as its file has them.
        release: the release of the commands.
        directory: where the files are that a command names; None if there are none.
    """

    def __init__(
        self,
        cluster: Cluster,
        zookeeper: ZooKeeper,
        settings: Mapping[str, str | int | bool],
        release: Release,
        directory: Path | None = None,
    ) -> None:
        self._runtime = cluster.runtime
        reach = Reach(cluster, zookeeper, settings, release)
        self._topics = TopicTool(reach)
        self._configs = ConfigTool(reach)
        self._elections = ElectionTools(reach)
        self._offsets = OffsetTool(reach)
        self._reassignments = ReassignmentTool(reach)
        self._directory = directory

    async def run(
        self, words: Sequence[str], files: Mapping[str, Any] | None = None, placed: Mapping[str, Placed] | None = None
    ) -> Outcome:
        """Run a command as the recording has it, class name first.

        Args:
            files: the files that the command names: name -> text, or a JSON value.
            placed: topic -> where the recording placed its partitions.

        Returns: exit status and output.
        Raises: NotSupportedError.
        """
        output = CommandOutput()
        await self._runtime.sleep_ms(JVM_START_MS)
        try:
            await self._run(Command.of(words), output, Files(files or {}, self._directory), placed or {})
        except ToolFailedError:
            return output.outcome(1)
        except (ClusterError, BadZnodeError, ZooKeeperError) as error:
            output.err.append(str(error))
            return output.outcome(1)
        return output.outcome(0)

    async def _run(self, command: Command, output: CommandOutput, files: Files, placed: Mapping[str, Placed]) -> None:
        match command.tool:
            case "TopicCommand":
                await self._topics.run(command, output, placed)
            case "ConfigCommand":
                await self._configs.run(command, output)
            case "PreferredReplicaLeaderElectionCommand":
                await self._elections.preferred(command, output, files)
            case "LeaderElectionCommand":
                await self._elections.leaders(command, output, files)
            case "GetOffsetShell":
                await self._offsets.run(command, output)
            case "ReassignPartitionsCommand":
                await self._reassignments.run(command, output, files)
            case _:
                raise NotSupportedError(f"{command.tool} has no counterpart here")

    async def alter(self, targets: Mapping[str, Sequence[int] | None]) -> Outcome:
        """Request AlterPartitionReassignments as kafka-reassign-partitions does: moves, or (None) cancellations.

        Raises: NotSupportedError for both at once, which the command cannot do.
        """
        words, files = alteration(targets)
        return await self.run(words, files)


def alteration(targets: Mapping[str, Sequence[int] | None]) -> tuple[list[str], Mapping[str, str]]:
    """Return the command, with its file, for moves or for (None) cancellations.

    Raises: NotSupportedError for both at once.
    """
    is_cancelled = [replicas is None for replicas in targets.values()]
    if any(is_cancelled) and not all(is_cancelled):
        raise NotSupportedError("moves and cancellations at once: Kafka's command does either")
    how = ["--cancel", "--preserve-throttles"] if any(is_cancelled) else ["--execute", "--additional"]
    words = ["kafka.admin.ReassignPartitionsCommand", "--bootstrap-server", "BS", *how]
    return [*words, "--reassignment-json-file", PLAN], {PLAN: _plan(targets)}


def _plan(targets: Mapping[str, Sequence[int] | None]) -> str:
    """Return a file of moves. For a cancellation the command reads only the partitions."""
    moves = [(name.rpartition("-"), replicas or [1]) for name, replicas in targets.items()]
    entries = [{"topic": topic, "partition": int(number), "replicas": to} for (topic, _, number), to in moves]
    return json.dumps({"version": 1, "partitions": entries})
