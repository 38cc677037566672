"""What a scenario can do to a cluster and see of it, whatever its ZooKeeper and its brokers are.

Every action leaves two events: the request (Fault or AdminAct), and its observed effect (FaultConfirmed, or the change
itself). A fault that had no effect is an error. `Cluster` and `ProcessCluster` are such clusters.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, Protocol

from kcsim.brokers.broker import Broker
from kcsim.brokers.clients.acknowledged_records import AcknowledgedRecords
from kcsim.brokers.clients.clients import Address
from kcsim.brokers.clients.ledger import Ledger
from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.clients.reports import ProducerReports
from kcsim.brokers.cluster.answer_faults import AnswerFaults
from kcsim.brokers.cluster.fleet import ConsumerFleet
from kcsim.brokers.cluster.network_faults import NetworkFaults
from kcsim.brokers.cluster.server_faults import ServerFaults
from kcsim.brokers.cluster.topic_admin import TopicAdmin
from kcsim.brokers.cluster.znode_edits import ZnodeEdits
from kcsim.brokers.config import NO_SETTINGS, Value
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.network.process import Process
from kcsim.controller.capabilities import Release
from kcsim.controller.events import ElectionResults, ElectionType, ReassignmentTargets
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Promise, Runtime
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition

Moment = Literal["before", "after"]


class ObservedCluster(Protocol):
    """What conditions need: the event log of a cluster, and the state folded from it."""

    @property
    def runtime(self) -> Runtime: ...
    @property
    def log(self) -> EventLog: ...
    @property
    def state(self) -> ClusterState: ...
    @property
    def broker_names(self) -> tuple[str, ...]: ...

    @property
    def bootstrap_servers(self) -> str | None:
        """The addresses of all brokers, running or not, as Kafka's clients take them: host:port,… None without TCP ports."""
        ...

    @property
    def is_seen_from_outside(self) -> bool:
        """Whether the event log holds only what ZooKeeper and the brokers' log files show."""
        ...

    async def wait_until(self, condition: Callable[[], str | None], within_ms: int) -> None:
        """Wait until a condition on the log and the state holds; it is evaluated again after every event.

        Args:
            condition: returns None when it holds, else a sentence that says what holds instead.

        Raises: TimedOutError with that sentence when `within_ms` have passed.
        """
        ...


class BrokerActions(Protocol):
    """What is done to brokers. Each raises ClusterError when it is impossible, and returns the seq of its act or fault."""

    async def start(
        self, names: Sequence[str], settings: Mapping[str, Value] = NO_SETTINGS, release: Release | None = None
    ) -> int:
        """Start brokers, all at once, and wait until each has registered.

        Args:
            settings: changes of these brokers' server.properties, which stay for later starts.
            release: the release of Kafka that they have from now on; None leaves it as it is.
        """
        ...

    async def stop(self, name: str) -> int:
        """Stop a broker as SIGTERM does: orderly, with a controlled shutdown unless disabled."""
        ...

    async def kill(self, name: str) -> int:
        """Kill a broker as SIGKILL does; its session is left to expire."""
        ...

    def arm_kill(self, name: str, moment: Moment, path: str | None = None, nth: int = 1) -> int:
        """Kill a broker when it reaches a write to ZooKeeper; return at once. Arguments as for arm_pause."""
        ...

    async def pause(self, name: str, for_ms: int | None = None) -> int:
        """Freeze a broker as SIGSTOP or a long garbage collection does, until `resume` or for `for_ms`."""
        ...

    def arm_pause(self, name: str, moment: Moment, path: str | None = None, nth: int = 1, for_ms: int | None = None) -> int:
        """Freeze a broker when it reaches a write to ZooKeeper; return at once.

        Args:
            moment: `before`: begun but not yet sent; `after`: applied, but the broker has not seen the response.
            path: only a write to this path or below it counts.
            nth: which of these writes, counted from now on; 1 is the first.
            for_ms: how long it stays frozen; None: until `resume`.
        """
        ...

    async def resume(self, name: str) -> int:
        """Resume a frozen broker."""
        ...

    async def fail_log_dir(self, name: str, partitions: Collection[TopicPartition] | None = None) -> int:
        """Fail a log directory of a broker; when its last one fails, the broker dies.

        Args:
            partitions: the replicas that were in the directory, and no others; None: the first directory that still works,
                with all its replicas.
        """
        ...

    async def expire(self, name: str) -> int:
        """Let ZooKeeper expire the session of a live broker."""
        ...

    async def disconnect(self, name: str, for_ms: int | None = None) -> int:
        """Disconnect a broker from ZooKeeper, until `reconnect` or for `for_ms`; its session is not closed."""
        ...

    async def reconnect(self, name: str) -> int:
        """Let a broker connect to ZooKeeper again."""
        ...

    def disarm(self) -> None:
        """Disable all faults that are armed and have not been triggered."""
        ...


