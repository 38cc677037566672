"""The environment of simulated brokers in processes of their own: `kcsim broker` on a real ZooKeeper that the run starts."""

from contextlib import nullcontext
from pathlib import Path

from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.live_environment import Around
from kcsim.brokers.cluster.processes.broker_traces import BrokerTraces
from kcsim.brokers.cluster.processes.process_cluster import session_owners
from kcsim.brokers.cluster.processes.process_environment import FeedContext, ProcessScript, SlotContext, run_on_processes
from kcsim.brokers.cluster.processes.process_feed import ProcessFeed
from kcsim.brokers.cluster.processes.simulated_broker_process import SimulatedBrokerProcess, SimulatedBrokerSpec
from kcsim.brokers.cluster.run_setup import RunInfo, Subscribers
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.wire.consumer_network import ConsumerNetwork
from kcsim.brokers.wire.controller_client import ControllerClient
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Runtime


def run_on_simulated_processes(
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: ProcessScript,
    subscribers: Subscribers,
    around: Around = lambda _: nullcontext(),
    zk_log: Path | None = None,
) -> EventLog:
    """Run a script on a cluster of simulated brokers, each in a process of its own, as run_on_processes does."""
    return run_on_processes(SimulatedSoftware(), choice, spec, info, script, subscribers, around, zk_log)


class SimulatedSoftware:
    """kcsim as the software of a cluster's brokers."""

    sees_inside = True

    def __init__(self) -> None:
        self.tools = ControllerClient()

    def process(self, broker: BrokerSpec, spec: ClusterSpec, place: SlotContext) -> SimulatedBrokerProcess:
        """Return a broker's process."""
        broker_spec = SimulatedBrokerSpec(
            broker.broker_id,
            place.zookeeper,
            place.zookeeper_proxy,
            place.port,
            {**spec.settings, **broker.settings},
            broker.rack,
            place.advertised_port,
            [protection.name for protection in spec.protections.off],
            spec.release,
            spec.is_hardened,
        )
        return SimulatedBrokerProcess(broker_spec, place.directory, place.guarded)

    def feed(self, at: FeedContext) -> ProcessFeed:
        traces = BrokerTraces({slot.name: slot.process.logs for slot in at.slots})
        return ProcessFeed(at.log, at.clock, at.tail, traces, lambda: session_owners(at.slots), at.run)

    def consumer_network(self, runtime: Runtime) -> ConsumerNetwork:
        return ConsumerNetwork(runtime)
