"""One partition's history: the events of its replicas are generated here, the controller's decisions are not.

Leaders are decided by the simulation of a replay (folding/partition_simulator.py), that is by the controller's own
decisions. Generated are the data path's events that drive it: which replica falls behind its leader, and when it catches up.
"""

from collections.abc import Sequence
from enum import IntEnum
from heapq import heappop, heappush
from itertools import count
from random import Random

from kcsim.eventlog.step_names import ReassignmentStep
from kcsim.scenarios.analysis.folding.partition_state import PartitionKey
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.generating.admin_schedule import (
    CALM_AROUND_MS,
    COMPLETING_MS,
    DELETED_MS,
    DELETION_COMPLETING_MS,
    DELETION_STARTED_MS,
    STARTED_MS,
    WAITING_MS,
    ScheduledDeletion,
    ScheduledReassignment,
    completed_ms,
)
from kcsim.scenarios.analysis.generating.cluster_history import TopicCreation
from kcsim.scenarios.analysis.generating.durations import DAY_MS
from kcsim.scenarios.analysis.generating.generated_cluster import GeneratedCluster
from kcsim.scenarios.analysis.generating.layout import Replicas, Topic
from kcsim.scenarios.analysis.generating.partition_event_writer import DecisionContext, PartitionEventWriter
from kcsim.scenarios.analysis.generating.rows import GeneratedRow
from kcsim.scenarios.analysis.generating.stepped_simulator import SteppedSimulator
from kcsim.vocabulary import ReplicaAssignment

FETCHING_BEGINS_MS = 300
LEAST_LAG_MS = 1_000
GATHERING_MS = 100
"""How long before the last replica of a reassignment's target catches up all its other replicas are in sync."""
FLAPPING_SPREAD = 1.0
"""The standard deviation of the logarithm of a partition's flap rate: one in six flaps at least e times the median rate."""


class Due(IntEnum):
    """The events that a partition waits for."""

    FLAP = 0
    CAUGHT_UP = 1
    MOVE = 2
    GATHERED = 3
    MOVED = 4
    DELETION = 5
    DELETED = 6


