"""Runs a what-if: a simulated cluster in the state of a snapshot, what happens to it, and what it serves after each step.

Partitions that it cannot change are not simulated (untouched_partitions.py), but they are in the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.simulated_environment import run_simulated
from kcsim.brokers.config import BrokerConfig, Value
from kcsim.scenarios.snapshots.simulated_state import bring_into_state, cluster_spec, disks_of, wait_for_controller
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.what_if.cluster_health import ClusterHealth, HealthReader, KnownSizes
from kcsim.scenarios.what_if.cluster_observer import ClusterObserver
from kcsim.scenarios.what_if.untouched_partitions import untouched_partitions, without_partitions

GONE_WITHIN_MS = 600_000


@dataclass(frozen=True, slots=True)
class Loss:
    """Brokers that are killed at once. Attributes: what: for people, such as `rack b`."""

    what: str
    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """What happens to the cluster, in this order: settings, losses one after another, the rolling restart, the return.

    Attributes:
        settings: of all brokers, from the beginning.
        restarts: whether all running brokers are restarted in the end, one after another, the controller last.
        returns: whether the lost brokers come back at last.
    """

    losses: tuple[Loss, ...] = ()
    settings: Mapping[str, Value] = field(default_factory=dict)
    restarts: bool = False
    returns: bool = True


class WhatIfStep(msgspec.Struct, frozen=True):
    """One step, and the cluster when nothing happened any more.

    Attributes:
        what: for people; `the snapshot` for the first step.
        unregistered_ms: from the step's beginning until the lost brokers' sessions had ended; None: no broker was lost.
        controller_ms: until a controller worked; None: the controller stayed.
        settled_ms: until the last change.
        unavailable: partitions that clients could not use for a time, or can still not use.
        longest_unavailable_ms: the longest time for which one of them could not be used, and can be again.
        unclean: partitions of which a replica outside the ISR was elected: records are lost.
    """

    what: str
    health: ClusterHealth
    unregistered_ms: int | None = None
    controller_ms: int | None = None
    settled_ms: int = 0
    unavailable: int = 0
    longest_unavailable_ms: int = 0
    unclean: tuple[str, ...] = ()


class WhatIfAnswer(msgspec.Struct, frozen=True):
    """The steps of a what-if; the first is the cluster as the snapshot has it."""

    steps: tuple[WhatIfStep, ...]


def ask_what_if(snapshot: ControlPlaneSnapshot, question: WhatIfQuestion, seed: int = 0) -> WhatIfAnswer:
    """Answer a question in virtual time. Raises: ClusterError, TimedOutError, SettingError."""
    lost = {broker for loss in question.losses for broker in loss.brokers}
    untouched = {} if question.restarts else untouched_partitions(snapshot, lost, question.settings)
    simulated = without_partitions(snapshot, untouched)
    sizes = KnownSizes(snapshot, BrokerConfig.of(question.settings).min_insync_replicas)
    health = HealthReader(sizes, untouched)
    spec = cluster_spec(snapshot, question.settings)
    observer = ClusterObserver()
    steps: list[WhatIfStep] = []

    async def script(cluster: Cluster) -> None:
        observer.attach(cluster)
        run = _WhatIfRun(cluster, simulated, question, observer, health)
        steps.extend(await run.steps())

    disks = disks_of(simulated, spec, seed)
    run_simulated(1, spec, RunInfo("what-if", seed, "simulated"), script, (observer.before,), disks=disks)
    return WhatIfAnswer(tuple(steps))


class _WhatIfRun:
    def __init__(
        self,
        cluster: Cluster,
        snapshot: ControlPlaneSnapshot,
        question: WhatIfQuestion,
        observer: ClusterObserver,
        health: HealthReader,
    ) -> None:
        self._cluster = cluster
        self._snapshot = snapshot
        self._question = question
        self._observer = observer
        self._health = health
        self._lost: list[int] = []

    async def steps(self) -> Sequence[WhatIfStep]:
        await bring_into_state(self._cluster, self._snapshot)
        await self._observer.wait_until_quiet()
        steps = [WhatIfStep("the snapshot", self._health.read(self._cluster.state))]
        for loss in self._question.losses:
            steps.append(await self._lose(loss))
        if self._question.restarts:
            steps.append(await self._restart_all())
        if self._lost and self._question.returns:
            steps.append(await self._let_return())
        return steps

    # --- steps

    async def _lose(self, loss: Loss) -> WhatIfStep:
        began_ms, before = self._now_ms(), self._cluster.state.controller_id
        lost = [broker for broker in loss.brokers if broker not in self._lost]
        for broker in lost:
            if broker in self._snapshot.registered_ids:
                await self._cluster.kill(f"broker-{broker}")
        self._lost += lost
        await self._cluster.wait_until(lambda: self._registered_among(lost), GONE_WITHIN_MS)
        gone_ms = self._now_ms() - began_ms
        controller_ms = None
        if before in lost and self._running():
            await wait_for_controller(self._cluster)
            controller_ms = self._now_ms() - began_ms
        return await self._step(f"{loss.what} lost", began_ms, gone_ms, controller_ms)

    async def _restart_all(self) -> WhatIfStep:
        began_ms = self._now_ms()
        for broker in sorted(self._running(), key=lambda one: (one == self._cluster.state.controller_id, one)):
            name = f"broker-{broker}"
            await self._cluster.stop(name)
            await self._cluster.start([name])
            await self._observer.wait_until_quiet()
        return await self._step("all brokers restarted, one after another", began_ms)

    async def _let_return(self) -> WhatIfStep:
        began_ms = self._now_ms()
        await self._cluster.start([f"broker-{broker}" for broker in sorted(self._lost)])
        self._lost = []
        return await self._step("the lost brokers are back", began_ms)

    async def _step(
        self, what: str, began_ms: int, unregistered_ms: int | None = None, controller_ms: int | None = None
    ) -> WhatIfStep:
        await self._observer.wait_until_quiet()
        settled_ms = max(0, self._observer.last_change_ms - began_ms)
        outages = self._observer.outages_since(began_ms)
        longest_ms = max((outage.until_ms - outage.from_ms for outage in outages if outage.is_over), default=0)
        unclean = tuple(sorted(self._observer.unclean))
        self._observer.unclean.clear()
        unavailable = len({(outage.topic, outage.partition) for outage in outages})
        times = (unregistered_ms, controller_ms, settled_ms)
        return WhatIfStep(what, self._health.read(self._cluster.state), *times, unavailable, longest_ms, unclean)

    # --- the cluster

    def _now_ms(self) -> int:
        return self._cluster.runtime.now_ms()

    def _running(self) -> list[int]:
        return [broker for broker in self._snapshot.registered_ids if broker not in self._lost]

    def _registered_among(self, brokers: Sequence[int]) -> str | None:
        here = [broker for broker in brokers if broker in self._cluster.state.registered]
        return f"registered: {here}" if here else None
