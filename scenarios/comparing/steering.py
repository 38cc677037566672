"""Makes the same broker win each election that won it in another run, by delaying the others' attempts.

Which of several candidates is first is chance, and later steps depend on it. So an attempt to become controller is held
back, just before it is sent, while the broker that is to win has not won yet; then it goes on, and is refused as that of
any broker that was too late. Nothing else of the held broker stands still, nor does its session.
"""

import json
from collections.abc import Awaitable, Callable, Sequence

from kcsim.scenarios.scenario_cluster import ScenarioCluster
from kcsim.scenarios.wrapped_session import WrappedSession
from kcsim.zk import paths
from kcsim.zk.errors import TimedOutError
from kcsim.zk.operations import Create, Multi, Notice, ReplyOrError, Request
from kcsim.zk.ports import Cause, FaultableSession, ZooKeeper

Hold = Callable[[int], Awaitable[None]]
"""Told who is about to stand for election; returns when it may."""


HELD_AT_MOST_MS = 5_000
"""How long the others are kept from standing for election, for the sake of one that does not."""


class ElectionSteering:
    """Holds back those that are not to win. To be put between a cluster and its ZooKeeper by `reach_zookeeper_through`.

    Attributes:
        winner: who is to win the next election; None: whoever is first.
    """

    def __init__(self, cluster: ScenarioCluster, winner: int | None) -> None:
        self.winner = winner
        self._cluster = cluster

    def steered(self, zookeeper: ZooKeeper) -> ZooKeeper:
        """The same ZooKeeper, where attempts to become controller wait until they may be made."""
        return SteeredZooKeeper(zookeeper, self._hold)

    async def _hold(self, candidate: int) -> None:
        if self.winner is None or candidate == self.winner:
            return
        try:
            await self._cluster.wait_until(self._nobody_yet, HELD_AT_MOST_MS)
        except TimedOutError:
            return  # the one that is to win does not stand: better another than nobody

    def _nobody_yet(self) -> str | None:
        return None if paths.CONTROLLER in self._cluster.state.znodes else f"{paths.CONTROLLER} does not exist"


class SteeredZooKeeper:
    """The ZooKeeper port over another, where attempts to become controller wait until they may be made."""

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
    """The broker that these requests would make controller; None if they are about something else."""
    ops = [op for request in requests if isinstance(request, Multi) for op in request.ops]
    claims = [op.data for op in ops if isinstance(op, Create) and op.path == paths.CONTROLLER]
    return int(json.loads(claims[0] or b"")["brokerid"]) if claims else None
