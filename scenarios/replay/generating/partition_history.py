"""One partition's history: what befalls its replicas is made up here; what the controller makes of it is not.

Who leads is decided by the derived fold of a replay (folding/derived_fold.py), that is by the controller's own decisions.
Made up are the facts of the data path that drive it: who falls behind its leader, and when it has caught up.
"""

from collections.abc import Sequence
from enum import IntEnum
from heapq import heappop, heappush
from itertools import count
from random import Random

from kcsim.scenarios.replay.folding.partition_story import PartitionKey
from kcsim.scenarios.replay.folding.transition import Transition
from kcsim.scenarios.replay.generating.durations import DAY_MS
from kcsim.scenarios.replay.generating.layout import Replicas, Topic
from kcsim.scenarios.replay.generating.moments import TopicCreation
from kcsim.scenarios.replay.generating.partition_tale import Act, PartitionTale
from kcsim.scenarios.replay.generating.plans import (
    CALM_AROUND_MS,
    COMPLETING_MS,
    DELETED_MS,
    DELETION_COMPLETING_MS,
    DELETION_STARTED_MS,
    STARTED_MS,
    WAITING_MS,
    Deletion,
    Move,
    completed_ms,
)
from kcsim.scenarios.replay.generating.rows import Row
from kcsim.scenarios.replay.generating.stepped_fold import SteppedFold
from kcsim.scenarios.replay.generating.world import World
from kcsim.zk.vocabulary import ReplicaAssignment

FETCHING_BEGINS_MS = 300
LEAST_LAG_MS = 1_000
GATHERING_MS = 100
"""So long before the last replica of a move has caught up, all others of the target have."""
FLAPPING_SPREAD = 1.0
"""Of the logarithm of how much a partition flaps: one in six flaps e times as often as the middle one, or more."""


class Due(IntEnum):
    """What a partition waits for."""

    FLAP = 0
    CAUGHT_UP = 1
    MOVE = 2
    GATHERED = 3
    MOVED = 4
    DELETION = 5
    DELETED = 6


