"""Kafka's cluster state in ZooKeeper, read and written in Kafka's words.

Everything takes the event it follows from, and raises ZooKeeperError (a refusal that the operation does not foresee),
ZooKeeperClientExpiredError (the session ended while a request waited to be sent again) and, where content is read,
BadZnodeError. Writes that take an expected controller epoch version are fenced (fencing.py): they raise ControllerMovedError
when /controller_epoch has moved on.

Left out: ACLs, delegation tokens, quotas. Source: Kafka 2.8, KafkaZkClient and AdminZkClient.
"""

import hashlib
import uuid
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from kcsim.zk import paths, znodes
from kcsim.zk.broker_registration import BrokerRegistration
from kcsim.zk.controller_election import ControllerElection, Elected
from kcsim.zk.errors import BadVersionError, NodeExistsError, NoNodeError, ZooKeeperError
from kcsim.zk.events import EventKind
from kcsim.zk.fencing import UNFENCED, WriteOp, WriteResult, write_fenced
from kcsim.zk.kafka_json import WrongJsonError, parse_java_int
from kcsim.zk.operations import (
    ChildrenRead,
    Create,
    Created,
    DataRead,
    DataSet,
    Delete,
    Exists,
    Found,
    GetChildren,
    GetData,
    ReplyOrError,
    SetData,
)
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import (
    BrokerEpoch,
    BrokerId,
    BrokerInfo,
    ControllerEpochZkVersion,
    ControllerNode,
    PartitionState,
    SessionId,
    TopicPartition,
    TopicState,
    ZkVersion,
)
from kcsim.zk.znodes import BadZnodeError
from kcsim.zk.zookeeper_client import ZooKeeperClient

R = TypeVar("R")

STATES_AT_ONCE = 10_000
"""Partition states read before they are decoded, so that whoever else runs gets a turn."""

Reassignments = Mapping[TopicPartition, tuple[BrokerId, ...]]


