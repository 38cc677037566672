"""Make the same broker win each election that won it in another run, by delaying the other brokers' attempts.

Which of several candidates is first is chance, and later steps depend on it. So an attempt to become controller is held
back, just before it is sent, as long as the intended winner has not won; then it is sent, and is refused like that of any
broker that is too late. Nothing else of the delayed broker stops, nor does its session.
"""

import json
from collections.abc import Awaitable, Callable, Sequence

from kcsim.brokers.cluster.scenario_cluster import ObservedCluster
from kcsim.errors import TimedOutError
from kcsim.eventlog.sink import Cause
from kcsim.zk.operations import Create, Multi, Notice, ReplyOrError, Request
from kcsim.zk.ports import FaultableSession, ZooKeeper
from kcsim.zk.wrapped_session import WrappedSession
from kcsim.znodes import paths

Hold = Callable[[int], Awaitable[None]]
"""Called with the id of a broker that is about to try to become controller; returns when the broker may try."""


HELD_AT_MOST_MS = 5_000
"""How long the other brokers' attempts are delayed if the intended winner does not try."""


class ElectionSteering:
    """Delays candidates that are not to win. `reach_zookeeper_through` puts it between a cluster and its ZooKeeper.

    Attributes:
        winner: the broker that is to win the next election; None: the first that tries.
    """

    def __init__(self, cluster: ObservedCluster, winner: int | None) -> None:
        self.winner = winner
        self._cluster = cluster

    def steered(self, zookeeper: ZooKeeper) -> ZooKeeper:
        """Return the same ZooKeeper, where attempts to become controller wait until they may be made."""
        return SteeredZooKeeper(zookeeper, self._hold)

    async def _hold(self, candidate: int) -> None:
        if self.winner is None or candidate == self.winner:
            return
        try:
            await self._cluster.wait_until(self._missing_controller, HELD_AT_MOST_MS)
        except TimedOutError:
            return  # the intended winner does not try: another controller is better than none

    def _missing_controller(self) -> str | None:
        return None if paths.CONTROLLER in self._cluster.state.znodes else f"{paths.CONTROLLER} does not exist"


class SteeredZooKeeper:
    """Implements the ZooKeeper port over another, where attempts to become controller wait until they may be made."""

    def __init__(self, inner: ZooKeeper, hold: Hold) -> None:
        self._inner = inner
        self._hold = hold

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> FaultableSession:
        session = await self._inner.open_session(timeout_ms, listener, connect_timeout_ms, cause)
        return _SteeredSession(session, self._hold)


class _SteeredSession(WrappedSession):
    def __init__(self, inner: FaultableSession, hold: Hold) -> None:
        super().__init__(inner)
        self._hold = hold

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        candidate = candidate_in(requests)
        if candidate is not None:
            await self._hold(candidate)
        return await self.inner.call(requests, cause)


def candidate_in(requests: Sequence[Request]) -> int | None:
    """Return the broker that these requests would make controller, or None if they are about something else."""
    ops = [op for request in requests if isinstance(request, Multi) for op in request.ops]
    claims = [op.data for op in ops if isinstance(op, Create) and op.path == paths.CONTROLLER]
    return int(json.loads(claims[0] or b"")["brokerid"]) if claims else None
