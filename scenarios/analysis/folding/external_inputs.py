"""The inputs to one partition from its recorded history: what the data path did, and what administrators requested."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.folding.controller_assignment_view import assignment_of
from kcsim.scenarios.analysis.folding.partition_simulator import PartitionSimulator
from kcsim.scenarios.analysis.folding.partition_state import PartitionKey, StateZnode
from kcsim.scenarios.analysis.folding.replay_fact import ReplayFact
from kcsim.scenarios.analysis.folding.timeline import Timeline
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.vocabulary import ReplicaAssignment


class ExternalInput(NamedTuple):
    """One input. `apply` applies it to a simulated partition; it returns False if that has no effect. `what` is its name."""

    seq: int
    t_ms: int
    what: str
    apply: Callable[[PartitionSimulator], bool]
    brokers: tuple[int, ...] = ()


def external_inputs(
    key: PartitionKey,
    timeline: Timeline,
    facts: Sequence[ReplayFact],
    recorded: Iterable[Transition],
    placement: ReplicaAssignment | None = None,
) -> list[ExternalInput]:
    """Return the inputs, in order.

    Args:
        facts, recorded: the partition's history, and the transitions of its recorded fold.
        placement: the partition's replicas all the time; None: those in the history, with its reassignments.
    """
    inputs = [*_appearances(key, timeline, placement), *_of_transitions(recorded)]
    if placement is None:
        inputs.extend(_moves(facts))
    return sorted(inputs, key=lambda fact: fact.seq)


def _appearances(key: PartitionKey, timeline: Timeline, placement: ReplicaAssignment | None) -> Iterator[ExternalInput]:
    """Yield each creation of the partition in its topic's znode. The current controller sees it, or else the next one."""
    topic_timeline = timeline.topic_timeline(key.topic)
    is_there = False
    for seq, t_ms, _, content in topic_timeline.versions:
        assignment = None if content is None else content.assignments.get(key.partition)
        was_there, is_there = is_there, assignment is not None and bool(assignment.replicas)
        if assignment is None or not is_there or was_there:
            continue
        placed = placement or assignment
        seen = next((at for at, _, is_new in topic_timeline.noted if at > seq and is_new), None)
        over = next((m.seq for m in timeline.actions[timeline.place_of(seq) :] if m.view.since > seq), None)
        if not timeline.has_decisions:
            seen = seq
        is_seen = seen is not None and (over is None or seen < over)
        at = seen if is_seen and seen is not None else seq
        yield ExternalInput(at, t_ms, "created", _created(placed, at, t_ms, is_seen))


def _created(assignment: ReplicaAssignment, seq: int, t_ms: int, is_seen: bool) -> Callable[[PartitionSimulator], bool]:
    def apply(simulator: PartitionSimulator) -> bool:
        simulator.created(assignment, seq, t_ms, is_seen)
        return True

    return apply


def _of_transitions(recorded: Iterable[Transition]) -> Iterator[ExternalInput]:
    isr: frozenset[int] = frozenset()
    epoch: int | None = None
    for row in recorded:
        was, isr = isr, frozenset(row.isr)
        epoch_was, epoch = epoch, row.controller_epoch
        seq, t_ms = row.seq, row.t_ms
        if row.kind == EventKind.ISR_EXPANDED:
            yield _caught_up(tuple(broker for broker in row.isr if broker not in was), seq, t_ms, epoch == epoch_was)
        elif row.kind == EventKind.ISR_SHRUNK:
            yield _lags(tuple(sorted(was - isr)), seq, t_ms, epoch == epoch_was)
        elif row.kind == EventKind.ZNODE_DELETED:
            yield ExternalInput(seq, t_ms, "deleted", _deleted(seq, t_ms))
        elif row.trigger == Trigger.WRITTEN and row.leader is not None and row.kind != EventKind.PARTITION_REASSIGNMENT:
            yield ExternalInput(seq, t_ms, "written by hand", _written(row))
        elif row.trigger == Trigger.PREFERRED_ELECTION:
            yield ExternalInput(
                _request_seq(row),
                t_ms,
                "asked for the preferred leader",
                _election_requested(_request_seq(row), t_ms, is_unclean=False),
            )
        elif row.strategy == PartitionLeaderElectionStrategy.OFFLINE_ALLOW_UNCLEAN:
            yield ExternalInput(
                _request_seq(row),
                t_ms,
                "asked for any leader",
                _election_requested(_request_seq(row), t_ms, is_unclean=True),
            )


def _request_seq(row: Transition) -> int:
    return row.seq if row.leader is None or row.cause is None else row.cause


def _caught_up(brokers: tuple[int, ...], seq: int, t_ms: int, keeps_epoch: bool) -> ExternalInput:
    def apply(simulator: PartitionSimulator) -> bool:
        return simulator.have_caught_up(brokers, seq, t_ms, keeps_epoch)

    return ExternalInput(seq, t_ms, "caught up", apply, brokers)


def _lags(brokers: tuple[int, ...], seq: int, t_ms: int, keeps_epoch: bool) -> ExternalInput:
    def apply(simulator: PartitionSimulator) -> bool:
        return simulator.fell_behind(brokers, seq, t_ms, keeps_epoch)

    return ExternalInput(seq, t_ms, "fell behind", apply, brokers)


def _deleted(seq: int, t_ms: int) -> Callable[[PartitionSimulator], bool]:
    def apply(simulator: PartitionSimulator) -> bool:
        was_there = simulator.stored is not None
        simulator.deleted(seq, t_ms)
        return was_there

    return apply


def _written(row: Transition) -> Callable[[PartitionSimulator], bool]:
    leader = None if row.leader == -1 else row.leader
    stored = StateZnode(leader, row.leader_epoch or 0, tuple(row.isr), row.controller_epoch or 0, row.zk_version or 0)

    def apply(simulator: PartitionSimulator) -> bool:
        simulator.written(stored, row.seq, row.t_ms)
        return True

    return apply


def _election_requested(seq: int, t_ms: int, is_unclean: bool) -> Callable[[PartitionSimulator], bool]:
    def apply(simulator: PartitionSimulator) -> bool:
        (simulator.unclean_election if is_unclean else simulator.preferred_election)(seq, t_ms)
        return True

    return apply


def _moves(facts: Sequence[ReplayFact]) -> Iterator[ExternalInput]:
    """Yield reassignments, each time that another one is requested."""
    last: ReplicaAssignment | None = None
    for fact in facts:
        if fact.kind != EventKind.PARTITION_REASSIGNMENT or fact.step not in ("started", "completed"):
            continue
        wanted = assignment_of(fact)
        if fact.step == "started" and wanted != last:
            yield ExternalInput(fact.seq, fact.t_ms, "moved", _moved(wanted.target_replicas, fact.seq, fact.t_ms))
        last = wanted


def _moved(target: tuple[int, ...], seq: int, t_ms: int) -> Callable[[PartitionSimulator], bool]:
    def apply(simulator: PartitionSimulator) -> bool:
        simulator.reassigned(target, seq, t_ms)
        return True

    return apply