class RunningProducer(Protocol):
    """A producer of the scenario, from its first start to the end of the run."""

    @property
    def reports(self) -> ProducerReports | None:
        """The reports of the present work; None between starts."""
        ...

    async def begin(self, records: int | None, reports: ProducerReports) -> Promise[None]:
        """Start to write. Return a promise that is resolved when all records are acknowledged or given up.

        Args:
            records: how many; None: until `stop`.

        Raises: TimedOutError when the producer's topics are unknown for max.block.ms; ClusterError.
        """
        ...

    def stop(self) -> None:
        """Make no more records; records already made are still sent."""
        ...


class ProducersCluster(ObservedCluster, Protocol):
    """What the producers of a scenario need: a way to the brokers, and a look at the records on their disks."""

    def new_producer(self, spec: ProducerSpec, ledger: Ledger) -> RunningProducer:
        """Return a producer that has not begun; it enters its records into the ledger."""
        ...

    @property
    def acknowledged_records(self) -> AcknowledgedRecords:
        """The records that were acknowledged to clients from outside the run."""
        ...

    def report_clients(self) -> None:
        """Append the events about clients from outside the run that are summed up."""
        ...

    def replica_logs(self, tp: TopicPartition) -> Mapping[BrokerId, ReplicaLog]:
        """Return the logs of a partition by broker, also of brokers that do not run, from their disks. Read only."""
        ...


class SimulatedBrokers(ProducersCluster, Protocol):
    """What simulated brokers in the process of the run offer in addition: faults in answers, and a look at their memory."""

    @property
    def network_faults(self) -> NetworkFaults: ...
    @property
    def answer_faults(self) -> AnswerFaults: ...
    @property
    def epoch_ms(self) -> int:
        """Wall-clock time of the run's start, in ms since 1970."""
        ...

    @property
    def bootstrap(self) -> list[Address]:
        """The addresses of all brokers, running or not: what clients use as bootstrap servers."""
        ...

    def client_process(self, name: str) -> Process:
        """Return a new process for a client, on the same network as the brokers; it ends with the run."""
        ...

    async def slow_follower(self, name: str, records_per_second: float | None) -> int:
        """Limit a broker's replication to this rate; None: no limit; 0: no replication. Raises: ClusterError."""
        ...

    def broker(self, name: str) -> Broker:
        """Return the running broker of that name. Raises: ClusterError."""
        ...


class ScenarioCluster(ObservedCluster, BrokerActions, Protocol):
    """What steps need: actions on brokers, ZooKeeper's servers, topics and znodes, and requests to the controller.

    Attributes:
        producing: the same cluster as producers need it.
        network_faults: the faults of the network between brokers and clients; None if nothing stands between them.
        consumers: the consumers of the scenario; None if they cannot reach the brokers.
        simulated: the same cluster with what only simulated brokers in the process of the run offer; None without such.
    """

    async def catch_up(self) -> None:
        """Append to the event log what has happened by now, so that it comes before what is done next."""
        ...

    @property
    def servers(self) -> ServerFaults: ...
    @property
    def topics(self) -> TopicAdmin: ...
    @property
    def znodes(self) -> ZnodeEdits: ...
    @property
    def network_faults(self) -> NetworkFaults | None: ...
    @property
    def producing(self) -> ProducersCluster: ...
    @property
    def consumers(self) -> ConsumerFleet | None: ...
    @property
    def simulated(self) -> SimulatedBrokers | None: ...

    async def alter_partition_reassignments(self, targets: ReassignmentTargets) -> Mapping[TopicPartition, ErrorCode]:
        """Start, replace or (None) cancel reassignments. Return a result for each. Raises: ClusterError."""
        ...

    async def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None = None
    ) -> ElectionResults:
        """Elect leaders for these partitions, or for all. Return a result for each. Raises: ClusterError."""
        ...


class ControlledCluster(ScenarioCluster, Protocol):
    """What a cluster that people control while it runs offers in addition: views of its members, clients, reassignments."""

    @property
    def release(self) -> Release:
        """The newest release of Kafka among its brokers: that of the commands."""
        ...

    @property
    def member_names(self) -> tuple[str, ...]: ...
    @property
    def client_connections(self) -> Mapping[str, int]:
        """Client id of each client from outside the run -> the number of its open connections."""
        ...

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> Mapping[TopicPartition, ReplicaAssignment]:
        """Return the ongoing reassignments of these partitions, or of all. Raises: ClusterError."""
        ...
