"""A broker's view of the features that are finalized for the cluster, from /feature: from protocol version 2.7 on.

Our brokers support no feature, as those of Kafka 2.7 to 3.9 with ZooKeeper. A broker that reads of one that it does not
support exits, and one that is started then refuses to start.

Source: Kafka 2.8, FinalizedFeatureChangeListener, FinalizedFeatureCache.
"""

from collections.abc import Callable
from contextlib import suppress

from kcsim.brokers.requests import ApiVersionsRequest, ApiVersionsResponse
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.runtime.ports import Mailbox, Promise, Runtime, Task
from kcsim.vocabulary import ZkVersion
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.features import FeatureZnodes, FoundFeatures
from kcsim.zk.kafka.zookeeper_client import NodeHandler, SessionHandler, ZooKeeperClient, ZooKeeperClientExpiredError
from kcsim.znodes import BadZnodeError, paths

HANDLER = "feature-zk-node-event-process-thread"


class UnsupportedFeaturesError(Exception):
    """The broker cannot work with what /feature holds; the message says why."""


class FinalizedFeatures:
    """The listener to /feature of one broker, and what it has read last.

    Args:
        timeout_ms: how long the controller waits until this broker has read what it has written.
        exit_process: ends the broker's process in an orderly way, because of this and after this event.
    """

    def __init__(
        self,
        runtime: Runtime,
        client: ZooKeeperClient,
        features: FeatureZnodes,
        sink: EventSink,
        timeout_ms: int,
        exit_process: Callable[[str, int], None],
    ) -> None:
        self._runtime = runtime
        self._client = client
        self._features = features
        self._sink = sink
        self._timeout_ms = timeout_ms
        self._exit_process = exit_process
        self._known: FoundFeatures | None = None
        self._has_changed: Promise[None] = runtime.promise()
        self._wake: Mailbox[Cause] = runtime.mailbox()
        self._task: Task | None = None

    async def startup(self, cause: Cause) -> None:
        """Read the features, and again whenever they change.

        A znode that is deleted is watched no more: only a data watch is set by a later read, and only if the znode exists.

        Raises: UnsupportedFeaturesError, ZooKeeperError.
        """
        self._client.register_session_handler(HANDLER, SessionHandler(after_new_session=self._wake.put))
        handler = NodeHandler(created=self._wake.put, deleted=self._wake.put, data_changed=self._wake.put)
        await self._client.register_and_check_existence(paths.FEATURE, handler, cause)
        await self._update(cause)
        self._task = self._runtime.spawn(HANDLER, self._run())

    def close(self) -> None:
        self._client.unregister_session_handler(HANDLER)
        self._client.unregister_node_handler(paths.FEATURE)
        if self._task is not None:
            self._task.kill()

    async def _run(self) -> None:
        while True:
            cause = await self._wake.get()
            try:
                with suppress(ZooKeeperError, ZooKeeperClientExpiredError):  # a new session reads again
                    await self._update(cause)
            except UnsupportedFeaturesError as error:
                name, why = type(error).__name__, str(error)
                read = self._sink.emit(EventKind.BAD_ZNODE, cause, path=paths.FEATURE, error=name, detail=why)
                self._exit_process(why, read)
                return

    async def _update(self, cause: Cause) -> None:
        try:
            found = await self._features.read(cause)
        except BadZnodeError:  # which is reported already
            found = None
        known = self._known
        if found is None or not found.node.is_enabled:
            self._known = None
            return
        if known is not None and found.epoch < known.epoch:
            raise UnsupportedFeaturesError(f"{paths.FEATURE} has epoch {found.epoch} after {known.epoch}")
        if found.node.features:
            raise UnsupportedFeaturesError(f"the finalized features {', '.join(found.node.features)} are not supported")
        self._known = found
        changed, self._has_changed = self._has_changed, self._runtime.promise()
        changed.resolve(None)

    async def wait_until_epoch(self, epoch: ZkVersion) -> None:
        """Wait until the broker has read features of this epoch or a later one. Raises: TimedOutError."""
        deadline_ms = self._runtime.now_ms() + self._timeout_ms
        while self._known is None or self._known.epoch < epoch:
            left_ms = deadline_ms - self._runtime.now_ms()
            known = "none" if self._known is None else self._known.epoch
            if left_ms <= 0:
                raise TimedOutError(
                    f"Timed out after waiting for {self._timeout_ms} ms for epoch {epoch} of the finalized features; "
                    f"known is {known}"
                )
            with suppress(TimedOutError):
                await self._has_changed.wait(left_ms)

    async def api_versions(self, _: ApiVersionsRequest, __: int) -> ApiVersionsResponse:
        """Answer a client that asks what the broker serves."""
        return ApiVersionsResponse() if self._known is None else ApiVersionsResponse(self._known.epoch)
