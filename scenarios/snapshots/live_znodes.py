"""Reads the znodes of a running cluster's control state from its ZooKeeper.

Nothing is written, no watch is set, and the znodes are read at a bounded rate, so that the cluster's own clients are served.
The znodes may change meanwhile. So the znodes that show whether a broker came or went, or the controller changed, are read
again at the end, and if they have changed, everything is read again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kcsim import znodes
from kcsim.runtime.ports import Runtime
from kcsim.scenarios.snapshots.control_znodes import ControlZnode, ControlZnodes
from kcsim.vocabulary import TopicPartition
from kcsim.zk.capture.zxid_or_time import time_text
from kcsim.zk.errors import NoAuthError, NoNodeError, ZooKeeperError
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.operations import ChildrenRead, DataRead, GetChildren, GetData, ReplyOrError
from kcsim.znodes import BadZnodeError, paths

BATCH = 250
"""Znodes asked for at once. The states of partitions are small: they are read with one request, if the server knows it."""
ATTEMPTS = 3

SINGLE = (
    paths.CONTROLLER,
    paths.MIGRATION,
    paths.CLUSTER_ID,
    paths.REASSIGN_PARTITIONS,
    paths.PREFERRED_REPLICA_ELECTION,
)
"""The znodes that exist at most once, without /controller_epoch, which is read first and last."""
PARENTS = (
    paths.DELETE_TOPICS,
    paths.entity_type_config("brokers"),
    paths.entity_type_config("topics"),
    paths.BROKER_TOPICS,
)
"""The znodes whose children are read. /brokers/ids is read first and last."""
MUST_BE_READABLE = (paths.BROKER_IDS, paths.BROKER_TOPICS, paths.CONTROLLER_EPOCH)
"""Without these there is no snapshot. Others may be kept from this client: they are listed as unread."""


class LiveZnodes:
    """The reader of one cluster's znodes.

    Args:
        client: connected; it has no handlers, so its reads set no watches.
        source: the ZooKeeper's name, for people.
        wall_ms: the clock, in ms since 1970.
        reads_per_second: how many znodes are read per second, at most.
        has_multi_read: whether the server knows MultiRead, as from ZooKeeper 3.6 on.
    """

    def __init__(
        self,
        runtime: Runtime,
        client: ZooKeeperClient,
        source: str,
        wall_ms: Callable[[], int],
        reads_per_second: int,
        has_multi_read: bool = False,
    ) -> None:
        self._runtime = runtime
        self._client = client
        self._source = source
        self._wall_ms = wall_ms
        self._reads_per_second = reads_per_second
        self._has_multi_read = has_multi_read
        self._found: dict[str, ControlZnode] = {}
        self._unread: dict[str, str] = {}

    async def read(self) -> ControlZnodes:
        """Read the control state. Raises: ZooKeeperError, ZooKeeperClientExpiredError."""
        for _ in range(ATTEMPTS):
            self._found, self._unread = {}, {}
            before = await self._cluster_change()
            taken = time_text(self._wall_ms())
            await self._read_all()
            if await self._cluster_change() == before:
                break
        else:
            self._unread["/"] = f"brokers or controllers changed during each of {ATTEMPTS} attempts to read all znodes"
        return ControlZnodes(self._source, taken, self._found, self._unread)

    async def _read_all(self) -> None:
        await self._read_data(SINGLE)
        for parent in PARENTS:
            await self._read_data([paths.child(parent, name) for name in await self._children(parent)])
        await self._read_data([paths.topic_partition_state(tp) for tp in self._partitions()], self._has_multi_read)

    async def _cluster_change(self) -> Mapping[str, ControlZnode]:
        """Read the znodes that change when a broker comes or goes, or the controller changes."""
        ids = [paths.child(paths.BROKER_IDS, name) for name in await self._children(paths.BROKER_IDS)]
        return await self._read_data([paths.CONTROLLER_EPOCH, *ids])

    def _partitions(self) -> list[TopicPartition]:
        """Return all partitions of the topics that were read; a topic that cannot be decoded has none."""
        below = f"{paths.BROKER_TOPICS}/"
        partitions = []
        for path, znode in self._found.items():
            if path.startswith(below):
                try:
                    assignments = znodes.decode_topic(path, znode.data, lambda *_: None).assignments
                except BadZnodeError:
                    continue  # the znode itself is reported when the snapshot is made
                partitions += [TopicPartition(paths.name(path), number) for number in assignments]
        return partitions

    # --- requests

    async def _children(self, path: str) -> tuple[str, ...]:
        """Return the names of a znode's children; the znode counts as read if it exists."""
        (reply,) = await self._client.request([GetChildren(path)])
        if isinstance(reply, ChildrenRead):
            assert reply.stat is not None
            self._found[path] = ControlZnode(None, reply.stat.czxid)
            return reply.children
        self._take_error(path, reply)
        return ()

    async def _read_data(self, wanted: Sequence[str], at_once: bool = False) -> Mapping[str, ControlZnode]:
        """Read znodes, and return those that exist and can be read.

        Args:
            at_once: whether to read many with one request.
        """
        read: dict[str, ControlZnode] = {}
        for begin in range(0, len(wanted), BATCH):
            batch, began_ms = wanted[begin : begin + BATCH], self._runtime.now_ms()
            replies: Sequence[ReplyOrError] = (
                await self._client.read_data(batch)
                if at_once
                else await self._client.request([GetData(path) for path in batch])
            )
            read.update(self._taken(zip(batch, replies, strict=True)))
            until_ms = began_ms + len(batch) * 1000 // self._reads_per_second
            if (rest_ms := until_ms - self._runtime.now_ms()) > 0:
                await self._runtime.sleep_ms(rest_ms)
        self._found.update(read)
        return read

    def _taken(self, replies: Iterable[tuple[str, ReplyOrError]]) -> Iterable[tuple[str, ControlZnode]]:
        for path, reply in replies:
            if isinstance(reply, DataRead):
                yield path, ControlZnode(reply.data, reply.stat.czxid)
            else:
                self._take_error(path, reply)

    def _take_error(self, path: str, reply: ReplyOrError) -> None:
        """Note a znode that exists and cannot be read. Raises: ZooKeeperError if there is no snapshot without it."""
        assert isinstance(reply, ZooKeeperError)
        if isinstance(reply, NoNodeError):
            return
        if not isinstance(reply, NoAuthError):
            raise reply
        if path.startswith(MUST_BE_READABLE):
            raise NoAuthError(path, f"{path}: this client has no permission to read it; without it there is no snapshot")
        self._unread[path] = "this client has no permission to read it"