class PartitionHistory:
    """Of one partition. `rows()` makes them all, in order."""

    def __init__(
        self,
        world: World,
        topic: Topic,
        partition: int,
        replicas: Replicas,
        moves: Sequence[Move] = (),
        deletion: Deletion | None = None,
    ) -> None:
        self._settings, self._history = world.settings, world.history
        self._creation = world.history.creations.get(topic.number)
        self._replicas, self._moves, self._deletion = replicas, moves, deletion
        self._layout, self._topic = world.layout, topic
        self._random = Random(f"{world.settings.seed} {topic.name}-{partition}")
        place = world.layout.place_of_partition(topic.first_index + partition)
        self._tale = PartitionTale(world.layout, topic.name, partition, place)
        self._fold = SteppedFold(PartitionKey("", "", topic.name, partition), world.timeline, world.history)
        self._due: list[tuple[int, int, Due, int, int | None]] = []
        self._order = count()
        self._awaited: set[int] = set()
        self._calm = [(m.asked_ms - CALM_AROUND_MS, m.caught_up_ms + CALM_AROUND_MS) for m in moves]
        if deletion is not None:
            self._calm.append((deletion.asked_ms - CALM_AROUND_MS, world.history.ended_ms))
        weight = self._random.lognormvariate(-(FLAPPING_SPREAD**2) / 2, FLAPPING_SPREAD)
        self._flaps_per_ms = weight * world.settings.isr_flaps_per_day / DAY_MS

    def rows(self) -> list[Row]:
        """Every event of the partition; none if the history ends before its topic is created."""
        if self._creation is not None:
            self._create(self._creation)
            self._plan()
            self._live()
        return self._tale.rows

    def _create(self, creation: TopicCreation) -> None:
        self._fold.created(ReplicaAssignment(self._replicas), creation.cause, creation.noted_ms)
        self._fold.begin_steps()
        by = creation.controller, creation.controller_session
        self._decided(self._fold.take(), Act(*by, *(creation.noted_ms, creation.cause) * 2))
        self._await_missing(creation.noted_ms, creation.cause)

    def _plan(self) -> None:
        self._await_flap(self._tale.last_ms)
        for number, move in enumerate(self._moves):
            self._await(move.asked_ms, Due.MOVE, number)
            self._await(move.caught_up_ms - GATHERING_MS, Due.GATHERED, number)
            self._await(move.caught_up_ms, Due.MOVED, number)
        if self._deletion is not None:
            self._await(self._deletion.asked_ms + DELETION_STARTED_MS, Due.DELETION)
            self._await(self._deletion.asked_ms + DELETED_MS, Due.DELETED)

    def _live(self) -> None:
        """Go through the cluster's moments, and what is due to the partition, by time."""
        fold, moments, due, tale = self._fold, self._history.moments, self._due, self._tale
        ended_ms = self._history.ended_ms - CALM_AROUND_MS
        while True:
            place = fold.next_place()
            moment_ms = moments[place].t_ms if place < len(moments) else ended_ms
            due_ms = max(due[0][0], tale.last_ms + 1) if due else ended_ms
            if min(moment_ms, due_ms) >= ended_ms:
                return
            if moment_ms <= due_ms:
                moment = moments[place]
                fold.step(place)
                by = moment.controller, moment.session, moment.t_ms, moment.seq
                self._decided(fold.take(), Act(*by, moment.election_ms, moment.election_seq))
                self._await_missing(moment.t_ms, moment.seq)
            else:
                _, _, what, who, cause = heappop(due)
                self._happen(what, who, cause, due_ms)
                if what is Due.DELETED:
                    return

    def _decided(self, transitions: Sequence[Transition], act: Act) -> None:
        if transitions:
            self._tale.decisions(transitions, act, self._fold.serving())

    # --- what is due

    def _await(self, t_ms: int, what: Due, who: int = 0, cause: int | None = None) -> None:
        heappush(self._due, (t_ms, next(self._order), what, who, cause))

    def _await_flap(self, t_ms: int) -> None:
        if self._flaps_per_ms:
            self._await(t_ms + 1 + int(self._random.expovariate(self._flaps_per_ms)), Due.FLAP)

    def _await_missing(self, t_ms: int, cause: int) -> None:
        """Replicas that could be in the ISR and are not catch up, each at its time."""
        stored, replicas = self._fold.stored, self._fold.assignment.replicas
        if stored is None or len(stored.isr) >= len(replicas):
            return
        for broker in replicas:
            if broker not in stored.isr and broker not in self._awaited and self._fold.can_catch_up(broker):
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
        """The end of the move or deletion that is to be left in peace then."""
        return next((until for since, until in self._calm if since <= t_ms < until), None)

    # --- the data path

    def _flap(self, t_ms: int) -> None:
        """A follower falls behind, and catches up a little later."""
        stored = self._fold.stored
        if stored is None or stored.leader is None or len(stored.isr) < 2:
            return
        slow = self._random.choice([b for b in stored.isr if b != stored.leader])
        led = self._history.spell(stored.leader, t_ms)
        if led is None or self._history.spell(slow, t_ms) is None:
            return
        if self._fold.lags(slow, self._tale.seq(t_ms), t_ms):
            (told,) = self._fold.take()
            shrunk = self._tale.isr_change(told, t_ms, led.session, None, slow)
            self._await_catch_up(t_ms + LEAST_LAG_MS, slow, shrunk)

    def _catch_up(self, broker: int, cause: int | None, t_ms: int) -> list[Transition] | None:
        """A replica is in sync, if it and its leader serve; else it is awaited anew when they do. Returns: what follows."""
        stored = self._fold.stored
        led = None if stored is None or stored.leader is None else self._history.spell(stored.leader, t_ms)
        if led is None or self._history.spell(broker, t_ms) is None:
            return None
        if not self._fold.caught_up(broker, self._tale.seq(t_ms), t_ms):
            return None
        told, *others = self._fold.take()
        self._tale.isr_change(told, t_ms, led.session, cause, broker)
        return others

    # --- moves and deletions

    def _begin_move(self, move: Move, t_ms: int) -> None:
        tale = self._tale
        asked = tale.asked(t_ms, "alter-partition-reassignments", f"{tale.name} to {list(move.target)}")
        assert tale.last_ms == move.asked_ms, f"{tale.name} is busy at {move.asked_ms}"
        self._fold.reassigned(move.target, asked, t_ms)
        moving = self._fold.assignment
        started = tale.step(t_ms + STARTED_MS, "started", moving, move.controller, asked)
        waiting = tale.step(t_ms + WAITING_MS, "waiting", moving, move.controller, started)
        self._decided(self._fold.take(), Act(move.controller, move.session, *(t_ms, waiting) * 2))

    def _gather(self, move: Move, t_ms: int) -> None:
        """All of the target are in the ISR, but the last of those that are added."""
        stored, last = self._fold.stored, self._fold.assignment.adding_replicas[-1]
        assert stored is not None
        for broker in move.target:
            if broker not in stored.isr and broker != last:
                followed = self._catch_up(broker, self._cause_of(move), max(t_ms, self._tale.last_ms + 1))
                assert followed == [], f"{broker} does not catch up with {self._tale.name} in a time of calm"

    def _end_move(self, move: Move, t_ms: int) -> None:
        """The last one is in sync, and the controller completes the move."""
        tale, moving = self._tale, self._fold.assignment
        last = moving.adding_replicas[-1]
        followed = self._catch_up(last, self._cause_of(move), t_ms)
        assert followed, f"{last} does not catch up with {tale.name} in a time of calm"
        started = tale.step(t_ms + COMPLETING_MS - 1, "started", moving, move.controller, tale.seq(t_ms))
        completing = tale.step(t_ms + COMPLETING_MS, "completing", moving, move.controller, started)
        self._decided(followed, Act(move.controller, move.session, *(t_ms, completing) * 2))
        completed = t_ms + completed_ms(self._layout.replication_factor)
        tale.step(completed + 1, "completed", self._fold.assignment, move.controller, completing)

    def _cause_of(self, move: Move) -> int:
        """Of what replicas do for the sake of a move: that it was begun."""
        return self._tale.seq(move.asked_ms + WAITING_MS)

    def _delete(self, deletion: Deletion, t_ms: int, is_end: bool) -> None:
        place = self._layout.place_of_topic(self._topic.number)
        cause = self._layout.seq(t_ms if not is_end else deletion.asked_ms + DELETION_COMPLETING_MS, place)
        if not is_end:
            self._fold.deletion(deletion.brokers, cause, t_ms)
            self._decided(self._fold.take(), Act(deletion.controller, deletion.session, *(t_ms, cause) * 2))
        elif (stored := self._fold.stored) is not None:
            self._fold.deleted(cause, t_ms)
            self._tale.gone(t_ms, deletion.session, stored.zk_version, cause)
