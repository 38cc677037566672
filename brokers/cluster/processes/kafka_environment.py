"""The environment with real brokers: processes of Apache Kafka on a real ZooKeeper that the run starts."""

from pathlib import Path

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.installation import KafkaInstallation
from kcsim.brokers.apache_kafka.log_feed.log_tail import LogTail
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.processes.admin_tools import KafkaAdminTools
from kcsim.brokers.cluster.processes.kafka_feed import KafkaFeed
from kcsim.brokers.cluster.processes.process_cluster import session_owners
from kcsim.brokers.cluster.processes.process_environment import FeedContext, ProcessScript, SlotContext, run_on_processes
from kcsim.brokers.cluster.run_setup import RunInfo, Subscribers
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Runtime

LOG_DIRS = "log.dirs"


def run_on_kafka(
    kafka: KafkaInstallation,
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: ProcessScript,
    subscribers: Subscribers,
    zk_log: Path | None = None,
) -> EventLog:
    """Run a script on a cluster of real brokers, as run_on_processes does."""
    return run_on_processes(ApacheKafkaSoftware(kafka), choice, spec, info, script, subscribers, zk_log=zk_log)


class ApacheKafkaSoftware:
    """Apache Kafka as the software of a cluster's brokers."""

    sees_inside = False

    def __init__(self, installation: KafkaInstallation) -> None:
        self._installation = installation
        self.tools = KafkaAdminTools(installation)

    def process(self, broker: BrokerSpec, spec: ClusterSpec, place: SlotContext) -> KafkaBroker:
        """Return a broker's process. Of the setting log.dirs only the number of directories counts."""
        log_dirs = len(str(spec.settings.get(LOG_DIRS, "")).split(","))
        own = {name: value for name, value in spec.settings_of(broker).items() if name != LOG_DIRS}
        advertised = place.advertised_port
        broker_spec = KafkaBrokerSpec(broker.broker_id, place.zookeeper_proxy, own, broker.rack, log_dirs, advertised)
        return KafkaBroker(self._installation, broker_spec, place.directory, place.port, place.guarded)

    def consumer_network(self, _: Runtime) -> None:
        return None

    def feed(self, at: FeedContext) -> KafkaFeed:
        logs = LogTail((slot.process.broker_id, slot.process.logs) for slot in at.slots)
        return KafkaFeed(at.log, at.tail, logs, lambda: session_owners(at.slots), at.run.wall_ms, at.run.seq)
