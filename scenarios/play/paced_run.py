"""A run in virtual time that goes no further than it is allowed to, and to which acts are done meanwhile.

Its time passes up to a limit that its watcher moves: slowly for slow motion, not at all for a pause, at once to the end
for a rerun. An act is done at its time, after everything that happens until then. So the same scenario, seed and acts give
the same bytes, however fast or slow the run was watched: a run can be run again up to a moment.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.simulated_environment import NO_DISKS, run_simulated
from kcsim.eventlog.events import Event
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.scenarios.engine.runner import cluster_spec
from kcsim.scenarios.engine.single_steps import SingleSteps
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act, do_act
from kcsim.scenarios.snapshots.simulated_state import bring_into_state, disks_of
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.vocabulary import TopicPartition


class RunWatcher(Protocol):
    """Follows a paced run, and decides how far it goes."""

    def see(self, event: Event) -> None:
        """Take an event of the run."""

    def see_snapshot_reached(self) -> None:
        """Be called when the cluster is in the state of the snapshot, if the run begins in that of one."""

    def see_refusal(self, act: Act, why: str) -> None:
        """Take an act that could not be done."""

    def before_time_passes(self, run: "PacedRun") -> None:
        """Be called when everything has happened that happens at the present time, and the run may go on by itself."""

    def at_limit(self, run: "PacedRun") -> None:
        """Be called when everything has happened up to the limit: raise it, do an act, or end the run."""


class PacedRun:
    """One run.

    Args:
        snapshot: the state into which the cluster is brought before any act; None: the run begins with nothing.

    Attributes:
        limit_ms: the time up to which everything may happen.
    """

    def __init__(
        self, scenario: Scenario, seed: int, watcher: RunWatcher, snapshot: ControlPlaneSnapshot | None = None
    ) -> None:
        self.limit_ms = 0
        self._scenario = scenario
        self._seed = seed
        self._watcher = watcher
        self._snapshot = snapshot
        self._is_ending = False
        self._planned: deque[Act] = deque()
        self._done: list[Act] = []
        self._runtime = SimulatedRuntime()
        self._pass_time = self._runtime.pass_time_through(self._let_time_pass)
        self._steps: SingleSteps | None = None
        self._ended = self._runtime.promise()

    def run(self) -> None:
        """Run until the watcher ends it. Raises: what the run raises."""
        spec = cluster_spec(self._scenario)
        info = RunInfo(self._scenario.name, self._seed, "simulated")
        members = self._scenario.zookeeper.members
        disks = NO_DISKS if self._snapshot is None else disks_of(self._snapshot, spec, self._seed)
        run_simulated(members, spec, info, self._script, [self._watcher.see], runtime=self._runtime, disks=disks)

    # --- for the watcher

    def plan(self, acts: Iterable[Act]) -> None:
        """Do these acts when their times have come. They are in the order of their times."""
        self._planned.extend(acts)

    def forget_planned(self) -> None:
        """Do none of the acts whose times have not come."""
        self._planned.clear()

    def end(self) -> None:
        self._is_ending = True

    @property
    def now_ms(self) -> int:
        return self._runtime.now_ms()

    @property
    def next_ms(self) -> int | None:
        """The time of the next thing to happen by itself; None if there is none."""
        return self._runtime.next_ms

    @property
    def done(self) -> Sequence[Act]:
        """The acts that were done, those that were refused among them."""
        return self._done

    def counts(self) -> Mapping[TopicPartition, RecordCounts]:
        """Return the fate of the records that producers have written so far."""
        return {} if self._steps is None else self._steps.workload.counts()

    # --- the run

    async def _script(self, cluster: Cluster) -> None:
        if self._snapshot is not None:
            await bring_into_state(cluster, self._snapshot)
            self._watcher.see_snapshot_reached()
        self._steps = SingleSteps(cluster, self._scenario)
        await self._ended.wait()

    def _let_time_pass(self) -> None:
        """Pass to the next time at which something happens, as soon as the limit allows it. Acts that are due come first.

        It is called when everything has happened that happens at the present time.
        """
        self._watcher.before_time_passes(self)
        while not self._is_ending:
            next_ms = self._runtime.next_ms
            act = self._due_act()
            if next_ms is not None and next_ms <= (self.limit_ms if act is None else act.at_ms):
                self._pass_time()
                return
            if act is not None:
                self._begin(self._planned.popleft())
                return
            self._watcher.at_limit(self)
        if self._ended.is_settled:
            self._pass_time()  # the run has not come so far as to wait for its end
        self._ended.resolve(None)

    def _due_act(self) -> Act | None:
        """Return the next act, if the limit allows it and the cluster is there to act on."""
        is_due = self._steps is not None and self._planned and self._planned[0].at_ms <= self.limit_ms
        return self._planned[0] if is_due else None

    def _begin(self, act: Act) -> None:
        """Begin an act when its time has come: nothing else happens until then."""
        self._done.append(act)
        delay_ms = max(act.at_ms - self._runtime.now_ms(), 0)
        self._runtime.call_later(partial(self._spawn, act), delay_ms)
        if delay_ms:
            self._pass_time()

    def _spawn(self, act: Act) -> None:
        self._runtime.spawn(f"act: {act.step}", self._do(act))

    async def _do(self, act: Act) -> None:
        assert self._steps is not None
        if (why := await do_act(self._steps, act)) is not None:
            self._watcher.see_refusal(act, why)