class PartitionHistory:
    """The history of one partition. `rows()` generates all events, in order."""

    def __init__(
        self,
        generated: GeneratedCluster,
        topic: Topic,
        partition: int,
        replicas: Replicas,
        moves: Sequence[ScheduledReassignment] = (),
        deletion: ScheduledDeletion | None = None,
    ) -> None:
        self._settings, self._history = generated.settings, generated.history
        self._creation = generated.history.creations.get(topic.number)
        self._replicas, self._moves, self._deletion = replicas, moves, deletion
        self._layout, self._topic = generated.layout, topic
        self._random = Random(f"{generated.settings.seed} {topic.name}-{partition}")
        place = generated.layout.place_of_partition(topic.first_index + partition)
        self._writer = PartitionEventWriter(generated.layout, topic.name, partition, place)
        self._simulator = SteppedSimulator(
            PartitionKey("", "", topic.name, partition), generated.timeline, generated.history
        )
        self._due: list[tuple[int, int, Due, int, int | None]] = []
        self._order = count()
        self._awaited: set[int] = set()
        self._calm = [(m.requested_ms - CALM_AROUND_MS, m.caught_up_ms + CALM_AROUND_MS) for m in moves]
        if deletion is not None:
            self._calm.append((deletion.requested_ms - CALM_AROUND_MS, generated.history.ended_ms))
        weight = self._random.lognormvariate(-(FLAPPING_SPREAD**2) / 2, FLAPPING_SPREAD)
        self._flaps_per_ms = weight * generated.settings.isr_flaps_per_day / DAY_MS

    def rows(self) -> list[GeneratedRow]:
        """Return every event of the partition; none if the history ends before its topic is created."""
        if self._creation is not None:
            self._create(self._creation)
            self._plan()
            self._live()
        return self._writer.rows

    def _create(self, creation: TopicCreation) -> None:
        self._simulator.created(ReplicaAssignment(self._replicas), creation.cause, creation.noted_ms)
        self._simulator.begin_steps()
        by = creation.controller, creation.controller_session
        self._decided(self._simulator.take(), DecisionContext(*by, *(creation.noted_ms, creation.cause) * 2))
        self._await_missing(creation.noted_ms, creation.cause)

    def _plan(self) -> None:
        self._await_flap(self._writer.last_ms)
        for number, move in enumerate(self._moves):
            self._await(move.requested_ms, Due.MOVE, number)
            self._await(move.caught_up_ms - GATHERING_MS, Due.GATHERED, number)
            self._await(move.caught_up_ms, Due.MOVED, number)
        if self._deletion is not None:
            self._await(self._deletion.requested_ms + DELETION_STARTED_MS, Due.DELETION)
            self._await(self._deletion.requested_ms + DELETED_MS, Due.DELETED)

    def _live(self) -> None:
        """Process the cluster's actions and the partition's due events, in the order of time."""
        simulator, actions, due, writer = self._simulator, self._history.actions, self._due, self._writer
        ended_ms = self._history.ended_ms - CALM_AROUND_MS
        while True:
            place = simulator.next_place()
            action_ms = actions[place].t_ms if place < len(actions) else ended_ms
            due_ms = max(due[0][0], writer.last_ms + 1) if due else ended_ms
            if min(action_ms, due_ms) >= ended_ms:
                return
            if action_ms <= due_ms:
                action = actions[place]
                simulator.step(place)
                by = action.controller, action.session, action.t_ms, action.seq
                self._decided(simulator.take(), DecisionContext(*by, action.election_ms, action.election_seq))
                self._await_missing(action.t_ms, action.seq)
            else:
                _, _, what, who, cause = heappop(due)
                self._happen(what, who, cause, due_ms)
                if what is Due.DELETED:
                    return

    def _decided(self, transitions: Sequence[Transition], context: DecisionContext) -> None:
        if transitions:
            self._writer.decisions(transitions, context, self._simulator.serving())

    # --- what is due

    def _await(self, t_ms: int, what: Due, who: int = 0, cause: int | None = None) -> None:
        heappush(self._due, (t_ms, next(self._order), what, who, cause))

    def _await_flap(self, t_ms: int) -> None:
        if self._flaps_per_ms:
            self._await(t_ms + 1 + int(self._random.expovariate(self._flaps_per_ms)), Due.FLAP)

    def _await_missing(self, t_ms: int, cause: int) -> None:
        """Schedule the catching up of the replicas that could be in the ISR and are not."""
        stored, replicas = self._simulator.stored, self._simulator.assignment.replicas
        if stored is None or len(stored.isr) >= len(replicas):
            return
        for broker in replicas:
            if broker not in stored.isr and broker not in self._awaited and self._simulator.can_catch_up(broker):
                self._await_catch_up(t_ms + FETCHING_BEGINS_MS, broker, cause)

    def _await_catch_up(self, t_ms: int, broker: int, cause: int) -> None:
        self._awaited.add(broker)
        takes_ms = int(self._random.expovariate(1 / self._settings.catch_up_ms))
        self._await(t_ms + takes_ms, Due.CAUGHT_UP, broker, cause)

    def _happen(self, what: Due, who: int, cause: int | None, t_ms: int) -> None:
        match what:
            case Due.FLAP | Due.CAUGHT_UP if (until := self._calm_until(t_ms)) is not None:
                self._await(until, what, who, cause)
            case Due.FLAP:
                self._flap(t_ms)
                self._await_flap(t_ms)
            case Due.CAUGHT_UP:
                self._awaited.discard(who)
                self._catch_up(who, cause, t_ms)
            case Due.MOVE:
                self._begin_move(self._moves[who], t_ms)
            case Due.GATHERED:
                self._gather(self._moves[who], t_ms)
            case Due.MOVED:
                self._end_move(self._moves[who], t_ms)
            case Due.DELETION | Due.DELETED:
                assert self._deletion is not None
                self._delete(self._deletion, t_ms, is_end=what is Due.DELETED)

    def _calm_until(self, t_ms: int) -> int | None:
        """Return the end of the calm time of a reassignment or a deletion at `t_ms`; None if there is none."""
        return next((until for since, until in self._calm if since <= t_ms < until), None)

    # --- the data path

    def _flap(self, t_ms: int) -> None:
        """Let a follower fall behind, and schedule its catching up."""
        stored = self._simulator.stored
        if stored is None or stored.leader is None or len(stored.isr) < 2:
            return
        slow = self._random.choice([b for b in stored.isr if b != stored.leader])
        led = self._history.serving_interval_at(stored.leader, t_ms)
        if led is None or self._history.serving_interval_at(slow, t_ms) is None:
            return
        if self._simulator.lags(slow, self._writer.seq(t_ms), t_ms):
            (transition,) = self._simulator.take()
            shrunk = self._writer.isr_change(transition, t_ms, led.session, None, slow)
            self._await_catch_up(t_ms + LEAST_LAG_MS, slow, shrunk)

    def _catch_up(self, broker: int, cause: int | None, t_ms: int) -> list[Transition] | None:
        """Add a replica to the ISR, if the replica and its leader serve.

        Otherwise nothing is done: `_await_missing` schedules the replica anew when it and its leader serve.

        Returns: the transitions that follow from the change of the ISR; None if nothing was done.
        """
        stored = self._simulator.stored
        led = None if stored is None or stored.leader is None else self._history.serving_interval_at(stored.leader, t_ms)
        if led is None or self._history.serving_interval_at(broker, t_ms) is None:
            return None
        if not self._simulator.caught_up(broker, self._writer.seq(t_ms), t_ms):
            return None
        transition, *others = self._simulator.take()
        self._writer.isr_change(transition, t_ms, led.session, cause, broker)
        return others

    # --- reassignments and deletions

    def _begin_move(self, move: ScheduledReassignment, t_ms: int) -> None:
        writer = self._writer
        requested = writer.requested(t_ms, "alter-partition-reassignments", f"{writer.name} to {list(move.target)}")
        assert writer.last_ms == move.requested_ms, f"{writer.name} is busy at {move.requested_ms}"
        self._simulator.reassigned(move.target, requested, t_ms)
        moving = self._simulator.assignment
        started = writer.step(t_ms + STARTED_MS, ReassignmentStep.STARTED, moving, move.controller, requested)
        waiting = writer.step(t_ms + WAITING_MS, ReassignmentStep.WAITING, moving, move.controller, started)
        self._decided(self._simulator.take(), DecisionContext(move.controller, move.session, *(t_ms, waiting) * 2))

    def _gather(self, move: ScheduledReassignment, t_ms: int) -> None:
        """Bring all replicas of the target into the ISR, except the last of those that are added."""
        stored, last = self._simulator.stored, self._simulator.assignment.adding_replicas[-1]
        assert stored is not None
        for broker in move.target:
            if broker not in stored.isr and broker != last:
                followed = self._catch_up(broker, self._cause_of(move), max(t_ms, self._writer.last_ms + 1))
                assert followed == [], f"{broker} does not catch up with {self._writer.name} in a time of calm"

    def _end_move(self, move: ScheduledReassignment, t_ms: int) -> None:
        """Bring the last replica into the ISR, upon which the controller completes the reassignment."""
        writer, moving = self._writer, self._simulator.assignment
        last = moving.adding_replicas[-1]
        followed = self._catch_up(last, self._cause_of(move), t_ms)
        assert followed, f"{last} does not catch up with {writer.name} in a time of calm"
        started = writer.step(t_ms + COMPLETING_MS - 1, ReassignmentStep.STARTED, moving, move.controller, writer.seq(t_ms))
        completing = writer.step(t_ms + COMPLETING_MS, ReassignmentStep.COMPLETING, moving, move.controller, started)
        self._decided(followed, DecisionContext(move.controller, move.session, *(t_ms, completing) * 2))
        completed = t_ms + completed_ms(self._layout.replication_factor)
        writer.step(completed + 1, ReassignmentStep.COMPLETED, self._simulator.assignment, move.controller, completing)

    def _cause_of(self, move: ScheduledReassignment) -> int:
        """Return the cause of what replicas do because of a reassignment: the beginning of the reassignment."""
        return self._writer.seq(move.requested_ms + WAITING_MS)

    def _delete(self, deletion: ScheduledDeletion, t_ms: int, is_end: bool) -> None:
        place = self._layout.place_of_topic(self._topic.number)
        cause = self._layout.seq(t_ms if not is_end else deletion.requested_ms + DELETION_COMPLETING_MS, place)
        if not is_end:
            self._simulator.deletion(deletion.brokers, cause, t_ms)
            self._decided(self._simulator.take(), DecisionContext(deletion.controller, deletion.session, *(t_ms, cause) * 2))
        elif (stored := self._simulator.stored) is not None:
            self._simulator.deleted(cause, t_ms)
            self._writer.gone(t_ms, deletion.session, stored.zk_version, cause)
