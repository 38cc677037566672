"""What happens to one partition alone, taken from its recorded history: what the data path did, what people asked for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kcsim.controller.partition_state_machine import Strategy
from kcsim.scenarios.replay.folding.controllers_mind import assignment_of
from kcsim.scenarios.replay.folding.derived_fold import DerivedFold
from kcsim.scenarios.replay.folding.fact import Fact
from kcsim.scenarios.replay.folding.partition_story import PartitionKey, Stored
from kcsim.scenarios.replay.folding.timeline import Timeline
from kcsim.scenarios.replay.folding.transition import Transition
from kcsim.scenarios.replay.folding.trigger import Trigger
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import ReplicaAssignment


class OwnFact(NamedTuple):
    """`happen` makes it so in a derived fold, and says whether it made sense there. `what` names it."""

    seq: int
    t_ms: int
    what: str
    happen: Callable[[DerivedFold], bool]
    brokers: tuple[int, ...] = ()


def own_facts(
    key: PartitionKey,
    timeline: Timeline,
    facts: Sequence[Fact],
    recorded: Iterable[Transition],
    placement: ReplicaAssignment | None = None,
) -> list[OwnFact]:
    """In order.

    Args:
        facts, recorded: the partition's history, and what its recorded fold comes to.
        placement: where the partition is to be all the time; None: where it was, moved as it was.
    """
    found = [*_appearances(key, timeline, placement), *_of_transitions(recorded)]
    if placement is None:
        found.extend(_moves(facts))
    return sorted(found, key=lambda fact: fact.seq)


def _appearances(key: PartitionKey, timeline: Timeline, placement: ReplicaAssignment | None) -> Iterator[OwnFact]:
    """The partition is written into its topic's znode; who is in office sees it then, or the next one does."""
    story = timeline.story(key.topic)
    is_there = False
    for seq, t_ms, _, content in story.versions:
        assignment = None if content is None else content.assignments.get(key.partition)
        was_there, is_there = is_there, assignment is not None and bool(assignment.replicas)
        if assignment is None or not is_there or was_there:
            continue
        placed = placement or assignment
        seen = next((at for at, _, is_new in story.noted if at > seq and is_new), None)
        over = next((m.seq for m in timeline.moments[timeline.place_of(seq) :] if m.view.since > seq), None)
        if not timeline.has_decisions:
            seen = seq
        is_seen = seen is not None and (over is None or seen < over)
        at = seen if is_seen and seen is not None else seq
        yield OwnFact(at, t_ms, "created", _created(placed, at, t_ms, is_seen))


def _created(assignment: ReplicaAssignment, seq: int, t_ms: int, is_seen: bool) -> Callable[[DerivedFold], bool]:
    def happen(fold: DerivedFold) -> bool:
        fold.created(assignment, seq, t_ms, is_seen)
        return True

    return happen


def _of_transitions(recorded: Iterable[Transition]) -> Iterator[OwnFact]:
    isr: frozenset[int] = frozenset()
    for row in recorded:
        was, isr = isr, frozenset(row.isr)
        seq, t_ms = row.seq, row.t_ms
        if row.kind == EventKind.ISR_EXPANDED:
            yield _caught_up(tuple(broker for broker in row.isr if broker not in was), seq, t_ms)
        elif row.kind == EventKind.ISR_SHRUNK:
            yield _lags(tuple(sorted(was - isr)), seq, t_ms)
        elif row.kind == EventKind.ZNODE_DELETED:
            yield OwnFact(seq, t_ms, "deleted", _deleted(seq, t_ms))
        elif row.trigger == Trigger.WRITTEN and row.leader is not None and row.kind != EventKind.PARTITION_REASSIGNMENT:
            yield OwnFact(seq, t_ms, "written by hand", _written(row))
        elif row.trigger == Trigger.PREFERRED_ELECTION:
            yield OwnFact(
                _asked_at(row), t_ms, "asked for the preferred leader", _asked(_asked_at(row), t_ms, is_unclean=False)
            )
        elif row.strategy == Strategy.OFFLINE_ALLOW_UNCLEAN:
            yield OwnFact(_asked_at(row), t_ms, "asked for any leader", _asked(_asked_at(row), t_ms, is_unclean=True))


def _asked_at(row: Transition) -> int:
    return row.seq if row.leader is None or row.cause is None else row.cause


def _caught_up(brokers: tuple[int, ...], seq: int, t_ms: int) -> OwnFact:
    return OwnFact(seq, t_ms, "caught up", lambda fold: fold.have_caught_up(brokers, seq, t_ms), brokers)


def _lags(brokers: tuple[int, ...], seq: int, t_ms: int) -> OwnFact:
    return OwnFact(seq, t_ms, "fell behind", lambda fold: fold.fell_behind(brokers, seq, t_ms), brokers)


def _deleted(seq: int, t_ms: int) -> Callable[[DerivedFold], bool]:
    def happen(fold: DerivedFold) -> bool:
        was_there = fold.stored is not None
        fold.deleted(seq, t_ms)
        return was_there

    return happen


def _written(row: Transition) -> Callable[[DerivedFold], bool]:
    leader = None if row.leader == -1 else row.leader
    stored = Stored(leader, row.leader_epoch or 0, tuple(row.isr), row.controller_epoch or 0, row.zk_version or 0)

    def happen(fold: DerivedFold) -> bool:
        fold.written(stored, row.seq, row.t_ms)
        return True

    return happen


def _asked(seq: int, t_ms: int, is_unclean: bool) -> Callable[[DerivedFold], bool]:
    def happen(fold: DerivedFold) -> bool:
        (fold.unclean_election if is_unclean else fold.preferred_election)(seq, t_ms)
        return True

    return happen


def _moves(facts: Sequence[Fact]) -> Iterator[OwnFact]:
    """Reassignments, each time that somebody wants another one."""
    last: ReplicaAssignment | None = None
    for fact in facts:
        if fact.kind != EventKind.PARTITION_REASSIGNMENT or fact.step not in ("started", "completed"):
            continue
        wanted = assignment_of(fact)
        if fact.step == "started" and wanted != last:
            yield OwnFact(fact.seq, fact.t_ms, "moved", _moved(wanted.target_replicas, fact.seq, fact.t_ms))
        last = wanted


def _moved(target: tuple[int, ...], seq: int, t_ms: int) -> Callable[[DerivedFold], bool]:
    def happen(fold: DerivedFold) -> bool:
        fold.reassigned(target, seq, t_ms)
        return True

    return happen
