"""Requests on any znode, and the report of malformed content: what the gateways of all entities share.

Left out: ACLs, delegation tokens, quotas. Source: Kafka 2.8, KafkaZkClient.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from kcsim import znodes
from kcsim.eventlog.events import EventFields, EventKind, with_reason
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ControllerEpochZkVersion, FailureReason
from kcsim.zk.errors import NodeExistsError, NoNodeError, ZooKeeperError
from kcsim.zk.kafka.fencing import WriteOp, write_fenced
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.operations import ChildrenRead, Create, Created, DataRead, Delete, GetChildren, GetData, ReplyOrError, SetData
from kcsim.znodes import BadZnodeError, paths

R = TypeVar("R")

OnBadZnode = Callable[[BadZnodeError], None]
"""Called for each znode that cannot be read, also for one that Kafka takes for absent or empty. The others are read."""


class ZnodeRequests:
    """Requests on any znode, sent through one client.

    Attributes:
        parse_failures: path -> how often malformed content was read there.
    """

    def __init__(self, client: ZooKeeperClient) -> None:
        self.client = client
        self.parse_failures: Counter[str] = Counter()

    # --- malformed content

    @contextmanager
    def decoding(self, cause: Cause) -> Iterator[znodes.Report]:
        """Log what a decoder reports, and log and re-raise the BadZnodeError that it raises."""
        try:
            yield self._report(cause)
        except BadZnodeError as error:
            self._bad_znode(error.path, error.reason, cause, type(error).__name__, error.failure)
            raise

    def decoded(self, decode: Callable[[znodes.Report], R], cause: Cause, on_bad: OnBadZnode) -> R | None:
        """Return the content of one znode; None if it cannot be read, after that was logged and `on_bad` was called.

        As elsewhere, the event of a znode that Kafka takes for absent or empty has no `error`.
        """
        bad: list[BadZnodeError] = []
        content = None

        def taken_for_absent(path: str, reason: str) -> None:
            self._bad_znode(path, reason, cause)
            bad.append(BadZnodeError(path, reason))

        try:
            content = decode(taken_for_absent)
        except BadZnodeError as error:
            self._bad_znode(error.path, error.reason, cause, type(error).__name__, error.failure)
            bad.append(error)
        for found in bad:
            on_bad(found)
        return None if bad else content

    def _report(self, cause: Cause) -> znodes.Report:
        return lambda path, reason: self._bad_znode(path, f"{reason}; taken for absent or empty", cause)

    def _bad_znode(
        self, path: str, detail: str, cause: Cause, error: str | None = None, reason: FailureReason | None = None
    ) -> None:
        self.parse_failures[path] += 1
        fields = EventFields(path=path, detail=detail)
        if error is not None:
            fields["error"] = error
        self.client.sink.emit(EventKind.BAD_ZNODE, cause, **with_reason(fields, reason))

    # --- reading

    async def exists(self, path: str, cause: Cause = None) -> bool:
        """Return whether a znode exists. Like every read here, arms a watch if a handler is registered."""
        return await self.client.check_existence(path, cause)

    async def get_data(self, path: str, cause: Cause = None) -> DataRead | None:
        """Return the data and Stat of a znode; None if it does not exist."""
        return found_or_none(DataRead, (await self.client.request([GetData(path)], cause))[0])

    async def get_children(self, path: str, register_watch: bool = False, cause: Cause = None) -> tuple[str, ...]:
        """Return the names of a znode's children, sorted; empty if the znode does not exist.

        Args:
            register_watch: arm a child watch, if a child handler is registered.
        """
        request = GetChildren(path, watch=register_watch)
        reply = found_or_none(ChildrenRead, (await self.client.request([request], cause))[0])
        return reply.children if reply else ()

    async def read_existing(self, wanted: Sequence[str], cause: Cause = None) -> list[DataRead]:
        """Read many small znodes; znodes that do not exist are left out."""
        replies = [found_or_none(DataRead, r) for r in await self.client.read_data(wanted, cause)]
        return [reply for reply in replies if reply is not None]

    # --- writing

    async def create_recursively(self, path: str, data: bytes | None, cause: Cause = None) -> None:
        """Create a persistent znode, and its missing ancestors with null data. Raises: NodeExistsError."""
        reply = (await self.client.request([Create(path, data)], cause))[0]
        if isinstance(reply, NoNodeError):
            await self.make_sure_exists(paths.parent(path), cause)
            reply = (await self.client.request([Create(path, data)], cause))[0]
        raise_if_error(reply)

    async def make_sure_exists(self, path: str, cause: Cause = None) -> None:
        """Create a persistent znode with null data, and its missing ancestors, unless it exists."""
        try:
            await self.create_recursively(path, None, cause)
        except NodeExistsError:
            return

    async def create_sequential(self, prefix: str, data: bytes, cause: Cause = None) -> str:
        """Create a persistent znode whose name is the prefix and ZooKeeper's next number; return its path."""
        reply = (await self.client.request([Create(prefix, data, sequential=True)], cause))[0]
        if not isinstance(reply, Created):
            raise as_error(reply)
        return reply.path

    async def write(self, ops: Sequence[WriteOp], expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Do fenced writes in this order. Raises: the first refusal, after all writes were tried."""
        for result in await write_fenced(self.client, ops, expected, cause):
            raise_if_error(result)

    async def delete(self, gone: Sequence[str], expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete znodes in this order, whatever their versions; znodes that do not exist are ignored."""
        for result in await write_fenced(self.client, [Delete(path) for path in gone], expected, cause):
            if not isinstance(result, NoNodeError):
                raise_if_error(result)

    async def set_or_create(self, path: str, data: bytes, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Set a znode's data, whatever its version; create the znode and its missing ancestors if it does not exist."""
        try:
            await self.write([SetData(path, data)], expected, cause)
        except NoNodeError:
            await self.make_sure_exists(paths.parent(path), cause)
            await self.write([Create(path, data)], expected, cause)


def found_or_none(kind: type[R], reply: ReplyOrError) -> R | None:
    """Return the reply, which must be of this kind; None if the znode does not exist. Raises: any other error."""
    if isinstance(reply, NoNodeError):
        return None
    if not isinstance(reply, kind):
        raise as_error(reply)
    return reply


def as_error(reply: object) -> ZooKeeperError:
    """Return the reply, which must be an error."""
    assert isinstance(reply, ZooKeeperError)
    return reply


def raise_if_error(reply: object) -> None:
    """Raise the reply if it is an error."""
    if isinstance(reply, ZooKeeperError):
        raise reply
