"""A broker's handling of the controller's requests: LeaderAndIsr, StopReplica and UpdateMetadata.

One request at a time changes state. Source: Kafka 2.8, ReplicaManager; docs/kafka/requests.md 4, docs/kafka/controller.md
11.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from kcsim.brokers.api.epoch_checks import leader_and_isr_error, stop_replica_error
from kcsim.brokers.data_path import DataPath
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.ports import BrokerPorts
from kcsim.brokers.replication.fetcher import LeaderEndpoint
from kcsim.brokers.replication.isr_writes import UNAVAILABLE
from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.replication.replica_events import ReplicaEvents, leadership_fields
from kcsim.brokers.requests import FetchPartition
from kcsim.controller.requests import (
    ErrorCode,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StateChangeRequest,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.jvm_hash_order import HashedKeys, string_hash
from kcsim.runtime.lock import Lock
from kcsim.vocabulary import BrokerId, ControllerEpoch, PartitionState, TopicPartition
from kcsim.zk.kafka.configs import ConfigZnodes
from kcsim.znodes import BadZnodeError

RequestedStates = Mapping[TopicPartition, LeaderAndIsrPartitionState]
NO_CONTROLLER_YET = ControllerEpoch(0)
RoleListener = Callable[[Sequence[TopicPartition], int], None]


class ReplicaManager:
    """The replicas of one broker, from start to stop of its process.

    Args:
        listener: inter.broker.listener.name, the listener on which leaders are reached.

    Attributes:
        controller_epoch: the highest seen in a request since the process started.
        is_shutting_down: while True, no fetching of further partitions begins.
    """

    def __init__(
        self,
        ports: BrokerPorts,
        configs: ConfigZnodes,
        disk: Disk,
        metadata: MetadataCache,
        data: DataPath,
        listener: str,
    ) -> None:
        self.controller_epoch = NO_CONTROLLER_YET
        self.is_shutting_down = False
        self.hosted = data.hosted
        self._broker_id = data.hosted.broker_id
        self._runtime = ports.runtime
        self._configs = configs
        self._sink = ports.sink
        self._disk = disk
        self._metadata = metadata
        self._data = data
        self._fetchers = data.fetchers
        self._high_watermarks = data.high_watermarks
        self._listener = listener
        self._state_change_lock = Lock(ports.runtime)
        self._role_listeners: list[RoleListener] = []

    def watch_roles(self, listener: RoleListener) -> None:
        """Register a listener for changed roles or leader epochs.

        It is called with the partitions, and with the event that caused the change.
        """
        self._role_listeners.append(listener)

    def _notify_role_listeners(self, tps: Iterable[TopicPartition], cause: int) -> None:
        changed = list(tps)
        for listener in self._role_listeners:
            listener(changed, cause)

    def _is_stale(self, request: StateChangeRequest, name: str, cause: int) -> bool:
        """Return whether a request has an old controller epoch; otherwise store its epoch as the highest seen."""
        if request.controller_epoch >= self.controller_epoch:
            self.controller_epoch = request.controller_epoch
            return False
        self._sink.emit(
            EventKind.REQUEST_REFUSED,
            cause,
            event=name,
            error=ErrorCode.STALE_CONTROLLER_EPOCH.name,
            controller_id=request.controller_id,
            controller_epoch=request.controller_epoch,
            count=len(request.partitions),
            detail=f"the highest known controller epoch is {self.controller_epoch}",
        )
        return True

    # --- UpdateMetadata

    async def update_metadata(self, request: UpdateMetadataRequest, cause: int) -> UpdateMetadataResponse:
        """Merge the request into the metadata cache."""
        async with self._state_change_lock:
            if self._is_stale(request, "UpdateMetadata", cause):
                return UpdateMetadataResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
            self._high_watermarks.touch(self._metadata.update(request))
            return UpdateMetadataResponse()

    # --- LeaderAndIsr

    async def become_leader_or_follower(self, request: LeaderAndIsrRequest, cause: int) -> LeaderAndIsrResponse:
        """Lead some partitions and follow the others, leaders first; each partition is accepted or refused on its own."""
        async with self._state_change_lock:
            if self._is_stale(request, "LeaderAndIsr", cause):
                return all_refused(request, ErrorCode.STALE_CONTROLLER_EPOCH)
            ids = request.topic_ids or {}
            errors = {tp: self._check(tp, requested, ids.get(tp.topic)) for tp, requested in request.partitions.items()}
            accepted = [tp for tp, error in errors.items() if error is ErrorCode.NONE]
            refused = [tp for tp, error in errors.items() if error is not ErrorCode.NONE]
            events = ReplicaEvents(self._sink, cause, len(request.partitions))
            self._data.checkpoint.start()
            try:
                errors.update(await self._make(request, accepted, events, cause))
            except (*UNAVAILABLE, BadZnodeError) as error:
                self._report_failure(request, error, cause)
                return all_refused(request, ErrorCode.UNKNOWN_SERVER_ERROR)
            self.hosted.mark_offline_without_log(accepted, refused)
            self._fetchers.shutdown_idle()
            events.refused("LeaderAndIsr", errors)
            return LeaderAndIsrResponse(ErrorCode.NONE, errors)

    def _check(self, tp: TopicPartition, requested: LeaderAndIsrPartitionState, topic_id: str | None) -> ErrorCode:
        if tp in self.hosted.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = self.hosted.get_or_add(tp)
        if not self._data.topic_ids.is_same_topic(tp, partition.log, topic_id):
            return ErrorCode.INCONSISTENT_TOPIC_ID
        return leader_and_isr_error(self._broker_id, partition.leader_epoch, requested)

    def _report_failure(self, request: LeaderAndIsrRequest, error: Exception, cause: int) -> None:
        self._sink.emit(
            EventKind.REQUEST_REFUSED,
            cause,
            event="LeaderAndIsr",
            error=ErrorCode.UNKNOWN_SERVER_ERROR.name,
            count=len(request.partitions),
            detail=f"the settings of a new log's topic could not be read: {type(error).__name__}: {error}",
        )

    async def _make(
        self, request: LeaderAndIsrRequest, accepted: Iterable[TopicPartition], events: ReplicaEvents, cause: int
    ) -> dict[TopicPartition, ErrorCode]:
        """Make the accepted partitions leaders and followers. Return the errors of those whose log cannot be created."""
        requested = {tp: request.partitions[tp] for tp in in_map_order(accepted)}
        to_lead = {tp: state for tp, state in requested.items() if state.state.leader_and_isr.leader == self._broker_id}
        to_follow = {tp: state for tp, state in requested.items() if tp not in to_lead}
        # A new leader must not fetch any more; records of a late response would be taken for its own.
        self._fetchers.remove(to_lead)
        errors = await self._make_leaders(to_lead, events, cause)
        errors.update(await self._make_followers(to_follow, events, cause))
        if request.topic_ids:
            self._data.topic_ids.keep({tp: request.topic_ids.get(tp.topic) for tp in requested})
        return errors

    async def _make_leaders(
        self, requested: RequestedStates, events: ReplicaEvents, cause: int
    ) -> dict[TopicPartition, ErrorCode]:
        errors = await self._create_logs(requested, cause)
        made = {}
        for tp, state in requested.items():
            if tp not in errors:
                partition = await self._settled(tp)
                partition.log = self._disk.log(tp)
                partition.become_leader(state, self._runtime.now_ms())
                made[tp] = partition
        causes = events.emit(
            EventKind.BECAME_LEADER,
            made,
            lambda tp: leadership_fields(made[tp], made[tp].isr),
            f"leads {len(made)} partitions",
        )
        for tp, partition in made.items():
            self._high_watermarks.advance(partition)
            self._data.expiration.watch(partition, causes[tp])
        self._high_watermarks.touch(made)
        self._notify_role_listeners(made, cause)
        return errors

    async def _make_followers(
        self, requested: RequestedStates, events: ReplicaEvents, cause: int
    ) -> dict[TopicPartition, ErrorCode]:
        errors = await self._create_logs(requested, cause)
        leaders = self._endpoints(state.state.leader_and_isr.leader for state in requested.values())
        made, stayed, leaderless = {}, {}, {}
        for tp, state in requested.items():
            if tp in errors:
                continue
            if state.state.leader_and_isr.leader in leaders:
                partition = await self._settled(tp)
                partition.log = self._disk.log(tp)
                partition.become_follower(state)
                made[tp] = partition
                continue
            if state.state.leader_and_isr.leader is None and self._data.stops_leading:
                partition = await self._settled(tp)
                partition.log = self._disk.log(tp)
                partition.become_follower(state)
                leaderless[tp] = partition
                continue
            partition = self.hosted.get_or_add(tp)  # without a leader to follow, it keeps its role and its leader epoch
            partition.log = self._disk.log(tp)
            if partition.is_leader:
                stayed[tp] = partition
        self._fetchers.remove([*made, *leaderless])
        events.emit(
            EventKind.STAYED_LEADER,
            stayed,
            lambda tp: _of_stayed_leader(stayed[tp], requested[tp].state),
            f"goes on leading {len(stayed)} partitions",
        )
        causes = events.emit(
            EventKind.BECAME_FOLLOWER,
            followed := {**made, **leaderless},
            lambda tp: leadership_fields(followed[tp], requested[tp].state.leader_and_isr.isr),
            f"follows in {len(followed)} partitions",
        )
        self._high_watermarks.touch(followed)
        self._notify_role_listeners(followed, cause)
        if not self.is_shutting_down:
            self._fetch(made, leaders, causes)
        return errors

    def _endpoints(self, brokers: Iterable[BrokerId | None]) -> dict[BrokerId | None, LeaderEndpoint]:
        """Return the endpoints of the brokers among these that are known to be live."""
        found = {broker: self._metadata.endpoint(broker, self._listener) for broker in set(brokers) if broker is not None}
        return {broker: LeaderEndpoint(broker, at.host, at.port) for broker, at in found.items() if at is not None}

    def _fetch(
        self,
        made: Mapping[TopicPartition, Partition],
        leaders: Mapping[BrokerId | None, LeaderEndpoint],
        causes: Mapping[TopicPartition, int],
    ) -> None:
        wanted: dict[LeaderEndpoint, dict[TopicPartition, FetchPartition]] = {}
        for tp, partition in made.items():
            fetch = FetchPartition(partition.leader_epoch, partition.log_end_offset, causes[tp])
            wanted.setdefault(leaders[partition.leader], {})[tp] = fetch
        self._fetchers.add(wanted)

    async def _settled(self, tp: TopicPartition) -> Partition:
        """Return the partition once no ISR write of it is under way."""
        partition = self.hosted.get_or_add(tp)
        while partition.isr_write is not None:
            await partition.isr_write.wait()
        return partition

    # --- logs

    async def _create_logs(self, requested: RequestedStates, cause: int) -> dict[TopicPartition, ErrorCode]:
        """Create the missing logs. Return the errors of those that cannot be created.

        Raises: ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError when the settings of a topic cannot be read.
        """
        errors: dict[TopicPartition, ErrorCode] = {}
        missing = [tp for tp in requested if tp not in self._disk]
        for tp in missing:
            # The log may be in the failed directory: a new log would replace it, and its records would be lost.
            if (self._disk.failed and not requested[tp].is_new) or not self._disk.live_dirs:
                errors[tp] = ErrorCode.KAFKA_STORAGE_ERROR
        to_make = [tp for tp in missing if tp not in errors]
        if to_make:
            found = await self._configs.read_topics(sorted({tp.topic for tp in to_make}), cause)
            for topic, settings in found.items():
                self._data.settings.learn(topic, settings)
        for tp in to_make:
            if self._disk.live_dirs:
                self._disk.create(tp, self._data.settings.log_config(tp.topic))
            else:
                errors[tp] = ErrorCode.KAFKA_STORAGE_ERROR
        return errors

    async def read_settings(self, cause: Cause) -> None:
        """Read and apply the settings of the topics of which the disk has logs.

        Raises: ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError.
        """
        topics = sorted({log.tp.topic for log in self._disk})
        if topics:
            for topic, settings in (await self._configs.read_topics(topics, cause)).items():
                self._data.settings.learn(topic, settings)
            for log in self._disk:
                log.config = self._data.settings.log_config(log.tp.topic)

    def change_settings(self, topic: str, settings: Mapping[str, str]) -> None:
        """Apply a topic's new settings to its logs."""
        self._data.settings.learn(topic, settings)
        for log in self._disk:
            if log.tp.topic == topic:
                log.config = self._data.settings.log_config(topic)
                self._data.retention.changed(log)

    # --- StopReplica

    async def stop_replicas(self, request: StopReplicaRequest, cause: int) -> StopReplicaResponse:
        """Stop fetching these partitions; remove and delete the replicas for which the request says so."""
        async with self._state_change_lock:
            if self._is_stale(request, "StopReplica", cause):
                return StopReplicaResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
            errors = {tp: self._check_stop(tp, request) for tp in request.partitions}
            accepted = [tp for tp, error in errors.items() if error is ErrorCode.NONE]
            deleted = [tp for tp in accepted if request.partitions[tp].delete_partition]
            self._fetchers.remove(accepted)
            for tp in deleted:
                await self._delete(tp)
            self._high_watermarks.touch(accepted)
            self._notify_role_listeners(deleted, cause)
            events = ReplicaEvents(self._sink, cause, len(request.partitions))
            self._emit_stopped(events, request, accepted, len(deleted))
            events.refused("StopReplica", errors)
            self._fetchers.shutdown_idle()
            return StopReplicaResponse(ErrorCode.NONE, errors)

    def _check_stop(self, tp: TopicPartition, request: StopReplicaRequest) -> ErrorCode:
        if tp in self.hosted.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        partition = self.hosted.get(tp)
        return stop_replica_error(partition.leader_epoch if partition else None, request.partitions[tp])

    async def _delete(self, tp: TopicPartition) -> None:
        if self.hosted.get(tp) is not None:
            await self._settled(tp)
            self.hosted.remove(tp)
        self._disk.delete(tp)  # including a log that an earlier run of this broker left

    def _emit_stopped(
        self, events: ReplicaEvents, request: StopReplicaRequest, stopped: Collection[TopicPartition], deleted: int
    ) -> None:
        requested = request.partitions
        events.emit(
            EventKind.REPLICA_STOPPED,
            stopped,
            lambda tp: {
                "leader_epoch": requested[tp].leader_epoch,
                "deleted": requested[tp].delete_partition,
                "detail": "deleted" if requested[tp].delete_partition else "no longer fetched; its log stays",
            },
            f"{len(stopped)} replicas, {deleted} of them deleted",
        )

    # --- log directories

    def fail_log_dir(self, log_dir: str, cause: int) -> None:
        """Fail a log directory and take all replicas in it offline."""
        lost = self._disk.fail(log_dir)
        self._fetchers.remove(lost)
        self.hosted.mark_offline(lost)
        self._high_watermarks.touch(lost)
        self._notify_role_listeners(lost, cause)
        self._fetchers.shutdown_idle()
        self._sink.emit(
            EventKind.LOG_DIR_FAILED,
            cause,
            broker_id=self._broker_id,
            path=log_dir,
            count=len(lost),
            detail=f"{len(lost)} replicas are offline; log directories left: {', '.join(self._disk.live_dirs) or 'none'}",
        )