class KafkaZk:
    """Typed operations on one client.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970, for the timestamps in znodes.

    Attributes:
        parse_failures: path -> how often malformed content was met there.
    """

    def __init__(self, client: ZooKeeperClient, epoch_ms: int = 0) -> None:
        self.parse_failures: Counter[str] = Counter()
        self._client = client
        self._epoch_ms = epoch_ms
        self._registration = BrokerRegistration(client)
        self._election = ControllerElection(client, self.controller_id, self.controller_epoch)

    # --- malformed content

    def _report(self, cause: Cause) -> znodes.Report:
        return lambda path, reason: self._bad_znode(path, f"{reason}; taken for absent or empty", cause)

    @contextmanager
    def _decoding(self, cause: Cause) -> Iterator[znodes.Report]:
        """Make what a decoder reports or raises known, and let it raise."""
        try:
            yield self._report(cause)
        except BadZnodeError as error:
            self._bad_znode(error.path, error.reason, cause, type(error).__name__)
            raise

    def _bad_znode(self, path: str, detail: str, cause: Cause, error: str | None = None) -> None:
        self.parse_failures[path] += 1
        if error is None:
            self._client.sink.emit(EventKind.BAD_ZNODE, cause, path=path, detail=detail)
        else:
            self._client.sink.emit(EventKind.BAD_ZNODE, cause, path=path, detail=detail, error=error)

    # --- any znode

    async def exists(self, path: str, cause: Cause = None) -> bool:
        """Arms a watch if a handler is registered, as every read here does."""
        return await self._client.check_existence(path, cause)

    async def get_data(self, path: str, cause: Cause = None) -> DataRead | None:
        """The data and stat of a znode; None if there is none."""
        return _if_there(DataRead, (await self._client.request([GetData(path)], cause))[0])

    async def get_children(self, path: str, register_watch: bool = False, cause: Cause = None) -> tuple[str, ...]:
        """Names of the children, sorted; none if the znode is not there.

        Args:
            register_watch: arm a child watch, if a child handler is registered.
        """
        request = GetChildren(path, watch=register_watch)
        reply = _if_there(ChildrenRead, (await self._client.request([request], cause))[0])
        return reply.children if reply else ()

    async def create_recursively(self, path: str, data: bytes | None, cause: Cause = None) -> None:
        """Create a persistent znode, and its missing ancestors with null data. Raises: NodeExistsError."""
        reply = (await self._client.request([Create(path, data)], cause))[0]
        if isinstance(reply, NoNodeError):
            await self._make_sure_exists(paths.parent(path), cause)
            reply = (await self._client.request([Create(path, data)], cause))[0]
        _done(reply)

    async def _make_sure_exists(self, path: str, cause: Cause) -> None:
        try:
            await self.create_recursively(path, None, cause)
        except NodeExistsError:
            return

    async def _read_data(self, wanted: Sequence[str], cause: Cause) -> list[DataRead]:
        """Read many small znodes; those that are not there are left out."""
        replies = [_if_there(DataRead, r) for r in await self._client.read_data(wanted, cause)]
        return [reply for reply in replies if reply is not None]

    # --- the cluster

    async def create_top_level_paths(self, cause: Cause = None) -> None:
        """Make sure everything exists that a broker relies on, as each does when it starts.

        Looks first and creates what is missing in one go, where Kafka creates one by one whatever there is: a start on a
        running cluster writes nothing, in place of 14 refusals.
        """
        wanted = list(dict.fromkeys(path for top in paths.TOP_LEVEL_PATHS for path in paths.lineage(top)))
        looked = await self._client.request([Exists(path) for path in wanted], cause)
        missing = [path for path, found in zip(wanted, looked, strict=True) if _if_there(Found, found) is None]
        for reply in await self._client.request([Create(path) for path in missing], cause):
            if not isinstance(reply, NodeExistsError):  # another broker starts at the same time
                _done(reply)

    async def get_or_create_cluster_id(self, cause: Cause = None) -> str:
        """The cluster's id; the first broker to ask makes one up (22 characters: a uuid in base64)."""
        while True:
            found = await self.get_data(paths.CLUSTER_ID, cause)
            if found is not None:
                with self._decoding(cause):
                    return znodes.decode_cluster_id(found.path, found.data)
            try:
                new_id = _cluster_id_of(self._epoch_ms, self._client.session_id)
                await self.create_recursively(paths.CLUSTER_ID, znodes.encode_cluster_id(new_id), cause)
            except NodeExistsError:
                continue
            return new_id

    # --- brokers

    async def register_broker(self, info: BrokerInfo, cause: Cause = None) -> BrokerEpoch:
        """Create /brokers/ids/N, bound to the present session.

        A registration left over by this process's own former session is replaced, one of the present session accepted.

        Returns: the broker epoch. Raises: NodeExistsError when another session has registered the id.
        """
        return await self._registration.register(info, cause)

    async def update_broker_info(self, info: BrokerInfo, cause: Cause = None) -> None:
        """Change what a registered broker says of itself, whatever the znode's version."""
        _done((await self._client.request([SetData(paths.broker_id(info.broker_id), znodes.encode_broker(info))], cause))[0])

    async def broker(self, broker_id: BrokerId, cause: Cause = None) -> BrokerInfo | None:
        """A live broker's registration; None if it is not registered."""
        found = await self.get_data(paths.broker_id(broker_id), cause)
        if found is None:
            return None
        with self._decoding(cause):
            return znodes.decode_broker(found.path, broker_id, found.data)

    async def all_brokers_with_epochs(
        self, cause: Cause = None, register_watch: bool = True
    ) -> list[tuple[BrokerInfo, BrokerEpoch]]:
        """All live brokers, by id. One that goes while they are read is left out.

        Raises: BadZnodeError if any registration, or the name of one, cannot be read: no broker is told then.
        """
        names = await self.get_children(paths.BROKER_IDS, register_watch, cause)
        with self._decoding(cause):
            ids = sorted(map(_broker_id, names))
            found = {r.path: r for r in await self._read_data([paths.broker_id(b) for b in ids], cause)}
            replies = [(b, found[path]) for b in ids if (path := paths.broker_id(b)) in found]
            return [(znodes.decode_broker(r.path, b, r.data), BrokerEpoch(r.stat.czxid)) for b, r in replies]

    # --- the controller

    async def controller_id(self, cause: Cause = None) -> BrokerId | None:
        """Who holds /controller; None if nobody, or if it is no JSON."""
        found = await self.get_data(paths.CONTROLLER, cause)
        if found is None:
            return None
        with self._decoding(cause) as report:
            node = znodes.decode_controller(found.path, found.data, report)
        return node.broker_id if node else None

    async def controller_epoch(self, cause: Cause = None) -> Elected | None:
        """The controller epoch and the data version of its znode; None if there is none yet."""
        found = await self.get_data(paths.CONTROLLER_EPOCH, cause)
        if found is None:
            return None
        with self._decoding(cause):
            epoch = znodes.decode_controller_epoch(found.path, found.data)
        return epoch, ControllerEpochZkVersion(found.stat.version)

    async def register_controller_and_increment_epoch(self, broker_id: BrokerId, cause: Cause = None) -> Elected:
        """Try to become controller: create /controller and raise /controller_epoch in one transaction.

        Returns: the new epoch, and the version of /controller_epoch that fenced writes must expect.
        Raises: ControllerMovedError when another was faster; NoNodeError when /controller_epoch vanishes meanwhile.
        """
        candidate = ControllerNode(broker_id, self._epoch_ms + self._client.runtime.now_ms())
        return await self._election.run(candidate, cause)

    async def delete_controller(self, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Give up the role, which starts an election; no effect if /controller is gone already."""
        await self._delete([paths.CONTROLLER], expected, cause)

    # --- topics

    async def all_topics(self, register_watch: bool = False, cause: Cause = None) -> tuple[str, ...]:
        """Names, sorted."""
        return await self.get_children(paths.BROKER_TOPICS, register_watch, cause)

    async def topic_states(self, topics: Iterable[str], cause: Cause = None) -> dict[str, TopicState]:
        """Assignments of these topics, in the order given; a topic that does not exist is left out.

        Read one by one, not in MultiReads: a topic with many partitions has a large znode.
        """
        replies = await self._client.request([GetData(paths.topic(topic)) for topic in topics], cause)
        found = [r for reply in replies if (r := _if_there(DataRead, reply)) is not None]
        with self._decoding(cause) as report:
            return {paths.name(r.path): znodes.decode_topic(r.path, r.data, report) for r in found}

    async def create_topic(self, topic: str, state: TopicState, cause: Cause = None) -> None:
        """Make a topic known, as the tools and the API do. Raises: NodeExistsError."""
        await self.create_recursively(paths.topic(topic), znodes.encode_topic(state), cause)

    async def set_topic_assignment(
        self, topic: str, state: TopicState, expected: ControllerEpochZkVersion = UNFENCED, cause: Cause = None
    ) -> None:
        """Write a topic's assignment, whatever the znode's version; UNFENCED to add partitions."""
        await self._write([SetData(paths.topic(topic), znodes.encode_topic(state))], expected, cause)

    async def delete_topic(self, topic: str, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete a topic's znode and all below it, deepest first. What is gone already is no matter."""
        await self._delete(await self._tree_of_topic(topic, cause), expected, cause)

    async def _tree_of_topic(self, topic: str, cause: Cause) -> list[str]:
        """Paths of a topic's znodes, each after those below it: state, partition, …, partitions, the topic."""
        tree: list[str] = []
        level = [paths.topic(topic)]
        while level:
            tree.extend(level)
            replies = await self._client.request([GetChildren(path, watch=True) for path in level], cause)
            listed = [(path, _if_there(ChildrenRead, reply)) for path, reply in zip(level, replies, strict=True)]
            level = [paths.child(path, name) for path, found in listed if found for name in found.children]
        return _deepest_first(tree)

    async def topic_deletions(self, register_watch: bool = False, cause: Cause = None) -> tuple[str, ...]:
        """Topics whose deletion was asked for, sorted."""
        return await self.get_children(paths.DELETE_TOPICS, register_watch, cause)

    async def create_topic_deletion(self, topic: str, cause: Cause = None) -> None:
        """Ask for a topic's deletion. Raises: NodeExistsError when that was done already."""
        await self.create_recursively(paths.delete_topic(topic), None, cause)

    async def delete_topic_deletions(
        self, topics: Iterable[str], expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> None:
        """Remove requests for deletion: done, or refused."""
        await self._delete([paths.delete_topic(topic) for topic in topics], expected, cause)

    # --- partitions

    async def partition_states(
        self, partitions: Iterable[TopicPartition], cause: Cause = None
    ) -> dict[TopicPartition, PartitionState]:
        """Leaders and ISRs, in the order given; a partition without a state, or with one that is no JSON, is left out.

        Raises: BadZnodeError if any state is JSON of another form.
        """
        read = await self.partition_states_or_errors(partitions, cause)
        states: dict[TopicPartition, PartitionState] = {}
        for tp, state in read.items():
            if isinstance(state, ZooKeeperError):
                raise state
            if state is not None:
                states[tp] = state
        return states

    async def partition_states_or_errors(
        self, partitions: Iterable[TopicPartition], cause: Cause = None
    ) -> dict[TopicPartition, PartitionState | ZooKeeperError | None]:
        """Leaders and ISRs, in the order given, for each what came of it: None for no state, or one that is no JSON.

        Raises: BadZnodeError if any state is JSON of another form.
        """
        wanted = {paths.topic_partition_state(tp): tp for tp in partitions}
        state_paths = list(wanted)
        states: dict[TopicPartition, PartitionState | ZooKeeperError | None] = {}
        for start in range(0, len(state_paths), STATES_AT_ONCE):
            batch = state_paths[start : start + STATES_AT_ONCE]
            replies = await self._client.read_data(batch, cause)
            with self._decoding(cause) as report:
                for path, reply in zip(batch, replies, strict=True):
                    states[wanted[path]] = (
                        znodes.decode_partition_state(path, reply.data, reply.stat.version, report)
                        if isinstance(reply, DataRead)
                        else None
                        if isinstance(reply, NoNodeError)
                        else reply
                    )
        return states

    async def create_partition_states(
        self, states: Mapping[TopicPartition, PartitionState], expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> dict[TopicPartition, ZkVersion | ZooKeeperError]:
        """Create the states of new partitions, and what is missing above them.

        Returns: for each its data version, 0, or why it was refused (NodeExistsError: there is a state already).
        """
        parents = [Create(paths.topic_partitions(topic)) for topic in dict.fromkeys(tp.topic for tp in states)]
        await write_fenced(self._client, parents, expected, cause)
        await write_fenced(self._client, [Create(paths.topic_partition(tp)) for tp in states], expected, cause)
        creates = [Create(paths.topic_partition_state(tp), znodes.encode_partition_state(s)) for tp, s in states.items()]
        results = await write_fenced(self._client, creates, expected, cause)
        return {tp: _version_written(result) for tp, result in zip(states, results, strict=True)}

    async def set_partition_states(
        self, states: Mapping[TopicPartition, PartitionState], expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> dict[TopicPartition, ZkVersion | ZooKeeperError]:
        """Write states, each only if its znode still has the version in `leader_and_isr.zk_version`.

        Returns: for each its new data version, or why it was refused (BadVersionError: re-read it and decide again).
        """
        results = await write_fenced(self._client, [_set_state(tp, s) for tp, s in states.items()], expected, cause)
        return {tp: _version_written(result) for tp, result in zip(states, results, strict=True)}

    async def write_partition_state_as_leader(
        self, partition: TopicPartition, state: PartitionState, cause: Cause = None
    ) -> ZkVersion | None:
        """Write a state as a partition's leader does: if the znode still has the version in it, with no other fence.

        Returns: the new data version; None if the znode is gone, or has another version and not just this content.
            Content that was to be written, found there, is taken for our own write whose answer was lost.

        Source: Kafka 2.8, ReplicationUtils.updateLeaderAndIsr.
        """
        reply = (await self._client.request([_set_state(partition, state)], cause))[0]
        if isinstance(reply, DataSet):
            return reply.stat.version
        if isinstance(reply, NoNodeError):
            return None
        if not isinstance(reply, BadVersionError):
            raise _as_error(reply)
        found = await self.get_data(paths.topic_partition_state(partition), cause)
        return found.stat.version if found is not None and self._is_written(found, state, cause) else None

    def _is_written(self, found: DataRead, state: PartitionState, cause: Cause) -> bool:
        # Both are read at the version intended, so that the versions do not tell them apart.
        version = state.leader_and_isr.zk_version
        try:
            with self._decoding(cause) as report:
                return znodes.decode_partition_state(found.path, found.data, version, report) == state
        except BadZnodeError:
            return False

    # --- notifications

    async def isr_change_notifications(self, cause: Cause = None) -> tuple[str, ...]:
        """Names of the notifications, sorted, which is their order in time; arms the child watch."""
        return await self.get_children(paths.ISR_CHANGE_NOTIFICATION, register_watch=True, cause=cause)

    async def partitions_of_isr_change_notifications(
        self, names: Iterable[str], cause: Cause = None
    ) -> list[TopicPartition]:
        """The partitions that these notifications name, sorted."""
        replies = await self._read_data([paths.child(paths.ISR_CHANGE_NOTIFICATION, n) for n in names], cause)
        with self._decoding(cause) as report:
            return sorted({tp for r in replies for tp in znodes.decode_isr_change(r.path, r.data, report)})

    async def create_isr_change_notification(self, partitions: Iterable[TopicPartition], cause: Cause = None) -> str:
        """Tell the controller of changed ISRs; returns the path. If the answer is lost, there will be two."""
        return await self._create_sequential(paths.ISR_CHANGE_PREFIX, znodes.encode_partitions(partitions), cause)

    async def delete_isr_change_notifications(
        self, names: Iterable[str], expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> None:
        await self._delete([paths.child(paths.ISR_CHANGE_NOTIFICATION, n) for n in names], expected, cause)

    async def log_dir_event_notifications(self, cause: Cause = None) -> tuple[str, ...]:
        """Names of the notifications, sorted, which is their order in time; arms the child watch."""
        return await self.get_children(paths.LOG_DIR_EVENT_NOTIFICATION, register_watch=True, cause=cause)

    async def brokers_of_log_dir_events(self, names: Iterable[str], cause: Cause = None) -> list[BrokerId]:
        """The brokers that these notifications are about, sorted."""
        replies = await self._read_data([paths.child(paths.LOG_DIR_EVENT_NOTIFICATION, n) for n in names], cause)
        with self._decoding(cause) as report:
            brokers = {znodes.decode_log_dir_event(r.path, r.data, report) for r in replies}
        return sorted(broker for broker in brokers if broker is not None)

    async def create_log_dir_event_notification(self, broker_id: BrokerId, cause: Cause = None) -> str:
        """Tell the controller that a log directory failed; returns the path. If the answer is lost, there will be two."""
        return await self._create_sequential(paths.LOG_DIR_EVENT_PREFIX, znodes.encode_log_dir_event(broker_id), cause)

    async def delete_log_dir_event_notifications(
        self, names: Iterable[str], expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> None:
        await self._delete([paths.child(paths.LOG_DIR_EVENT_NOTIFICATION, n) for n in names], expected, cause)

    # --- what is asked of the controller

    async def partition_reassignments(self, cause: Cause = None) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """What /admin/reassign_partitions asks for; nothing if it is not there or cannot be read."""
        found = await self.get_data(paths.REASSIGN_PARTITIONS, cause)
        if found is None:
            return {}
        with self._decoding(cause) as report:
            return znodes.decode_reassignment(found.path, found.data, report)

    async def create_partition_reassignments(self, plans: Reassignments, cause: Cause = None) -> None:
        """Ask for a reassignment, as the tool does. Raises: NodeExistsError while another is under way."""
        await self.create_recursively(paths.REASSIGN_PARTITIONS, znodes.encode_reassignment(plans), cause)

    async def set_or_create_partition_reassignments(
        self, plans: Reassignments, expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> None:
        """Rewrite what is still to be done, whatever the znode's version."""
        data = znodes.encode_reassignment(plans)
        await self._set_or_create(paths.REASSIGN_PARTITIONS, data, expected, cause)

    async def delete_partition_reassignments(self, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        await self._delete([paths.REASSIGN_PARTITIONS], expected, cause)

    async def preferred_replica_election(self, cause: Cause = None) -> tuple[TopicPartition, ...]:
        """Partitions for which /admin/preferred_replica_election asks; none if it is not there."""
        found = await self.get_data(paths.PREFERRED_REPLICA_ELECTION, cause)
        if found is None:
            return ()
        with self._decoding(cause) as report:
            return znodes.decode_preferred_election(found.path, found.data, report)

    async def create_preferred_replica_election(self, partitions: Iterable[TopicPartition], cause: Cause = None) -> None:
        """Ask for preferred leaders, as the tool does. Raises: NodeExistsError while another election is asked for."""
        await self.create_recursively(paths.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions(partitions), cause)

    async def delete_preferred_replica_election(self, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        await self._delete([paths.PREFERRED_REPLICA_ELECTION], expected, cause)

    # --- settings

    async def entity_config(self, entity_type: str, entity_name: str, cause: Cause = None) -> dict[str, str]:
        """Settings of a topic, broker, user, client or address; none if there are none."""
        found = await self.get_data(paths.entity_config(entity_type, entity_name), cause)
        if found is None:
            return {}
        with self._decoding(cause) as report:
            return znodes.decode_config(found.path, found.data, report)

    async def topic_configs(self, topics: Iterable[str], cause: Cause = None) -> dict[str, dict[str, str]]:
        """Settings of many topics, in the order given. Raises: BadZnodeError if any has a value that is no string."""
        wanted = list(topics)
        found = {r.path: r for r in await self._read_data([paths.topic_config(topic) for topic in wanted], cause)}
        with self._decoding(cause) as report:
            return {
                topic: znodes.decode_config(path, found[path].data, report) if path in found else {}
                for topic in wanted
                for path in [paths.topic_config(topic)]
            }

    async def set_or_create_entity_config(
        self, entity_type: str, entity_name: str, config: Mapping[str, str], cause: Cause = None
    ) -> None:
        """Write an entity's settings, whatever the znode's version. Tell the brokers with create_config_change."""
        path = paths.entity_config(entity_type, entity_name)
        await self._set_or_create(path, znodes.encode_config(config), UNFENCED, cause)

    async def create_config_change(self, entity_path: str, cause: Cause = None) -> str:
        """Tell all brokers whose settings changed, as `topics/orders`; returns the path."""
        return await self._create_sequential(paths.CONFIG_CHANGE_PREFIX, znodes.encode_config_change(entity_path), cause)

    async def delete_topic_configs(
        self, topics: Iterable[str], expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> None:
        await self._delete([paths.topic_config(topic) for topic in topics], expected, cause)

    # --- writing

    async def _write(self, ops: Sequence[WriteOp], expected: ControllerEpochZkVersion, cause: Cause) -> None:
        for result in await write_fenced(self._client, ops, expected, cause):
            _done(result)

    async def _delete(self, gone: Sequence[str], expected: ControllerEpochZkVersion, cause: Cause) -> None:
        """Delete znodes in this order, whatever their versions; one that is gone already is no matter."""
        for result in await write_fenced(self._client, [Delete(path) for path in gone], expected, cause):
            if not isinstance(result, NoNodeError):
                _done(result)

    async def _set_or_create(self, path: str, data: bytes, expected: ControllerEpochZkVersion, cause: Cause) -> None:
        try:
            await self._write([SetData(path, data)], expected, cause)
        except NoNodeError:
            await self._make_sure_exists(paths.parent(path), cause)
            await self._write([Create(path, data)], expected, cause)

    async def _create_sequential(self, prefix: str, data: bytes, cause: Cause) -> str:
        reply = (await self._client.request([Create(prefix, data, sequential=True)], cause))[0]
        if not isinstance(reply, Created):
            raise _as_error(reply)
        return reply.path


def _if_there(kind: type[R], reply: ReplyOrError) -> R | None:
    """The reply, which is of this kind; None if the znode is not there. Raises: any other error."""
    if isinstance(reply, NoNodeError):
        return None
    if not isinstance(reply, kind):
        raise _as_error(reply)
    return reply


def _as_error(reply: object) -> ZooKeeperError:
    assert isinstance(reply, ZooKeeperError)
    return reply


def _done(reply: object) -> None:
    """Raises: the error that the reply is."""
    if isinstance(reply, ZooKeeperError):
        raise reply


def _set_state(partition: TopicPartition, state: PartitionState) -> SetData:
    data = znodes.encode_partition_state(state)
    return SetData(paths.topic_partition_state(partition), data, state.leader_and_isr.zk_version)


def _version_written(result: WriteResult) -> ZkVersion | ZooKeeperError:
    match result:
        case DataSet(_, stat, _):
            return stat.version
        case ZooKeeperError():
            return result
        case _:
            return ZkVersion(0)


def _broker_id(name: str) -> BrokerId:
    try:
        return BrokerId(parse_java_int(name))
    except WrongJsonError as error:
        raise BadZnodeError(paths.child(paths.BROKER_IDS, name), f"no broker id: {error}") from None


def _deepest_first(tree: Iterable[str]) -> list[str]:
    """Sort paths, each after all that are below it."""
    after_all = chr(0x10FFFF)
    return sorted(tree, key=lambda path: [*path.split("/"), after_all])


def _cluster_id_of(epoch_ms: int, session_id: SessionId) -> str:
    """Make up a cluster id. Kafka's is random; this one is drawn from what is unique anyway, so that runs can repeat."""
    digest = hashlib.sha256(f"{epoch_ms} {session_id}".encode()).digest()
    return urlsafe_b64encode(uuid.UUID(bytes=digest[:16], version=4).bytes).decode().rstrip("=")
