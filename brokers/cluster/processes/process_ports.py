"""What a cluster of processes needs of the software of its brokers: their processes, and a client for the controller."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from kcsim.brokers.config import NO_SETTINGS, Value
from kcsim.controller.capabilities import Release
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import ReplicaAssignment, TopicPartition
from kcsim.zk.servers.ports import State


class BrokerProcess(Protocol):
    """The process of one broker, with its files: it is started, signalled, and started again in the same place.

    Adapters: apache_kafka/broker_process.py, and simulated_broker_process.py. A call that would have no effect raises
    MemberStateError.
    """

    @property
    def name(self) -> str: ...
    @property
    def broker_id(self) -> int: ...
    @property
    def address(self) -> str:
        """host:port of the broker's listener, for bootstrap.servers."""
        ...

    @property
    def logs(self) -> Path:
        """The directory of what the process writes about its work."""
        ...

    @property
    def log_dirs(self) -> Sequence[Path]:
        """The directories of the broker's records, of which the first can be lost; none if no file has them."""
        ...

    @property
    def state(self) -> State | None: ...
    def last_lines(self, count: int) -> list[str]:
        """Return the last lines that the process has written since its start."""
        ...

    @property
    def release(self) -> Release:
        """The release of Kafka that the broker has."""
        ...

    @property
    def can_change_release(self) -> bool:
        """Whether the broker can have another release of Kafka from a start on."""
        ...

    async def start(self, settings: Mapping[str, Value] = NO_SETTINGS, release: Release | None = None) -> None:
        """Start the process. Return when it runs, long before the broker is up. Raises: ServerError.

        Args:
            settings: changes of server.properties, which stay for later starts.
            release: the release that the broker has from now on; None: as it was. Only if it can be changed.
        """
        ...

    async def wait_until_up(self, timeout_s: float) -> None:
        """Return when the broker answers requests. Raises: BrokerExitedError if it ends instead, TimedOutError."""
        ...

    async def terminate(self, timeout_s: float) -> int:
        """Send SIGTERM, and return the exit status. Raises: TimedOutError; the process then still runs."""
        ...

    async def kill(self) -> None: ...
    async def pause(self) -> None: ...
    async def resume(self) -> None: ...
    async def close(self) -> None:
        """Kill the process if it runs. Idempotent."""
        ...


class AdminTools(Protocol):
    """A client of the cluster for requests to the controller. Each method raises ClusterError."""

    async def alter_partition_reassignments(
        self, bootstrap: str, targets: ReassignmentTargets
    ) -> dict[TopicPartition, ErrorCode]: ...
    async def list_partition_reassignments(
        self, bootstrap: str, partitions: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, ReplicaAssignment]: ...
    async def elect_leaders(
        self, bootstrap: str, election_type: ElectionType, partitions: Collection[TopicPartition] | None
    ) -> ElectionResults: ...
