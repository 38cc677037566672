"""Executes one step of a plan, in a simulated cluster in the state of a snapshot: undisturbed, or with one failure.

The step is handed to the controller as an operator does with kafka-reassign-partitions, and again as long as the controller
does not accept it, because it or another broker is dead. Brokers that died come back after a time.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.simulated_environment import run_simulated
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.invariants import INVARIANTS, InvariantChecker, Violation
from kcsim.controller.decisions.placement import Replicas
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ErrorCode
from kcsim.errors import TimedOutError
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.eventlog.state_changes import PartitionChanged, ProcessChanged, RegistrationChanged, TopicChanged
from kcsim.runtime.ports import Promise
from kcsim.scenarios.rehearsal.copy_progress import CopyKey, CopyProgress
from kcsim.scenarios.rehearsal.exposure import harmed_by_plan
from kcsim.scenarios.rehearsal.exposure_tracker import ExposureTimes, ExposureTracker
from kcsim.scenarios.rehearsal.plan_failure import PlanFailure
from kcsim.scenarios.rehearsal.rehearsed_step import Placed, RehearsedStep
from kcsim.scenarios.rehearsal.step_outcome import StepOutcome
from kcsim.scenarios.snapshots.simulated_state import bring_into_state, cluster_spec, disks_of
from kcsim.scenarios.what_if.cluster_health import KnownSizes
from kcsim.scenarios.what_if.cluster_observer import ClusterObserver
from kcsim.text import summarize
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition

ASK_AGAIN_MS = 5_000
"""How long an operator waits before a refused step is handed to the controller again."""
GATHER_MS = 100
"""Changes of so much time are looked at together."""
STUCK_AFTER_MS = 120_000
"""A step in which nothing changes for so long, and no copy comes closer to its end, never completes."""


def execute_step(rehearsed: RehearsedStep, failure: PlanFailure | None = None) -> StepOutcome:
    """Execute a step in virtual time. Raises: ClusterError, TimedOutError."""
    spec, seed = cluster_spec(rehearsed.cluster, rehearsed.settings.of_brokers), rehearsed.settings.seed
    observer = ClusterObserver()
    outcomes: list[StepOutcome] = []

    async def script(cluster: Cluster) -> None:
        observer.attach(cluster)
        checker = InvariantChecker(INVARIANTS, cluster, cluster.state)
        cluster.log.subscribe(checker.observe)
        await bring_into_state(cluster, rehearsed.cluster)
        await observer.wait_until_quiet()
        outcomes.append(await _StepRun(cluster, rehearsed, failure, observer).run(checker))

    disks = disks_of(rehearsed.cluster, spec, seed)
    run_simulated(1, spec, RunInfo("rehearsal", seed, "simulated"), script, (observer.before,), disks=disks)
    (outcome,) = outcomes
    return outcome


class _StepStuckError(Exception):
    """A step does not complete. The message says what is missing."""


class _StepRun:
    """One run, from the beginning of the step on."""

    def __init__(
        self, cluster: Cluster, rehearsed: RehearsedStep, failure: PlanFailure | None, observer: ClusterObserver
    ) -> None:
        self._cluster = cluster
        self._rehearsed = rehearsed
        self._step = rehearsed.step
        self._failure = failure
        self._observer = observer
        sizes = KnownSizes(rehearsed.cluster, BrokerConfig.of(rehearsed.settings.of_brokers).min_insync_replicas)
        self._exposures = ExposureTracker(cluster, sizes, rehearsed.racks)
        observer.unclean.clear()  # what the first controller has found in the snapshot is not the work of the step
        self._began_ms = cluster.runtime.now_ms()
        self._controller = f"broker-{cluster.state.working_controller}"
        self._known = dict(rehearsed.cluster.partitions())
        is_throttle = failure is not None and failure.throttle is not None
        self._throttle = failure.throttle if failure is not None and is_throttle else rehearsed.settings.throttle
        self._copies = CopyProgress(self._throttle)
        self._has_changed = False
        self._refusal: str | None = None
        self._writes = 0
        self._has_happened = is_throttle
        self._dead: list[str] = []
        self._while_down: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    async def run(self, checker: InvariantChecker) -> StepOutcome:
        before = len(checker.violations)
        self._cluster.log.subscribe(self._exposures.observe)
        self._cluster.log.subscribe(self._observe)
        self._begin_failure()
        stuck = None
        try:
            await self._execute()
        except _StepStuckError as error:
            stuck = f"{self._step.name} does not complete: {error}"
        duration_ms, exposed, racks = self._now_ms() - self._began_ms, self._exposures.times(), self._racks()
        await self._wait_for_return()
        self._cluster.disarm()
        await self._observer.wait_until_quiet()
        # A replica that was behind in the snapshot stays so until its broker restarts: that is no violation.
        is_whole = all(set(known.replicas) <= set(known.isr) for known in self._known.values())
        checker.at_end(quiescent=True, recovered=is_whole and stuck is None)
        return self._outcome(stuck, duration_ms, exposed, racks, checker.violations[before:])

    def _outcome(
        self,
        stuck: str | None,
        duration_ms: int,
        exposed: dict[str, ExposureTimes],
        racks: dict[str, int],
        violations: Sequence[Violation],
    ) -> StepOutcome:
        """Return what has happened. Args: exposed, racks: as they were when the step was complete."""
        outages = self._observer.outages_since(self._began_ms)
        offline, below_min_isr = self._while_down or self._harmed_now()
        return StepOutcome(
            failure=self._failure,
            happened=self._has_happened,
            stuck=stuck,
            duration_ms=duration_ms,
            writes=self._writes,
            smallest_isr=self._exposures.smallest_isr,
            racks=racks,
            harms=tuple(self._exposures.harms()),
            exposed=exposed,
            offline=offline,
            below_min_isr=below_min_isr,
            losses=self._losses(offline, below_min_isr),
            unavailable=len({(outage.topic, outage.partition) for outage in outages}),
            longest_unavailable_ms=max((o.until_ms - o.from_ms for o in outages if o.is_over), default=0),
            unclean=tuple(sorted(self._observer.unclean)),
            violations=tuple(map(str, violations)),
            final={str(tp): self._placed(tp) for tp in self._known},
        )

    def _observe(self, event: Event) -> None:
        if event.kind is EventKind.ZK_WRITE and event.node == self._controller and not self._dead:
            self._writes += 1
        for change in self._cluster.state.changes:
            match change:
                case PartitionChanged() | TopicChanged() | RegistrationChanged():
                    self._has_changed = True
                case ProcessChanged(node, _, after):
                    self._has_changed = True
                    if after == "dead":
                        self._note_death(node)
                    elif after == "running" and node in self._dead:
                        # Its memory of what is held back is lost; it fetches once the controller has asked it to.
                        held = [key.partition for key in self._copies.unfinished if f"broker-{key.to}" == node]
                        self._cluster.broker(node).data.fetchers.hold(held)
                case _:
                    pass

    # --- the steps

    async def _execute(self) -> None:
        """Execute the step until it is complete. Raises: _StepStuckError."""
        topics = self._cluster.state.of_topics
        for tp, target in sorted(self._step.targets.items()):
            assignment = topics.assignment(tp)
            assert assignment is not None, tp
            for broker in sorted(set(target).difference(assignment.replicas)):
                known = self._known[tp]
                self._copies.add(CopyKey(tp, broker), known.size_bytes or 0, known.bytes_in_per_s or 0.0)
                self._cluster.broker(f"broker-{broker}").data.fetchers.hold([tp])
        asking = self._elect_preferred() if self._step.elections else self._submit()
        submission = self._cluster.runtime.spawn(f"submit {self._step.name}", asking)
        try:
            await self._complete()
        finally:
            submission.kill()

    async def _submit(self) -> None:
        """Hand a step to the controller, again and again until it is accepted."""
        left = dict(self._step.targets)
        while left:
            try:
                answers = await self._ask_controller(left)
            except ClusterError as error:
                self._refusal = str(error)
            else:
                left = {tp: target for tp, target in left.items() if answers[tp] is not ErrorCode.NONE}
                first = next(iter(left), None)
                self._refusal = None if first is None else f"the controller refuses {first}: {answers[first].name}"
            if left:
                await self._cluster.runtime.sleep_ms(ASK_AGAIN_MS)

    async def _ask_controller(self, targets: Mapping[TopicPartition, Replicas]) -> Mapping[TopicPartition, ErrorCode]:
        """Return the answer of the controller. Raises: ClusterError, also when it dies before it answers."""
        runtime, controller = self._cluster.runtime, f"broker-{self._cluster.state.controller_id}"
        answer: Promise[Mapping[TopicPartition, ErrorCode]] = runtime.promise()

        async def ask() -> None:
            try:
                answer.resolve(await self._cluster.alter_partition_reassignments(targets))
            except ClusterError as error:
                answer.fail(error)

        request = runtime.spawn("request to the controller", ask())
        while True:
            try:
                return await answer.wait(ASK_AGAIN_MS)
            except TimedOutError:
                if self._cluster.state.not_running(controller) is not None:
                    request.kill()
                    raise ClusterError(f"{controller}, the controller, is dead") from None

    async def _elect_preferred(self) -> None:
        """Ask for the elections of the step, again and again."""
        while True:
            try:
                await self._cluster.elect_leaders(ElectionType.PREFERRED, self._step.elections)
            except ClusterError as error:
                self._refusal = str(error)
            else:
                self._refusal = None
            await self._cluster.runtime.sleep_ms(ASK_AGAIN_MS)

    async def _complete(self) -> None:
        pending = self._step.partitions
        unchanged_ms = 0
        while pending := [tp for tp in pending if not self._is_complete(tp)]:
            rates = self._copies.rates(self._sources())
            next_ms = self._copies.next_end_ms(rates)
            if next_ms is None and not self._is_return_due and unchanged_ms >= STUCK_AFTER_MS:
                raise _StepStuckError(self._missing(pending, rates))
            waited_ms = await self._wait_for_change(STUCK_AFTER_MS if next_ms is None else next_ms)
            unchanged_ms = unchanged_ms + waited_ms if next_ms is None and not self._has_changed else 0
            for key in self._copies.advance(rates, waited_ms):
                name = f"broker-{key.to}"
                if name not in self._dead:
                    self._cluster.broker(name).data.fetchers.release(key.partition)

    def _is_complete(self, tp: TopicPartition) -> bool:
        topics = self._cluster.state.of_topics
        assignment = topics.assignment(tp)
        if assignment is None:
            return False
        if tp in self._step.elections:
            return topics.leader(tp) == assignment.replicas[0]
        return assignment == ReplicaAssignment(tuple(map(BrokerId, self._step.targets[tp])))

    def _sources(self) -> dict[CopyKey, int]:
        """Return where each copy fetches from: the leader of its partition, if both brokers run."""
        state = self._cluster.state
        sources: dict[CopyKey, int] = {}
        for key in self._copies.all:
            leader = state.of_topics.leader(key.partition)
            runs = (state.processes.get(f"broker-{broker}") == "running" for broker in (leader, key.to))
            assignment = state.of_topics.assignment(key.partition)
            is_assigned = assignment is not None and key.to in assignment.replicas
            if leader is not None and is_assigned and all(runs):
                sources[key] = leader
        return sources

    async def _wait_for_change(self, at_most_ms: int) -> int:
        """Wait until the state of a partition, a topic or a broker changes. Returns: how long it took."""
        began_ms = self._now_ms()
        self._has_changed = False

        def unchanged() -> str | None:
            return None if self._has_changed else "nothing has changed"

        try:
            await self._cluster.wait_until(unchanged, at_most_ms)
        except TimedOutError:
            pass
        else:
            await self._cluster.runtime.sleep_ms(GATHER_MS)
        return self._now_ms() - began_ms

    def _missing(self, pending: Sequence[TopicPartition], rates: Mapping[CopyKey, float]) -> str:
        """Return why partitions are not where they should be."""
        if self._refusal is not None:
            return self._refusal
        behind = [f"{key.partition} on broker {key.to}" for key in self._copies.unfinished if rates.get(key, 1.0) <= 0]
        if behind:
            gets = f"with {self._throttle} bytes/s these copies never catch up with what producers write"
            return f"{gets}: {summarize(behind)}"
        topics, registered = self._cluster.state.of_topics, self._cluster.state.registered
        if offline := [str(tp) for tp in pending if topics.leader(tp) not in registered]:
            return f"offline: {summarize(offline)}"
        late = [f"{tp} has {list(topics.isr(tp))} in sync, and not {wanted}" for tp, wanted in self._out_of_sync(pending)]
        return summarize(late) or summarize(pending)

    def _out_of_sync(self, pending: Sequence[TopicPartition]) -> Iterator[tuple[TopicPartition, Sequence[BrokerId]]]:
        for tp in pending:
            assignment = self._cluster.state.of_topics.assignment(tp)
            isr = self._cluster.state.of_topics.isr(tp)
            if assignment is not None and (late := [b for b in assignment.target_replicas if b not in isr]):
                yield tp, late

    # --- the failure

    def _begin_failure(self) -> None:
        failure = self._failure
        if failure is None or failure.throttle is not None:
            return
        if failure.write is not None:
            self._cluster.arm_kill(self._controller, failure.write.moment, None, failure.write.nth)
        else:
            self._cluster.runtime.spawn("loss of brokers", self._lose(failure))

    async def _lose(self, failure: PlanFailure) -> None:
        await self._cluster.runtime.sleep_ms(failure.at_ms)
        for broker in failure.brokers:
            if self._cluster.state.processes.get(f"broker-{broker}") == "running":
                await self._cluster.kill(f"broker-{broker}")

    def _note_death(self, node: str) -> None:
        if not self._dead:
            self._has_happened = True
            self._cluster.runtime.spawn("return of brokers", self._return())
        self._dead.append(node)

    async def _return(self) -> None:
        await self._cluster.runtime.sleep_ms(self._rehearsed.settings.down_ms)
        self._while_down = self._harmed_now()
        names = sorted(self._dead)
        await self._cluster.start(names)
        self._dead.clear()
        self._has_changed = True

    @property
    def _is_return_due(self) -> bool:
        """Whether brokers are dead, or will be at a certain time."""
        is_loss_due = self._failure is not None and bool(self._failure.brokers) and not self._has_happened
        return bool(self._dead) or is_loss_due

    async def _wait_for_return(self) -> None:
        """Wait until brokers that die at a certain time, or are dead, are back."""
        at_ms = self._failure.at_ms if self._failure is not None else 0
        due_ms = max(0, self._began_ms + at_ms - self._now_ms()) + self._rehearsed.settings.down_ms
        within_ms = due_ms + STUCK_AFTER_MS
        await self._cluster.wait_until(lambda: "brokers are dead" if self._is_return_due else None, within_ms)

    # --- what is seen

    def _now_ms(self) -> int:
        return self._cluster.runtime.now_ms()

    def _harmed_now(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the partitions that are offline, and those that are below min.insync.replicas."""
        now = {str(tp): self._exposures.in_sync(tp) for tp in sorted(self._known)}
        offline = tuple(name for name, of in now.items() if not of.is_led)
        return offline, tuple(name for name, of in now.items() if of.is_led and len(of.isr) < of.min_isr)

    def _racks(self) -> dict[str, int]:
        racks = self._rehearsed.racks
        if not any(rack is not None for rack in racks.values()):
            return {}
        isrs = {str(tp): self._exposures.in_sync(tp).isr for tp in sorted(self._known)}
        return {name: len({racks.get(broker) for broker in isr}) for name, isr in isrs.items()}

    def _losses(self, offline: Collection[str], below_min_isr: Collection[str]) -> tuple[str, ...]:
        """Return what the failure has taken, and would not have taken without the step."""
        if self._while_down is None or self._failure is None:
            return ()
        before = {str(tp): exposed.keys() for tp, exposed in self._exposures.before.items()}
        lost = sorted({*offline, *self._observer.unclean})
        below = [name for name in below_min_isr if name not in lost]
        return tuple(harmed_by_plan(lost, below, before, self._failure.is_loss_of_rack))

    def _placed(self, tp: TopicPartition) -> Placed:
        topics = self._cluster.state.of_topics
        assignment, leader = topics.assignment(tp), topics.leader(tp)
        replicas = () if assignment is None else tuple(assignment.replicas)
        return Placed(tuple(map(int, replicas)), None if leader is None else int(leader), tuple(sorted(topics.isr(tp))))
