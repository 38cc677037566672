"""The leader and ISR of each partition: /brokers/topics/T/partitions/P/state.

Source: Kafka 2.8, KafkaZkClient.getTopicPartitionStates, updateLeaderAndIsr, createTopicPartitionStatesRaw;
ReplicationUtils.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ControllerEpochZkVersion, PartitionState, TopicPartition, ZkVersion
from kcsim.zk.errors import BadVersionError, NoNodeError, ZooKeeperError
from kcsim.zk.kafka.fencing import WriteResult, write_fenced
from kcsim.zk.kafka.znode_requests import OnBadZnode, ZnodeRequests, as_error
from kcsim.zk.operations import Create, DataRead, DataSet, SetData
from kcsim.znodes import BadZnodeError, paths

STATES_AT_ONCE = 10_000
"""How many partition states are read and decoded at once, so that other tasks run between two batches."""


class PartitionStateZnodes:
    """The gateway to the states of partitions."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def read(
        self, partitions: Iterable[TopicPartition], cause: Cause = None, on_bad: OnBadZnode | None = None
    ) -> dict[TopicPartition, PartitionState]:
        """Return partition states in the order given; partitions without a state, or whose state is not JSON, are left out.

        Raises: BadZnodeError if any state is JSON of another form, unless there is `on_bad`.
        """
        read = await self.read_or_errors(partitions, cause, on_bad)
        states: dict[TopicPartition, PartitionState] = {}
        for tp, state in read.items():
            if isinstance(state, ZooKeeperError):
                raise state
            if state is not None:
                states[tp] = state
        return states

    async def read_or_errors(
        self, partitions: Iterable[TopicPartition], cause: Cause = None, on_bad: OnBadZnode | None = None
    ) -> dict[TopicPartition, PartitionState | ZooKeeperError | None]:
        """Return each partition's state or the error of reading it, in the order given.

        A partition without a state, or whose state is not JSON, has None.

        Args:
            on_bad: called for each state that cannot be read, which is left out of the result then.

        Raises: BadZnodeError if any state is JSON of another form, unless there is `on_bad`.
        """
        wanted = {paths.topic_partition_state(tp): tp for tp in partitions}
        state_paths = list(wanted)
        states: dict[TopicPartition, PartitionState | ZooKeeperError | None] = {}
        for start in range(0, len(state_paths), STATES_AT_ONCE):
            batch = state_paths[start : start + STATES_AT_ONCE]
            replies = await self._znodes.client.read_data(batch, cause)
            if on_bad is not None:
                for path, reply in zip(batch, replies, strict=True):
                    states.update(self._decoded(wanted[path], reply, cause, on_bad))
                continue
            with self._znodes.decoding(cause) as report:
                for path, reply in zip(batch, replies, strict=True):
                    states[wanted[path]] = (
                        znodes.decode_partition_state(path, reply.data, reply.stat.version, report)
                        if isinstance(reply, DataRead)
                        else None
                        if isinstance(reply, NoNodeError)
                        else reply
                    )
        return states

    def _decoded(
        self, tp: TopicPartition, reply: DataRead | ZooKeeperError, cause: Cause, on_bad: OnBadZnode
    ) -> dict[TopicPartition, PartitionState | ZooKeeperError | None]:
        """Return one partition's state, error or None, as read_or_errors does; nothing if the state cannot be read."""
        if not isinstance(reply, DataRead):
            return {tp: None if isinstance(reply, NoNodeError) else reply}
        decode = partial(znodes.decode_partition_state, reply.path, reply.data, reply.stat.version)
        state = self._znodes.decoded(decode, cause, on_bad)
        return {} if state is None else {tp: state}

    async def create(
        self, states: Mapping[TopicPartition, PartitionState], expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> dict[TopicPartition, ZkVersion | ZooKeeperError]:
        """Create the states of new partitions, and the missing znodes above them.

        Returns: for each partition its state's data version, 0, or the error (NodeExistsError: there is a state already).
        """
        parents = [Create(paths.topic_partitions(topic)) for topic in dict.fromkeys(tp.topic for tp in states)]
        await write_fenced(self._znodes.client, parents, expected, cause)
        await write_fenced(self._znodes.client, [Create(paths.topic_partition(tp)) for tp in states], expected, cause)
        creates = [Create(paths.topic_partition_state(tp), znodes.encode_partition_state(s)) for tp, s in states.items()]
        results = await write_fenced(self._znodes.client, creates, expected, cause)
        return {tp: _version_written(result) for tp, result in zip(states, results, strict=True)}

    async def set(
        self, states: Mapping[TopicPartition, PartitionState], expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> dict[TopicPartition, ZkVersion | ZooKeeperError]:
        """Write partition states, each only if its znode still has the version in `leader_and_isr.zk_version`.

        Returns: for each partition the new data version, or the error (BadVersionError: re-read the state and decide again).
        """
        results = await write_fenced(self._znodes.client, [_set_state(tp, s) for tp, s in states.items()], expected, cause)
        return {tp: _version_written(result) for tp, result in zip(states, results, strict=True)}

    async def write_as_leader(
        self, partition: TopicPartition, state: PartitionState, cause: Cause = None
    ) -> ZkVersion | None:
        """Write a state as a partition's leader does: conditional on the znode's version in the state, without a fence.

        Returns: the new data version; None if the znode does not exist, or has another version and other content. A znode
            with another version and exactly this content counts as written: the answer to this write was lost.

        Source: Kafka 2.8, ReplicationUtils.updateLeaderAndIsr.
        """
        reply = (await self._znodes.client.request([_set_state(partition, state)], cause))[0]
        if isinstance(reply, DataSet):
            return reply.stat.version
        if isinstance(reply, NoNodeError):
            return None
        if not isinstance(reply, BadVersionError):
            raise as_error(reply)
        found = await self._znodes.get_data(paths.topic_partition_state(partition), cause)
        return found.stat.version if found is not None and self._is_written(found, state, cause) else None

    def _is_written(self, found: DataRead, state: PartitionState, cause: Cause) -> bool:
        # Decode the found content with the version of the intended state, so that the comparison ignores the versions.
        version = state.leader_and_isr.zk_version
        try:
            with self._znodes.decoding(cause) as report:
                return znodes.decode_partition_state(found.path, found.data, version, report) == state
        except BadZnodeError:
            return False


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
