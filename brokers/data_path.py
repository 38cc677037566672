"""Assembles the components of a broker that records go through: clients write, followers fetch, the leader commits.

Source: Kafka 2.8, ReplicaManager, of which these are the parts.
"""

from typing import NamedTuple

from kcsim.brokers.api.consumer_fetches import ConsumerFetches
from kcsim.brokers.api.data_requests import DataRequests
from kcsim.brokers.api.fetch_handler import FetchHandler
from kcsim.brokers.api.fetches_by_topic_id import FetchesByTopicId
from kcsim.brokers.api.leader_append import LeaderAppend
from kcsim.brokers.api.offsets_handler import OffsetsHandler
from kcsim.brokers.api.partition_reads import PartitionReads
from kcsim.brokers.api.produce_handler import ProduceHandler
from kcsim.brokers.api.producer_ids import GivesProducerIds
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.log.log_topic_ids import LogTopicIds
from kcsim.brokers.log.retention_task import RetentionTask
from kcsim.brokers.log.topic_settings import TopicSettings
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.ports import BrokerPorts
from kcsim.brokers.replication.fetch_sessions import FollowerSessions
from kcsim.brokers.replication.fetcher_manager import ReplicaFetcherManager
from kcsim.brokers.replication.follower_logs import FollowerLogs
from kcsim.brokers.replication.high_watermark_checkpoint import HighWatermarkCheckpoint
from kcsim.brokers.replication.high_watermark_updater import HighWatermarkUpdater
from kcsim.brokers.replication.hosted_partitions import HostedPartitions
from kcsim.brokers.replication.isr import IsrManager
from kcsim.brokers.replication.isr_expiration import IsrExpiration
from kcsim.brokers.replication.isr_writes import WritesIsr
from kcsim.brokers.replication.log_events import LogEvents
from kcsim.brokers.replication.min_isr import MinIsr
from kcsim.brokers.replication.purgatory import Purgatory
from kcsim.vocabulary import BrokerId


class OutsideWrites(NamedTuple):
    """What the data path of a broker has written outside the broker's logs: ISRs, and blocks of producer ids."""

    isrs: WritesIsr
    producer_ids: GivesProducerIds


class DataPath:
    """The data path components of one broker.

    Attributes:
        requests: answers the requests of clients and followers.
        reads: finds the partitions that this broker leads, or the error that refuses a request.
        produce: appends records, including the broker's own records of internal topics.
        topic_ids: compares the ids of topics in requests with those in logs.
        settings: the settings of topics; other components pass changes to it.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        config: BrokerConfig,
        ports: BrokerPorts,
        disk: Disk,
        metadata: MetadataCache,
        outside: OutsideWrites,
    ) -> None:
        runtime, sink = ports.runtime, ports.sink
        max_lag_ms, events = config.replica_lag_time_max_ms, LogEvents(sink)
        capabilities = config.controller.capabilities
        self.hosted = HostedPartitions(broker_id, capabilities.refused_partitions_stay_online)
        self.stops_leading = config.hardening.stops_leading
        self.topic_ids = LogTopicIds(disk, capabilities.log_topic_ids)
        self.settings = TopicSettings(config.min_insync_replicas, config.log_config)
        self.retention = RetentionTask(runtime, disk, sink, ports.epoch_ms, config.log_retention_check_interval_ms)
        self.checkpoint = HighWatermarkCheckpoint(
            runtime, config.replica_high_watermark_checkpoint_interval_ms, disk.write_checkpoints
        )
        self.purgatory = Purgatory(runtime)
        min_isr = MinIsr(self.settings.min_in_sync_replicas, capabilities.min_isr_binds_high_watermark)
        self.high_watermarks = HighWatermarkUpdater(
            runtime, FollowerSessions(runtime), self.purgatory, self.checkpoint, max_lag_ms, min_isr
        )
        is_eligible = metadata.is_alive if capabilities.replica_eligibility else (lambda follower: True)
        self.isr = isr = IsrManager(broker_id, runtime, outside.isrs, self.high_watermarks.advance, is_eligible, sink)
        self.expiration = IsrExpiration(runtime, self.hosted, isr, max_lag_ms)
        by_epoch = config.protections.leader_epoch_truncation
        clock_ms = ports.wall_clock_ms
        logs = FollowerLogs(clock_ms, self.hosted, events, self.checkpoint, self.retention, by_epoch)
        self.fetchers = ReplicaFetcherManager(broker_id, ports, config, logs)
        self.reads = reads = PartitionReads(self.hosted, metadata)
        append = LeaderAppend(clock_ms, events, self.expiration, self.retention, self.high_watermarks)
        self.produce = ProduceHandler(runtime, reads, append, self.purgatory, min_isr, ports.record_memory)
        self.requests = DataRequests(
            self.produce,
            FetchHandler(runtime, reads, isr, self.high_watermarks, config.replica_fetch_wait_max_ms),
            ConsumerFetches(runtime, reads, self.purgatory),
            OffsetsHandler(self.hosted, metadata),
            outside.producer_ids,
            FetchesByTopicId(metadata),
        )

    def close(self) -> None:
        """Stop in order: end fetching, ISR changes and background tasks, and write the high watermarks to the checkpoint."""
        self.fetchers.close()
        self.isr.close()
        self.requests.producer_ids.close()
        self.expiration.close()
        self.retention.close()
        self.checkpoint.close()
