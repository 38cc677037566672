"""kafka-get-offsets (GetOffsetShell): the latest or the earliest offsets that consumers see.

Source: Kafka 2.8 and 3.9, GetOffsetShell.
"""

from kcsim.brokers.requests import ListOffsetsRequest, OffsetQuery
from tests.conformance.replayed.tools.command_line import Command, CommandOutput
from tests.conformance.replayed.tools.reach import Reach


class OffsetTool:
    """GetOffsetShell on one cluster."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def run(self, command: Command, output: CommandOutput) -> None:
        """Print the offset of each partition of a topic that has a leader. Raises: NotSupportedError, ClusterError."""
        command.require_known(("broker-list", "topic", "time"))
        command.one("broker-list")
        topic, query = command.one("topic"), OffsetQuery(command.number("time"))
        metadata = self._reach.metadata()
        for tp in sorted(partition for partition in metadata.partitions if partition.topic == topic):
            leader, _ = metadata.leader_for_clients(tp)
            if leader is not None:
                answers = self._reach.cluster.broker(f"broker-{leader}").data.requests.offsets
                found = answers.list_offsets(ListOffsetsRequest({tp: query})).partitions[tp]
                output.out.append(f"{tp.topic}:{tp.partition}:{found.offset}")
