"""A command's access to the cluster: with its own session, or by asking the broker that is the controller."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.tool_session import open_tool
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.controller.capabilities import Release, capabilities_of, is_from
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.protections import ALL_ON
from kcsim.eventlog.run_actions import SCENARIO, ClusterError, RunActionLog
from kcsim.zk.kafka.kafka_zk import KafkaZk
from kcsim.zk.ports import ZooKeeper
from tests.conformance.replayed.errors import NotSupportedError
from tests.conformance.replayed.settings import IN_FORCE
from tests.conformance.replayed.tools.command_line import Command


class Reach:
    """The cluster, from a command's point of view.

    Args:
        zookeeper: the access to ZooKeeper for a command with its own session.
        settings: of every broker, as its file has them.
        release: the release of the commands.
    """

    def __init__(
        self, cluster: Cluster, zookeeper: ZooKeeper, settings: Mapping[str, str | int | bool], release: Release
    ) -> None:
        self.cluster = cluster
        self.settings = settings
        self.release = release
        self._zookeeper = zookeeper

    def is_direct(self, command: Command) -> bool:
        """Return whether the command writes to ZooKeeper itself.

        Raises: NotSupportedError without an address, or with two.
        """
        if ("zookeeper" in command) == ("bootstrap-server" in command):
            raise NotSupportedError(f"{command.tool} without one of --zookeeper, --bootstrap-server")
        return "zookeeper" in command

    def is_from(self, since: Release) -> bool:
        """Return whether the commands are of this release or a later one."""
        return is_from(self.release, since)

    @property
    def has_topic_ids(self) -> bool:
        """Whether brokers give a topic that they create an id."""
        return capabilities_of(self.protocol_version, ALL_ON).topic_ids

    @property
    def protocol_version(self) -> str:
        """inter.broker.protocol.version of the brokers."""
        return str(self.settings.get(PROTOCOL_VERSION, IN_FORCE[PROTOCOL_VERSION]))

    @asynccontextmanager
    async def kafka_zk(self, command: Command) -> AsyncIterator[KafkaZk]:
        """Yield the writer's operations: the command's own, or those of the controller's broker.

        Raises: ClusterError, RefusedError.
        """
        if not self.is_direct(command):
            yield self.cluster.broker(self._controller()).kafka_zk
            return
        log = self.cluster.log
        asked = RunActionLog(log).act("run", command.tool)
        try:
            async with open_tool(self.cluster.runtime, self._zookeeper, log.sink(SCENARIO), 0, asked) as kafka_zk:
                yield kafka_zk
        except ClusterError as error:
            if isinstance(error.__cause__, RefusedError):
                raise error.__cause__ from None  # the command has its own message for it
            raise

    def metadata(self) -> MetadataCache:
        """Return a broker's metadata of the cluster, as a client gets them. Raises: ClusterError."""
        return self.cluster.broker(self._controller()).metadata

    def knows_topic(self, topic: str | None) -> bool:
        """Return whether the broker that a command asks has metadata of this topic. Raises: ClusterError."""
        return topic in self.metadata().partitions.topics

    def brokers(self) -> list[BrokerMetadata]:
        """Return the brokers that are alive for the broker that a command asks. Raises: ClusterError."""
        metadata = self.metadata()
        return [BrokerMetadata(broker, metadata.racks.get(broker)) for broker in metadata.live_broker_ids]

    def _controller(self) -> str:
        holder = self.cluster.state.controller_id
        if holder is None:
            raise ClusterError("no broker is the controller")
        return f"broker-{holder}"