def _of_stayed_leader(partition: Partition, requested: PartitionState) -> EventFields:
    asked = requested.leader_and_isr
    leader = "no leader" if asked.leader is None else f"leader {asked.leader}, which is not alive as far as is known"
    return EventFields(
        leader=partition.broker_id,
        leader_epoch=partition.leader_epoch,
        controller_epoch=requested.controller_epoch,
        isr=partition.isr,
        detail=f"the controller's request names {leader}, in leader epoch {asked.leader_epoch}",
    )


def all_refused(request: LeaderAndIsrRequest, error: ErrorCode) -> LeaderAndIsrResponse:
    return LeaderAndIsrResponse(error, dict.fromkeys(request.partitions, error))


def in_map_order(tps: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Sort partitions in the order of a hash map, by Kafka's hash of a partition.

    A broker handles the partitions of one request in this order. It decides in which log directory each of several new
    replicas is created. Source: Kafka 2.8, Partition.hashCode.
    """
    keys: HashedKeys[TopicPartition] = HashedKeys()
    hashes: dict[str, int] = {}
    for tp in tps:
        if tp.topic not in hashes:
            hashes[tp.topic] = string_hash(tp.topic)
        keys.add(tp, (31 + hashes[tp.topic] + 17 * tp.partition) & 0xFFFFFFFF)
    return keys.in_order()
