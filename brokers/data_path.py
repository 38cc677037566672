"""Puts together the parts of a broker through which records go: written by clients, fetched by followers, committed.

Source: Kafka 2.8, ReplicaManager, of which these are the parts.
"""

from kcsim.brokers.committing import Committing
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.consumer_fetches import ConsumerFetches
from kcsim.brokers.data_requests import DataRequests
from kcsim.brokers.disk import Disk
from kcsim.brokers.fetch_handler import FetchHandler
from kcsim.brokers.fetch_sessions import FollowerSessions
from kcsim.brokers.fetcher_manager import ReplicaFetcherManager
from kcsim.brokers.followed_logs import FollowedLogs
from kcsim.brokers.high_watermark_checkpoint import HighWatermarkCheckpoint
from kcsim.brokers.hosted import HostedPartitions
from kcsim.brokers.isr import IsrManager
from kcsim.brokers.isr_expiration import IsrExpiration
from kcsim.brokers.log_events import LogEvents
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.offsets_handler import OffsetsHandler
from kcsim.brokers.partition_reads import PartitionReads
from kcsim.brokers.ports import Network
from kcsim.brokers.produce_handler import ProduceHandler
from kcsim.brokers.retention_task import RetentionTask
from kcsim.brokers.topic_settings import TopicSettings
from kcsim.brokers.wake_ups import WakeUps
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import EventSink, Runtime
from kcsim.zk.vocabulary import BrokerId


class DataPath:
    """The parts of one broker.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970.

    Attributes:
        requests: answers what clients and followers ask.
        produce: appends records; the broker's own too, of internal topics.
        settings: of topics; told from outside what they are.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        runtime: Runtime,
        network: Network,
        kafka_zk: KafkaZk,
        sink: EventSink,
        disk: Disk,
        metadata: MetadataCache,
        config: BrokerConfig,
        epoch_ms: int,
    ) -> None:
        max_lag_ms, events = config.replica_lag_time_max_ms, LogEvents(sink)
        self.hosted = HostedPartitions(broker_id)
        self.settings = TopicSettings(config.min_insync_replicas, config.log_config)
        self.isr = IsrManager(broker_id, runtime, kafka_zk, sink)
        self.retention = RetentionTask(runtime, disk, sink, epoch_ms, config.log_retention_check_interval_ms)
        self.checkpoint = HighWatermarkCheckpoint(runtime, config.replica_high_watermark_checkpoint_interval_ms)
        self.wake_ups = WakeUps(runtime)
        self.committing = Committing(runtime, FollowerSessions(runtime), self.wake_ups, self.checkpoint, max_lag_ms)
        self.expiration = IsrExpiration(runtime, self.hosted, self.isr, max_lag_ms, self.committing.advance)
        by_epoch = config.protections.leader_epoch_truncation
        logs = FollowedLogs(runtime, self.hosted, events, self.checkpoint, self.retention, epoch_ms, by_epoch)
        self.fetchers = ReplicaFetcherManager(broker_id, runtime, network, sink, config, logs)
        reads = PartitionReads(self.hosted, metadata)
        self.produce = ProduceHandler(
            runtime,
            reads,
            self.committing,
            self.expiration,
            self.retention,
            events,
            self.settings.min_in_sync_replicas,
            epoch_ms,
        )
        self.requests = DataRequests(
            self.produce,
            FetchHandler(runtime, reads, self.isr, self.committing),
            ConsumerFetches(runtime, reads, self.wake_ups),
            OffsetsHandler(self.hosted, metadata),
            metadata,
            config.controller.inter_broker_listener_name,
        )

    def close(self) -> None:
        """An orderly stop: nothing is fetched any more, no ISR changed; how far all is committed is kept."""
        self.fetchers.close()
        self.isr.close()
        self.expiration.close()
        self.retention.close()
        self.checkpoint.close()
